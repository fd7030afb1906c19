"""Abstract values: what an expression is, where it lives, and which line made it."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.hooks import Hook
    from devicefix.analysis.model import ClassInfo, FunctionInfo, ModuleInfo


class Kind(Enum):
    """What sort of thing a value is."""

    UNKNOWN = auto()
    TENSOR = auto()
    OBJECT = auto()  #: an instance on the abstract heap; ``data`` is an ``Obj``
    CLASS = auto()  #: ``data`` is a ``ClassInfo``
    FUNCTION = auto()  #: ``data`` is a ``Closure``
    METHOD = auto()  #: a bound method of a value; ``data`` is ``(receiver, name)``
    EXTERNAL = auto()  #: something of another library; ``data`` is its dotted name
    DEVICE = auto()
    DTYPE = auto()  #: ``dtype`` says which class
    NUMBER = auto()  #: ``data`` is the constant, if known
    STRING = auto()  #: ``data`` is the constant, if known
    NONE = auto()
    SIZE = auto()  #: a shape or a number read off the tensors in ``sources``
    SEQUENCE = auto()  #: tuple, list, set, iterator; ``items`` if each is known, else ``element``
    MAPPING = auto()  #: ``items`` by key if known, ``element`` otherwise
    LOADER = auto()  #: yields batches on the host; ``element`` is a batch
    NDARRAY = auto()
    GENERATOR = auto()  #: a random number generator
    MODULE = auto()  #: an ``nn.Module`` of which no more is known


class DType(Enum):
    """Classes of dtypes; the exact width hardly ever matters here."""

    FLOAT = auto()
    INT = auto()
    BOOL = auto()
    COMPLEX = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The place that put a value on the default device.

    ``kind``: ``factory`` (a tensor factory), ``legacy`` (``torch.FloatTensor`` and its like), ``attribute`` (kept as a
    plain attribute), ``batch`` (yielded by a data loader), ``module`` (a module that nobody moved), ``loaded``,
    ``class`` (an attribute of the class itself), ``collection`` (kept in a list or dict attribute), ``host``.
    ``under`` is the origin of the value before it became an attribute. ``scope`` is the state of the creating function
    at that point.
    """

    kind: str
    node: ast.AST
    scope: Scope
    attribute: str = ""
    owner: Obj | None = None
    under: tuple[Origin, ...] = ()
    detail: str = ""
    path: tuple[object, ...] = ()  #: which part of a batch: keys and positions, None for "any element"


@dataclass(slots=True, eq=False)
class Scope:
    """Where a node was evaluated: the function and a snapshot of its names."""

    function: FunctionInfo | None
    module: ModuleInfo
    names: Mapping[str, Value]
    self_object: Obj | None = None
    assumed: bool = False  #: no caller was seen; the parameters are guesses
    statement: ast.stmt | None = None
    call: ast.AST | None = None  #: the call that entered the function, if one was followed
    caller: Scope | None = None  #: where that call stands

    def chain(self) -> Iterator[Scope]:
        """This scope and those of its callers."""
        current: Scope | None = self
        while current is not None:
            yield current
            current = current.caller


class Value:
    """An abstract value. Treated as immutable; ``replace`` makes a changed copy."""

    __slots__ = ("data", "device", "dtype", "element", "flags", "ident", "items", "kind", "origins", "rank", "sources")

    def __init__(
        self,
        kind: Kind,
        *,
        device: Device | None = None,
        dtype: DType = DType.UNKNOWN,
        rank: int | None = None,
        origins: tuple[Origin, ...] = (),
        data: Any = None,
        items: Any = None,
        element: Value | None = None,
        ident: Hashable = None,
        sources: tuple[Value, ...] = (),
        flags: frozenset[str] = frozenset(),
    ) -> None:
        self.kind = kind
        self.device = device
        self.dtype = dtype
        self.rank = rank  #: 0, 1 for "1 or more", None for unknown
        self.origins = origins
        self.data = data
        self.items = items
        self.element = element
        self.ident = ident
        self.sources = sources
        self.flags = flags

    def replace(self, **changes: Any) -> Value:
        """A copy with other fields."""
        copy = Value.__new__(Value)
        copy.kind = self.kind
        copy.device = self.device
        copy.dtype = self.dtype
        copy.rank = self.rank
        copy.origins = self.origins
        copy.data = self.data
        copy.items = self.items
        copy.element = self.element
        copy.ident = self.ident
        copy.sources = self.sources
        copy.flags = self.flags
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    def key(self, depth: int = 3) -> Hashable:
        """What distinguishes this value as an argument of a call; used to remember results."""
        kind = self.kind
        if kind in (Kind.OBJECT, Kind.CLASS, Kind.FUNCTION):
            return (kind, id(self.data))
        if kind is Kind.TENSOR:
            return (kind, self.device, self.dtype, self.rank, self.origins, self.flags)
        if kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.LOADER):
            if depth == 0:
                return (kind, id(self))
            inner: Hashable = None
            if isinstance(self.items, dict):
                inner = tuple((k, v.key(depth - 1)) for k, v in self.items.items())
            elif self.items is not None:
                inner = tuple(v.key(depth - 1) for v in self.items)
            return (kind, inner, self.element.key(depth - 1) if self.element else None, self.origins)
        if kind is Kind.METHOD:
            return (kind, self.data[0].key(depth - 1) if depth else id(self), self.data[1])
        data = self.data if isinstance(self.data, (str, int, float, bool, type(None))) else id(self.data)
        return (kind, self.device, data, self.ident if kind is Kind.UNKNOWN else None, self.dtype)

    @property
    def is_tensor(self) -> bool:
        """A tensor, parameters and buffers included."""
        return self.kind is Kind.TENSOR

    @property
    def is_module(self) -> bool:
        """An ``nn.Module``, of a known class or not."""
        return self.kind is Kind.MODULE or (self.kind is Kind.OBJECT and self.data.is_module)

    def has(self, flag: str) -> bool:
        """``maybe_none``, ``parameter``, ``buffer``, ``leaf``, ``requires_grad``, ``packed`` …"""
        return flag in self.flags

    def __repr__(self) -> str:  # pragma: no cover - for debugging
        parts = [self.kind.name]
        for name in ("device", "dtype", "rank", "data", "items", "element", "flags"):
            value = getattr(self, name)
            if value not in (None, DType.UNKNOWN, frozenset()):
                parts.append(f"{name}={value!r}")
        return f"<{' '.join(parts)}>"


@dataclass(slots=True, eq=False)
class Closure:
    """A function together with the names of the function around it."""

    function: FunctionInfo
    names: MutableMapping[str, Value] | None = None
    module: ModuleInfo | None = None
    bare: bool = False  #: as it is written, without its decorators


@dataclass(slots=True, eq=False)
class Obj:
    """An instance on the abstract heap.

    For a module, ``device`` is where its parameters and buffers are; ``None`` means as they were created.
    """

    cls: ClassInfo | None
    external: str = ""  #: dotted name of the class, for one of another library
    attrs: dict[str, Value] = field(default_factory=dict)
    device: Device | None = None
    origins: tuple[Origin, ...] = ()
    arguments: tuple[tuple[Value, ...], dict[str, Value]] | None = None
    children: list[Value] = field(default_factory=list)  #: of Sequential, ModuleList …
    is_module: bool = False
    assumed: bool = False  #: built without a constructor call in sight
    stateful: bool = (
        True  #: a module that owns parameters or buffers (or may); of a project's class: through a base elsewhere
    )
    version: int = 0
    hooks: tuple[Hook, ...] = ()  #: forward hooks, of a module
    placed: tuple[Scope, ast.AST] | None = None  #: the move that brought it to its device, if one did


#: how the identity of a tuple with named members begins
FIELDS = ("fields", "result")

UNKNOWN = Value(Kind.UNKNOWN)
NONE = Value(Kind.NONE)
NUMBER = Value(Kind.NUMBER)
STRING = Value(Kind.STRING)
NO_FLAGS: frozenset[str] = frozenset()
MAYBE_NONE = frozenset({"maybe_none"})
#: flags that a value derived from a tensor keeps
KEPT_FLAGS = frozenset({"explicit_dtype", "maybe_none", "guessed"})
FILLED_LATER = frozenset({"filled_later"})  #: of a buffer: it is None until some method sets it
OVERWRITTEN = frozenset({"overwritten"})  #: of a list: members were replaced, by ones on another device perhaps


def elements(value: Value) -> tuple[Value, ...]:
    """The known members of a container."""
    if isinstance(value.items, dict):
        return tuple(value.items.values())
    return tuple(value.items) if value.items is not None else ()


def module_objects(value: Value) -> tuple[Value, ...]:
    """The instances that a module may be: itself, or the alternatives that were joined."""
    if value.kind is Kind.OBJECT and value.data.is_module:
        return (value,)
    return tuple(v for v in value.items or () if v.kind is Kind.OBJECT) if value.kind is Kind.MODULE else ()
