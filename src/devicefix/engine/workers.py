"""Worker processes, when there is enough work to pay for them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

    from devicefix.engine.outcome import Outcome
    from devicefix.engine.projects import Projects
    from devicefix.engine.run import Job

ENOUGH_BYTES = 1_500_000  #: below this a second interpreter starts up for longer than it helps
CHUNK = 16  #: files per task

_state: tuple[Job, Projects, Event] | None = None


def worth_it(files: Sequence[Path], job: Job) -> int:
    """How many processes to use; 1 means this one."""
    wanted = job.settings.jobs or _processors()
    if wanted <= 1 or len(files) < 2 * CHUNK or job.analyse is not None:
        return 1
    if job.settings.jobs:
        return min(wanted, len(files))
    return wanted if _volume(files) >= ENOUGH_BYTES else 1


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _volume(files: Sequence[Path]) -> int:
    total = 0
    for file in files:
        try:
            total += file.stat().st_size
        except OSError:
            continue
        if total >= ENOUGH_BYTES:
            break
    return total


def parallel(files: Sequence[Path], job: Job, jobs: int) -> Generator[Outcome, None, None]:
    """The outcomes of files in their order, computed by ``jobs`` processes.

    When the run ends early, each process finishes the file at hand, so that none is left half done, and stops.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    with (
        ended_by_signals(),
        ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(job, stop)) as pool,
    ):
        try:
            for outcomes in pool.map(_work, chunks):
                yield from outcomes
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let the signals that end a process raise `SystemExit`, so that the workers are told as well."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(job: Job, stop: Event) -> None:
    import gc
    import signal

    global _state
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the run
    from devicefix.engine.projects import Projects

    _state = (job, Projects(job), stop)
    gc.freeze()
    gc.disable()  # `Projects` collects


def _work(files: Sequence[Path]) -> list[Outcome]:
    from devicefix.engine.run import process

    assert _state is not None
    job, projects, stop = _state
    outcomes = []
    for file in files:
        if stop.is_set():
            break
        outcomes.append(process(file, job, projects))
    return outcomes
