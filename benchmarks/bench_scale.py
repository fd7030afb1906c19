"""What a large project costs: the first run, the runs after it, memory, and what more cores bring.

    python benchmarks/bench_scale.py FOLDER [--times N] [--ruff COMMAND]

FOLDER is a large package, such as the unpacked wheel of transformers. The floors are measured in the same run: bare
Python for the start, ``ast.parse`` of the files that mention torch for a first run, and a look at every file's time and
size for a run without changes. Ratios are of processor time, which other work on the machine disturbs less.

For two processes the clock is what counts, so that row needs an idle machine; how the work was shared out between the
processes is measured besides, and says what an idle machine would reach at best.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_corpus import worker
from bench_start import PLAIN
from measure import DEVICEFIX, ROOT, Run, environment, machine, run

LOOK = """\
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith((".py", ".pyi", ".ipynb")):
            os.stat(os.path.join(folder, name))
"""
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure runs over a large project.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=11, help="how often the short runs are made")
    parser.add_argument("--ruff", default="", help="the ruff command to compare with")
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        start(Path(name), arguments.times)
        large(arguments.folder, Path(name) / "cache", arguments.times, arguments.ruff)
        shared(arguments.folder)


def often(command: list[str], times: int) -> Run:
    """The median of several runs, after one that fills the caches of the system."""
    runs = [run(command) for _ in range(times + 1)][1:]
    return Run(
        statistics.median(one.seconds for one in runs),
        statistics.median(one.cpu for one in runs),
        max(one.mebibytes for one in runs),
        runs[0].status,
        "",
    )


def start(folder: Path, times: int) -> None:
    """The table of one file without findings."""
    print("\n| one file without findings | ms | of it processor | × bare Python | MiB |")
    print("|---|---:|---:|---:|---:|")
    (folder / "plain.py").write_text(PLAIN, encoding="utf-8")
    example = (ROOT / "examples" / "train.py").read_text(encoding="utf-8")
    (folder / "fixed.py").write_text(example, encoding="utf-8")
    run([*DEVICEFIX, "--write", "--isolated", str(folder / "fixed.py")])
    (folder / "torch.py").write_text("import torch\n\n\ndef f(x):\n    return torch.relu(x)\n", encoding="utf-8")
    bare = often([sys.executable, "-c", "pass"], times)
    rows = {
        "`python -c pass`": bare,
        "a file that does not mention torch": often([*DEVICEFIX, str(folder / "plain.py")], times),
        "a file with torch in which nothing moves": often([*DEVICEFIX, str(folder / "torch.py")], times),
        "the example after its fixes, 65 lines": often([*DEVICEFIX, str(folder / "fixed.py")], times),
    }
    for label, one in rows.items():
        ratio = one.cpu / bare.cpu
        print(f"| {label} | {one.seconds * 1000:.0f} | {one.cpu * 1000:.0f} | {ratio:.1f} | {one.mebibytes:.0f} |")


def large(folder: Path, cache: Path, times: int, ruff: str) -> None:
    """The table of a large project, first and again."""
    print(f"\n| {folder.name}, one process | s | of it processor | × first run | MiB |")
    print("|---|---:|---:|---:|---:|", flush=True)
    command = [*DEVICEFIX, "--isolated", "--silent", "--exit-zero", "--jobs", "1", "--cache-dir", str(cache)]
    first = run([*command, str(folder)])
    rows = {
        "floor of a first run: `ast.parse` of the files that mention torch": worker("floor", folder),
        "first run": first,
        "floor of a run without changes: time and size of every file": often(
            [sys.executable, "-c", LOOK, str(folder)], times
        ),
        "run without changes": often([*command, str(folder)], times),
    }
    if ruff:
        checked = [ruff, "check", "--isolated", "--silent", "--exit-zero", "--cache-dir", str(cache / "ruff")]
        rows["`ruff check`, run without changes"] = often([*checked, str(folder)], times)
    for label, one in rows.items():
        ratio = f"{one.cpu / first.cpu:.4f}"
        print(f"| {label} | {one.seconds:.3f} | {one.cpu:.3f} | {ratio} | {one.mebibytes:.0f} |", flush=True)


def shared(folder: Path) -> None:
    """The table of several processes."""
    print(f"\n| {folder.name}, without cache | s | of it processor | largest process, MiB |")
    print("|---|---:|---:|---:|", flush=True)
    command = [*DEVICEFIX, "--isolated", "--silent", "--exit-zero", "--no-cache"]
    one = run([*command, "--jobs", "1", str(folder)])
    print(f"| `--jobs 1` | {one.seconds:.1f} | {one.cpu:.1f} | {one.mebibytes:.0f} |", flush=True)
    two, parts = watched([*command, "--jobs", "2", str(folder)])
    print(f"| `--jobs 2` | {two.seconds:.1f} | {two.cpu:.1f} | {two.mebibytes:.0f} |", flush=True)
    longest = max(parts, default=two.cpu)
    print(f"\nclock: {one.seconds / two.seconds:.2f} × faster with two processes (load {os.getloadavg()[0]:.1f})")
    shown = ", ".join(f"{part:.1f}" for part in sorted(parts, reverse=True)[:3])
    print(f"processor time of the processes: {shown} s; on idle cores {one.cpu / longest:.2f} × at best")


def watched(command: list[str]) -> tuple[Run, list[float]]:
    """Run a command to its end; also the processor time of it and of each of its children (Linux only)."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True
    )
    seen: dict[int, float] = {}
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        seen.update(_times(process.pid))
        time.sleep(0.1)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu, usage.ru_maxrss / 1024, process.returncode, ""), list(seen.values())


def _times(session: int) -> dict[int, float]:
    """The processor time so far of every process of a session."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            found[int(entry.parent.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


if __name__ == "__main__":
    main()
