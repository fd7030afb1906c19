"""IPython's additions to Python, masked by text of the same length so that every place stays where it is."""

from __future__ import annotations

import re

from devicefix.source.lines import LineIndex

#: Cell magics whose cell is Python code in the notebook's namespace.
PYTHON_CELL_MAGICS = frozenset(("capture", "time", "timeit", "prun", "python", "python3", "memit", "mprun", "lprun"))

_CELL_MAGIC = re.compile(r"%%([\w.]+)")
_LINE_MAGIC = re.compile(r"%{1,2}[A-Za-z_]|!|\?|/[A-Za-z_]|[,;][ \t]*[A-Za-z_]")
_HELP = re.compile(r"[%\w.*\[\]'\"]+\?{1,2}[ \t]*\Z")
_ASSIGNED = re.compile(r"[\w.,\[\]'\" \t*()]+?(?<![=!<>+\-*/%&|^:@])=[ \t]*(?=!|%[A-Za-z_])")
_TIMED = "%time "


def mask(text: str) -> str:
    """The cell as Python: magic and shell lines become ``pass``, cells in other languages become white space."""
    if not any(mark in text for mark in "%!?/,;"):
        return text
    index = LineIndex(text)
    first = next((n for n in range(1, len(index) + 1) if index.content(n).strip()), 0)
    if not first:
        return text
    made = list(text)
    start_line = 1
    magic = _CELL_MAGIC.match(index.content(first).lstrip())
    if magic:
        if magic[1] not in PYTHON_CELL_MAGICS:
            return re.sub(r"[^\r\n]", " ", text)
        _blank(made, index.start(first), index.end(first))
        start_line = first + 1
    _mask_lines(text, index, start_line, made)
    return "".join(made)


def _blank(made: list[str], start: int, end: int) -> None:
    made[start:end] = " " * (end - start)


def _mask_lines(text: str, index: LineIndex, line: int, made: list[str]) -> None:
    while line <= len(index):
        start, end = index.start(line), index.end(line)
        content = text[start:end]
        begin = start + len(content) - len(content.lstrip())
        body = content.strip()
        cut = _where_magic_starts(body)
        if cut < 0:
            line = index.line_of(_end_of_logical_line(text, start)) + 1
            continue
        last = line
        while index.content(last).endswith("\\") and last < len(index):
            last += 1
        if body.startswith(_TIMED) and last == line:
            made[begin : begin + len(_TIMED)] = "pass; "
            line = index.line_of(_end_of_logical_line(text, begin + len(_TIMED))) + 1
            continue
        made[begin + cut : end] = _filler(end - begin - cut, expression=cut > 0)
        for more in range(line + 1, last + 1):
            _blank(made, index.start(more), index.end(more))
        line = last + 1


def _where_magic_starts(body: str) -> int:
    """Where in a logical line IPython's own syntax begins; -1 for plain Python."""
    if _LINE_MAGIC.match(body) or (body.endswith("?") and _HELP.match(body)):
        return 0
    if "!" in body or "%" in body:
        assigned = _ASSIGNED.match(body)
        if assigned:
            return assigned.end()
    return -1


def _filler(length: int, *, expression: bool) -> str:
    word = "pass" if length >= 4 and not expression else "..." if length >= 3 else "0"
    return word.ljust(length)


def _end_of_logical_line(text: str, at: int) -> int:
    """Offset of the line end that closes the logical line that begins at ``at``."""
    depth = 0
    length = len(text)
    while at < length:
        char = text[at]
        if char in "\r\n":
            if depth == 0:
                return at
        elif char == "#":
            while at < length and text[at] not in "\r\n":
                at += 1
            continue
        elif char in "'\"":
            at = _end_of_string(text, at)
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth = max(depth - 1, 0)
        elif char == "\\":
            at += 2 if text[at + 1 : at + 3] == "\r\n" else 1
        at += 1
    return length


def _end_of_string(text: str, at: int) -> int:
    """Offset just after the string literal whose quote is at ``at``."""
    quote = text[at]
    if text.startswith(quote * 3, at):
        quote *= 3
    at += len(quote)
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        elif len(quote) == 1 and text[at] in "\r\n":
            return at
        else:
            at += 1
    return len(text)
