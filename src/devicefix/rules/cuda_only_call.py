"""DVF403: CUDA where it cannot be: in a loader's workers, and in code that also runs on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.card_calls import unguarded_uses
from devicefix.analysis.workers import WorkerFunction, worker_functions, worker_of
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Move

CODE, NAME = "DVF403", "cuda-only-call"


def check(facts: FileFacts) -> Iterator[Finding]:
    """CUDA in workers, and calls that need a card in code for any device."""
    yield from _in_workers(facts)
    yield from _unguarded(facts)


def _unguarded(facts: FileFacts) -> Iterator[Finding]:
    """One finding per function: the calls in it go under one test."""
    functions: dict[ast.AST | None, list[ast.Call]] = {}
    for use in unguarded_uses(facts):
        function = facts.function(use.node)
        functions.setdefault(function.node if function is not None else None, []).append(use.node)
    for calls in functions.values():
        first, *rest = sorted(calls, key=lambda call: (call.lineno, call.col_offset))
        more = f" (and {len(rest)} more {'call' if len(rest) == 1 else 'calls'} here)" if rest else ""
        message = (
            f"{short(first)}{more} fails on a machine without a card, but this code runs on whatever device is chosen"
        )
        note = (
            'put it under a test (`if device.type == "cuda":`, `if torch.cuda.is_available():`), '
            "or use what both devices have"
        )
        related = tuple((call, "and here") for call in rest)
        yield finding(facts, CODE, NAME, first, message, note=note, related=related)


def _in_workers(facts: FileFacts) -> Iterator[Finding]:
    workers = worker_functions(facts)
    if not workers:
        return
    seen: set[ast.AST] = set()
    for node, worker in sorted(_card_calls(facts, workers), key=lambda found: found[0].lineno):
        if worker.function.node in seen or not facts.here(node):
            continue
        seen.add(worker.function.node)
        what = _name(worker)
        pinned = worker.loader is not None and _keyword(worker.loader, "pin_memory") is True
        message = f"{short(node)} moves to the card in {what}, which runs in the loader's worker processes"
        if pinned:
            message = (
                f"{short(node)} moves to the card in {what}, but `pin_memory=True` can pin tensors on the CPU only"
            )
        note = "return CPU tensors and move the batch in the loop over the loader; forked workers cannot use CUDA"
        related = ((worker.loader, "handed over here"),) if worker.loader is not None else ()
        yield finding(facts, CODE, NAME, node, message, note=note, related=related)


def _name(worker: WorkerFunction) -> str:
    function = worker.function
    name = f"{function.cls.name}.{function.name}" if function.cls is not None else function.name
    if function.cls is not None or name == worker.role:
        return f"`{name}`"
    return f"`{name}` (the `{worker.role}` of a loader)"


def _card_calls(facts: FileFacts, workers: dict[ast.AST, WorkerFunction]) -> Iterator[tuple[ast.Call, WorkerFunction]]:
    for move in facts.records.moves:
        worker = worker_of(move.scope, workers)
        if worker is not None and _to_card(move, worker):
            yield move.call, worker
    for call in facts.nodes(ast.Call) if "cuda" in facts.source.text else ():
        if not str(_keyword(call, "device") or "").startswith("cuda"):
            continue
        found = (worker_of(scope, workers) for scope in facts.records.scopes.get(call, ()))
        reached = next((worker for worker in found if worker is not None), None)
        if reached is not None:
            yield call, reached


def _to_card(move: Move, worker: WorkerFunction) -> bool:
    """A card by name; or a device that somebody chooses, where the loader shows that it has workers or pins memory."""
    if move.device is None or move.device.host:
        return False
    if move.device.kind == "cuda":
        return True
    loader = worker.loader
    if loader is None or move.device.assumed:
        return False
    count = _keyword(loader, "num_workers")
    return _keyword(loader, "pin_memory") is True or (isinstance(count, int) and count > 0)


def _keyword(call: ast.Call, name: str) -> object:
    value = next((k.value for k in call.keywords if k.arg == name), None)
    return value.value if isinstance(value, ast.Constant) else None


#: an example without a rewrite
COLLATE = """
import torch
from torch.utils.data import DataLoader


def collate(rows):
    return torch.tensor(rows).cuda()  # belongs into the loop


def run(device):
    loader = DataLoader([1.0, 2.0, 3.0], batch_size=2, collate_fn=collate)
    return torch.stack([batch.sum() for batch in loader])
"""

RULE = Rule(
    code=CODE,
    name=NAME,
    summary="CUDA is used in a loader's workers, or unguarded in code that also runs on the CPU",
    explanation="""
Data sets (`__getitem__`), `collate_fn` and `worker_init_fn` run in the worker processes of a `DataLoader`. A move to
the card there stops with "Cannot re-initialize CUDA in forked subprocess" as soon as there are workers, and with
"cannot pin 'torch.cuda.FloatTensor'" when memory is pinned.

`torch.cuda.synchronize()`, `torch.cuda.Event()`, `torch.cuda.get_device_name()` and others raise where there is no
card. They are reported in code that is shown to run on a device that somebody chooses, unless a condition stands
around them or in front of them, also in a function that is called for it. A stream of a given device, an annotation
(`torch.cuda.Event`) and a process group among the parameters say that there is a card. What PyTorch ignores without a card (`empty_cache`, `manual_seed_all`,
`memory_allocated`) and what chooses a card (`set_device`) is not reported.
""",
    fix_safety="""
There is no fix. Moving the transfer from the workers into the loop changes two places that may be in two files; what
replaces a timing with CUDA events is a choice.
""",
    check=check,
    examples=(Example(before=COLLATE, after=COLLATE),),
    silent=(
        """
import time

import torch


def run(device):
    start = time.perf_counter()
    y = torch.ones(2, device=device) * 2
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    torch.cuda.empty_cache()  # does nothing without a card
    assert time.perf_counter() >= start
    return y
""",
    ),
    references=(
        "https://pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing",
        "https://github.com/pytorch/pytorch/issues/77159",
    ),
)
