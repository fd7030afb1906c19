"""Text edits with an order, so that several changes at one place combine."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

FIRST = -(1 << 60)  #: rank of whole lines that go above everything else at their place
LAST = 1 << 60  #: rank of whole lines that go below


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``text[start:end]`` by ``text``.

    ``rank`` orders insertions at one offset: smaller comes first. ``lines`` marks whole inserted lines, which may
    stand beside other insertions at the same place.
    """

    start: int
    end: int
    text: str
    rank: int = 0
    lines: bool = False


_TOKEN = re.compile(r"\w+|\r\n|\s|[^\w\s]")
MAX_TOKENS = 4000  #: longer replacements are kept as one edit: comparing them takes time that grows with the square


def minimal(text: str, start: int, end: int, new: str) -> list[Edit]:
    """Small edits that turn ``text[start:end]`` into ``new``; none when they are equal."""
    edits = _trimmed(text[start:end], new)
    if not edits:
        return []
    [trimmed] = edits
    old = text[start + trimmed.start : start + trimmed.end]
    if not old.strip() or not trimmed.text:
        return [_shifted(trimmed, start)]
    before, after = _TOKEN.findall(old), _TOKEN.findall(trimmed.text)
    if len(before) + len(after) > MAX_TOKENS:
        return [_shifted(trimmed, start)]
    return [_shifted(edit, start + trimmed.start) for edit in _by_token(before, after)]


def _by_token(before: list[str], after: list[str]) -> list[Edit]:
    """The difference of two token lists as edits of the joined text."""
    import difflib

    places = [0]
    for token in before:
        places.append(places[-1] + len(token))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(places[i1], places[i2], "".join(after[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _shifted(edit: Edit, by: int) -> Edit:
    return Edit(edit.start + by, edit.end + by, edit.text)


def _trimmed(old: str, new: str) -> list[Edit]:
    """At most one edit: the two texts without what they have in common at their ends."""
    if old == new:
        return []
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    # Never cut between the two characters of one line end: editors cannot express such a place.
    if head and old[head - 1] == "\r":
        head -= 1
    if tail and old[-tail] == "\n" and (old[-tail - 1 : -tail] == "\r" or new[-tail - 1 : -tail] == "\r"):
        tail -= 1
    return [Edit(head, len(old) - tail, new[head : len(new) - tail])]


class Taken:
    """Edits that do not overlap, kept in order, so that a file with thousands of them stays quick."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._starts: list[int] = []

    def conflicts(self, edit: Edit) -> list[Edit]:
        """The edits that overlap ``edit``."""
        found = []
        at = bisect_left(self._starts, edit.start)
        before = at - 1
        while before >= 0 and self._edits[before].end >= edit.start:
            if overlap(edit, self._edits[before]):
                found.append(self._edits[before])
            before -= 1
        while at < len(self._edits) and self._starts[at] <= edit.end:
            if overlap(edit, self._edits[at]):
                found.append(self._edits[at])
            at += 1
        return found

    def add(self, edit: Edit) -> None:
        """Put an edit in its place."""
        at = bisect_right(self._starts, edit.start)
        self._starts.insert(at, edit.start)
        self._edits.insert(at, edit)


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text, or insert at the same place without being whole lines."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start and not (one.lines and other.lines)
    if one.start == one.end:
        return other.start < one.start < other.end
    if other.start == other.end:
        return one.start < other.start < one.end
    return one.start < other.end and other.start < one.end
