"""DVF103: ``x.cuda`` without the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.findings import Finding
from devicefix.rules.base import Rule
from devicefix.rules.findings_for import finding
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF103", "bound-move"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every move method that stands where a moved value would."""
    called = {move.call.func for move in facts.records.moves if isinstance(move.call, ast.Call)}
    for node, values in facts.records.values.items():
        if not isinstance(node, ast.Attribute) or node.attr not in ("cuda", "cpu", "to") or node in called:
            continue
        if not all(v.is_tensor or v.is_module for v in values) or all(v.has("guessed") for v in values):
            continue
        if facts.here(node) and _used_as_tensor(facts, node):
            what = "tensor" if values[0].is_tensor else "module"
            message = f"{short(node)} is the method itself, not a moved {what}: the parentheses are missing"
            note = "whether a call belongs here, or the method is handed on, is for a person to say"
            yield finding(facts, CODE, NAME, node, message, note=note)


def _used_as_tensor(facts: FileFacts, node: ast.Attribute) -> bool:
    """Whether the bound method stands where its receiver, moved, would."""
    parent = facts.parents.get(node)
    child: ast.AST = node
    while isinstance(parent, (ast.IfExp, ast.Tuple, ast.List, ast.Starred, ast.keyword)):
        if isinstance(parent, ast.IfExp) and child is parent.test:
            return False
        child = parent
        parent = facts.parents.get(child)
    if isinstance(parent, (ast.Return, ast.BinOp, ast.Yield, ast.Expr)):
        return True
    if isinstance(parent, ast.Assign):
        # fn = x.cuda, called later, is a choice of method; x = x.cuda is a slip
        targets = [t for t in parent.targets if isinstance(t, ast.Name)]
        function = facts.function(node)
        called = function.evidence.called if function is not None else _called(facts.tree)
        return bool(targets) and not any(t.id in called for t in targets)
    return False


def _called(tree: ast.Module) -> frozenset[str]:
    return frozenset(n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a move method is used without being called",
    explanation="""
`return x.cuda` returns a bound method. Where it stands behind a test for CUDA, the CPU tests never reach it, and on
the card the next call fails with "'builtin_function_or_method' object has no attribute …".
""",
    fix_safety="There is no fix: the method may be handed on as a function on purpose.",
    check=check,
    silent=(
        """
import torch


def run(device):
    move = torch.ones(2).to  # called below
    return move(device)
""",
    ),
    references=("https://docs.python.org/3/reference/datamodel.html#instance-methods",),
)
