"""Abstract values: what an expression is, where it lives, and which line made it."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from devicefix.analysis import devices

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

    @property
    def zero_dim(self) -> bool:
        """A tensor shown to have no dimension."""
        return self.rank == 0

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
OVERWRITTEN = frozenset({"overwritten"})  #: of a list: members were replaced, by ones on another device perhaps


def merge_origins(values: Iterable[Value]) -> tuple[Origin, ...]:
    """All origins of some values, each once, in order."""
    seen: dict[int, Origin] = {}
    for value in values:
        for origin in value.origins:
            seen.setdefault(id(origin), origin)
    return tuple(seen.values())


def join(a: Value, b: Value) -> Value:
    """What is known of a value that is ``a`` on one path and ``b`` on the other."""
    if a is b:
        return a
    made = _in_place_of_argument(a, b) or _in_place_of_argument(b, a)
    if made is not None:
        return made
    if a.kind is not b.kind:
        return _join_kinds(a, b)
    kind = a.kind
    if kind is Kind.TENSOR:
        return Value(
            kind,
            device=devices.join(a.device, b.device),
            dtype=a.dtype if a.dtype is b.dtype else DType.UNKNOWN,
            rank=_join_ranks(a.rank, b.rank),
            origins=merge_origins((a, b)) if a.origins is not b.origins else a.origins,
            ident=a.ident if a.ident == b.ident else None,
            sources=a.sources if a.sources == b.sources else (),
            # properties hold only on both paths, doubts (maybe_none) on either
            flags=(a.flags & b.flags) | ((a.flags | b.flags) & MAYBE_NONE) | _registered(a, b),
        )
    if kind in (Kind.OBJECT, Kind.CLASS, Kind.FUNCTION):
        return a if a.data is b.data else _join_objects(a, b)
    if kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.LOADER):
        return _join_containers(a, b)
    if kind in (Kind.DEVICE, Kind.GENERATOR):
        return a if a.device == b.device else Value(kind, device=devices.join(a.device, b.device))
    if kind is Kind.UNKNOWN:
        if a.ident == b.ident and a.device == b.device:
            return a
        return Value(kind, device=devices.join(a.device, b.device), origins=merge_origins((a, b)))
    if kind is Kind.MODULE and (a.items or b.items):
        members = {id(v.data): v for v in (*(a.items or ()), *(b.items or ()))}
        return Value(kind, device=devices.join(a.device, b.device), items=tuple(members.values()))
    if a.data == b.data:
        return a
    if kind in (Kind.METHOD, Kind.EXTERNAL):
        return UNKNOWN
    return Value(kind, dtype=a.dtype if a.dtype is b.dtype else DType.UNKNOWN, sources=a.sources + b.sources)


def _in_place_of_argument(given: Value, made: Value) -> Value | None:
    """``if h is None: h = torch.zeros(3)``: a caller puts what it gives where it belongs; what is made here counts."""
    if made.kind is not Kind.TENSOR or made.device is None or not made.device.host or not made.origins:
        return None
    if given.kind not in (Kind.UNKNOWN, Kind.TENSOR) or not (isinstance(given.ident, tuple) and given.ident):
        return None
    if given.ident[0] != "parameter" or (given.device is not None and not given.device.assumed):
        return None
    return made if any(origin.kind == "factory" for origin in made.origins) else None


def _join_ranks(a: int | None, b: int | None) -> int | None:
    if a == b:
        return a
    return -1 if a and b else None  # both have dimensions, how many is not known


def _registered(a: Value, b: Value) -> frozenset[str]:
    """A parameter on one path and a buffer on the other: either way the module owns it."""
    registered = {"parameter", "buffer"}
    if a.flags & b.flags & registered:
        return NO_FLAGS  # the same on both paths
    return frozenset({"buffer"}) if a.flags & registered and b.flags & registered else NO_FLAGS


def _join_kinds(a: Value, b: Value) -> Value:
    if {a.kind, b.kind} == {Kind.MODULE, Kind.OBJECT}:
        module, other = (a, b) if a.kind is Kind.MODULE else (b, a)
        if other.data.is_module:
            members = {id(v.data): v for v in (*(module.items or ()), other)}
            return Value(
                Kind.MODULE, device=devices.join(module.device, other.data.device), items=tuple(members.values())
            )
    if a.kind is Kind.NONE or b.kind is Kind.NONE:
        other = b if a.kind is Kind.NONE else a
        return other if other.has("maybe_none") else other.replace(flags=other.flags | MAYBE_NONE)
    numeric = (Kind.NUMBER, Kind.SIZE)
    if a.kind in numeric and b.kind in numeric:
        return Value(Kind.SIZE, sources=a.sources + b.sources)
    if Kind.EXTERNAL in (a.kind, b.kind) and {a.kind, b.kind} & {Kind.FUNCTION, Kind.CLASS}:
        return a if a.kind is Kind.EXTERNAL else b  # try: from lib import f / except ImportError: def f
    return Value(
        Kind.UNKNOWN,
        device=devices.join(a.device, b.device) if a.device and b.device else None,
        flags=frozenset({"mixed"}),
    )


def _join_objects(a: Value, b: Value) -> Value:
    if a.kind is Kind.OBJECT and (a.data.cls, a.data.external) == (b.data.cls, b.data.external):
        if a.data.device == b.data.device and bool(a.data.origins) == bool(b.data.origins):
            return a  # two layers of one list: one stands for both
    if a.kind is Kind.OBJECT and a.data.is_module and b.data.is_module:
        return Value(Kind.MODULE, device=devices.join(a.data.device, b.data.device), items=(a, b))
    return UNKNOWN


def _join_containers(a: Value, b: Value) -> Value:
    element = a.element if b.element is None else b.element if a.element is None else join(a.element, b.element)
    items: Any = None
    if isinstance(a.items, dict) and isinstance(b.items, dict):
        items = {
            k: join(a.items[k], b.items[k]) if k in a.items and k in b.items else a.items.get(k) or b.items[k]
            for k in (*a.items, *(k for k in b.items if k not in a.items))
        }
    elif a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=False))
    else:
        for value in (*elements(a), *elements(b)):
            element = value if element is None else join(element, value)
    doubts = (a.flags | b.flags) & (MAYBE_NONE | OVERWRITTEN)
    known = (a.sources or b.sources) and not doubts & OVERWRITTEN
    sources = scattered((*a.sources, *b.sources), element) if known else ()
    return Value(
        a.kind,
        items=items,
        element=element,
        origins=merge_origins((a, b)),
        data=a.data if a.data == b.data else None,
        ident=a.ident if a.ident == b.ident and isinstance(a.ident, tuple) and a.ident[0] in FIELDS else None,
        sources=sources,
        flags=(a.flags & b.flags) | doubts,
    )


def elements(value: Value) -> tuple[Value, ...]:
    """The known members of a container."""
    if isinstance(value.items, dict):
        return tuple(value.items.values())
    return tuple(value.items) if value.items is not None else ()


def any_element(value: Value) -> Value:
    """One member of a container, standing for all of them."""
    result = value.element
    for item in elements(value):
        result = item if result is None else join(result, item)
    if result is None:
        return Value(Kind.UNKNOWN, device=value.device, origins=value.origins)
    return result


def module_objects(value: Value) -> tuple[Value, ...]:
    """The instances that a module may be: itself, or the alternatives that were joined."""
    if value.kind is Kind.OBJECT and value.data.is_module:
        return (value,)
    return tuple(v for v in value.items or () if v.kind is Kind.OBJECT) if value.kind is Kind.MODULE else ()


def scattered(members: Iterable[Value], element: Value | None = None) -> tuple[Value, ...]:
    """Tensors of a list that are on different devices, one per device; none if all are on one.

    Where the one value that stands for all, ``element``, is no tensor, the tensors among the members are told as well.
    """
    found: dict[Device, Value] = {}
    for value in members:
        if value.is_tensor and value.device is not None:
            found.setdefault(value.device, value)
    lost = element is not None and element.kind is Kind.UNKNOWN
    return tuple(found.values()) if len(found) > 1 or lost else ()


def join_all(values: Iterable[Value]) -> Value:
    """The join of several values; unknown for none."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return UNKNOWN if result is None else result
