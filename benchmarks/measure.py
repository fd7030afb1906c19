"""Running commands and saying how long they took and how much memory they needed."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parent.parent
DEVICEFIX = (sys.executable, "-m", "devicefix")


@dataclass(frozen=True)
class Run:
    """One run of a command."""

    seconds: float
    cpu: float  #: seconds of processor time of the process and its children
    mebibytes: float  #: the largest resident set of the process or of one of its children
    status: int
    output: str


def environment(**more: str) -> dict[str, str]:
    """This environment, with the source tree of the repository first, and with compiled files as where it is installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), **more}


def run(command: Sequence[str], *, keep: bool = False, env: Mapping[str, str] | None = None) -> Run:
    """Run a command to its end; with ``keep`` its standard output is kept, else it is thrown away."""
    began = perf_counter()
    output = subprocess.PIPE if keep else subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, env=env or environment())
    text = process.stdout.read().decode() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(perf_counter() - began, cpu, usage.ru_maxrss / 1024, process.returncode, text)


def median_seconds(action: Callable[[], object], times: int) -> float:
    """The median processor time of an action in seconds."""
    taken = []
    for _ in range(times):
        began = process_time()
        action()
        taken.append(process_time() - began)
    return statistics.median(taken)


def machine() -> str:
    """The machine and Python in words."""
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {platform.system()}, {platform.python_implementation()} {platform.python_version()}; "
        f"load at the start {load:.1f}"
    )
