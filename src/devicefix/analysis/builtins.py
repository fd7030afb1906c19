"""Python's own functions, and the methods of lists, dicts, strings and sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from devicefix.analysis import computed_attributes
from devicefix.analysis.attribute_writes import write_attribute
from devicefix.analysis.facts import HostRead
from devicefix.analysis.joins import any_element, join, join_all, scattered
from devicefix.analysis.meeting import meet
from devicefix.analysis.subscripts import rebind
from devicefix.analysis.values import NONE, NUMBER, STRING, UNKNOWN, DType, Kind, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def call_function(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """A built-in function."""
    handler = _FUNCTIONS.get(name)
    if handler is not None:
        return handler(it, frame, node, args)
    return UNKNOWN


def _turn(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments, position: int = 0) -> Value:
    """What iterating over an argument gives."""
    from devicefix.analysis.iteration import iterate

    if position >= len(args.positional):
        return UNKNOWN
    return iterate(it, frame, args.positional[position], args.nodes[position], node)


def _len(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    if value is not None and (value.is_tensor or value.kind is Kind.UNKNOWN):
        return Value(Kind.SIZE, sources=(value,))
    return NUMBER


def _to_number(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if value is not None and value.is_tensor:
        it.records.host_reads.append(HostRead(node, name or "int", value, frame.scope()))
        return Value(Kind.NUMBER, dtype=DType.FLOAT if name == "float" else DType.INT)
    if value is not None and value.kind is Kind.SIZE:
        return value
    if value is not None and value.kind is Kind.STRING and name == "int":
        return Value(Kind.NUMBER, ident=("int", value.ident), dtype=DType.INT)
    return Value(Kind.NUMBER, dtype=DType.FLOAT if name == "float" else DType.INT, ident=("call", node))


def _container(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    name = node.func.id if isinstance(node.func, ast.Name) else "list"
    value = args.get(0)
    if value is None:
        return Value(Kind.SEQUENCE, items=(), data=name)
    if value.kind is Kind.SEQUENCE:
        return value.replace(data=name)
    if value.kind is Kind.SIZE:
        return value
    if value.kind in (Kind.MAPPING, Kind.LOADER, Kind.OBJECT, Kind.TENSOR):
        inner = _turn(it, frame, node, args)
        return Value(
            Kind.SEQUENCE, element=inner, data=name, ident=("keys", value.ident) if value.kind is Kind.MAPPING else None
        )
    inner = Value(
        Kind.UNKNOWN, device=value.device, ident=("item", value.ident, None), flags=value.flags & {"likely_tensor"}
    )
    return Value(Kind.SEQUENCE, element=inner, data=name, sources=value.sources)


def _dict(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    items = dict(args.keywords)
    if value is not None and value.kind is Kind.MAPPING:
        known = dict(value.items) if isinstance(value.items, dict) else {}
        return Value(Kind.MAPPING, items={**known, **items}, element=value.element)
    if args.keyword_splat or value is not None:
        pair = any_element(value) if value is not None and value.kind is Kind.SEQUENCE else None
        inner = (
            pair.items[1] if pair is not None and isinstance(pair.items, tuple) and len(pair.items) == 2 else UNKNOWN
        )
        return Value(Kind.MAPPING, items=items, element=inner)
    return Value(Kind.MAPPING, items=items)


def _range(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    sources = tuple(s for v in args.positional for s in v.sources)
    return Value(Kind.SEQUENCE, element=Value(Kind.NUMBER, dtype=DType.INT), data="range", sources=sources)


def _enumerate(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    if value is not None and value.kind is Kind.LOADER:
        pair = Value(Kind.SEQUENCE, items=(NUMBER, value.element or UNKNOWN), data="tuple")
        return value.replace(element=pair)
    inner = _turn(it, frame, node, args)
    return Value(Kind.SEQUENCE, element=Value(Kind.SEQUENCE, items=(NUMBER, inner), data="tuple"))


def _zip(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    if args.splat:
        value = args.positional[-1] if args.positional else UNKNOWN
        if isinstance(value.items, tuple):  # zip(*batch): one sequence per field
            fields = tuple(Value(Kind.SEQUENCE, element=v, data="tuple") for v in value.items)
            return Value(Kind.SEQUENCE, items=fields)
        return UNKNOWN
    rows = [v.items for v in args.positional if v.kind is Kind.SEQUENCE and isinstance(v.items, tuple)]
    if rows and len(rows) == len(args.positional) and len({len(row) for row in rows}) == 1:
        columns = zip(*rows, strict=True)
        return Value(Kind.SEQUENCE, items=tuple(Value(Kind.SEQUENCE, items=c, data="tuple") for c in columns))
    inner = tuple(_turn(it, frame, node, args, i) for i in range(len(args.positional)))
    pair = Value(Kind.SEQUENCE, items=inner, data="tuple")
    if any(v.kind is Kind.LOADER for v in args.positional):
        members = tuple(
            (v.element or UNKNOWN) if v.kind is Kind.LOADER else x for v, x in zip(args.positional, inner, strict=False)
        )
        return Value(Kind.LOADER, element=Value(Kind.SEQUENCE, items=members, data="tuple"), ident=("loader", node))
    return Value(Kind.SEQUENCE, element=pair)


def _map(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    from devicefix.analysis.calls import apply
    from devicefix.analysis.frames import Arguments as Args

    if len(args.positional) < 2:
        return UNKNOWN
    given = [_turn(it, frame, node, args, i) for i in range(1, len(args.positional))]
    return Value(
        Kind.SEQUENCE, element=apply(it, frame, node, args.positional[0], Args(given, nodes=list(args.nodes[1:])))
    )


def _filter(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(1)
    if value is not None and value.kind is Kind.SEQUENCE:
        return Value(
            Kind.SEQUENCE, element=any_element(value), data=value.data, sources=value.sources, ident=value.ident
        )
    return UNKNOWN


def _same(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    if value is None:
        return UNKNOWN
    if value.kind is Kind.SEQUENCE and isinstance(value.items, tuple):
        return Value(Kind.SEQUENCE, element=any_element(value), data="list")
    return value


def _iter(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return args.get(0) or UNKNOWN


def _next(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    if value is not None and value.kind is Kind.SEQUENCE and value.data == "parameters":
        return any_element(value)
    return _turn(it, frame, node, args)


def _sum(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    if value is None:
        return NUMBER
    if value.kind is Kind.SEQUENCE:
        from devicefix.analysis.operators import combine

        member = any_element(value)
        start = args.get(1, "start") or NUMBER
        if member.is_tensor:
            operands = [(start, args.nodes[1] if len(args.nodes) > 1 else None), (member, None)]
            device = meet(it, frame, node, "+", operands, dtype="arithmetic") if start.is_tensor else member.device
            return combine([member, start], device)
        return Value(Kind.UNKNOWN, device=member.device, flags=member.flags & {"likely_tensor"})
    if value.is_tensor:
        return value.replace(ident=None, rank=None)
    return UNKNOWN


def _extreme(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    sources = tuple(s for v in args.positional for s in v.sources)
    if any(v.is_tensor for v in args.positional):
        return join_all([v for v in args.positional if v.is_tensor])
    if sources:
        return Value(Kind.SIZE, sources=sources)
    value = args.get(0)
    if len(args.positional) == 1 and value is not None and value.kind is Kind.SEQUENCE:
        return any_element(value)
    return NUMBER if all(v.kind in (Kind.NUMBER, Kind.SIZE) for v in args.positional) else UNKNOWN


def _abs(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    return value.replace(ident=None) if value is not None and value.is_tensor else NUMBER


def _number(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return NUMBER


def _string(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    if value is not None and value.kind in (Kind.STRING, Kind.DEVICE, Kind.UNKNOWN):
        # str(device) names the same device
        if value.kind is Kind.DEVICE:
            return Value(Kind.STRING, device=value.device, ident=value.ident)
        return Value(Kind.STRING, data=value.data if value.kind is Kind.STRING else None, ident=value.ident)
    return STRING


def _super(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    obj = frame.self_object
    if obj is None or frame.function is None:
        return UNKNOWN
    return Value(Kind.OBJECT, data=obj, items=frame.function.cls, flags=frozenset({"super"}))


def _getattr(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    from devicefix.analysis.attribute_access import attribute

    base, name = args.get(0), args.get(1)
    if base is None or name is None:
        return UNKNOWN
    if isinstance(name.data, str):
        return attribute(it, frame, base, name.data)
    if base.kind is Kind.OBJECT and COMPUTED in base.data.attrs:
        return attribute(it, frame, base, COMPUTED)
    return Value(Kind.UNKNOWN, ident=("call", node))


#: stands for every attribute whose name is computed
COMPUTED = "<computed>"


def _setattr(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    base, name, value = args.get(0), args.get(1), args.get(2)
    if base is not None and name is not None and value is not None and isinstance(name.data, str):
        write_attribute(it, frame, base, name.data, value)
    elif base is not None and name is not None and value is not None:
        computed_attributes.may_be_any(it, base, value)
        if value.is_tensor and not value.has("parameter"):
            write_attribute(it, frame, base, COMPUTED, value)
        elif base.is_module and base.kind is Kind.OBJECT and (value.is_module or value.has("parameter")):
            base.data.children.append(value)  # registered under a name that is made at run time
    return NONE


_Function = Callable[["Interpreter", "Frame", ast.Call, "Arguments"], Value]
_FUNCTIONS: dict[str, _Function] = {
    "len": _len, "int": _to_number, "float": _to_number, "bool": _to_number, "list": _container, "tuple": _container,
    "set": _container, "sorted": _same, "reversed": _same, "iter": _iter, "next": _next, "dict": _dict, "range": _range,
    "enumerate": _enumerate, "zip": _zip, "map": _map, "filter": _filter, "sum": _sum, "max": _extreme, "min": _extreme,
    "abs": _abs, "round": _number, "isinstance": _number, "hasattr": _number, "callable": _number, "any": _number,
    "all": _number, "str": _string, "repr": _string, "super": _super, "getattr": _getattr, "setattr": _setattr,
    "print": lambda it, frame, node, args: NONE, "pow": _extreme,
    "vars": lambda it, frame, node, args: computed_attributes.attributes_of(args.get(0)),
}  # fmt: skip


# -- methods ---------------------------------------------------------------------------------------------------------


def call_method(it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments) -> Value:
    """A method of a list, a dict, a string, a size or another built-in value."""
    kind = receiver.kind
    if kind is Kind.SEQUENCE:
        return _sequence_method(it, frame, node, receiver, name, args)
    if kind is Kind.MAPPING:
        return _mapping_method(it, frame, node, receiver, name, args)
    if kind is Kind.STRING:
        if name in ("split", "rsplit", "splitlines"):
            return Value(Kind.SEQUENCE, element=STRING, data="list")
        return NUMBER if name in ("startswith", "endswith", "isdigit", "find", "count", "index") else STRING
    if kind is Kind.SIZE:
        return Value(Kind.SIZE, sources=receiver.sources)
    if kind is Kind.NDARRAY:
        return receiver if name not in ("item", "tolist") else UNKNOWN
    if kind is Kind.GENERATOR:
        return receiver if name == "manual_seed" else NUMBER
    if kind is Kind.LOADER:
        return UNKNOWN
    if kind is Kind.METHOD:
        if name == "update" and computed_attributes.is_attributes(receiver):
            return computed_attributes.update(it, frame, receiver, args)
        return Value(Kind.UNKNOWN, ident=("call", node))
    return UNKNOWN


def _sequence_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments
) -> Value:
    target = node.func.value if isinstance(node.func, ast.Attribute) else None
    given = args.positional[0] if args.positional else UNKNOWN
    if name in ("append", "add", "appendleft") and target is not None:
        rebind(it, frame, target, _grown(frame, receiver, [given]))
        return NONE
    if name == "insert" and target is not None and len(args.positional) > 1:
        rebind(
            it,
            frame,
            target,
            Value(Kind.SEQUENCE, element=join_all([*_members(receiver), args.positional[1]]), data=receiver.data),
        )
        return NONE
    if name in ("extend", "update") and target is not None:
        from devicefix.analysis.iteration import iterate

        inner = iterate(it, frame, given, args.nodes[0], node) if args.nodes else UNKNOWN
        longer = Value(Kind.SEQUENCE, element=join_all([*_members(receiver), inner]), data=receiver.data)
        rebind(it, frame, target, longer)
        return NONE
    if name in ("pop", "popleft", "__getitem__"):
        return any_element(receiver)
    if name in ("index", "count"):
        return NUMBER
    if name == "copy":
        return receiver
    return UNKNOWN


def _grown(frame: Frame, receiver: Value, added: list[Value]) -> Value:
    if isinstance(receiver.items, tuple) and not frame.loops and len(receiver.items) < 32:
        return receiver.replace(items=(*receiver.items, *added))
    members = [*_members(receiver), *added]
    element = join_all(members)
    return Value(
        Kind.SEQUENCE,
        element=element,
        data=receiver.data,
        origins=receiver.origins,
        sources=scattered([*receiver.sources, *members], element),
    )


def _members(value: Value) -> list[Value]:
    return [*elements(value), *([value.element] if value.element is not None else [])]


def _mapping_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments
) -> Value:
    target = node.func.value if isinstance(node.func, ast.Attribute) else None
    key = args.get(0)
    if name == "items":
        label = STRING if isinstance(receiver.items, dict) and receiver.items and receiver.element is None else UNKNOWN
        label = Value(label.kind, ident=("key", receiver.ident))
        pair = Value(Kind.SEQUENCE, items=(label, any_element(receiver)), data="tuple")
        return Value(Kind.SEQUENCE, element=pair)
    if name == "values":
        return Value(Kind.SEQUENCE, element=any_element(receiver), ident=receiver.ident)
    if name == "keys":
        return Value(Kind.SEQUENCE, element=Value(Kind.STRING, ident=("key", receiver.ident)))
    if name in ("get", "pop", "setdefault"):
        if key is not None and isinstance(receiver.items, dict) and key.data in receiver.items:
            known: Value = receiver.items[key.data]
            return known
        found = any_element(receiver)
        default = args.get(1)
        if default is not None and name == "setdefault" and not receiver.items and receiver.element is None:
            return default  # the first to come
        return join(found, default) if default is not None else found
    if name == "update" and target is not None:
        given = key
        items = dict(receiver.items) if isinstance(receiver.items, dict) else {}
        items.update(args.keywords)
        element = receiver.element
        if given is not None and given.kind is Kind.MAPPING:
            if isinstance(given.items, dict):
                items.update(given.items)
            if given.element is not None:
                element = given.element if element is None else join(element, given.element)
        elif given is not None:
            element = UNKNOWN
        rebind(it, frame, target, receiver.replace(items=items, element=element))
        return NONE
    if name == "copy":
        return receiver
    return UNKNOWN
