"""Python's garbage collector, run between checks instead of during them.

It wakes up after so many new objects, and a check makes many, most of which live on for a while: it would take a fifth
of the time between an edit and its diagnostics to find next to nothing.
"""

from __future__ import annotations

import gc
import time

PAUSE = 0.5  #: seconds without work after which nobody minds
MANY, SHORT_PAUSE = 10, 0.03  #: after so many jobs a moment is enough: the last result is on its way to the editor
TOO_MANY = 20  #: after so many it is done at once


class Collector:
    """Tells a worker when to collect. Takes over from the automatic collector."""

    def __init__(self) -> None:
        gc.disable()
        self._jobs = 0
        self._cost = 0.0

    def pause(self) -> float | None:
        """Seconds without work to wait for, more where it takes long; None when there is nothing to collect."""
        if not self._jobs:
            return None
        return SHORT_PAUSE if self._jobs >= MANY else max(PAUSE, 20 * self._cost)

    def job_done(self) -> None:
        """Count a job; collect if there was never time for it."""
        self._jobs += 1
        if self._jobs >= TOO_MANY:
            self.collect()

    def collect(self) -> None:
        """Collect now."""
        begin = time.perf_counter()
        gc.collect()
        self._cost = time.perf_counter() - begin
        self._jobs = 0
