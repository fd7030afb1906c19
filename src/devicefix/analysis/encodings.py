"""Containers of tensors that a call returns and whose ``to`` moves them: the output of tokenizers and its like."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.batch_moves import Repair
from devicefix.analysis.batches import leaves
from devicefix.analysis.classes import find_method
from devicefix.analysis.module_devices import named_devices
from devicefix.analysis.values import Kind, Obj, Origin, Value
from devicefix.codemods.changes import AppendToExpression, InsertStatements

if TYPE_CHECKING:
    from devicefix.analysis.batches import Batch
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

#: what the origin of a container says where its ``to`` returns nothing
RETURNS_NOTHING = "to returns nothing"


def mark_encoding(it: Interpreter, frame: Frame, node: ast.Call, result: Value) -> None:
    """A container that a call built and returned is moved as a whole: its tensors come from that call now."""
    obj: Obj = result.data
    if obj.cls is None or obj.is_module:
        return
    name = "<items>" if "<items>" in obj.attrs else "data"
    contents = obj.attrs.get(name)
    if contents is None or contents.kind is not Kind.MAPPING:
        return
    fresh = [v for v in leaves(contents) if v.is_tensor]
    if not fresh or not all(_made_inside(v, frame) for v in fresh):
        return
    move = find_method(it, obj.cls, "to")
    if move is None:
        return
    detail = obj.cls.name if _returns_value(move.node) else RETURNS_NOTHING
    origin = Origin("encoding", node, frame.scope(), detail=detail)

    def placed(value: Value) -> Value:
        return value.replace(origins=(origin,)) if value.is_tensor else value

    items = {k: placed(v) for k, v in contents.items.items()} if isinstance(contents.items, dict) else contents.items
    element = placed(contents.element) if contents.element is not None else None
    obj.attrs[name] = contents.replace(items=items, element=element)


def _made_inside(value: Value, frame: Frame) -> bool:
    """Whether a tensor on the CPU was made by what was called, not by the caller."""
    if value.device is None or not value.device.host or not value.origins:
        return False
    return all(o.kind in ("factory", "legacy") and o.scope.function is not frame.function for o in value.origins)


def _returns_value(function: ast.AST) -> bool:
    return any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))


def repair_encoding(facts: FileFacts, batch: Batch) -> Repair:
    """``.to(…)`` on the encoding, which moves all its tensors at once."""
    call = batch.place
    if not isinstance(call, ast.Call) or batch.device is None:
        return Repair(note="it is wanted on several devices")
    devices = named_devices([(origin.scope, mixes) for origin, mixes in batch.by_scope()])
    if not devices:
        return Repair(note="no device variable and no module on that device has a name here")
    move = f".to({devices[0].text})"
    if all(origin.detail != RETURNS_NOTHING for origin in batch.origins):
        return Repair(f"move it with `{move}`", [AppendToExpression(call, move)])
    statement = facts.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name):
        line = f"{statement.targets[0].id}{move}"
        return Repair(f"move it with `{line}`", [InsertStatements(statement, (line,), "after")])
    return Repair(note="its `to` returns nothing, and it has no name here")


__all__ = ["mark_encoding", "repair_encoding"]
