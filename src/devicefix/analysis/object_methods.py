"""Methods of instances that the project's own classes do not define."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import autograd_functions, distributions, prepared
from devicefix.analysis.classes import external_kind
from devicefix.analysis.facts import Move, Step
from devicefix.analysis.module_calls import call_sequential
from devicefix.analysis.module_methods import call_module_method
from devicefix.analysis.nested_values import map_members
from devicefix.analysis.tensor_moves import move_target
from devicefix.analysis.tokenizers import ENCODERS, ID_ENCODERS, token_ids, tokens, wants_tensors
from devicefix.analysis.values import NONE, UNKNOWN, Kind, Obj, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def call_object_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments
) -> Value:
    """A method that the project's own classes do not define."""
    obj: Obj = receiver.data
    if receiver.has("super"):
        return _super_method(it, frame, node, receiver, name, args)
    if obj.is_module:
        return call_module_method(it, frame, node, receiver, obj, name, args)
    if obj.external == autograd_functions.CONTEXT:
        return autograd_functions.call_context(obj, name, args)
    if distributions.is_distribution(receiver):
        return distributions.call_method(it, frame, node, receiver, name, args)
    contents = obj.attrs.get("<items>")
    if (
        contents is None
        and obj.cls is not None
        and obj.attrs.get("data") is not None
        and obj.attrs["data"].kind is Kind.MAPPING
    ):
        contents = obj.attrs["data"]
    if name in torch_api.MOVE_METHODS:
        return _move_container(it, frame, node, receiver, obj, name, args)
    if contents is not None:
        from devicefix.analysis.builtins import call_method

        return call_method(it, frame, node, contents, name, args)
    known = torch_api.external_class(obj.external) if obj.external else None
    if known is not None and known.kind == "tokenizer" and wants_tensors(args):
        if name in ENCODERS:
            return tokens(it, frame, node, args)
        if name in ID_ENCODERS:
            return token_ids(it, frame, node, args)
    if name == "from_pretrained" and known is not None:
        return Value(Kind.OBJECT, data=obj)
    if obj.external and name == "prepare" and obj.external.endswith("Accelerator"):
        return prepared.prepare(it, frame, node, obj, args)
    if name in ("step", "zero_grad") and obj.external:
        if name == "step" and torch_api.optimizer_class(obj.external) is not None:
            it.records.steps.append(Step("optimizer_step", node, receiver, frame.scope()))
            return _call_closure(it, frame, node, args)
        return NONE
    if name == "load_state_dict" and obj.external:
        it.records.steps.append(Step("load_state_dict", node, receiver, frame.scope()))
        return NONE
    return Value(Kind.UNKNOWN, ident=("call", node))


def _call_closure(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``optimizer.step(closure)``: what the closure gives."""
    from devicefix.analysis.calls import apply
    from devicefix.analysis.frames import Arguments as Args

    closure = args.get(0, "closure")
    if closure is None or closure.kind not in (Kind.FUNCTION, Kind.METHOD):
        return NONE
    return apply(it, frame, node, closure, Args())


def _move_container(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, obj: Obj, name: str, args: Arguments
) -> Value:
    device, _dtype, moves = move_target(name, args)
    result = receiver
    kind = external_kind(it, obj.external) if obj.external else ""
    if kind == "in_place_container":
        obj.device = device
        contents = obj.attrs.get("<items>")
        if contents is not None and moves:
            obj.attrs["<items>"] = map_members(
                contents, lambda v: v.replace(device=device, origins=()) if v.is_tensor else v
            )
        it.heap_version += 1
    elif kind == "copying_container":
        copy = Obj(None, external=obj.external, attrs=dict(obj.attrs), device=device)
        result = Value(Kind.OBJECT, data=copy)
    it.records.moves.append(Move(node, name, receiver, result, device, frame.scope()))
    return result


def _super_method(it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments) -> Value:
    obj: Obj = receiver.data
    plain = Value(Kind.OBJECT, data=obj)
    if name == "__init__":
        if obj.cls is not None and not obj.is_module:
            from devicefix.analysis.instances import _external_base

            _external_base(it, obj.cls, obj, args)
        if obj.is_module:
            obj.children.extend(v for v in args.positional if v.is_module)
        return NONE
    if name in ("to", "cuda", "cpu", "_apply"):
        if name != "_apply" and obj.is_module:
            return call_module_method(it, frame, node, plain, obj, name, args)
        return plain
    if name in ("forward", "__call__"):
        if obj.children:
            return call_sequential(it, frame, node, obj, args)
        return Value(Kind.UNKNOWN, device=obj.device, flags=frozenset({"likely_tensor"}))
    if obj.is_module:
        return call_module_method(it, frame, node, plain, obj, name, args)
    contents = obj.attrs.get("<items>")
    if contents is not None:
        from devicefix.analysis.builtins import call_method

        return call_method(it, frame, node, contents, name, args)
    return UNKNOWN
