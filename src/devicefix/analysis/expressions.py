"""The value of expressions other than calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devicefix import torch_api
from devicefix.analysis import heap, loaders, narrowing, operators, records, subscripts, tensors, unrolling
from devicefix.analysis.evidence import path_of
from devicefix.analysis.imports import external, global_value
from devicefix.analysis.loaders import batch, part
from devicefix.analysis.values import (
    MAYBE_NONE,
    NONE,
    NUMBER,
    STRING,
    UNKNOWN,
    Closure,
    Kind,
    Value,
    any_element,
    elements,
    join,
    join_all,
    scattered,
)

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

BUILTINS = frozenset(
    {"isinstance", "len", "int", "float", "bool", "str", "list", "tuple", "dict", "set", "range", "enumerate",
    "zip", "map",
     "filter", "sorted", "reversed", "iter", "next", "sum", "max", "min", "abs", "round", "print", "super", "getattr",
     "setattr", "hasattr", "type", "repr", "any", "all", "vars", "open", "id", "callable", "frozenset", "divmod", "pow",
     "slice", "object", "property", "Exception", "ValueError"}
)  # fmt: skip


def evaluate(it: Interpreter, frame: Frame, node: ast.expr) -> Value:
    """The abstract value of an expression."""
    handler = _EXPRESSIONS.get(node.__class__)
    if handler is None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                evaluate(it, frame, child)
        return UNKNOWN
    return handler(it, frame, node)  # type: ignore[no-any-return]


def _name(it: Interpreter, frame: Frame, node: ast.Name) -> Value:
    name = node.id
    value = frame.names.get(name)
    if value is None:
        value = lookup(it, frame, name)
        if value is None:
            return UNKNOWN
    if value.kind is Kind.UNKNOWN and frame.function is not None:
        return guess(frame, value, name)
    return value


def lookup(it: Interpreter, frame: Frame, name: str) -> Value | None:
    """A name that the function itself does not bind."""
    if frame.outer is not None and name in frame.outer:
        return frame.outer[name]
    running = it.globals.get(frame.module)
    if running is not None and name in running:
        return running[name]
    value = global_value(it, frame.module, name)
    if value is not None:
        return value
    if name in BUILTINS:
        return external(f"builtins.{name}")
    return None


def guess(frame: Frame, value: Value, path: str) -> Value:
    """An unknown value, seen as what the uses of its name say it is."""
    if "mixed" in value.flags or frame.function is None:
        return value
    evidence = frame.function.evidence
    if path in evidence.tensors or (path in evidence.likely_tensors and value.has("likely_tensor")):
        batched = any(o.kind == "batch" for o in value.origins)  # a batch has a dimension for its rows
        return Value(
            Kind.TENSOR, device=value.device, ident=value.ident, origins=value.origins, rank=-1 if batched else None,
            flags=(value.flags & MAYBE_NONE) | {"guessed"},
        )  # fmt: skip
    if path in evidence.modules:
        return Value(
            Kind.MODULE, device=value.device, ident=value.ident, flags=(value.flags & MAYBE_NONE) | {"guessed"}
        )
    return value


def _attribute(it: Interpreter, frame: Frame, node: ast.Attribute) -> Value:
    base = it.evaluate(frame, node.value)
    if node.attr in torch_api.MOVE_METHODS and (base.is_tensor or base.is_module):
        it.records.values[node].append(base)
    value = attribute(it, frame, base, node.attr, node)
    if value.kind is Kind.UNKNOWN and frame.function is not None:
        path = path_of(node)
        if path is not None:
            return guess(frame, value, path)
    return value


#: what objects that hold settings are called; their ``device`` is a choice, not the place of a tensor
SETTINGS = frozenset(
    {
        "args",
        "arguments",
        "opt",
        "opts",
        "cfg",
        "config",
        "conf",
        "hparams",
        "params",
        "flags",
        "FLAGS",
        "settings",
        "options",
    }
)


def _is_settings(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lstrip("_") in SETTINGS


def attribute(it: Interpreter, frame: Frame, base: Value, name: str, node: ast.Attribute | None = None) -> Value:
    """``base.name``."""
    kind = base.kind
    if kind is Kind.TENSOR:
        return tensors.attribute(base, name)
    if kind is Kind.OBJECT:
        return heap.read_attribute(it, frame, base, name, node)
    if kind is Kind.CLASS:
        return heap.class_attribute(it, frame, base.data, name)
    if kind is Kind.SEQUENCE:
        return records.attribute(base, name) or Value(Kind.METHOD, data=(base, name))
    if kind is Kind.EXTERNAL:
        if records.is_record_type(base):
            return Value(Kind.METHOD, data=(base, name))
        if base.items is not None:  # a module of the project
            value = global_value(it, base.items, name)
            if value is not None:
                return value
            below = it.project.resolve(base.items, f"{base.data}.{name}")
            return Value(Kind.EXTERNAL, data=f"{base.data}.{name}", items=below)
        return tensors.external_attribute(f"{base.data}.{name}")
    if kind is Kind.MODULE:
        if name == "device":
            return Value(Kind.DEVICE, device=base.device)
        return Value(Kind.METHOD, data=(base, name), device=base.device)
    if kind is Kind.UNKNOWN:
        if name == "device":
            key = ("attr", base.ident, name)
            if base.ident is not None and node is not None and _is_settings(node.value):
                return Value(Kind.DEVICE, device=heap.device_symbol(key), ident=key)
            return Value(Kind.DEVICE, device=base.device or heap.device_symbol(("device", base.ident)), ident=key)
        if name in ("shape", "ndim"):
            return Value(Kind.SIZE, sources=(base,))
        if name == "dtype":
            return Value(Kind.DTYPE)
        return loaders.attribute(base, name)
    if kind is Kind.DEVICE:
        return STRING if name == "type" else NUMBER
    if kind is Kind.SIZE:
        return Value(Kind.METHOD, data=(base, name))
    return Value(Kind.METHOD, data=(base, name))


def _constant(it: Interpreter, frame: Frame, node: ast.Constant) -> Value:
    constant = node.value
    if constant is None:
        return NONE
    if constant.__class__ is str:
        return Value(Kind.STRING, data=constant)
    if isinstance(constant, (bool, int, float, complex)):
        return Value(Kind.NUMBER, data=constant)
    return UNKNOWN


def _joined(it: Interpreter, frame: Frame, node: ast.JoinedStr) -> Value:
    text = ""
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            text += str(piece.value)
        elif isinstance(piece, ast.FormattedValue):
            it.evaluate(frame, piece.value)
            text += "{}"
    return Value(Kind.STRING, data=None if "{}" in text else text, ident=("text", ast.unparse(node)), sources=())


def _sequence(it: Interpreter, frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    items: list[Value] = []
    loose: Value | None = None
    held: list[Value] = []  # what the parts that are spread hold
    for item in node.elts:
        if isinstance(item, ast.Starred):
            inner = it.evaluate(frame, item.value)
            if isinstance(inner.items, tuple) and loose is None:
                items.extend(inner.items)
                continue
            if inner.kind is Kind.SEQUENCE:
                held.extend((*elements(inner), *inner.sources))
            inner = member(inner, None)
            held.append(inner)
            loose = inner if loose is None else join(loose, inner)
        else:
            items.append(it.evaluate(frame, item))
    if loose is not None:
        element = join_all([*items, loose])
        return Value(Kind.SEQUENCE, element=element, sources=scattered([*items, *held], element) or loose.sources)
    return Value(Kind.SEQUENCE, items=tuple(items), data="tuple" if isinstance(node, ast.Tuple) else "list")


def _dict(it: Interpreter, frame: Frame, node: ast.Dict) -> Value:
    items: dict[Any, Value] = {}
    loose: Value | None = None
    for key, value in zip(node.keys, node.values, strict=False):
        entry = it.evaluate(frame, value)
        if key is None:
            if isinstance(entry.items, dict):
                items.update(entry.items)
            else:
                inner = member(entry, None)
                loose = inner if loose is None else join(loose, inner)
            continue
        if isinstance(key, ast.Constant):
            items[key.value] = entry
        else:
            it.evaluate(frame, key)
            loose = entry if loose is None else join(loose, entry)
    return Value(Kind.MAPPING, items=items, element=loose)


def _comprehension(it: Interpreter, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    generator = node.generators[0]
    if len(node.generators) == 1 and unrolling.is_plain(generator):
        members = unrolling.turns(it.evaluate(frame, generator.iter))
        if members:
            return unrolling.each(it, frame, node, members)
    element = _in_comprehension(it, frame, node.generators, lambda: it.evaluate(frame, node.elt))
    return Value(Kind.SEQUENCE, element=element, data="generator" if isinstance(node, ast.GeneratorExp) else "list")


def _dict_comprehension(it: Interpreter, frame: Frame, node: ast.DictComp) -> Value:
    def entry() -> Value:
        it.evaluate(frame, node.key)
        return it.evaluate(frame, node.value)

    source = it.evaluate(frame, node.generators[0].iter) if node.generators else UNKNOWN
    element = _in_comprehension(it, frame, node.generators, entry)
    keys = source.ident if source.kind is Kind.SEQUENCE else None
    return Value(Kind.MAPPING, element=element, ident=keys)


def _in_comprehension(
    it: Interpreter, frame: Frame, generators: list[ast.comprehension], result: Callable[[], Value]
) -> Value:
    before = dict(frame.names)
    frame.conditions += 1
    for generator in generators:
        iterable = it.evaluate(frame, generator.iter)
        it.assign(frame, generator.target, iterate(it, frame, iterable, generator.iter, generator))
        for condition in generator.ifs:
            it.evaluate(frame, condition)
            narrowing.narrow(it, frame, condition, True)
    value = result()
    frame.conditions -= 1
    walrus = {k: v for k, v in frame.names.items() if k not in before}
    targets = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    frame.names.clear()
    frame.names.update(before)
    frame.names.update({k: v for k, v in walrus.items() if k not in targets})
    return value


def _conditional(it: Interpreter, frame: Frame, node: ast.IfExp) -> Value:
    it.evaluate(frame, node.test)
    truth = narrowing.truth(it, frame, node.test)
    if truth is not None:
        return it.evaluate(frame, node.body if truth else node.orelse)
    before = dict(frame.names)
    narrowing.narrow(it, frame, node.test, True)
    first = it.evaluate(frame, node.body)
    frame.names.clear()
    frame.names.update(before)
    narrowing.narrow(it, frame, node.test, False)
    second = it.evaluate(frame, node.orelse)
    frame.names.clear()
    frame.names.update(before)
    return choice(node, first, second)


def choice(node: ast.expr, first: Value, second: Value) -> Value:
    """``a if c else b``; two devices make one that the run decides about."""
    if Kind.DEVICE in (first.kind, second.kind) or (first.kind is second.kind is Kind.STRING):
        a, b = tensors.as_device(first), tensors.as_device(second)
        if a is not None and b is not None and a != b and not (a.host and b.host):
            return Value(first.kind, device=heap.device_symbol(("choice", node)), ident=("choice", node))
    return join(first, second)


def _boolean(it: Interpreter, frame: Frame, node: ast.BoolOp) -> Value:
    values = []
    before = dict(frame.names)
    for piece in node.values:
        values.append(it.evaluate(frame, piece))
        narrowing.narrow(it, frame, piece, isinstance(node.op, ast.And))
    frame.names.clear()
    frame.names.update(before)
    if isinstance(node.op, ast.Or):  # "x or default"
        values = [v.replace(flags=v.flags - MAYBE_NONE) if v.has("maybe_none") else v for v in values[:-1]] + values[
            -1:
        ]
        values = [v for v in values if v.kind is not Kind.NONE] or values
    return join_all(values)


def _unary(it: Interpreter, frame: Frame, node: ast.UnaryOp) -> Value:
    value = it.evaluate(frame, node.operand)
    if isinstance(node.op, ast.Not):
        return NUMBER
    if value.is_tensor:
        return value.replace(ident=None, flags=value.flags & KEPT_FLAGS)
    if value.kind is Kind.NUMBER and isinstance(value.data, (int, float)) and isinstance(node.op, ast.USub):
        return Value(Kind.NUMBER, data=-value.data)
    return value if value.kind in (Kind.NUMBER, Kind.SIZE) else UNKNOWN


#: flags that a value derived from a tensor keeps
KEPT_FLAGS = frozenset({"explicit_dtype", "maybe_none", "guessed"})


def _binary(it: Interpreter, frame: Frame, node: ast.BinOp) -> Value:
    return operators.binary(it, frame, node, it.evaluate(frame, node.left), it.evaluate(frame, node.right))


def _compare(it: Interpreter, frame: Frame, node: ast.Compare) -> Value:
    values = [it.evaluate(frame, node.left), *(it.evaluate(frame, c) for c in node.comparators)]
    return operators.compare(it, frame, node, values)


def _subscript(it: Interpreter, frame: Frame, node: ast.Subscript) -> Value:
    value = subscripts.load(it, frame, node)
    if value.kind is Kind.UNKNOWN and frame.function is not None:
        path = path_of(node)
        if path is not None:
            return guess(frame, value, path)
    return value


def _lambda(it: Interpreter, frame: Frame, node: ast.Lambda) -> Value:
    info = frame.module.function(node, None, frame.function)
    return Value(
        Kind.FUNCTION, data=Closure(info, frame.inside if frame.function is not None else frame.names, frame.module)
    )


def _walrus(it: Interpreter, frame: Frame, node: ast.NamedExpr) -> Value:
    value = it.evaluate(frame, node.value)
    it.assign(frame, node.target, value, node.value)
    return value


def _call(it: Interpreter, frame: Frame, node: ast.Call) -> Value:
    from devicefix.analysis.calls import call

    _EXPRESSIONS[ast.Call] = call  # that module needs this one, so it is bound at the first call
    return call(it, frame, node)


def _transparent(it: Interpreter, frame: Frame, node: Any) -> Value:
    return it.evaluate(frame, node.value)


def _yield(it: Interpreter, frame: Frame, node: ast.Yield) -> Value:
    if node.value is not None:
        frame.yields.append(it.evaluate(frame, node.value))
    return UNKNOWN


def _yield_from(it: Interpreter, frame: Frame, node: ast.YieldFrom) -> Value:
    frame.yields.append(member(it.evaluate(frame, node.value), None))
    return UNKNOWN


def member(value: Value, index: int | None) -> Value:
    """One element of a value that is unpacked or iterated over, so far as it is known without a loop."""
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.LOADER):
        if index is not None and isinstance(value.items, tuple):
            return value.items[index] if index < len(value.items) else UNKNOWN
        return any_element(value)
    if value.kind is Kind.SIZE:
        return Value(Kind.SIZE, sources=value.sources)
    if value.kind is Kind.TENSOR:
        rank = None if value.rank is None or value.rank < 0 else max(value.rank - 1, 0)
        return value.replace(rank=rank, ident=("item", value.ident, index), flags=value.flags & KEPT_FLAGS)
    if value.kind is Kind.UNKNOWN:
        return Value(
            Kind.UNKNOWN,
            device=value.device,
            ident=("item", value.ident, index),
            origins=part(value.origins, index),
            flags=value.flags & {"likely_tensor"},
        )
    return UNKNOWN


def iterate(it: Interpreter, frame: Frame, value: Value, node: ast.expr, place: ast.AST) -> Value:
    """What a loop over a value binds in one turn. ``place`` is the ``for`` statement or the comprehension."""
    if value.kind is Kind.LOADER:
        return batch(it, frame, value, place)
    if value.kind is Kind.OBJECT:
        return heap.iterate(it, frame, value, place)
    if value.kind is Kind.MAPPING:
        keys = tuple(value.items) if isinstance(value.items, dict) and value.element is None else ()
        if keys and all(isinstance(k, str) for k in keys):
            return Value(Kind.STRING, ident=("key", value.ident))
        return Value(Kind.UNKNOWN, ident=("key", value.ident))
    if (
        value.kind is Kind.UNKNOWN
        and frame.function is not None
        and frame.function.cls is None
        and value.has("parameter")
    ):
        # a list of tensors, a data loader, a range: nothing says where its members are
        return Value(Kind.UNKNOWN, ident=("item", value.ident, None))
    return member(value, None)


_EXPRESSIONS: dict[type[ast.expr], Any] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.JoinedStr: _joined,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Subscript: _subscript,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Call: _call,
    ast.Await: _transparent,
    ast.Starred: _transparent,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
}

__all__ = [
    "BUILTINS",
    "KEPT_FLAGS",
    "attribute",
    "choice",
    "elements",
    "evaluate",
    "guess",
    "iterate",
    "lookup",
    "member",
]
