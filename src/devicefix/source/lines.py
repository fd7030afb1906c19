"""Where the lines of a text begin.

Python's tokenizer ends a line at ``\\n``, ``\\r\\n`` and ``\\r`` only. ``str.splitlines`` also splits at form feeds and
Unicode separators, which would shift every later line, so nothing here uses it.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n|\n|\r")


class LineIndex:
    """Maps between offsets (code points) and 1-based lines."""

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        starts, ends = [0], []
        if "\r" in text:
            for match in _LINE_END.finditer(text):
                ends.append(match.start())
                starts.append(match.end())
        else:
            at = text.find("\n")
            while at != -1:
                ends.append(at)
                starts.append(at + 1)
                at = text.find("\n", at + 1)
        ends.append(len(text))
        self._starts, self._ends = starts, ends

    def __len__(self) -> int:
        return len(self._starts)

    def line_of(self, offset: int) -> int:
        """The 1-based line that holds ``offset``; a line end belongs to the line that it ends."""
        return bisect_right(self._starts, max(offset, 0))

    def start(self, line: int) -> int:
        """Offset of the first character of ``line``; clamped to the text."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1]

    def end(self, line: int) -> int:
        """Offset just after the last character of ``line``, before its line end."""
        return self._ends[min(max(line, 1), len(self._ends)) - 1]

    def next_start(self, line: int) -> int:
        """Offset of the line after ``line``, or the end of the text."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def content(self, line: int) -> str:
        """The text of ``line`` without its line end."""
        return self.text[self.start(line) : self.end(line)]

    def line_end(self, line: int) -> str:
        """The characters that end ``line``; empty for the last one."""
        return self.text[self.end(line) : self.next_start(line)]
