"""A notebook as one Python file: its code cells in order, one namespace."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devicefix.findings import Position, Span, TextEdit
from devicefix.source.errors import SourceError
from devicefix.source.lines import LineIndex
from devicefix.source.magics import mask
from devicefix.source.notebook_json import Cell, NotJson, edit_cell, read_cells
from devicefix.source.text import SourceText, apply_edits

_PYTHON = ("", "python", "ipython", "python3", "ipython3")


class NotebookSource(SourceText):
    """The code cells of a notebook joined by line ends that are in no cell.

    `position` and `span` count lines inside the cell, and spans carry the cell's number (all cells count, from 1).
    """

    is_notebook = True

    def __init__(self, raw: bytes, json_text: str, bom: bool, path: Path | str, cells: Sequence[Cell]) -> None:
        super().__init__(raw, "\n".join(cell.text for cell in cells), "utf-8", bom, path)
        self.json_text = json_text
        self.cells = list(cells)
        self._starts: list[int] = []
        at = 0
        for cell in cells:
            self._starts.append(at)
            at += len(cell.text) + 1
        self._masked: str | None = None
        self._cell_lines: dict[int, LineIndex] = {}

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path | str) -> NotebookSource:
        """Read a notebook. One in another language has no cells. Raises `SourceError`."""
        name = str(path)
        bom = raw.startswith(codecs.BOM_UTF8)
        json_text = _utf8(raw[3:] if bom else raw, name)
        try:
            data, cells = read_cells(json_text)
        except NotJson as error:
            raise SourceError(name, str(error), error.line, error.column) from None
        python = _language(data) in _PYTHON
        code = [cell for cell in cells if python and cell.kind == "code" and cell.language in _PYTHON and cell.literals]
        return cls(raw, json_text, bom, path, code)

    @property
    def python_text(self) -> str:
        """The cells with IPython's additions masked."""
        if self._masked is None:
            self._masked = "\n".join(mask(cell.text) for cell in self.cells)
        return self._masked

    @property
    def round_trips(self) -> bool:
        """Whether the JSON text gives the bytes back."""
        return self.encode(self.json_text) == self.raw

    def cell_texts(self) -> list[str]:
        """The source of every code cell."""
        return [cell.text for cell in self.cells]

    @property
    def cell_starts(self) -> tuple[tuple[int, int], ...]:
        """Number and offset in ``text`` of every code cell."""
        return tuple((cell.number, start) for cell, start in zip(self.cells, self._starts, strict=True))

    def with_edits(self, edits: Sequence[TextEdit]) -> SourceText:
        """A new notebook; outside the string literals of the changed lines every byte is the same."""
        clipped = [self._clipped(edit) for edit in sorted(edits)]
        raw_edits: list[TextEdit] = []
        for index, cell in enumerate(self.cells):
            start = self._starts[index]
            own = [
                (edit.start - start, edit.end - start, edit.replacement)
                for edit in clipped
                if start <= edit.start <= start + len(cell.text)
            ]
            if own:
                try:
                    raw_edits += [TextEdit(*edit) for edit in edit_cell(self.json_text, cell, own)]
                except NotJson as error:
                    raise SourceError(self.name, str(error)) from None
        json_text = apply_edits(self.json_text, raw_edits)
        new = type(self).from_bytes(self.encode(json_text), self.path)
        new.name = self.name
        if new.text != apply_edits(self.text, clipped):
            raise SourceError(self.name, "the change cannot be written into the notebook's cells")
        return new

    def _clipped(self, edit: TextEdit) -> TextEdit:
        """The edit without the line end between two cells, which is not part of the notebook."""
        index = self._index(edit.start)
        begin = self._starts[index]
        end = begin + len(self.cells[index].text)
        if edit.end <= end:
            return edit
        if edit.end == end + 1 and not edit.replacement:
            before = self.text[edit.start - 1 : edit.start] if edit.start > begin else ""
            return TextEdit(edit.start - (1 if before in ("\n", "\r") else 0), end, "")
        raise SourceError(self.name, "the change would reach over the end of a cell")

    # -- places ------------------------------------------------------------------------------------------------------

    def _index(self, offset: int) -> int:
        return max(bisect_right(self._starts, offset) - 1, 0)

    def _lines_of(self, index: int) -> LineIndex:
        if index not in self._cell_lines:
            self._cell_lines[index] = LineIndex(self.cells[index].text if self.cells else "")
        return self._cell_lines[index]

    def cell_at(self, offset: int) -> int:
        """The number of the cell that holds an offset; 0 in a notebook without code."""
        return self.cells[self._index(offset)].number if self.cells else 0

    def begins_cell(self, offset: int) -> bool:
        """Whether a cell begins at this offset."""
        return bool(self.cells) and self._starts[self._index(offset)] == offset

    def position(self, offset: int) -> Position:
        """Line and column inside the cell."""
        if not self.cells:
            return Position(1, 1)
        index = self._index(offset)
        lines, inside = self._lines_of(index), offset - self._starts[index]
        line = lines.line_of(inside)
        return Position(line, inside - lines.start(line) + 1)

    def offset_at(self, position: Position, cell: int = 0) -> int:
        """The offset of a place in a cell."""
        index = next((i for i, c in enumerate(self.cells) if c.number == cell), None)
        if index is None:
            return 0
        lines = self._lines_of(index)
        inside = min(lines.start(position.line) + position.column - 1, lines.end(position.line))
        return self._starts[index] + inside

    def span_of(self, start: int, end: int) -> Span:
        """The place of ``text[start:end]``, with its cell."""
        return Span(self.position(start), self.position(end), self.cell_at(start))

    def line_text(self, span: Span) -> str:
        """The line of the cell on which ``span`` starts."""
        index = next((i for i, c in enumerate(self.cells) if c.number == span.cell), None)
        return "" if index is None else self._lines_of(index).content(span.start.line)

    def _placed(self, error: SourceError) -> SourceError:
        if not error.line or not self.cells:
            return error
        offset = self.lines.start(error.line)
        place = self.position(offset)
        return SourceError(error.path, error.message, place.line, error.column, self.cell_at(offset))


def _utf8(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SourceError(name, "not a notebook: not encoded as UTF-8") from None


def _language(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for key, field in (("kernelspec", "language"), ("language_info", "name")):
        part = metadata.get(key)
        if isinstance(part, dict) and isinstance(part.get(field), str):
            return str(part[field]).lower()
    return ""
