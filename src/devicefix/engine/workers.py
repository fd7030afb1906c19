"""Worker processes, when there is enough work to pay for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.engine.run import Job, Outcome, Projects

ENOUGH_BYTES = 1_500_000  #: below this a second interpreter starts up for longer than it helps
CHUNK = 16  #: files per task

_state: tuple[Job, Projects] | None = None


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


def parallel(files: Sequence[Path], job: Job, jobs: int) -> Iterator[Outcome]:
    """The outcomes of files in their order, computed by ``jobs`` processes."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(job,)) as pool:
        try:
            for outcomes in pool.map(_work, chunks):
                yield from outcomes
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start(job: Job) -> None:
    import gc
    import signal

    global _state
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the run; a file that is being written is finished
    from devicefix.engine.run import Projects

    _state = (job, Projects(job))
    gc.freeze()


def _work(files: Sequence[Path]) -> list[Outcome]:
    from devicefix.engine.run import process

    assert _state is not None
    job, projects = _state
    return [process(file, job, projects) for file in files]
