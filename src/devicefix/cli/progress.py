"""A progress bar for long runs on a terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

AFTER = 1.5  #: seconds until it appears
EVERY = 0.1  #: seconds between two looks


class Progress:
    """Counts files and shows on stderr, a terminal, how many of ``total`` are left. It gives way to other output."""

    def __init__(self, total: int) -> None:
        self._began = time.monotonic()
        self._drawn = 0.0
        self._done = 0
        self._total = total
        self._bar: tuple[Bar, TaskID] | None = None
        self._visible = False

    def step(self) -> None:
        """A file is done."""
        self._done += 1
        now = time.monotonic()
        if now - self._began >= AFTER and now - self._drawn >= EVERY and self._done < self._total:
            self._drawn = now
            self._draw()

    def hide(self) -> None:
        """Make room for other output; the bar comes back with the next file."""
        if self._visible and self._bar is not None:
            self._bar[0].stop()
            self._visible = False

    def _draw(self) -> None:
        if self._bar is None:
            self._bar = _bar(self._total)
        bar, task = self._bar
        if not self._visible:
            bar.start()
            self._visible = True
        bar.update(task, completed=self._done)
        bar.refresh()


def _bar(total: int) -> tuple[Bar, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("Checking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    return bar, bar.add_task("", total=total)
