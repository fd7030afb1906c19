"""Where the places of a text lie after edits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from devicefix.findings import TextEdit


class Moved:
    """Offsets of the old text as offsets of the new one. ``edits`` are sorted and do not overlap."""

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        self._edits = list(edits)
        self._starts = [edit.start for edit in edits]
        self._shifts = [0]
        for edit in edits:
            self._shifts.append(self._shifts[-1] + len(edit.replacement) - (edit.end - edit.start))

    def behind(self, offset: int) -> int:
        """The new offset, behind what was inserted just there."""
        return self._new(offset, bisect_right(self._starts, offset))

    def before(self, offset: int) -> int:
        """The new offset, before what was inserted just there."""
        return self._new(offset, bisect_left(self._starts, offset))

    def _new(self, offset: int, done: int) -> int:
        """``done`` edits begin before the offset; inside a replaced stretch its beginning is meant."""
        if done:
            last = self._edits[done - 1]
            if last.end > offset:
                return last.start + self._shifts[done - 1]
        return offset + self._shifts[done]
