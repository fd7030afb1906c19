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
            rebound = {path for s in other if isinstance(s, ast.Assign) for target in s.targets for path in _names(target)}
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
        node.value.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool)
        and any(path_of(target) == path for target in node.targets)
    }  # fmt: skip
    return values == {True, False}
