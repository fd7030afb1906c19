"""Placeholders that the first turn of a loop replaces, before they could meet anything."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix


def replaced_at_first(facts: FileFacts, call: ast.Call, mixes: list[Mix]) -> bool:
    """Whether the result of ``call`` is only a start value, and every mix stands in the other arm of ``if first: …``.

    >>> # total, first = torch.zeros(1), True
    >>> # while …:
    >>> #     if first: total, first = x, False
    >>> #     else: total = torch.cat((total, x))
    """
    statement = facts.statement(call)
    if not isinstance(statement, ast.Assign):
        return False
    names = {path for target in statement.targets for path in _names(target)}
    return bool(mixes) and all(_in_later_turn(facts, mix.node, names) for mix in mixes)


def _names(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [path for part in parts if (path := path_of(part)) is not None]


def _in_later_turn(facts: FileFacts, node: ast.AST, names: set[str]) -> bool:
    child, current = node, facts.parents.get(node)
    while current is not None and not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(current, ast.If) and any(child is s for s in (*current.body, *current.orelse)):
            other = current.orelse if any(child is s for s in current.body) else current.body
            targets = [target for s in other if isinstance(s, ast.Assign) for target in s.targets]
            rebound = {path for target in targets for path in _names(target)}
            if names & rebound and _is_flag(facts, current.test):
                return True
        child, current = current, facts.parents.get(current)
    return False


def _is_flag(facts: FileFacts, test: ast.expr) -> bool:
    """A name that is set to ``True`` in one place and to ``False`` in another."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    path = path_of(test)
    function = facts.function(test)
    if path is None or function is None:
        return False
    values = {
        value.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        for target, value in _pairs(node)
        if path_of(target) == path and isinstance(value, ast.Constant) and isinstance(value.value, bool)
    }
    return values == {True, False}


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Target and value of every name that an assignment binds."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for target in node.targets:
        value = node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            found.extend(zip(target.elts, value.elts, strict=True))
        else:
            found.append((target, node.value))
    return found
