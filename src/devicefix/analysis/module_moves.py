"""What moving a module moves, and what stays behind."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from devicefix.analysis import distributions
from devicefix.analysis.classes import find_method
from devicefix.analysis.devices import Device
from devicefix.analysis.facts import Step
from devicefix.analysis.nested_values import map_members
from devicefix.analysis.ownership import modules_inside
from devicefix.analysis.values import Kind, Obj, Scope, Value, elements, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def move_object(it: Interpreter, frame: Frame, node: ast.AST, base: Value, device: Device | None) -> None:
    """``module.to(device)``: parameters, buffers and registered modules move, plain attributes stay."""
    scope = frame.scope()
    it.records.steps.append(Step("move", node, base, scope))
    it.heap_version += 1
    _move(it, base.data, device, set(), (scope, node))


def settle(it: Interpreter, obj: Obj, device: Device | None, by: tuple[Scope, ast.AST] | None = None) -> None:
    """Believe that the parameters of a module are on a device, whoever brought them there.

    Parts that were put on several numbered cards stay there: nobody moves such a module as a whole.
    """
    if device is not None and device.assumed and len(_cards(obj)) > 1:
        return
    _move(it, obj, device, set(), by)


def _cards(obj: Obj) -> set[Device]:
    """The numbered cards that parts of a module are on."""
    parts = [member.data for value in (*obj.attrs.values(), *obj.children) for member in module_objects(value)]
    return {part.device for part in parts if part.device is not None and part.device.index is not None}


def _move(
    it: Interpreter, obj: Obj, device: Device | None, seen: set[int], by: tuple[Scope, ast.AST] | None = None
) -> None:
    if id(obj) in seen:
        return
    seen.add(id(obj))
    if obj.device != device:
        obj.placed = by
    obj.device = device
    obj.origins = ()
    obj.version += 1
    for name, value in obj.attrs.items():
        if value.kind is Kind.OBJECT and value.data.is_module and not value.has("unregistered"):
            _move(it, value.data, device, seen, by)
        elif value.kind is Kind.MODULE:
            obj.attrs[name] = value.replace(device=device)
            for alternative in module_objects(value):
                _move(it, alternative.data, device, seen, by)
        elif value.is_tensor and (value.has("parameter") or value.has("buffer")):
            obj.attrs[name] = value.replace(device=device, origins=(), flags=value.flags - {"strayed"})
    for child in obj.children:
        for member in module_objects(child):
            _move(it, member.data, device, seen, by)
    # the tensors of a ParameterList are parameters
    obj.children = [c.replace(device=device, origins=()) if c.is_tensor else c for c in obj.children]
    _move_shared_parameters(obj, device)
    own_moves = ("_apply", "to", "cuda") if obj.assumed else ("_apply",)
    if obj.cls is not None and any(find_method(it, obj.cls, name) is not None for name in own_moves):
        # the class moves the rest itself; believe it
        for name, value in obj.attrs.items():
            if value.is_tensor:
                obj.attrs[name] = value.replace(device=device, origins=())
            elif distributions.is_distribution(value):
                obj.attrs[name] = distributions.moved(value, device)
            elif value.kind is Kind.OBJECT and not value.data.is_module:
                moved_itself(it, value.data, device)
            elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
                _move_members(it, value, device, seen)
                obj.attrs[name] = map_members(
                    value, lambda v: v.replace(device=device, origins=()) if v.is_tensor else v
                )


def _move_members(it: Interpreter, value: Value, device: Device | None, seen: set[int]) -> None:
    """Move the modules in a list or dict."""
    for inner in (*elements(value), *([value.element] if value.element is not None else ())):
        if inner.is_module:
            for member in module_objects(inner):
                _move(it, member.data, device, seen)
        elif inner.kind in (Kind.SEQUENCE, Kind.MAPPING):
            _move_members(it, inner, device, seen)


def _move_shared_parameters(obj: Obj, device: Device | None) -> None:
    """A registered parameter stays the same object when it moves, so a list that holds it as well sees it moved."""
    shared = {
        v.ident
        for inner in modules_inside(obj)
        for v in (*inner.attrs.values(), *inner.children)
        if v.is_tensor and v.has("parameter")
    }
    if not shared:
        return

    def moved(value: Value) -> Value:
        if value.is_tensor and value.has("parameter"):
            if value.ident in shared:
                return value.replace(device=device, origins=())
            if None in shared:  # some that cannot be told apart are registered: this may be one of them
                return value.replace(device=None, origins=())
        return map_members(value, moved) if value.kind in (Kind.SEQUENCE, Kind.MAPPING) else value

    for name, value in obj.attrs.items():
        if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            obj.attrs[name] = map_members(value, moved)


def escape(it: Interpreter, values: Iterable[Value]) -> None:
    """Modules that are given to unseen code may be moved by it; of those that nobody moved so far, nothing is known
    then."""
    for value in values:
        if value.is_module:
            for member in module_objects(value):
                if member.data.origins:
                    _move(it, member.data, None, set())
                    it.heap_version += 1
        elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            escape(it, elements(value))


def moved_itself(it: Interpreter, obj: Obj, device: Device | None) -> None:
    """An object's own ``to`` ran: whatever it could not be followed into is believed to have moved."""
    for name, value in obj.attrs.items():
        if value.is_tensor and value.device is not None and value.device.host:
            obj.attrs[name] = value.replace(device=device, origins=())
        elif distributions.is_distribution(value):
            obj.attrs[name] = distributions.moved(value, device)
        elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            obj.attrs[name] = map_members(
                value,
                lambda v: (
                    v.replace(device=device, origins=())
                    if v.is_tensor and v.device is not None and v.device.host
                    else v
                ),
            )
    obj.version += 1
    it.heap_version += 1
