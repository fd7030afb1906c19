"""Text cut where statements begin at one indentation, without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LONG_QUOTES = ('"""', "'''")


class Part(NamedTuple):
    """One statement with its decorators and what follows up to the next one, by its place in the text."""

    begin: int
    head: int  #: where the statement begins, after the decorators; ``end`` if there are only decorators
    end: int
    line: int  #: the line of ``begin``, from 1


def parts(text: str, begin: int, end: int, line: int, indent: str = "") -> Iterator[Part]:
    """The parts of a text between two places, at the begin of lines, where statements have one indentation.

    A part begins at a line with no more space than that, no comment and no closing bracket. Strings over several lines
    are told by counting their quotes, which a quote inside a string or a comment leads astray.
    """
    start = _start(indent)
    starts = [begin, *(match.end() for match in start.finditer(text, begin, end))]
    ends = [*starts[1:], end]
    at = begin  # where the part at hand begins; it has decorators or a long string if it goes on over several starts
    head = -1  # where its statement begins
    inside = dict.fromkeys((quote for quote in _LONG_QUOTES if text.find(quote, begin, end) >= 0), False)
    for first, last in zip(starts, ends, strict=True):
        if head < 0 and not any(inside.values()) and not text.startswith("@", first + len(indent)):
            head = first + len(indent)
        for quote in inside:
            if text.count(quote, first, last) % 2:
                inside[quote] = not inside[quote]
        if head < 0 or any(inside.values()):
            continue
        yield Part(at, head, last, line)
        line += text.count("\n", at, last)
        at, head = last, -1
    if at < end:
        yield Part(at, end, end, line)


def _start(indent: str) -> re.Pattern[str]:
    return re.compile(rf"\n(?={indent}[^\s#)\]}}])")
