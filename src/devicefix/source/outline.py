"""The top-level statements of a file, each definition parsed only when somebody asks for it.

Other files are read for one class or one function. Parsing the rest of them would cost more than all other work.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from devicefix.source.errors import SourceError
from devicefix.source.parse import parse

#: where a statement may begin: in the first column, with no comment and no closing bracket
_START = re.compile(r"\n(?=[^\s#)\]}])")
_NAME = re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*[(\[\\]|class[ \t]+(\w+)[ \t]*[(:\[\\]")
_LINE_END = re.compile(r"\r\n?")

_LONG_QUOTES = ('"""', "'''")

#: code that may bring names of torch into a function
_IMPORT_OF_TORCH = re.compile(r"^[ \t]+((?:from|import)[ \t](?=[^\n]*torch)[^\n(\\#;]*(?:\([^)]*\))?)", re.MULTILINE)


@dataclass
class _Definition:
    """One function or class with its decorators, as text."""

    name: str
    line: int  #: where the text begins
    text: str
    size: int  #: characters of it
    statement: ast.stmt | None = None


class Outline:
    """A file in parts. Raises `SourceError` for one that has to be parsed as a whole.

    Text in the first column of a string may look like a definition. Strings are told by counting their quotes, which a
    quote inside a string or a comment leads astray; that is given away by parts that are not valid on their own, or by
    the statement that they stand in.
    """

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self._definitions: dict[str, list[_Definition]] = {}
        self._torch: list[_Definition] = []  #: those with an import of torch inside
        self.parsed = 0  #: characters that have been parsed
        rest = self._split(_LINE_END.sub("\n", text))
        self.rest = parse(rest, path).body  #: the statements that are no definitions, at their lines
        self._check()

    def _split(self, text: str) -> str:
        """Take the definitions out; what is left has the same lines."""
        starts = [0, *(match.end() for match in _START.finditer(text))]
        rest: list[str] = []
        line = 1
        at = 0  # where the part at hand begins; it has decorators or a long string if it goes on over several starts
        head = -1  # where its statement begins, after the decorators
        quotes = Counter[str]()
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            inside = any(n % 2 for n in quotes.values())
            if head < 0 and not inside and not text.startswith("@", start):
                head = start
            for quote in _LONG_QUOTES:
                quotes[quote] += text.count(quote, start, end)
            if head < 0 or any(n % 2 for n in quotes.values()):
                continue
            part = text[at:end]
            name = _NAME.match(text, head)
            lines = part.count("\n")
            if name is None:
                rest.append(part)
                self.parsed += len(part)
            else:
                rest.append("\n" * lines)
                self._define(_Definition(name[1] or name[2], line, part, len(part)))
            line += lines
            at, head = end, -1
            quotes.clear()
        rest.append(text[at:])
        return "".join(rest)

    def _check(self) -> None:
        lines = sorted(d.line for found in self._definitions.values() for d in found)
        for statement in self.rest:
            last = statement.end_lineno or statement.lineno
            after = bisect.bisect_right(lines, statement.lineno)
            if last > statement.lineno and after < len(lines) and lines[after] <= last:
                raise SourceError(self.path, "a definition stands in another statement", lines[after])

    def _define(self, definition: _Definition) -> None:
        self._definitions.setdefault(definition.name, []).append(definition)
        if "torch" in definition.text and _IMPORT_OF_TORCH.search(definition.text):
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
                if definition.statement is None:
                    for match in _IMPORT_OF_TORCH.finditer(definition.text):
                        found += ast.parse(match[1]).body
                    continue
            except SyntaxError:
                pass
            found.append(self._parse(definition))
        return found

    def _parse(self, definition: _Definition) -> ast.stmt:
        if definition.statement is None:
            body = parse("\n" * (definition.line - 1) + definition.text, self.path).body
            if len(body) != 1 or getattr(body[0], "name", "") != definition.name:
                raise SourceError(self.path, f"`{definition.name}` does not stand on its own", definition.line)
            definition.statement = body[0]
            self.parsed += definition.size
            definition.text = ""
        return definition.statement
