"""The smallest edits between two versions of a text, so that cursors, folds and markers of the editor survive."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

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
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, rows, new_rows).get_opcodes():
        if kind == "equal":
            continue
        if kind == "replace" and i2 - i1 == j2 - j1:
            for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                found += _trimmed(starts[i], rows[i], new_rows[j])
        else:
            found += _trimmed(starts[i1], "".join(rows[i1:i2]), "".join(new_rows[j1:j2]))
    return found


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
    start, end, text = at + head, at + len(old) - tail, new[head : len(new) - tail]
    if start != end or text:
        yield TextEdit(start, end, text)


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
