"""How long an editor waits: from an edit to its diagnostics, and for the code actions at a finding.

    python benchmarks/bench_lsp.py [--lines 1000] [--edits 100] [FILE ...]

A real server is edited over its pipes, one key stroke at a time. The floor, `ast.parse` of the same text, is measured
in this process during the same run: nothing that reads a syntax tree can be quicker. On Linux the processor time of
both is shown as well, and decides: on an idle machine the two are the same, and on a busy one only it means anything.
With ``--memory`` a thousand edits follow and the server's memory is shown along the way.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from lsp.raw import RawClient

BUDGET_MS = 10.0
ACTION_MS = 50.0

PART = '''

class Block{n}(nn.Module):
    """One block of many, with the usual mixture of layers, shapes and helper functions."""

    def __init__(self, width: int, heads: int = 4, dropout: float = 0.1):
        super().__init__()
        self.width = width
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(4 * width, width),
        )
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        if width != self.width:
            raise ValueError(f"expected a width of {{self.width}}, not {{width}}")
        y = self.norm(x) * self.scale
        y, weights = self.attend(y, y, y, attn_mask=mask, need_weights=False)
        positions = torch.arange(length, device=x.device)
        x = x + y
        for step in range(2):
            x = x + self.feed(self.norm(x)) / (step + 1)
        return x, positions


def describe{n}(block: Block{n}, names: list[str]) -> dict[str, object]:
    """Numbers about a block."""
    parameters = sum(parameter.numel() for parameter in block.parameters())
    table = {{name: index for index, name in enumerate(names)}}
    rows = [f"{{name}}: {{index}}" for name, index in sorted(table.items())]
    return {{"parameters": parameters, "width": block.width, "rows": "\\n".join(rows)}}
'''
LAST = """

def train(model: Block0, loader, device):
    model.to(device)
    for x, target in loader:
        x, target = x.to(device), target.to(device)
        out, _ = model(x)
        loss = (out - target).pow(2).mean()
        loss.backward()


def evaluate(x: torch.Tensor, device):
    x.to(device)
    return x.sum()
"""


def program(lines: int) -> str:
    """A file of about so many lines, with one finding at its end."""
    text, number = "import torch\nfrom torch import nn\n", 0
    while text.count("\n") + LAST.count("\n") < lines:
        text += PART.format(n=number)
        number += 1
    return text + LAST


def floor(text: str, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of `ast.parse`: by the clock, and of the processor."""
    clock, processor = [], []
    for _ in range(rounds):
        begin, used = time.perf_counter(), time.process_time()
        ast.parse(text)
        clock.append((time.perf_counter() - begin) * 1000)
        processor.append((time.process_time() - used) * 1000)
    return clock, processor


class Session:
    """A server with one open file."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        self.client = RawClient()
        self.client.start("eglot-1.9", folder)  # it wants edits at once, not when an action is chosen
        self.uri = (folder / name).as_uri()
        self.text, self.version = text, 1
        self.client.open(self.uri, text)
        self.client.wait_for(self.uri, 1, 120)

    def key(self) -> float:
        """One character more or less in the middle of the file; milliseconds until its diagnostics are there."""
        line = self.text.count("\n") // 2
        while not (content := self.text.split("\n")[line]).strip() or content.lstrip().startswith(("#", '"')):
            line += 1
        end = len(content)
        self.version += 1
        here = {"line": line, "character": end}
        place = {"start": here, "end": here if self.version % 2 == 0 else {"line": line, "character": end + 1}}
        begin = time.perf_counter()
        self.client.change(self.uri, self.version, " " if self.version % 2 == 0 else "", place)
        self.client.wait_for(self.uri, self.version, 120)
        return (time.perf_counter() - begin) * 1000

    def used(self) -> float | None:
        """Milliseconds of processor time so far; None where that is not known."""
        return self.client.processor_time() * 1000 if sys.platform == "linux" else None

    def action(self, place: dict[str, object], only: list[str] | None = None) -> float:
        """Milliseconds for the actions at a place, the edits of the fixes included."""
        begin = time.perf_counter()
        self.client.actions(self.uri, only, place)
        return (time.perf_counter() - begin) * 1000


def row(name: str, times: list[float], processor: float | None) -> str:
    """One line of the table."""
    ordered = sorted(times)
    middle, high = statistics.median(ordered), ordered[int(len(ordered) * 0.9)]
    own = "" if processor is None else f"   processor {processor:6.1f}"
    return f"  {name:28} median {middle:6.1f} ms   best {ordered[0]:6.1f}   p90 {high:6.1f}{own}"


def verdict(name: str, times: list[float], processor: float | None, limit: float) -> bool:
    """Print whether a limit was kept."""
    took = statistics.median(times) if processor is None else processor
    kept = took <= limit
    print(f"  {name}: {took:.1f} ms, limit {limit:.1f} ms: {'kept' if kept else 'MISSED'}")
    return kept


def measure(folder: Path, name: str, text: str, edits: int) -> bool:
    """Print the numbers for one file; whether the limits were kept."""
    session = Session(folder, name, text)
    for _ in range(5):
        session.key()
    floors: list[float] = []
    floors_used: list[float] = []
    keys: list[float] = []
    used = 0.0
    for _ in range(max(edits // 10, 1)):  # by turns, so that other work on the machine hits both alike
        clock, processor = floor(text, 3)
        floors += clock
        floors_used += processor
        before = session.used() or 0.0
        keys += [session.key() for _ in range(10)]
        used += (session.used() or 0.0) - before
    known = session.used() is not None
    found = session.client.diagnostics[session.uri]["diagnostics"]
    print(f"{name}: {text.count(chr(10))} lines, {len(found)} findings")
    per_floor = statistics.median(floors_used) if known else None
    per_key = used / len(keys) if known else None
    print(row("floor: ast.parse", floors, per_floor))
    print(row("edit to diagnostics", keys, per_key))
    limit = 3 * (statistics.median(floors) if per_floor is None else per_floor) + BUDGET_MS
    kept = verdict("edit to diagnostics", keys, per_key, limit)
    if found:
        at = found[0]["range"]["start"]
        place = {"start": at, "end": at}
        questions = (("code actions, with edits", None, 20), ("the edit of fix all", ["source.fixAll"], 10))
        for what, only, rounds in questions:
            session.action(place, only)
            before = session.used() or 0.0
            times = [session.action(place, only) for _ in range(rounds)]
            per_action = ((session.used() or 0.0) - before) / rounds if known else None
            print(row(what, times, per_action))
            if only is None:
                kept &= verdict("code actions", times, per_action, ACTION_MS)
    session.client.stop()
    return kept


def memory(folder: Path, text: str, edits: int = 1000) -> None:
    """Print the server's memory along a thousand edits."""
    session = Session(folder, "memory.py", text)
    print(f"memory over {edits} edits of a file of {text.count(chr(10))} lines")
    for number in range(edits + 1):
        if number % (edits // 10) == 0:
            print(f"  {number:5} edits {session.client.memory() / 2**20:7.1f} MiB")
        session.key()
    session.client.stop()


def main() -> int:
    """Run the benchmark. Returns 1 if a limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    kept = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept &= measure(folder, "made.py", program(options.lines), options.edits)
        for file in options.files:
            kept &= measure(file.absolute().parent, file.name, file.read_text(), options.edits)
        if options.memory:
            memory(folder, program(options.lines))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
