"""The smallest edits between two versions of a text, so that cursors, folds and markers of the editor survive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devicefix.findings import TextEdit
from devicefix.source.lines import LineIndex


def minimal_edits(old: str, new: str) -> list[TextEdit]:
    """Edits that turn ``old`` into ``new``, in order; unchanged lines and the equal ends of changed ones stay out."""
    if old == new:
        return []
    head = common_prefix(old, new)
    tail = common_suffix(old, new, head)
    # Whole lines are compared in between, so the stretch begins and ends with them.
    before = _start_of_line(old, head)
    after_old, after_new = _end_of_line(old, len(old) - tail), _end_of_line(new, len(new) - tail)
    if len(old) - after_old != len(new) - after_new:
        after_old, after_new = len(old), len(new)
    rows, new_rows = _lines(old[before:after_old]), _lines(new[before:after_new])
    found: list[TextEdit] = []
    starts = _starts(rows, before)
    for i1, i2, j1, j2 in differences(rows, new_rows):
        if i2 - i1 == j2 - j1:
            for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                found += _trimmed(starts[i], rows[i], new_rows[j])
        else:
            found += _trimmed(starts[i1], "".join(rows[i1:i2]), "".join(new_rows[j1:j2]))
    return found


def differences(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """The stretches that differ: ``old[i1:i2]`` became ``new[j1:j2]``. Myers' algorithm: quick when few do."""
    steps: list[dict[int, int]] = []
    furthest = {1: 0}
    for distance in range(len(old) + len(new) + 1):
        steps.append(dict(furthest))
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1])
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walk_back(steps, len(old), len(new))
    return []


def _walk_back(steps: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int, int]]:
    """The stretches along the way that was found, joined where they touch."""
    found: list[tuple[int, int, int, int]] = []
    for distance in range(len(steps) - 1, 0, -1):
        furthest, diagonal = steps[distance], x - y
        down = diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1])
        above = diagonal + 1 if down else diagonal - 1
        from_x = furthest[above]
        from_y = from_x - above
        to_x, to_y = (from_x, from_y + 1) if down else (from_x + 1, from_y)
        if found and found[-1][0] == to_x and found[-1][2] == to_y:
            last = found.pop()
            found.append((from_x, last[1], from_y, last[3]))
        else:
            found.append((from_x, to_x, from_y, to_y))
        x, y = from_x, from_y
    return found[::-1]


def common_prefix(one: str, other: str) -> int:
    """How many characters are equal at the beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # comparing slices is far quicker than comparing characters
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(one: str, other: str, prefix: int) -> int:
    """How many characters are equal at the end, not counting those of the common prefix."""
    low, high = 0, min(len(one), len(other)) - prefix
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _trimmed(at: int, old: str, new: str) -> Iterator[TextEdit]:
    head = common_prefix(old, new)
    tail = common_suffix(old, new, head)
    # A line end of two characters must not be cut in half: no position of the protocol lies inside it.
    if tail and old[len(old) - tail] == "\n" and len(old) > tail and old[len(old) - tail - 1] == "\r":
        tail -= 1
    if head and old[head - 1] == "\r" and old[head : head + 1] == "\n":
        head -= 1
        tail = min(tail, len(old) - head, len(new) - head)
    start, end, text = head, len(old) - tail, new[head : len(new) - tail]
    if start == end:
        # The same insertion, but before a word rather than in it: `x = ` before `x.to`, not ` = x` behind its `x`.
        while text and start and old[start - 1] == text[-1] and (text[-1].isalnum() or text[-1] == "_"):
            start = end = start - 1
            text = text[-1] + text[:-1]
    if start != end or text:
        yield TextEdit(at + start, at + end, text)


def _start_of_line(text: str, offset: int) -> int:
    if offset and text[offset - 1] == "\r" and text[offset : offset + 1] == "\n":
        offset -= 1
    index = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset))
    return index + 1


def _end_of_line(text: str, offset: int) -> int:
    if offset == len(text):
        return offset
    if offset and text[offset - 1] == "\n":
        return offset
    at = text.find("\n", offset)
    return len(text) if at < 0 else at + 1


def _lines(text: str) -> list[str]:
    index = LineIndex(text)
    rows = [text[index.start(n) : index.next_start(n)] for n in range(1, len(index) + 1)]
    return rows if rows[-1] else rows[:-1]


def _starts(rows: list[str], at: int) -> list[int]:
    starts = [at]
    for row in rows:
        starts.append(starts[-1] + len(row))
    return starts
