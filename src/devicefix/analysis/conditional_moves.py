"""Moves as the arms of a conditional expression: ``x.cuda() if gpu else x.cpu()``, ``gpu and x.cuda()``."""

from __future__ import annotations

import ast

from devicefix.torch_api import MOVE_METHODS

#: why the result of such a statement cannot simply be bound
CONDITIONAL = "the move happens only on a condition, and otherwise the expression is something else"


def arms(node: ast.AST | None) -> list[ast.expr]:
    """The expressions of which one is the value: both arms of ``a if c else b``, the last part of ``c and a``."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return [node.values[-1]] if isinstance(node, ast.BoolOp) else []


def is_arm(node: ast.AST | None, call: ast.Call) -> bool:
    """Whether a call is what a conditional expression may be."""
    return any(arm is call for arm in arms(node))


def ends_with(value: ast.expr, call: ast.Call) -> bool:
    """Whether a call is the last thing that is evaluated of an expression, or of a part of it, but for one method."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return any(ends_with(element, call) for element in value.elts)
    if isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return ends_with(value.elt, call)
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        return any(ends_with(arm, call) for arm in arms(value))
    return value is call or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.value is call
    )


def is_move(node: ast.expr) -> bool:
    """Whether an expression calls a move of something."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVE_METHODS


def receiver(node: ast.expr) -> str:
    """What a move is called on, as text."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    return ast.unparse(node.func.value)


def moves_one_thing(node: ast.expr) -> bool:
    """Whether every arm moves the same thing, so that the whole expression is that thing, moved."""
    if not isinstance(node, ast.IfExp) or not all(map(is_move, arms(node))):
        return False
    return receiver(node.body) == receiver(node.orelse)


def is_second_arm(node: ast.expr, call: ast.Call) -> bool:
    """Whether a call is the ``else`` of a conditional expression whose other arm moves the same thing."""
    return isinstance(node, ast.IfExp) and node.orelse is call and moves_one_thing(node)
