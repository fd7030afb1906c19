"""A class of another file, each method parsed only when somebody asks for it.

Most classes are read for what they derive from and for one or two methods of hundreds of lines.
"""

from __future__ import annotations

import ast
import re

from devicefix.source.errors import SourceError
from devicefix.source.parse import parse
from devicefix.source.parts import Part, parts

_METHOD = re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*[(\[\\]")
_DECORATOR = re.compile(r"@[ \t]*([\w.]+)")
_BODY = re.compile(r":[ \t]*(?:#[^\n]*)?\n(?:[ \t\f]*(?:#[^\n]*)?\n)*([ \t]+)(?=[^\s#])")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

#: quotes in strings and comments, which lead the search for the ends of strings astray, and a continued line that looks
#: like a method
_ASTRAY = re.compile(r"""'["]{3}|"[']{3}|#[^\n]*(?:"{3}|'{3})|\\\n[ \t]*(?:def|async|@)""")


class ClassOutline:
    """A class in parts. Raises `SourceError` for one that has to be parsed as a whole.

    ``part`` is the class in ``text``, which is that of the file at ``path`` with plain line ends.
    """

    def __init__(self, text: str, part: Part, path: str) -> None:
        self.path = path
        self._text = text
        self._part = part
        self.methods: dict[str, list[Part]] = {}  #: by name, in order
        self.parsed = 0  #: characters that have been parsed
        self.node = self._split()  #: the class without its methods

    def _split(self) -> ast.ClassDef:
        text, part = self._text, self._part
        body = next(filter(self._ends_head, _BODY.finditer(text, part.head, part.end)), None)
        if body is None or _ASTRAY.search(text, part.begin, part.end):
            raise SourceError(self.path, "the class has to be parsed as a whole", part.line)
        indent = body[1]
        begin = body.start(1)
        line = part.line + text.count("\n", part.begin, begin)
        rest = [text[part.begin : begin]]
        for member in parts(text, begin, part.end, line, indent):
            name = _METHOD.match(text, member.head, member.end)
            if name is None:
                rest.append(text[member.begin : member.end])
            else:
                rest.append("\n" * text.count("\n", member.begin, member.end))
                self.methods.setdefault(name[1], []).append(member)
        if not self.methods:
            raise SourceError(self.path, "a class without methods", part.line)
        rest.append(f"{indent}pass\n")
        node = self._class("".join(rest), part.line)
        node.body.pop()
        if any(isinstance(statement, FUNCTIONS) for statement in node.body):
            raise SourceError(self.path, "methods stand elsewhere than they seemed to", part.line)
        return node

    def _ends_head(self, colon: re.Match[str]) -> bool:
        """Whether the colon is the one of the class statement, and not in a comment or a dict."""
        try:
            parse(f"{self._text[self._part.head : colon.start()]}: pass", self.path)
        except SourceError:
            return False
        return True

    def decorators(self, part: Part) -> set[str]:
        """The last names of the decorators of a method."""
        found = _DECORATOR.finditer(self._text, part.begin, part.head)
        return {match[1].rpartition(".")[2] for match in found}

    def method(self, part: Part) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """A method. Raises `SourceError` for one that does not stand on its own."""
        body = self._class(f"class _:\n{self._text[part.begin : part.end]}", part.line - 1).body
        if len(body) != 1 or not isinstance(body[0], FUNCTIONS):
            raise SourceError(self.path, "a method does not stand on its own", part.line)
        return body[0]

    def whole(self) -> ast.ClassDef:
        """The class with everything in it. Raises `SourceError`."""
        return self._class(self._text[self._part.begin : self._part.end], self._part.line)

    def _class(self, text: str, line: int) -> ast.ClassDef:
        self.parsed += len(text)
        body = parse("\n" * (line - 1) + text, self.path).body
        if len(body) != 1 or not isinstance(body[0], ast.ClassDef):
            raise SourceError(self.path, "a class does not stand on its own", line)
        return body[0]
