"""The top-level statements of a file, each definition parsed only when somebody asks for it.

Other files are read for one class or one function. Parsing the rest of them would cost more than all other work.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devicefix.source.class_outline import ClassOutline
from devicefix.source.errors import SourceError
from devicefix.source.parse import parse
from devicefix.source.parts import Part, parts

_NAME = re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*[(\[\\]|class[ \t]+(\w+)[ \t]*[(:\[\\]")
_LINE_END = re.compile(r"\r\n?")

#: shorter classes (characters) are parsed as a whole
_SMALL_CLASS = 600

#: code that may bring names of torch into a function
_IMPORT_OF_TORCH = re.compile(r"^[ \t]+((?:from|import)[ \t](?=[^\n]*torch)[^\n(\\#;]*(?:\([^)]*\))?)", re.MULTILINE)


@dataclass(slots=True)
class _Definition:
    """One function or class with its decorators."""

    name: str
    part: Part
    statement: ast.stmt | None = None
    whole: bool = False  #: whether nothing of it is left out of the statement

    @property
    def size(self) -> int:
        """Characters of it."""
        return self.part.end - self.part.begin


class Outline:
    """A file in parts. Raises `SourceError` for one that has to be parsed as a whole.

    Text in the first column of a string may look like a definition. Strings are told by counting their quotes, which a
    quote inside a string or a comment leads astray; that is given away by parts that are not valid on their own, or by
    the statement that they stand in.
    """

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self._text = _LINE_END.sub("\n", text) if "\r" in text else text
        self._definitions: dict[str, list[_Definition]] = {}
        self._torch: list[_Definition] = []  #: those with an import of torch inside
        self._parsed = 0
        self._classes: dict[ast.AST, ClassOutline] = {}
        self.rest = parse(self._split(), path).body  #: the statements that are no definitions, at their lines
        self._check()

    @property
    def parsed(self) -> int:
        """How many characters have been parsed."""
        return self._parsed + sum(found.parsed for found in self._classes.values())

    def _split(self) -> str:
        """Take the definitions out; what is left has the same lines."""
        text = self._text
        rest: list[str] = []
        for part in parts(text, 0, len(text), 1):
            name = _NAME.match(text, part.head, part.end)
            if name is None:
                rest.append(text[part.begin : part.end])
                self._parsed += part.end - part.begin
            else:
                rest.append("\n" * text.count("\n", part.begin, part.end))
                self._define(_Definition(name[1] or name[2], part))
        return "".join(rest)

    def _check(self) -> None:
        lines = sorted(d.part.line for found in self._definitions.values() for d in found)
        for statement in self.rest:
            last = statement.end_lineno or statement.lineno
            after = bisect.bisect_right(lines, statement.lineno)
            if last > statement.lineno and after < len(lines) and lines[after] <= last:
                raise SourceError(self.path, "a definition stands in another statement", lines[after])

    def _define(self, definition: _Definition) -> None:
        self._definitions.setdefault(definition.name, []).append(definition)
        begin, _, end, _ = definition.part
        if self._text.find("torch", begin, end) >= 0 and _IMPORT_OF_TORCH.search(self._text, begin, end):
            self._torch.append(definition)

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def __iter__(self) -> Iterator[str]:
        """The names of all definitions."""
        return iter(self._definitions)

    def size(self, name: str) -> int:
        """How many characters define a name."""
        return sum(definition.size for definition in self._definitions.get(name, ()))

    def statements(self, name: str) -> list[ast.stmt]:
        """The definitions of a name, in order. Raises `SourceError` for one that cannot be parsed on its own."""
        return [self._parse(definition) for definition in self._definitions.get(name, ())]

    def with_torch(self) -> list[ast.stmt]:
        """The imports of torch inside definitions, or the definitions where they are not to be had alone.

        Raises `SourceError`.
        """
        found: list[ast.stmt] = []
        for definition in self._torch:
            try:
                if not definition.whole:
                    begin, _, end, _ = definition.part
                    for match in _IMPORT_OF_TORCH.finditer(self._text, begin, end):
                        found += ast.parse(match[1]).body
                    continue
            except SyntaxError:
                pass
            found.append(self._parse(definition))
        return found

    def members(self, node: ast.ClassDef) -> ClassOutline | None:
        """The methods of a class that was parsed without them; None for one that was parsed as a whole."""
        return self._classes.get(node)

    def _parse(self, definition: _Definition) -> ast.stmt:
        if definition.statement is None:
            definition.statement = self._in_parts(definition) or self._whole(definition)
        return definition.statement

    def _in_parts(self, definition: _Definition) -> ast.ClassDef | None:
        if definition.size < _SMALL_CLASS or not self._text.startswith("class", definition.part.head):
            return None
        try:
            found = ClassOutline(self._text, definition.part, self.path)
        except SourceError:
            return None
        self._classes[found.node] = found
        return found.node

    def _whole(self, definition: _Definition) -> ast.stmt:
        begin, _, end, line = definition.part
        body = parse("\n" * (line - 1) + self._text[begin:end], self.path).body
        if len(body) != 1 or getattr(body[0], "name", "") != definition.name:
            raise SourceError(self.path, f"`{definition.name}` does not stand on its own", line)
        self._parsed += definition.size
        definition.whole = True
        return body[0]
