"""How long devicefix takes for many packages, beside other tools, in one run.

    python benchmarks/fetch_corpus.py
    python benchmarks/bench_corpus.py corpus [--ruff COMMAND] [--torchfix COMMAND] [--sample N]

The floor is ``ast.parse`` of the files that mention torch: no tool in Python that looks at all of them can be faster.
Each row is a process of its own, so that its peak memory is its own. Ratios are of processor time, which a busy machine
disturbs less. TorchFix is slow, so it gets a sample of N files
(default 100), on which the others are measured again.
"""

from __future__ import annotations

import argparse
import ast
import gc
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

from measure import DEVICEFIX, ROOT, Run, environment, machine, median_seconds, run

sys.path.insert(0, str(ROOT / "src"))

LINES = (300, 1000, 5000)  #: sizes of the single files


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure devicefix on many packages.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--ruff", default="", help="the ruff command to compare with")
    parser.add_argument("--torchfix", default="", help="the torchfix command to compare with")
    parser.add_argument("--sample", type=int, default=100, help="how many files TorchFix gets")
    parser.add_argument("--worker", choices=("floor", "check", "diff"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(WORKERS[arguments.worker](arguments.corpus))
        return
    files = files_in(arguments.corpus)
    torch = [path for path in files if b"torch" in path.read_bytes()]
    size = sum(path.stat().st_size for path in torch) / 1e6
    print(machine())
    print(f"{len(files)} files, {len(torch)} of them mention torch ({size:.0f} MB)\n", flush=True)
    whole_corpus(arguments.corpus, arguments.ruff)
    if arguments.torchfix:
        a_sample(torch, arguments)
    single_files(torch)


def files_in(folder: Path) -> list[Path]:
    """The files that devicefix reads in a folder, in its order."""
    from devicefix.settings import Settings
    from devicefix.source.discover import discover

    return [path for path in discover([folder], Settings(), suffixes=(".py",)) if isinstance(path, Path)]


def whole_corpus(corpus: Path, ruff: str) -> None:
    """The table of the whole corpus."""
    head("on the whole corpus, one process unless said otherwise")
    floor = worker("floor", corpus)
    row("floor: `ast.parse` of the files that mention torch", floor, floor)
    row("devicefix, check, in process", worker("check", corpus), floor)
    row("devicefix, `--diff`, in process", worker("diff", corpus), floor)
    plain = [*DEVICEFIX, "--isolated", "--no-cache", "--silent", "--exit-zero"]
    row("`devicefix --jobs 1`", run([*plain, "--jobs", "1", str(corpus)]), floor)
    row("`devicefix --jobs 1 --diff`", run([*plain, "--jobs", "1", "--diff", str(corpus)]), floor)
    row("`devicefix`, all cores", run([*plain, str(corpus)]), floor)
    if ruff:
        one = environment(RAYON_NUM_THREADS="1")
        checked = [ruff, "check", "--isolated", "--no-cache", "--silent", "--exit-zero"]
        row("`ruff check --select ALL`, one thread", run([*checked, "--select", "ALL", str(corpus)], env=one), floor)
        row("`ruff check`, its default rules, one thread", run([*checked, str(corpus)], env=one), floor)


def a_sample(torch: Sequence[Path], arguments: argparse.Namespace) -> None:
    """The table of the sample, with TorchFix."""
    chosen = random.Random(0).sample(list(torch), min(arguments.sample, len(torch)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, path in enumerate(chosen):
            (folder / f"f{number}.py").write_bytes(path.read_bytes())
        head(f"on {len(chosen)} files that mention torch ({sum(p.stat().st_size for p in chosen) / 1e6:.1f} MB)")
        floor = worker("floor", folder)
        row("floor: `ast.parse`", floor, floor)
        row("devicefix, check, in process", worker("check", folder), floor)
        plain = [*DEVICEFIX, "--isolated", "--no-cache", "--silent", "--exit-zero", "--jobs", "1"]
        row("`devicefix --jobs 1`", run([*plain, str(folder)]), floor)
        row("`devicefix --jobs 1 --diff`", run([*plain, "--diff", str(folder)]), floor)
        torchfix = [arguments.torchfix, "--select", "ALL", "--jobs", "1", str(folder)]
        row("`torchfix --select ALL --jobs 1`", run(torchfix), floor)


def single_files(torch: Sequence[Path]) -> None:
    """The table of single files, as an editor would have them checked."""
    from devicefix.analysis.project import Project
    from devicefix.engine.check import check_source
    from devicefix.engine.fix import fix_source
    from devicefix.source.text import SourceText

    print("\n| one file, in process | findings | `ast.parse` ms | check ms | × | with all fixes ms |")
    print("|---|---:|---:|---:|---:|---:|")
    counted = [(path.read_bytes().count(b"\n"), path) for path in torch]
    for wanted in LINES:
        # of the files of about this size the one with most findings: those cost most
        near = sorted(counted, key=lambda item: (abs(item[0] - wanted), item[1]))[:20]
        sources = [(lines, SourceText.from_bytes(path.read_bytes(), "file.py")) for lines, path in near]
        lines, source = max(sources, key=lambda item: len(check_source(item[1], project=Project([], None)).findings))

        def check(source: SourceText = source) -> int:
            return len(check_source(SourceText.from_bytes(source.raw, "file.py"), project=Project([], None)).findings)

        def fix(source: SourceText = source) -> None:
            fix_source(SourceText.from_bytes(source.raw, "file.py"), project=Project([], None), unsafe=True)

        found = check()
        parsed = median_seconds(lambda source=source: ast.parse(source.text), 9)
        checked, fixed = median_seconds(check, 9), median_seconds(fix, 3)
        print(
            f"| {lines} lines | {found} | {parsed * 1000:.1f} | {checked * 1000:.1f} | {checked / parsed:.1f} "
            f"| {fixed * 1000:.0f} |",
            flush=True,
        )


def floor(folder: Path) -> str:
    """Parse every file that mentions torch."""
    files = files_in(folder)
    gc.disable()
    began, used = perf_counter(), process_time()
    count = 0
    for path in files:
        raw = path.read_bytes()
        if b"torch" in raw:
            count += 1
            try:
                ast.parse(raw)
            except (SyntaxError, ValueError):
                continue
    return f"{perf_counter() - began} {process_time() - used} {count}"


def engine(folder: Path, mode: str) -> str:
    """Check every file, in this process."""
    import devicefix.analysis.entry
    import devicefix.rules
    from devicefix.engine.run import run as run_engine
    from devicefix.settings import Settings

    devicefix.rules.all_rules()
    began, used = perf_counter(), process_time()
    found = sum(
        len(outcome.findings) + len(outcome.applied)
        for outcome in run_engine([folder], Settings(jobs=1), mode)  # type: ignore[arg-type]
    )
    return f"{perf_counter() - began} {process_time() - used} {found}"


WORKERS = {
    "floor": floor,
    "check": lambda folder: engine(folder, "check"),
    "diff": lambda folder: engine(folder, "diff"),
}


def worker(kind: str, folder: Path) -> Run:
    """Run one of the workers in a process of its own; the time is the one that it says, without start and imports."""
    done = run([sys.executable, __file__, str(folder), "--worker", kind], keep=True)
    if done.status:
        sys.exit(f"the worker {kind} failed")
    seconds, cpu, count = done.output.split()
    return Run(float(seconds), float(cpu), done.mebibytes, 0, count)


def head(title: str) -> None:
    """The first lines of a table."""
    print(f"\n| {title} | s | of it processor | × floor | MiB |")
    print("|---|---:|---:|---:|---:|", flush=True)


def row(label: str, one: Run, floor_run: Run) -> None:
    """One line of a table."""
    ratio = one.cpu / floor_run.cpu
    print(f"| {label} | {one.seconds:.1f} | {one.cpu:.1f} | {ratio:.2f} | {one.mebibytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
