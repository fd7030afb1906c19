"""Tuples whose members have names: ``namedtuple`` types, and what ``topk`` or ``max(dim)`` return."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devicefix.analysis.joins import any_element
from devicefix.analysis.values import FIELDS, UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter

#: what the types that ``namedtuple`` makes are called in place of a dotted name
TYPE = "builtins.<named tuple>"


def record(names: tuple[str, ...], members: tuple[Value, ...], *, result: bool = False) -> Value:
    """A tuple with named members; ``result`` for what an operation of torch returns."""
    kind = "result" if result else "fields"
    return Value(Kind.SEQUENCE, items=members, data="tuple", ident=(kind, names))


def field_names(value: Value) -> tuple[str, ...]:
    """The names of the members; none if they have no names."""
    ident = value.ident
    if isinstance(ident, tuple) and len(ident) == 2 and ident[0] in FIELDS:
        names: tuple[str, ...] = ident[1]
        return names
    return ()


def is_record(value: Value) -> bool:
    """Whether a value is a named tuple, whose fields cannot be assigned."""
    return value.kind is Kind.SEQUENCE and bool(field_names(value))


def is_record_type(value: Value) -> bool:
    """Whether a value is a type that ``namedtuple`` made."""
    return value.kind is Kind.EXTERNAL and value.data == TYPE


def attribute(value: Value, name: str) -> Value | None:
    """``record.name``; None if there is no such field."""
    names = field_names(value)
    if name in names and isinstance(value.items, tuple) and len(value.items) == len(names):
        found: Value = value.items[names.index(name)]
        return found
    return None


def named_tuple(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``namedtuple("T", "a b")``, ``NamedTuple("T", [("a", int)])``: a type."""
    given = args.get(1, "field_names") or args.keywords.get("fields")
    names = _names(given) if given is not None else None
    if names is None or args.splat or args.keyword_splat:
        return Value(Kind.UNKNOWN, ident=("call", node))
    return Value(Kind.EXTERNAL, data=TYPE, ident=("fields", names))


def _names(given: Value) -> tuple[str, ...] | None:
    if given.kind is Kind.STRING and isinstance(given.data, str):
        return tuple(given.data.replace(",", " ").split())
    if given.kind is not Kind.SEQUENCE or not isinstance(given.items, tuple):
        return None
    names = []
    for item in given.items:
        if item.kind is Kind.SEQUENCE and isinstance(item.items, tuple) and item.items:
            item = item.items[0]
        if item.kind is not Kind.STRING or not isinstance(item.data, str):
            return None
        names.append(item.data)
    return tuple(names)


def make(kind: Value, args: Arguments) -> Value:
    """``T(a, b)``."""
    names = field_names(kind)
    if args.splat or args.keyword_splat:
        given = args.positional[-1] if args.splat and len(args.positional) == 1 else UNKNOWN
        return record(names, tuple(args.keywords.get(name, given) for name in names))
    members = [args.get(i, name) for i, name in enumerate(names)]
    return record(names, tuple(UNKNOWN if value is None else value for value in members))


def call_method(value: Value, name: str, args: Arguments) -> Value | None:
    """``record._replace(a=…)``, ``T._make(values)``; None for other methods."""
    names = field_names(value)
    if name == "_replace" and isinstance(value.items, tuple) and not args.keyword_splat:
        members = (args.keywords.get(field, old) for field, old in zip(names, value.items, strict=True))
        return value.replace(items=tuple(members))
    if name == "_asdict" and isinstance(value.items, tuple):
        return Value(Kind.MAPPING, items=dict(zip(names, value.items, strict=True)))
    if name == "_make" and is_record_type(value) and args.positional:
        given = args.positional[0]
        if isinstance(given.items, tuple) and len(given.items) == len(names):
            return record(names, given.items)
        inner = any_element(given) if given.kind is Kind.SEQUENCE else UNKNOWN
        return record(names, (inner,) * len(names))
    return None


def changed_copy(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``dataclasses.replace(x, a=…)``: another instance with other fields."""
    value = args.get(0)
    if value is None or value.kind is not Kind.OBJECT or value.data.is_module or args.keyword_splat:
        return Value(Kind.UNKNOWN, ident=("call", node))
    return Value(Kind.OBJECT, data=replace(value.data, attrs={**value.data.attrs, **args.keywords}))


HANDLERS = {
    "collections.namedtuple": named_tuple,
    "typing.NamedTuple": named_tuple,
    "dataclasses.replace": changed_copy,
}
