"""Whether a statement that moves a model can itself be moved up, past the statements before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.evidence import path_of

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

Functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

#: methods of a module that do the same wherever the module is
INDIFFERENT = frozenset(
    {"parameters", "named_parameters", "load_state_dict", "state_dict", "train", "eval", "requires_grad_", "zero_grad",
     "children", "named_children", "modules", "named_modules", "register_forward_hook", "to", "cuda"}
)  # fmt: skip


@dataclass(slots=True)
class Reordering:
    """A statement and the one that it should come before, in one block."""

    statement: ast.stmt
    anchor: ast.stmt
    doubt: str = ""


@dataclass(slots=True)
class Refusal:
    """Why a statement stays where it is; ``runs`` if the model is used in between."""

    note: str
    runs: bool = False


def same_block(facts: FileFacts, node: ast.AST, other: ast.AST) -> tuple[ast.stmt, ast.stmt, list[ast.stmt]] | None:
    """The statements of one block that hold ``node`` and ``other``: (first, second, block).

    ``other`` has to be a statement of its own, or the only one under an ``if``. Loops around ``node`` are not left.
    """
    second = facts.statement(other)
    if second is None:
        return None
    parent = facts.parents.get(second)
    alone = isinstance(parent, ast.If) and parent.body == [second] and not parent.orelse
    if isinstance(parent, ast.If) and alone and _block(facts, node, second) is None:
        second = parent
    found = _block(facts, node, second)
    return (found[0], second, found[1]) if found is not None else None


def _block(facts: FileFacts, node: ast.AST, second: ast.stmt) -> tuple[ast.stmt, list[ast.stmt]] | None:
    current: ast.AST | None = facts.statement(node)
    while isinstance(current, ast.stmt) and not isinstance(current, Functions):
        parent = facts.parents.get(current)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and current in block and second in block:
                return (current, block) if block.index(current) < block.index(second) else None
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.While)):
            return None
        current = parent
    return None


def enclosing_block(facts: FileFacts, statement: ast.stmt) -> list[ast.stmt] | None:
    """The statements among which one stands."""
    parent = facts.parents.get(statement)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            return block
    return None


def moved_up(facts: FileFacts, first: ast.stmt, second: ast.stmt, block: list[ast.stmt]) -> Reordering | Refusal:
    """Whether ``second``, which moves a module, may come before ``first``."""
    call = _plain_move(second.body[0] if isinstance(second, ast.If) else second)
    if call is None:
        return Refusal("the statement does more than to move it")
    assert isinstance(call.func, ast.Attribute)
    model = path_of(call.func.value)
    if model is None:
        return Refusal("what it moves is no plain name")
    between = block[block.index(first) : block.index(second)]
    wanted = set(_paths_read(second))
    for statement in between:
        for bound in _paths_bound(statement):
            if any(path == bound or path.startswith((f"{bound}.", f"{bound}[")) for path in wanted):
                return Refusal(f"it needs `{bound}`, which is set in between")
    doubt = ""
    for statement in between:
        if _runs(statement, model):
            return Refusal("the model runs in between", runs=True)
        doubt = doubt or _doubt(statement, model, statement is first, wanted)
    return Reordering(second, first, doubt)


def _plain_move(statement: ast.stmt) -> ast.Call | None:
    """``m.to(d)`` or ``m = m.to(d)``."""
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    if value.func.attr not in torch_api.MOVE_METHODS:
        return None
    if isinstance(statement, ast.Assign):
        path = path_of(value.func.value)
        if len(statement.targets) != 1 or path is None or path_of(statement.targets[0]) != path:
            return None
    return value


def _paths_read(node: ast.AST) -> Iterator[str]:
    """The longest plain paths that a statement reads, and the names that they start with."""
    for child in ast.walk(node):
        if isinstance(child, (ast.Name, ast.Attribute, ast.Subscript)):
            path = path_of(child)
            if path is not None:
                yield path


def _paths_bound(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(child.ctx, (ast.Store, ast.Del)):
            path = path_of(child)
            if path is not None:
                yield path
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield child.name
        elif isinstance(child, (ast.Import, ast.ImportFrom)):
            for alias in child.names:
                yield alias.asname or alias.name.partition(".")[0]


def _runs(statement: ast.stmt, model: str) -> bool:
    """Whether a statement calls the model, or trains it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            if path_of(node.func) == model:
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
                return True
    return isinstance(statement, (ast.For, ast.While)) and any(
        isinstance(n, ast.Attribute) and n.attr == "step" for n in ast.walk(statement)
    )


def _doubt(statement: ast.stmt, model: str, is_first: bool, wanted: set[str]) -> str:
    """Why the result could depend on the place of the model while a statement runs."""
    parents = {child: node for node in ast.walk(statement) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr in ("device", "is_cuda") and model in ast.unparse(node.value):
            return f"line {node.lineno} reads where the model is"
        if isinstance(node, (ast.Name, ast.Attribute)) and path_of(node) == model:
            parent = parents.get(node)
            if isinstance(parent, ast.Attribute):
                if parent.attr not in INDIFFERENT and isinstance(parents.get(parent), ast.Call):
                    return f"line {node.lineno} calls `{model}.{parent.attr}`, which may depend on where the model is"
            elif isinstance(parent, (ast.Call, ast.keyword)) and not is_first:
                return f"line {node.lineno} hands the model to other code"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and path_of(node.func.value) == "self":
            if any(path.startswith("self.") and path != model for path in wanted):
                return f"line {node.lineno} calls a method that may set what the move needs"
    return ""
