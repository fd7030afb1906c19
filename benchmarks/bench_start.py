"""How long a command takes to start and to check one small file.

    python benchmarks/bench_start.py [--times N] [--ruff COMMAND]

Prints a table with the median of N runs (default 15) of each. On a busy machine the processor time says more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measure import DEVICEFIX, ROOT, machine, run

PLAIN = "import json\n\n\ndef main():\n    return json.dumps({})\n"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure cold starts.")
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--ruff", default="", help="the ruff command to compare with")
    arguments = parser.parse_args()
    print(machine())
    print()
    print("| command | ms | of it processor | over `python -c pass` | MiB |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plain.py").write_text(PLAIN, encoding="utf-8")
        example = ROOT / "examples" / "train.py"
        (folder / "faulty.py").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
        fixed = folder / "fixed.py"
        fixed.write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
        run([*DEVICEFIX, "--write", "--isolated", str(fixed)])
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "devicefix --version": [*DEVICEFIX, "--version"],
            "a file that does not mention torch": [*DEVICEFIX, str(folder / "plain.py")],
            "the example after its fixes, clean": [*DEVICEFIX, str(fixed)],
            "the example, 7 findings": [*DEVICEFIX, str(folder / "faulty.py")],
            "the example, --diff": [*DEVICEFIX, "--diff", str(folder / "faulty.py")],
        }
        if arguments.ruff:
            commands["ruff check --select ALL, the example"] = [
                arguments.ruff, "check", "--isolated", "--no-cache", "--select", "ALL", str(folder / "faulty.py")
            ]  # fmt: skip
        base = 0.0
        for label, command in commands.items():
            runs = [run(command) for _ in range(arguments.times + 1)][1:]  # the first fills the caches of the system
            seconds = statistics.median(one.seconds for one in runs) * 1000
            cpu = statistics.median(one.cpu for one in runs) * 1000
            base = base or cpu
            memory = max(one.mebibytes for one in runs)
            print(f"| {label} | {seconds:.0f} | {cpu:.0f} | {cpu - base:+.0f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
