"""How a node lies in the text: its parentheses, its line, its neighbours."""

from __future__ import annotations

import ast
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from devicefix.codemods.errors import CannotChange
from devicefix.source.lines import LineIndex
from devicefix.source.text import SourceText

if TYPE_CHECKING:
    from devicefix.codemods.changes import Change
    from devicefix.codemods.edits import Edit

_REST_OF_LINE = re.compile(r"[ \t\f]*;?[ \t\f]*(#[^\r\n]*)?")
_BLANK = " \t\f"


@dataclass(frozen=True, slots=True)
class Bracket:
    """A bracket token at an offset."""

    offset: int
    text: str


class Layout:
    """Answers about the text around nodes of one source."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.text = source.text
        self.lines = source.lines
        self.remembered: dict[Change, list[Edit]] = {}  #: edits of changes that were realised before
        self._tokens: dict[int, list[Bracket]] = {}

    # -- nodes -------------------------------------------------------------------------------------------------------

    def start(self, node: ast.AST) -> int:
        """Offset of a node's first character; for a decorated statement that of the first ``@``."""
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return self.source.start_of(node)
        at = self.text.rfind("@", 0, self.source.start_of(decorators[0]))
        return max(at, 0)

    def end(self, node: ast.AST) -> int:
        """Offset just after a node."""
        return self.source.end_of(node)

    def require_plain(self, node: ast.AST) -> None:
        """Raises `CannotChange` inside an f-string, where places are unreliable and quotes would have to be escaped."""
        if self.source.parent(node) is None and not isinstance(node, ast.Module):
            raise CannotChange("the code is not part of this file's tree")
        for above in self.source.ancestors(node):
            if type(above).__name__ in ("JoinedStr", "TemplateStr"):
                raise CannotChange("the code is inside an f-string")

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds ``node`` (or is it)."""
        if isinstance(node, ast.stmt):
            return node
        for above in self.source.ancestors(node):
            if isinstance(above, ast.stmt):
                return above
        raise CannotChange("the code is not inside a statement")

    def outer(self, node: ast.expr) -> tuple[int, int]:
        """The span of ``node`` with the redundant parentheses around it; a call's own parentheses are not such."""
        start, end = self.start(node), self.end(node)
        parent = self.source.parent(node)
        significant = self.significant(self.statement_of(node))
        left, right = _around(significant, start, end)
        forbidden = self._call_parenthesis(parent, node)
        while left >= 0 and right < len(significant):
            opening, closing = significant[left], significant[right]
            if opening.text != "(" or closing.text != ")" or opening.offset == forbidden:
                break
            if parent is not None and hasattr(parent, "lineno") and opening.offset < self.start(parent):
                break
            start, end = opening.offset, closing.offset + 1
            left, right = left - 1, right + 1
        return start, end

    def is_parenthesised(self, node: ast.expr) -> bool:
        """Whether redundant parentheses stand around the node."""
        return self.outer(node) != (self.start(node), self.end(node))

    def _call_parenthesis(self, parent: ast.AST | None, node: ast.expr) -> int:
        """Offset of the parenthesis that opens the argument list in which ``node`` stands, or -1."""
        if isinstance(parent, ast.Call) and node is not parent.func:
            return self.next_bracket(parent, self.outer(parent.func)[1])
        if isinstance(parent, ast.ClassDef) and node in parent.bases:
            return self.next_bracket(parent, self.source.start_of(parent))
        return -1

    def next_bracket(self, node: ast.AST, offset: int, text: str = "(") -> int:
        """Offset of the first bracket token ``text`` at or after ``offset`` in the statement of ``node``."""
        for token in self.significant(self.statement_of(node)):
            if token.offset >= offset and token.text == text:
                return token.offset
        raise CannotChange("the parentheses of the call were not found")

    def significant(self, statement: ast.stmt) -> list[Bracket]:
        """The tokens of a statement that are neither comments nor line ends, with their offsets."""
        cached = self._tokens.get(id(statement))
        if cached is None:
            cached = self._tokens[id(statement)] = self._tokenise(statement)
        return cached

    def _tokenise(self, statement: ast.stmt) -> list[Bracket]:
        # The line's white space is kept, so that an `else` further down lines up with the statement.
        start = self.start(statement)
        first = self.lines.start(self.lines.line_of(start))
        first = start if self.text[first:start].strip(_BLANK) else first
        piece = self.source.python_text[first : self.end(statement)]
        # A lone carriage return ends a line for the parser but not for every version of the tokenizer.
        piece = re.sub(r"\r(?!\n)", "\n", piece)
        index = LineIndex(piece)
        rows = [piece[index.start(n) : index.next_start(n)] for n in range(1, len(index) + 1)]
        skip = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
        found = []
        try:
            for token in tokenize.generate_tokens(iter([*rows, ""]).__next__):
                if token.type not in skip:
                    found.append(Bracket(first + index.start(token.start[0]) + token.start[1], token.string))
        except (tokenize.TokenError, SyntaxError):
            raise CannotChange("the statement cannot be split into tokens") from None
        return found

    # -- lines -------------------------------------------------------------------------------------------------------

    def begins_line(self, statement: ast.stmt) -> bool:
        """Whether only white space stands before the statement, and its line continues no other."""
        start = self.start(statement)
        line = self.lines.line_of(start)
        if self.text[self.lines.start(line) : start].strip(_BLANK):
            return False
        above = self.lines.content(line - 1) if line > 1 else ""
        return not above.rstrip(_BLANK).endswith("\\") or above.lstrip(_BLANK).startswith("#")

    def ends_line(self, statement: ast.stmt) -> bool:
        """Whether only white space, a semicolon and a comment stand after the statement."""
        end = self.end(statement)
        match = _REST_OF_LINE.match(self.source.python_text, end)
        return match is not None and match.end() == self.lines.end(self.lines.line_of(end))

    def owns_line(self, statement: ast.stmt) -> bool:
        """Whether the statement shares its lines with no other."""
        return self.begins_line(statement) and self.ends_line(statement)

    def indentation(self, statement: ast.stmt) -> str:
        """The white space before a statement that begins its line (form feeds left out)."""
        start = self.start(statement)
        return self.text[self.lines.start(self.lines.line_of(start)) : start].rpartition("\f")[2]

    def line_end(self, line: int) -> str:
        """The line end that a line inserted near ``line`` should have."""
        for candidate in (line, line - 1, 1):
            if candidate >= 1 and (found := self.lines.line_end(candidate)):
                return found
        return "\n"

    def comment_block_above(self, statement: ast.stmt) -> int:
        """The first of the comment lines directly above a statement, at its indentation; its own line if none.

        A block at the very top of the file (interpreter line, licence) belongs to the file.
        """
        own = self.lines.line_of(self.start(statement))
        indent = self.indentation(statement)
        first = own
        while first > 1 and not self.source.begins_cell(self.lines.start(first)):
            content = self.lines.content(first - 1)
            stripped = content.lstrip(_BLANK)
            if not stripped.startswith("#") or content[: len(content) - len(stripped)] != indent:
                break
            first -= 1
        return own if first == 1 else first

    @cached_property
    def indent_unit(self) -> str:
        """One level of indentation as this file writes it."""
        for node in ast.walk(self.source.tree()):
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list) and body and self.begins_line(body[0]):
                outside, inside = self.indentation(node), self.indentation(body[0])
                if inside.startswith(outside) and len(inside) > len(outside):
                    return inside[len(outside) :]
        return "    "

    def reindent(self, line: str, indent: str) -> str:
        """A line written with steps of four spaces, at ``indent`` and in this file's steps."""
        body = line.lstrip(" ")
        steps, rest = divmod(len(line) - len(body), 4)
        return indent + self.indent_unit * steps + " " * rest + body if body else ""


def _around(tokens: list[Bracket], start: int, end: int) -> tuple[int, int]:
    """Indices of the tokens just before ``start`` and at or after ``end``."""
    left = -1
    right = len(tokens)
    for index, token in enumerate(tokens):
        if token.offset < start:
            left = index
        if token.offset >= end:
            right = index
            break
    return left, right
