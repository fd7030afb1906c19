"""The project that resolves imports between the files of one run, kept within bounds."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from devicefix.source.stamps import Stamp

if TYPE_CHECKING:
    from devicefix.analysis.project import Project
    from devicefix.analysis.trace import Trace
    from devicefix.engine.run import Job

#: parsed text (characters) that is kept between two files: the trees of a million take about 40 MB
KEPT_TEXT = 1_200_000

#: text (bytes) of checked files after which it is counted again
TRIMMED_TEXT = 100_000

#: text (bytes) after which the collector looks at what is new: what one analysis leaves behind goes round in circles
COLLECTED_TEXT = 1_000_000

#: text (bytes) after which it looks at everything, the project included
ALL_COLLECTED_TEXT = 10_000_000

#: size of a file (bytes) that is worth a full collection before it is parsed
LARGE = 500_000


class Projects:
    """The project that resolves imports between the files of one run; made when the first file needs it."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._project: Project | None = None
        self._since_collected = 0
        self._since_all_collected = 0
        self._since_trimmed = 0
        self._stamp: tuple[Path, Stamp] | None = None

    @property
    def ready(self) -> Project | Callable[[], Project | None] | None:
        """The project for the next file, or what makes it if none has been needed yet."""
        return self.get() if self._project is not None else self.get

    def get(self) -> Project | None:
        """The project; None when somebody else's analysis is used."""
        if self._job.analyse is not None:
            return None
        if self._project is None:
            from devicefix.analysis.project import Project

            self._project = Project([Path(root) for root in self._job.roots], None)
        coming = self._stamp[1][1] if self._stamp is not None else 0
        self._since_trimmed += coming
        if self._since_trimmed > TRIMMED_TEXT:
            self._since_trimmed = 0
            self._project.trim(max(KEPT_TEXT - coming, 0))  # a large file needs the room itself
        if coming > LARGE:
            gc.collect()
        self._project.begin()
        if self._stamp is not None:
            path, stamp = self._stamp
            self._project.stamps[path.absolute()] = stamp
        return self._project

    def stamp(self, path: Path, stamp: Stamp) -> None:
        """Note when the next file was changed last, as seen before it was read."""
        self._stamp = path, stamp

    def done(self, path: Path, size: int) -> None:
        """A file of ``size`` bytes has been analysed and nobody holds its facts any more.

        Its tree goes at once: few files are imported by others, and then only for some of their definitions.
        """
        if self._project is not None:
            self._project.let_go(path)
        self._since_collected += size
        self._since_all_collected += size
        if self._since_all_collected >= ALL_COLLECTED_TEXT:
            self._since_all_collected = self._since_collected = 0
            gc.collect()
        elif self._since_collected >= COLLECTED_TEXT:
            self._since_collected = 0
            gc.collect(0)

    @property
    def trace(self) -> Trace | None:
        """What the last analysis asked for."""
        return None if self._project is None else self._project.trace
