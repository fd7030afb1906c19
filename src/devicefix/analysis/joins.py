"""What is known of a value that may be one thing or another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from devicefix.analysis import devices
from devicefix.analysis.values import (
    FIELDS,
    MAYBE_NONE,
    NO_FLAGS,
    OVERWRITTEN,
    UNKNOWN,
    DType,
    Kind,
    Origin,
    Value,
    elements,
)

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device


#: what a module owns
REGISTERED = frozenset({"parameter", "buffer"})


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
        owned_a, owned_b = bool(a.flags & REGISTERED), bool(b.flags & REGISTERED)
        return Value(
            kind,
            device=devices.join(a.device, b.device),
            dtype=a.dtype if a.dtype is b.dtype else DType.UNKNOWN,
            rank=_join_ranks(a.rank, b.rank),
            # what a module owns goes along with it, so only the other one can be left behind
            origins=a.origins
            if a.origins is b.origins or owned_b > owned_a
            else b.origins
            if owned_a > owned_b
            else merge_origins((a, b)),
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
    if a.flags & b.flags & REGISTERED:
        return NO_FLAGS  # the same on both paths
    return frozenset({"buffer"}) if a.flags & REGISTERED and b.flags & REGISTERED else NO_FLAGS


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


def any_element(value: Value) -> Value:
    """One member of a container, standing for all of them."""
    result = value.element
    for item in elements(value):
        result = item if result is None else join(result, item)
    if result is None:
        return Value(Kind.UNKNOWN, device=value.device, origins=value.origins)
    return result


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
