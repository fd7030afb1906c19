"""One thread that does the analysis, most urgent work first.

The analysis keeps facts about files and must not run twice at once; a second thread would not make Python faster
anyway. Meanwhile the event loop stays free to read messages, so that a cancellation arrives in time.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from devicefix.lsp.collector import Collector

T = TypeVar("T")

NOW, SOON = 0, 1  #: somebody waits; somebody may want to look at it later


class Stopped(BaseException):
    """The work is no longer wanted. Not an `Exception`, so that nothing on the way takes it for a fault of its own."""


class Stop:
    """Asked now and then by work that takes long."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask for an end."""
        self._event.set()

    def check(self) -> None:
        """Raises `Stopped` once somebody asked for an end."""
        if self._event.is_set():
            raise Stopped


class Job(Generic[T]):
    """Work that was handed over; ``future`` gets its result, or is cancelled."""

    def __init__(self, work: Callable[[Stop], T]) -> None:
        self.work = work
        self.stop = Stop()
        self.future: Future[T] = Future()

    def cancel(self) -> None:
        """Do not begin, or stop at the next opportunity."""
        self.stop.set()
        self.future.cancel()

    def run(self) -> None:
        """Do it."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.work(self.stop)
        except Stopped:
            self.future.set_exception(Superseded())
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class Superseded(Exception):
    """The work was stopped because its result would be out of date."""


class Worker:
    """Runs jobs one after the other."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, Job[Any]]] = []
        self._order = itertools.count()
        self._ready = threading.Condition()
        self._closed = False
        self.collector: Collector | None = None  #: who collects garbage between jobs
        self._thread = threading.Thread(target=self._loop, name="devicefix-analysis", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Stop], T], urgency: int = NOW) -> Job[T]:
        """Queue work."""
        job = Job(work)
        with self._ready:
            heapq.heappush(self._queue, (urgency, next(self._order), job))
            self._ready.notify()
        return job

    def close(self) -> None:
        """Drop what is queued and end after the current job."""
        with self._ready:
            self._closed = True
            for _, _, job in self._queue:
                job.cancel()
            self._queue.clear()
            self._ready.notify()

    def _loop(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            job.run()
            del job  # its result must not live until the next one comes
            if self.collector is not None:
                self.collector.job_done()

    def _next(self) -> Job[Any] | None:
        """The most urgent job, when there is one; None at the end."""
        while True:
            with self._ready:
                pause = self.collector.pause() if self.collector is not None else None
                if not self._queue and not self._closed:
                    self._ready.wait(pause)
                if self._closed:
                    return None
                if self._queue:
                    return heapq.heappop(self._queue)[2]
            if self.collector is not None and pause is not None:
                self.collector.collect()
