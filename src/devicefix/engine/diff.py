"""Unified diffs that ``patch`` and ``git apply`` accept."""

from __future__ import annotations

from devicefix.source.lines import LineIndex
from devicefix.source.text import SourceText

NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(old: SourceText, new: SourceText) -> str:
    """The difference of two versions of one file; an empty string when there is none.

    Of a notebook, the difference of its cells.
    """
    if old.text == new.text and old.raw == new.raw:
        return ""
    if old.is_notebook:
        from devicefix.source.notebook import NotebookSource

        assert isinstance(old, NotebookSource)
        assert isinstance(new, NotebookSource)
        return "".join(
            text_diff(before.text, after.text, f"{old.name}:cell {before.number}")
            for before, after in zip(old.cells, new.cells, strict=True)
        )
    return text_diff(old.text, new.text, old.name)


def text_diff(old: str, new: str, name: str) -> str:
    """The unified diff of two texts."""
    import difflib

    made = []
    for line in difflib.unified_diff(_lines(old), _lines(new), name, name, n=3):
        if line.endswith("\n"):
            made.append(line)
        elif line.endswith("\r"):  # a file whose lines end in a lone carriage return
            made.append(line[:-1] + "\n")
        else:
            made += (line + "\n", NO_NEWLINE)
    return "".join(made)


def _lines(text: str) -> list[str]:
    index = LineIndex(text)
    rows = [text[index.start(n) : index.next_start(n)] for n in range(1, len(index) + 1)]
    return rows if rows[-1] else rows[:-1]
