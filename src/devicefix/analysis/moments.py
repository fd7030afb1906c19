"""Which of two places in the program is reached first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of

if TYPE_CHECKING:
    from devicefix.analysis.values import Obj, Scope


def placed_later(obj: Obj, scope: Scope) -> bool:
    """Whether a module is brought to its device only after ``scope``: there it is still where it was built."""
    return obj.placed is not None and _precedes(scope, *obj.placed)


def placed_earlier(obj: Obj, scope: Scope, node: ast.AST) -> bool:
    """Whether a module is brought to its device before ``node`` is evaluated in ``scope``."""
    return obj.placed is not None and _precedes(obj.placed[0], scope, node)


def set_later(attribute: str, scope: Scope) -> bool:
    """Whether the constructor that ``scope`` runs in, or runs under, sets an attribute only after it."""
    current: Scope | None = scope
    while current is not None and current.self_object is scope.self_object:
        function, statement = current.function, current.statement
        if function is not None and function.name == "__init__" and statement is not None and function.parameters:
            owner = function.parameters[0].arg
            places = [
                n.lineno for n in ast.walk(function.node) if isinstance(n, ast.expr) and _sets(n, owner, attribute)
            ]
            return bool(places) and min(places) >= statement.lineno
        current = current.caller
    return False


def _sets(node: ast.expr, owner: str, attribute: str) -> bool:
    """``self.name = …``, ``self.register_buffer("name", …)``."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Store) and path_of(node) == f"{owner}.{attribute}"
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
        return False
    return node.args[0].value == attribute and (path_of(node.func) or "").startswith(f"{owner}.register_")


def _precedes(scope: Scope, other: Scope, node: ast.AST) -> bool:
    """Whether ``scope`` is left before ``node`` is evaluated in ``other``; false where they share no function."""
    first, second = _way(scope), _way(other)
    for (function, statement, _), (other_function, other_statement, _) in zip(first, second, strict=False):
        if function is not other_function or statement is None or other_statement is None:
            return False
        if statement is not other_statement:
            return (statement.lineno, statement.col_offset) < (other_statement.lineno, other_statement.col_offset)
    if len(first) <= len(second):
        return False
    call = first[len(second) - 1][2]  # by which the statement went on: it gives what is moved, or takes it
    return call is not None and any(inner is call for inner in ast.walk(node))


def _way(scope: Scope) -> list[tuple[object, ast.stmt | None, ast.AST | None]]:
    """Functions with the statements and calls by which they went on, from the outermost inwards."""
    way: list[tuple[object, ast.stmt | None, ast.AST | None]] = []
    current, call = scope, None
    while True:
        way.append((current.function or current.module, current.statement, call))
        if current.caller is None:
            return way[::-1]
        current, call = current.caller, current.call
