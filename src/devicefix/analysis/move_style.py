"""How a file writes its moves, so that another one can be written alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.analysis.batches import Batch
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts, Move
    from devicefix.analysis.module_devices import Named


@dataclass(frozen=True, slots=True)
class Style:
    """How a move is written here: ``.to(device)``, ``.cuda()``, ``.to(self.device, non_blocking=True)`` …"""

    suffix: str
    one_per_line: bool | None  #: None: nothing in the file says


def neighbouring_style(facts: FileFacts, batch: Batch, device: Device, devices: list[Named]) -> Style | None:
    """The way in which the file moves other tensors to this device, if it can be copied to this place."""
    best: tuple[int, Style] | None = None
    texts = {named.text for named in devices}
    here = facts.function(batch.place)
    for move, statement in _moves_in_loops(facts):
        if move.device != device or not isinstance(move.call.func, ast.Attribute):
            continue
        suffix = f".{move.call.func.attr}({_arguments(move.call)})"
        if move.call.func.attr == "to" and not (move.call.args and ast.unparse(move.call.args[0]) in texts):
            continue
        if _is_noise(move.call):
            continue
        there = facts.function(statement)
        near = (
            0
            if _inside(facts, statement, batch.place)
            else 1
            if there is here
            else 2
            if there and here and there.cls is here.cls
            else 3
        )
        style = Style(suffix, _one_per_line(statement))
        if best is None or near < best[0]:
            best = (near, style)
    return best[1] if best is not None else None


def _moves_in_loops(facts: FileFacts) -> Iterator[tuple[Move, ast.stmt]]:
    """Moves of tensors in the body of a loop, in the order of the text."""
    seen: set[ast.Call] = set()
    for move in sorted(facts.records.moves, key=lambda m: (m.call.lineno, m.call.col_offset)):
        if move.call in seen or not facts.here(move.call) or move.receiver.is_module:
            continue
        seen.add(move.call)
        statement = facts.statement(move.call)
        parent: ast.AST | None = statement
        while parent is not None and not isinstance(
            parent, (ast.For, ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            parent = facts.parents.get(parent)
        if statement is not None and isinstance(parent, (ast.For, ast.AsyncFor)):
            yield move, statement


def _arguments(call: ast.Call) -> str:
    keywords = [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords if k.arg != "dtype"]
    return ", ".join([*(ast.unparse(a) for a in call.args[:1]), *keywords])


def _is_noise(call: ast.Call) -> bool:
    """Arguments that belong to that one tensor."""
    return len(call.args) > 1 or any(k.arg not in ("device", "non_blocking", "dtype") for k in call.keywords)


def _one_per_line(statement: ast.stmt) -> bool | None:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    return not isinstance(statement.targets[0], (ast.Tuple, ast.List))


def _inside(facts: FileFacts, node: ast.AST, place: ast.AST) -> bool:
    current: ast.AST | None = node
    while current is not None:
        if current is place:
            return True
        current = facts.parents.get(current)
    return False


__all__ = ["Style", "neighbouring_style"]
