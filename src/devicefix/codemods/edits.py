"""Text edits with an order, so that several changes at one place combine."""

from __future__ import annotations

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


def minimal(text: str, start: int, end: int, new: str) -> list[Edit]:
    """The smallest single edit that turns ``text[start:end]`` into ``new``; none when they are equal."""
    old = text[start:end]
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
    return [Edit(start + head, end - tail, new[head : len(new) - tail])]


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text, or insert at the same place without being whole lines."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start and not (one.lines and other.lines)
    if one.start == one.end:
        return other.start < one.start < other.end
    if other.start == other.end:
        return one.start < other.start < one.end
    return one.start < other.end and other.start < one.end
