"""Which top-level statements bind each global name of a file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from devicefix.analysis.statements import statement_names, top_level
from devicefix.source.errors import SourceError
from devicefix.source.outline import Outline


def bindings_of(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Statements by name, in order (``if`` and ``try`` bodies included)."""
    table: dict[str, list[ast.stmt]] = {}
    for statement in top_level(body):
        for name in statement_names(statement):
            table.setdefault(name, []).append(statement)
    return table


class OutlineBindings(Mapping[str, list[ast.stmt]]):
    """The same for a file of which only parts are parsed. ``whole`` parses all of it, should that be needed."""

    def __init__(self, outline: Outline, whole: Callable[[], dict[str, list[ast.stmt]]]) -> None:
        self._outline = outline
        self._whole = whole
        self._known: Mapping[str, list[ast.stmt]] = bindings_of(outline.rest)
        self._complete = False
        self._found: dict[str, list[ast.stmt]] = {}

    def __getitem__(self, name: str) -> list[ast.stmt]:
        if self._complete or name not in self._outline:
            return self._known[name]
        found = self._found.get(name)
        if found is None:
            try:
                found = [*self._known.get(name, ()), *self._outline.statements(name)]
            except SourceError:
                return self._fall_back()[name]
            found.sort(key=lambda statement: statement.lineno)
            self._found[name] = found
        return found

    def _fall_back(self) -> Mapping[str, list[ast.stmt]]:
        try:
            self._known = self._whole()
        except SourceError:
            self._known = {}
        self._complete = True
        return self._known

    def __contains__(self, name: object) -> bool:
        return name in self._known or (not self._complete and isinstance(name, str) and name in self._outline)

    def __iter__(self) -> Iterator[str]:
        if self._complete:
            return iter(self._known)
        return iter(dict.fromkeys((*self._known, *self._outline)))

    def __len__(self) -> int:
        return sum(1 for _ in self)
