"""Methods that every module has: moves, registrations, parameters and members."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import hooks, opaque, parameter_data
from devicefix.analysis.attribute_reads import module_device
from devicefix.analysis.classes import is_external_module
from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.facts import Move, Step
from devicefix.analysis.joins import any_element, join, join_all
from devicefix.analysis.module_moves import move_object
from devicefix.analysis.tensor_moves import move_target
from devicefix.analysis.torch_functions import call_function
from devicefix.analysis.values import FILLED_LATER, NONE, STRING, UNKNOWN, DType, Kind, Obj, Value, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def call_module_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, obj: Obj, name: str, args: Arguments
) -> Value:
    """A method of an instance of ``nn.Module``."""
    if name in torch_api.MOVE_METHODS:
        device, _dtype, moves = move_target(name, args)
        it.records.moves.append(Move(node, name, receiver, receiver, device if moves else None, frame.scope()))
        if moves:
            move_object(it, frame, node, receiver, device)
        return receiver
    fact = torch_api.function(f"{obj.external}.{name}") if obj.external else None
    if fact is not None:  # a static method
        return call_function(it, frame, node, fact, args)
    if name in hooks.REGISTERING:
        return hooks.register(it, frame, receiver, name, args)
    if name == "apply" and args.positional and _moves(args.positional[0]):
        from devicefix.analysis.calls import apply
        from devicefix.analysis.frames import Arguments as Args

        apply(it, frame, node, args.positional[0], Args([receiver], nodes=[ast.Constant(None)]))
        return receiver
    if name in (
        "train",
        "eval",
        "half",
        "float",
        "double",
        "bfloat16",
        "requires_grad_",
        "apply",
        "to_empty",
        "type",
        "share_memory",
    ):
        return receiver
    if name == "register_buffer" or name in ("register_parameter", "add_module", "register_module"):
        return _register(it, frame, receiver, name, args)
    if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
        element = Value(
            Kind.TENSOR,
            device=module_device(it, obj) or (DEFAULT if obj.origins else None),
            dtype=DType.FLOAT,
            origins=obj.origins,
            rank=-1,
            flags=frozenset({"parameter", "leaf"}),
            ident=("parameters", id(obj)),
        )
        if not name.startswith("named_"):
            return Value(Kind.SEQUENCE, element=element, data="parameters", ident=id(obj), sources=(receiver,))
        pair = Value(Kind.SEQUENCE, items=(STRING, element.replace(sources=(receiver,))), data="tuple")
        return Value(Kind.SEQUENCE, element=pair, sources=(receiver,))
    if name in ("children", "modules", "named_children", "named_modules"):
        return _members(receiver, obj, name)
    if name == "append" and args.positional:
        obj.children.append(as_member(obj, args.positional[0]))
        _adopt(obj, args.positional[0])
        return NONE
    if name == "extend" and args.positional:
        obj.children.append(as_member(obj, any_element(args.positional[0])))
        return NONE
    if name in ("values", "items", "keys"):
        element = join_all(obj.children)
        if name == "values":
            return Value(Kind.SEQUENCE, element=element)
        if name == "items":
            return Value(Kind.SEQUENCE, element=Value(Kind.SEQUENCE, items=(UNKNOWN, element), data="tuple"))
        return UNKNOWN
    if name == "load_state_dict":
        it.records.steps.append(Step("load_state_dict", node, receiver, frame.scope()))
        return NONE
    if name == "state_dict":
        return _state(it, receiver, obj)
    if obj.external and is_external_module(obj.external):
        if name == "from_pretrained":
            return receiver
        if isinstance(node.func, ast.Attribute):
            opaque.meet_inputs(it, frame, node, receiver, node.func.value, args)
        return Value(Kind.UNKNOWN, device=obj.device, flags=frozenset({"likely_tensor"}))
    return Value(Kind.UNKNOWN, device=obj.device, ident=("call", node))


def _state(it: Interpreter, receiver: Value, obj: Obj) -> Value:
    """``state_dict()``: tensors that share the memory of parameters and buffers, and are where these are now."""
    device = module_device(it, obj)
    if device is None and not obj.origins:
        return Value(Kind.UNKNOWN, device=obj.device, sources=(receiver,))
    element = Value(Kind.TENSOR, device=device or DEFAULT, rank=-1, origins=obj.origins, ident=("state", id(obj)))
    return Value(Kind.MAPPING, element=element, data="state")


def _members(receiver: Value, obj: Obj, name: str) -> Value:
    """``children()``, ``named_modules()`` and their like: one value stands for all of them, and moves them all."""
    inside = (*obj.attrs.values(), *obj.children)
    members = [receiver] if name.endswith("modules") else [member for v in inside for member in module_objects(v)]
    element = Value(Kind.MODULE, device=obj.device, items=tuple(members), sources=(receiver,))
    if name.startswith("named"):
        element = Value(Kind.SEQUENCE, items=(STRING, element), data="tuple")
    return Value(Kind.SEQUENCE, element=element)


def _moves(function: Value) -> bool:
    """Whether a function of the project moves something."""
    if function.kind is not Kind.FUNCTION:
        return False
    body = function.data.function.node
    return any(isinstance(n, ast.Attribute) and n.attr in ("to", "cuda") for n in ast.walk(body))


def as_member(obj: Obj, value: Value) -> Value:
    """What a container of modules or parameters holds; of a parameter that joins it, it is its owner's to say where."""
    if value.is_tensor and value.has("parameter") and not obj.origins:
        return value.replace(device=obj.device, origins=())
    return value


def _adopt(obj: Obj, child: Value) -> None:
    if child.kind is Kind.OBJECT and obj.device is not None:
        child.data.device = obj.device
        child.data.origins = ()


def _register(it: Interpreter, frame: Frame, receiver: Value, name: str, args: Arguments) -> Value:
    obj: Obj = receiver.data
    label, value = args.get(0, "name"), args.get(1, "tensor" if name == "register_buffer" else "module") or NONE
    if label is not None and isinstance(label.data, str):
        flag = {"register_buffer": "buffer", "register_parameter": "parameter"}.get(name)
        if flag is not None:
            persistent = args.get(2, "persistent") if flag == "buffer" else None
            flags = {flag, "unsaved"} if persistent is not None and persistent.data is False else {flag}
            if value.kind is Kind.NONE:
                flags |= FILLED_LATER
            value = value.replace(flags=value.flags | flags, ident=("attr", id(obj), label.data))
        old = obj.attrs.get(label.data)
        if old is not None and frame.conditions and obj is not frame.self_object:
            value = join(old, value)
        obj.attrs[label.data] = value
        parameter_data.replaced(it, obj, label.data, value, old)
    else:
        if name != "add_module":
            parameter_data.replaced_by_computed_name(it, receiver, value)
        obj.children.append(value)
    obj.version += 1
    it.heap_version += 1
    return NONE


def call_unknown_module_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments
) -> Value:
    """A method of a module of which only that is known."""
    if name in torch_api.MOVE_METHODS:
        device, _dtype, moves = move_target(name, args)
        for member in (receiver.items or ()) if moves else ():
            move_object(it, frame, node, member, device)
        moved = receiver.replace(device=device, flags=receiver.flags | {"moved"}) if moves else receiver
        it.records.moves.append(Move(node, name, receiver, moved, device if moves else None, frame.scope()))
        it.records.steps.append(Step("move", node, receiver, frame.scope()))
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(target, ast.Name) and target.id in frame.names and moves:
            frame.names[target.id] = moved
        return moved
    if name in ("train", "eval", "half", "float", "double", "bfloat16", "requires_grad_", "apply"):
        return receiver
    if name in hooks.REGISTERING:
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(target, ast.Name) and target.id in frame.names:
            frame.names[target.id] = receiver.replace(flags=receiver.flags - {"moved"})  # what it takes is not known
        return hooks.register(it, frame, receiver, name, args)
    if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
        element = Value(Kind.TENSOR, device=receiver.device, dtype=DType.FLOAT, flags=frozenset({"parameter", "leaf"}))
        if name.startswith("named_"):
            pair = Value(Kind.SEQUENCE, items=(STRING, element.replace(sources=(receiver,))), data="tuple")
            return Value(Kind.SEQUENCE, element=pair, sources=(receiver,))
        return Value(Kind.SEQUENCE, element=element, data="parameters", ident=receiver.ident, sources=(receiver,))
    if name in ("load_state_dict", "zero_grad", "register_buffer"):
        if name == "load_state_dict":
            it.records.steps.append(Step("load_state_dict", node, receiver, frame.scope()))
        return NONE
    if name == "state_dict":
        return Value(Kind.UNKNOWN, device=receiver.device, sources=(receiver,))
    if isinstance(node.func, ast.Attribute):
        opaque.meet_inputs(it, frame, node, receiver, node.func.value, args)
    return Value(Kind.UNKNOWN, device=receiver.device, flags=frozenset({"likely_tensor"}))
