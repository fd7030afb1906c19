"""The value of expressions: one function for each kind."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from devicefix.analysis import narrowing, operators, subscripts
from devicefix.analysis.attribute_access import load_attribute
from devicefix.analysis.device_arguments import as_device, either
from devicefix.analysis.devices import symbol
from devicefix.analysis.displays import comprehension, dict_comprehension, dict_display, sequence_display
from devicefix.analysis.evidence import path_of
from devicefix.analysis.iteration import member
from devicefix.analysis.joins import join, join_all
from devicefix.analysis.names import guess, load_name
from devicefix.analysis.texts import text_ident
from devicefix.analysis.values import KEPT_FLAGS, MAYBE_NONE, NONE, NUMBER, UNKNOWN, Closure, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def evaluate(it: Interpreter, frame: Frame, node: ast.expr) -> Value:
    """The abstract value of an expression."""
    handler = _EXPRESSIONS.get(node.__class__)
    if handler is None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                evaluate(it, frame, child)
        return UNKNOWN
    return handler(it, frame, node)  # type: ignore[no-any-return]


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
    return Value(Kind.STRING, data=None if "{}" in text else text, ident=text_ident(node), sources=())


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
        a, b = as_device(first), as_device(second)
        if a is not None and b is not None and a != b and not (a.host and b.host):
            return Value(first.kind, device=symbol(("choice", node)), ident=("choice", node))
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
        if len(values) > 1:
            if values[0].kind is Kind.DEVICE:
                return values[0]  # a device is true
            return either(values[0], values[1]) or join_all(values)
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


_EXPRESSIONS: dict[type[ast.expr], Any] = {
    ast.Name: load_name,
    ast.Attribute: load_attribute,
    ast.Constant: _constant,
    ast.JoinedStr: _joined,
    ast.Tuple: sequence_display,
    ast.List: sequence_display,
    ast.Set: sequence_display,
    ast.Dict: dict_display,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: dict_comprehension,
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
