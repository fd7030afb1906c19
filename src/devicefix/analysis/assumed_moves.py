"""Moves whose result is dropped: the analysis goes on as if they had worked, so that one fault is reported once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def is_move(node: ast.expr) -> bool:
    """Whether an expression is the call of a move method."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in torch_api.MOVE_METHODS
    )


def go_on_as_if_moved(it: Interpreter, frame: Frame, call: ast.Call, value: Value) -> None:
    """After ``x.to(d)`` as a statement, go on as if ``x`` had moved: the dropped result is the one fault to report."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return
    receiver = function.value
    if isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute) and function.attr.endswith("_"):
        method = receiver.func.attr  # x.to(d).fill_(0)
        receiver = receiver.func.value
    else:
        method = function.attr
    if method not in torch_api.MOVE_METHODS or not (value.is_tensor or value.kind is Kind.OBJECT):
        return
    if value.kind is Kind.OBJECT and value.data.is_module:
        return
    if isinstance(receiver, ast.Name):
        for names in (frame.names, frame.outer, it.globals.get(frame.module)):
            if names is not None and receiver.id in names:
                names[receiver.id] = value
                break
        loop_variable_changed(frame, receiver.id, value)
    elif isinstance(receiver, ast.Attribute):
        owner = it.evaluate(frame, receiver.value)
        if owner.kind is Kind.OBJECT and receiver.attr in owner.data.attrs:
            owner.data.attrs[receiver.attr] = value
            it.heap_version += 1
    elif isinstance(receiver, ast.Subscript):
        base = it.evaluate(frame, receiver.value)
        if base.kind in (Kind.SEQUENCE, Kind.MAPPING):
            from devicefix.analysis.subscripts import rebind, with_all_items

            rebind(it, frame, receiver.value, with_all_items(base, value))
            if isinstance(receiver.value, ast.Name):
                loop_variable_changed(frame, receiver.value.id, frame.names.get(receiver.value.id, base))


def loop_variable_changed(frame: Frame, name: str, value: Value) -> None:
    """What happened to the variable of a loop happens to every element of what is looped over."""
    from devicefix.analysis.subscripts import with_all_items

    for loop in frame.for_loops:
        if isinstance(loop.target, ast.Name) and loop.target.id == name and isinstance(loop.iter, ast.Name):
            known = frame.names.get(loop.iter.id)
            if known is not None and known.kind is Kind.SEQUENCE:
                frame.names[loop.iter.id] = with_all_items(known, value)
        elif isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Call) and [*loop.iter.args, None]:
            source = (
                loop.iter.func.value
                if isinstance(loop.iter.func, ast.Attribute)
                else loop.iter.args[0]
                if loop.iter.args
                else None
            )
            last = loop.target.elts[-1]
            if isinstance(last, ast.Name) and last.id == name and isinstance(source, ast.Name):
                known = frame.names.get(source.id)
                if known is not None and known.kind in (Kind.SEQUENCE, Kind.MAPPING):
                    frame.names[source.id] = with_all_items(known, value)
