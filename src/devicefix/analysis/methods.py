"""The methods of a class by name, of which those in other files are parsed when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from devicefix.source.errors import SourceError

if TYPE_CHECKING:
    from devicefix.analysis.model import ClassInfo, FunctionInfo
    from devicefix.source.class_outline import ClassOutline
    from devicefix.source.parts import Part

#: decorators of what belongs to a property of the same name
SETTERS = frozenset({"setter", "deleter"})

#: decorators of what is replaced by a later definition, or belongs to one
NO_METHODS = SETTERS | {"overload"}


class MethodsInParts(Mapping[str, "FunctionInfo"]):
    """The methods of a class that was parsed without them, and ``known`` ones from ``if`` and ``try`` in its body."""

    def __init__(self, cls: ClassInfo, outline: ClassOutline, known: Mapping[str, FunctionInfo]) -> None:
        self._cls = cls
        self._outline = outline
        self._known = dict(known)
        self._parts: dict[str, Part] = {}
        self.setters: set[str] = set()  #: names of properties that can be set or deleted
        for name, found in outline.methods.items():
            for part in found:
                decorators = outline.decorators(part)
                if not decorators.isdisjoint(SETTERS):
                    self.setters.add(name)
                elif decorators.isdisjoint(NO_METHODS):
                    self._parts[name] = part

    def __getitem__(self, name: str) -> FunctionInfo:
        info = self._known.get(name)
        if info is None:
            info = self._known[name] = self._read(name)
        return info

    def _read(self, name: str) -> FunctionInfo:
        module = self._cls.module
        try:
            return module.function(self._outline.method(self._parts[name]), self._cls)
        except SourceError:
            whole = type(self._cls)(self._outline.whole(), module)
            for info in whole.methods.values():
                info.cls = self._cls
            self._known = {**whole.methods, **self._known}
            return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._parts or name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._parts, *self._known)))

    def __len__(self) -> int:
        return sum(1 for _ in self)
