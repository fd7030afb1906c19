"""One activation of a function, and the arguments of a call."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.values import Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.model import FunctionInfo, ModuleInfo
    from devicefix.analysis.states import State
    from devicefix.analysis.values import Obj


class Enclosing(ChainMap[str, "Value"]):
    """The names that a function sees of all the functions around it, innermost first.

    An assignment changes the name where it is.
    """

    def __setitem__(self, name: str, value: Value) -> None:
        next((names for names in self.maps if name in names), self.maps[0])[name] = value


class Frame:
    """The state of one function while it is interpreted."""

    __slots__ = (
        "_inside",
        "assumed",
        "call",
        "caller",
        "changed",
        "conditions",
        "depth",
        "for_loops",
        "function",
        "leaves",
        "loops",
        "module",
        "names",
        "outer",
        "parent",
        "returns",
        "self_name",
        "self_object",
        "statement",
        "yields",
    )

    def __init__(
        self,
        module: ModuleInfo,
        function: FunctionInfo | None,
        names: dict[str, Value],
        *,
        outer: MutableMapping[str, Value] | None = None,
        self_object: Obj | None = None,
        self_name: str = "",
        assumed: bool = False,
        depth: int = 0,
    ) -> None:
        self.module = module
        self.function = function
        self.names = names
        self.outer = outer  #: names of the functions around this one
        self._inside: MutableMapping[str, Value] | None = None
        self.self_object = self_object
        self.self_name = self_name
        self.assumed = assumed
        self.depth = depth
        self.returns: list[Value] = []
        self.yields: list[Value] = []
        self.conditions = 0  #: how many ``if``/loop/``try`` bodies we are inside
        self.loops = 0
        self.leaves: list[list[State]] = []  #: names at ``break`` and ``continue``, per loop
        self.statement: ast.stmt | None = None
        self.call: ast.AST | None = None
        self.caller: Scope | None = None  #: of the call; taken once, since the caller stands still meanwhile
        self.parent: Frame | None = None
        self.for_loops: list[ast.For | ast.AsyncFor] = []
        self.changed: set[str] = set()  #: names of lists and dicts that were changed in place

    @property
    def inside(self) -> MutableMapping[str, Value]:
        """The names as functions inside this one see them."""
        if self._inside is None:
            self._inside = Enclosing(self.names, self.outer) if self.outer else self.names
        return self._inside

    def scope(self) -> Scope:
        """A snapshot of this frame."""
        if self.caller is None and self.parent is not None and self.call is not None:
            self.caller = self.parent.scope()
        names = {**self.outer, **self.names} if self.outer else dict(self.names)
        return Scope(
            self.function, self.module, names, self.self_object, self.assumed, self.statement, self.call, self.caller
        )


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of a call."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    nodes: list[ast.expr] = field(default_factory=list)  #: of the positional ones
    keyword_nodes: dict[str, ast.expr] = field(default_factory=dict)
    splat: bool = False  #: ``*args`` of unknown length was given
    keyword_splat: bool = False  #: ``**kwargs`` with unknown keys was given

    def get(self, position: int, name: str = "") -> Value | None:
        """An argument by position or keyword."""
        if name and name in self.keywords:
            return self.keywords[name]
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return None

    def every(self) -> list[Value]:
        """All arguments, the positional ones first."""
        return [*self.positional, *self.keywords.values()]
