"""One file as text, with its syntax tree and exact places."""

from __future__ import annotations

import ast
import codecs
from collections.abc import Iterable, Sequence
from pathlib import Path

from devicefix.findings import Position, Span, TextEdit
from devicefix.source.decode import decode
from devicefix.source.errors import SourceError
from devicefix.source.lines import LineIndex
from devicefix.source.parse import parse


class SourceText:
    """The bytes of a Python file, its text and its tree.

    ``text`` keeps line ends as they are and has no byte order mark. Offsets are code points into ``text``; lines and
    columns in `Position` start at 1. Columns in the syntax tree are UTF-8 bytes from 0: `offset_of` converts them.
    """

    is_notebook = False

    def __init__(self, raw: bytes, text: str, encoding: str, bom: bool, path: Path | str) -> None:
        self.raw = raw
        self.text = text
        self.encoding = encoding
        self.bom = bom
        self.path = Path(path)
        self.name = str(path)
        self._lines: LineIndex | None = None
        self._tree: ast.Module | SourceError | None = None
        self._parents: dict[int, ast.AST] | None = None
        self._ascii = text.isascii()

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path | str) -> SourceText:
        """Decode by PEP 263. Raises `SourceError`."""
        text, encoding, bom = decode(raw, str(path))
        return cls(raw, text, encoding, bom, path)

    @classmethod
    def from_text(cls, text: str, path: Path | str) -> SourceText:
        """A source from text that is already decoded, as an editor holds it. Raises `SourceError`."""
        try:
            return cls(text.encode("utf-8"), text, "utf-8", False, path)
        except UnicodeEncodeError as error:
            message = f"holds a lone surrogate (U+{ord(text[error.start]):04X})"
            raise SourceError(str(path), message) from None

    def encode(self, new_text: str) -> bytes:
        """The bytes of ``new_text`` in this file's encoding, with its byte order mark. Raises `SourceError`."""
        try:
            body = new_text.encode(self.encoding)
        except UnicodeError as error:
            raise SourceError(self.name, f"the new text cannot be written as {self.encoding}: {error}") from None
        return codecs.BOM_UTF8 + body if self.bom else body

    @property
    def round_trips(self) -> bool:
        """Whether encoding the unchanged text gives the bytes back (false for some stateful encodings)."""
        try:
            return self.encode(self.text) == self.raw
        except SourceError:
            return False

    def drop_bytes(self) -> None:
        """Save the memory of the bytes, of a file that will not be written."""
        self.raw = b""

    @property
    def cell_starts(self) -> tuple[tuple[int, int], ...]:
        """Number and offset of every cell; a Python file has none."""
        return ()

    def with_edits(self, edits: Sequence[TextEdit]) -> SourceText:
        """A new source with non-overlapping ``edits`` applied. Raises `SourceError` if they cannot be encoded."""
        new_text = apply_edits(self.text, edits)
        return type(self)(self.encode(new_text), new_text, self.encoding, self.bom, self.path)

    # -- the tree ----------------------------------------------------------------------------------------------------

    @property
    def python_text(self) -> str:
        """What the parser sees: as long as ``text``, line for line the same lengths."""
        return self.text

    def tree(self) -> ast.Module:
        """The syntax tree, parsed once. Raises `SourceError`."""
        if self._tree is None:
            try:
                self._tree = parse(self.python_text, self.name)
            except SourceError as error:
                self._tree = self._placed(error)
        if isinstance(self._tree, SourceError):
            raise self._tree
        return self._tree

    def share_tree(self, other: SourceText) -> None:
        """Take over the tree of a source with the same text, so that it is parsed once."""
        if (
            self._tree is None
            and type(self) is type(other)
            and self.text == other.text
            and isinstance(other._tree, ast.Module)
        ):
            self._tree = other._tree

    def _placed(self, error: SourceError) -> SourceError:
        return error

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node above ``node`` in `tree`, or None for the module and for nodes that are not in this tree."""
        if self._parents is None:
            self._parents = {}
            stack: list[ast.AST] = [self.tree()]
            while stack:
                above = stack.pop()
                for value in above.__dict__.values():  # faster than `ast.iter_child_nodes`
                    for child in value if value.__class__ is list else (value,):
                        # Operators and contexts are shared singletons: they have no single parent and need none.
                        if isinstance(child, ast.AST) and (child._fields or hasattr(child, "lineno")):
                            self._parents[id(child)] = above
                            stack.append(child)
        return self._parents.get(id(node))

    def ancestors(self, node: ast.AST) -> Iterable[ast.AST]:
        """The nodes above ``node``, innermost first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    # -- places ------------------------------------------------------------------------------------------------------

    @property
    def lines(self) -> LineIndex:
        """The line index of `text`."""
        if self._lines is None:
            self._lines = LineIndex(self.text)
        return self._lines

    def line(self, n: int) -> str:
        """The text of line ``n`` (from 1) without its line end."""
        return self.lines.content(n)

    def offset_of(self, lineno: int, col_utf8: int) -> int:
        """The offset of a place in the syntax tree: ``lineno`` from 1, ``col_utf8`` in UTF-8 bytes from 0."""
        start = self.lines.start(lineno)
        if self._ascii:
            return min(start + col_utf8, self.lines.end(lineno))
        content = self.lines.content(lineno)
        if content[:col_utf8].isascii():
            return start + min(col_utf8, len(content))
        return start + len(content.encode("utf-8")[:col_utf8].decode("utf-8", "ignore"))

    def position(self, offset: int) -> Position:
        """Line and column of an offset."""
        line = self.lines.line_of(offset)
        return Position(line, offset - self.lines.start(line) + 1)

    def offset_at(self, position: Position, cell: int = 0) -> int:
        """The inverse of `position` (and, in a notebook, of `span`)."""
        del cell
        return min(self.lines.start(position.line) + position.column - 1, self.lines.end(position.line))

    def start_of(self, node: ast.AST) -> int:
        """Offset of the first character of a node (of its first decorator's ``@`` not included)."""
        return self.offset_of(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end_of(self, node: ast.AST) -> int:
        """Offset just after a node."""
        return self.offset_of(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def span(self, node: ast.AST) -> Span:
        """The place of a node, for a finding."""
        return self.span_of(self.start_of(node), self.end_of(node))

    def span_of(self, start: int, end: int) -> Span:
        """The place of ``text[start:end]``."""
        return Span(self.position(start), self.position(end))

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.text[self.start_of(node) : self.end_of(node)]

    def begins_cell(self, offset: int) -> bool:
        """Whether a notebook cell begins here; in a plain file nothing does."""
        del offset
        return False

    def line_text(self, span: Span) -> str:
        """The line on which ``span`` starts."""
        return self.line(span.start.line)


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """``text`` with non-overlapping edits applied; insertions at one place keep their order.

    Raises `ValueError` when edits overlap.
    """
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < at or edit.end < edit.start:
            raise ValueError(f"edits overlap at offset {edit.start}")
        pieces += (text[at : edit.start], edit.replacement)
        at = edit.end
    pieces.append(text[at:])
    return "".join(pieces)
