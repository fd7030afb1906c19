"""Places as editors count them: lines from 0, columns in UTF-8, UTF-16 or UTF-32 units."""

from __future__ import annotations

from typing import Literal

from lsprotocol import types as t

from devicefix.source.lines import LineIndex

Encoding = Literal["utf-8", "utf-16", "utf-32"]


def encoding_of(name: str | t.PositionEncodingKind | None) -> Encoding:
    """The encoding that an editor and the server agreed on; UTF-16 if they did not."""
    if name in ("utf-8", t.PositionEncodingKind.Utf8):
        return "utf-8"
    return "utf-32" if name in ("utf-32", t.PositionEncodingKind.Utf32) else "utf-16"


def units(text: str, encoding: Encoding) -> int:
    """How long ``text`` is in the units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(1 for char in text if char > "\uffff")


def code_points(text: str, count: int, encoding: Encoding) -> int:
    """How many characters of ``text`` the first ``count`` units are; a count inside a character means its start."""
    if encoding == "utf-32" or text.isascii():
        return min(max(count, 0), len(text))
    used = 0
    for index, char in enumerate(text):
        used += units(char, encoding)
        if used > count:
            return index
    return len(text)


class Places:
    """Converts between offsets into one text and an editor's positions."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self.encoding: Encoding = encoding
        self._lines = LineIndex(text)

    def position(self, offset: int) -> t.Position:
        """The editor's position of an offset; clamped to the text."""
        offset = min(max(offset, 0), len(self.text))
        line = self._lines.line_of(offset)
        before = self.text[self._lines.start(line) : offset]
        return t.Position(line - 1, units(before, self.encoding))

    def range(self, start: int, end: int) -> t.Range:
        """The editor's range of ``text[start:end]``."""
        return t.Range(self.position(start), self.position(end))

    def offset(self, position: t.Position) -> int:
        """The offset of an editor's position; lines and columns beyond the text mean its end and the line's end."""
        line = position.line + 1
        if line > len(self._lines):
            return len(self.text)
        content = self._lines.content(line)
        return self._lines.start(line) + code_points(content, position.character, self.encoding)

    def span(self, place: t.Range) -> tuple[int, int]:
        """The offsets of an editor's range."""
        start, end = self.offset(place.start), self.offset(place.end)
        return min(start, end), max(start, end)
