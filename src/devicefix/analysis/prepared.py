"""Accelerate: what ``accelerator.prepare`` is given lives on ``accelerator.device`` from then on."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devicefix.analysis.devices import symbol
from devicefix.analysis.module_moves import settle
from devicefix.analysis.nested_values import map_members
from devicefix.analysis.values import Kind, Obj, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def accelerator(node: ast.Call, name: str, args: Arguments) -> Value:
    """``Accelerator(…)``: it chooses a device, unless it is told to leave the placement alone."""
    obj = Obj(None, external=name, arguments=(tuple(args.positional), dict(args.keywords)))
    if not (args.positional or args.splat or args.keyword_splat or "device_placement" in args.keywords):
        key = ("accelerator", node)
        obj.attrs["device"] = Value(Kind.DEVICE, device=symbol(key), ident=key)
    return Value(Kind.OBJECT, data=obj)


def prepare(it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, args: Arguments) -> Value:
    """``accelerator.prepare(model, optimizer, loader)``: the same things, placed."""
    chosen = obj.attrs.get("device")
    known = not args.keywords and not args.keyword_splat and not args.splat
    device = chosen.device if chosen is not None and known else None
    things = tuple(_placed(it, frame, node, value, device) for value in args.positional)
    return things[0] if len(things) == 1 else Value(Kind.SEQUENCE, items=things, data="tuple")


def _placed(it: Interpreter, frame: Frame, node: ast.Call, value: Value, device: Device | None) -> Value:
    if value.kind is Kind.OBJECT and value.data.is_module:
        settle(it, value.data, device, (frame.scope(), node))
        it.heap_version += 1
    elif value.kind is Kind.LOADER:
        if device is None or value.element is None:
            return Value(Kind.UNKNOWN)
        return value.replace(element=_moved(value.element, device))
    elif value.kind is Kind.MODULE and device is not None:
        return value.replace(device=device, flags=value.flags | {"moved"})
    return value


def _moved(value: Value, device: Device) -> Value:
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
        return map_members(value, lambda inner: _moved(inner, device))
    if value.is_tensor:
        return value.replace(device=device, origins=())
    if value.kind is Kind.OBJECT and "<items>" in value.data.attrs:  # an encoding
        contents = _moved(value.data.attrs["<items>"], device)
        return value.replace(data=replace(value.data, attrs={**value.data.attrs, "<items>": contents}, device=device))
    if value.kind is Kind.UNKNOWN:
        return Value(Kind.UNKNOWN, device=device, flags=value.flags | {"moved"})
    return value
