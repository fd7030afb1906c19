"""Calling modules: what meets their parameters, and where the output is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import hooks, opaque
from devicefix.analysis.classes import find_method
from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.joins import join_all
from devicefix.analysis.meeting import Operand, meet, meet_loaded
from devicefix.analysis.operators import combine
from devicefix.analysis.tokenizers import tokens
from devicefix.analysis.torch_functions import tensor_operands
from devicefix.analysis.values import UNKNOWN, Closure, DType, Kind, Obj, Value, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.torch_api import ModuleClass


def call_instance(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """``instance(…)``."""
    if function.data.is_module and (function.data.hooks or it.hooks):
        return hooks.call(it, frame, node, function, args)
    return call_without_hooks(it, frame, node, function, args)


def call_without_hooks(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """What the instance itself does with the arguments."""
    from devicefix.analysis.calls import apply, call_closure

    obj: Obj = function.data
    if obj.is_module and "forward" in obj.attrs:  # model.forward = …
        return apply(it, frame, node, obj.attrs["forward"], args)
    if obj.cls is not None:
        for name in ("__call__", "forward") if obj.is_module else ("__call__",):
            method = find_method(it, obj.cls, name)
            if method is not None:
                return call_closure(it, frame, Closure(method), args, function.replace(flags=frozenset()), node=node)
        if obj.is_module and obj.children:
            return call_sequential(it, frame, node, obj, args)
        return Value(Kind.UNKNOWN, device=obj.device)
    fact = torch_api.module_class(obj.external)
    if fact is None:
        return external_result(it, frame, node, obj, args)
    if fact.container == "sequential":
        return call_sequential(it, frame, node, obj, args)
    if fact.container:  # a list cannot be called: what is called is one of several, and this is the wrong one
        return Value(Kind.UNKNOWN, device=obj.device, flags=frozenset({"likely_tensor"}))
    if obj.external.endswith(("DataParallel", "DistributedDataParallel")):
        return _parallel(it, frame, node, obj, args)
    return _call_torch_module(it, frame, node, obj, fact, args)


#: alternatives of one module that are followed
MOST_ALTERNATIVES = 8


def call_alternatives(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """``module(…)`` where the module is one of several: layers of one list, the arms of an ``if``."""
    known = module_objects(function)
    scatters = any(alternative.data.external.endswith("DataParallel") for alternative in known)
    if not known or len(known) > MOST_ALTERNATIVES or scatters:
        meet_loaded(it, frame, node, [function, *args.every()], called=True, strict=True)
        opaque.meet_inputs(it, frame, node, function, node.func, args)
        return Value(Kind.UNKNOWN, device=function.device, flags=frozenset({"likely_tensor"}))
    return join_all([call_instance(it, frame, node, alternative, args) for alternative in known])


def call_sequential(it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, args: Arguments) -> Value:
    """Each of the members in turn, with what the one before it returned."""
    from devicefix.analysis.frames import Arguments as Args

    value = args.get(0) or UNKNOWN
    given: ast.expr = args.nodes[0] if args.nodes else ast.Constant(None)
    for child in obj.children:
        if child.kind is not Kind.OBJECT or child.data is obj:
            if opaque.is_weighted_part(child):
                parts = Value(Kind.OBJECT, data=obj)
                opaque.meet_inputs(it, frame, node, parts, node.func, Args([value], nodes=[given]))
            value = Value(Kind.UNKNOWN, device=obj.device or value.device, flags=frozenset({"likely_tensor"}))
            continue
        value = call_instance(it, frame, node, child, Args([value], nodes=[given]))
    if not obj.children:
        return Value(Kind.TENSOR, device=obj.device or value.device, dtype=DType.FLOAT, flags=frozenset({"guessed"}))
    return value


def _parallel(it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, args: Arguments) -> Value:
    """A wrapper scatters its inputs itself; the output is on the first card."""
    from devicefix.analysis.frames import Arguments as Args

    inner = obj.children[0] if obj.children else None
    device = obj.device
    moved = [v.replace(device=device, origins=()) if v.is_tensor else v for v in args.positional]
    if inner is not None and inner.kind is Kind.OBJECT:
        keywords = {k: v.replace(device=device, origins=()) if v.is_tensor else v for k, v in args.keywords.items()}
        return call_instance(
            it,
            frame,
            node,
            inner,
            Args(moved, keywords, args.nodes, args.keyword_nodes, args.splat, args.keyword_splat),
        )
    return Value(Kind.UNKNOWN, device=device, flags=frozenset({"likely_tensor"}))


def _call_torch_module(
    it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, fact: ModuleClass, args: Arguments
) -> Value:
    operands: list[Operand] = []
    given_inputs = [
        *zip((*fact.forward_parameters, *[""] * len(args.positional)), args.positional, args.nodes, strict=False),
        *((name, value, args.keyword_nodes.get(name)) for name, value in args.keywords.items()),
    ]
    for parameter, value, argument in given_inputs:
        if parameter and torch_api.stays_on_cpu(obj.external, parameter):
            continue  # lengths of CTCLoss
        if torch_api.brought_along(obj.external, parameter) and not any(o.kind == "batch" for o in value.origins):
            continue  # a part of a batch is moved like the other parts
        if value.kind is Kind.UNKNOWN and (obj.stateful or fact.loss) and not fact.container:
            if value.has("likely_tensor") or opaque.is_moved(value):
                value = opaque.as_tensor(value)
        operands.extend(tensor_operands(value, argument))
    packed = any(v.has("packed") for v, _ in operands)
    device: Device | None = None
    given_state = [v for v in obj.attrs.values() if v.is_tensor]
    # ``pos_weight=torch.tensor(5.0)`` is a number that may stay on the CPU
    number = fact.loss and bool(given_state) and all(v.rank == 0 for v in given_state)
    if obj.stateful and not number:
        state = Value(
            Kind.TENSOR, device=obj.device if obj.device is not None else (DEFAULT if obj.origins else None),
            dtype=DType.FLOAT, rank=-1, origins=obj.origins, data=obj, flags=frozenset({"module_state"}),
            ident=("module", id(obj)),
        )  # fmt: skip
        function = node.func
        meet_loaded(it, frame, node, [state, *args.every()], strict=True)
        dtype = "strict" if fact.dtype_strict else "none"
        meet(
            it,
            frame,
            node,
            obj.external.rpartition(".")[2],
            [(state, function), *operands],
            manner="module",
            dtype=dtype,
        )
        device = state.device if state.device is not None and not state.device.host else next(
            (v.device for v, _ in operands if v.device is not None and not v.device.host), state.device
        )  # fmt: skip
        values = [v for v, _ in operands] or [state]
    elif operands:
        manner = "strict" if fact.mixing == "strict" else "pointwise"
        device = meet(
            it,
            frame,
            node,
            obj.external.rpartition(".")[2],
            operands,
            manner=manner,
            dtype="none" if not fact.loss and not fact.dtype_strict else "arithmetic",
        )
        values = [v for v, _ in operands]
    else:
        values = args.positional
        given = values[0] if values else None
        device = given.device if given is not None else None
    dtype_out = (
        DType.FLOAT if fact.output_dtype == "float" else next((v.dtype for v in values if v.is_tensor), DType.UNKNOWN)
    )
    first = next((v for v in values if v.is_tensor), None)
    flags = frozenset({"packed"}) if packed and fact.output == "rnn" else frozenset()
    rank = first.rank if first is not None and not obj.stateful else None
    if fact.loss:
        reduction = args.keywords.get("reduction") or (obj.arguments[1].get("reduction") if obj.arguments else None)
        rank = 0 if reduction is None or (isinstance(reduction.data, str) and reduction.data != "none") else -1
    else:
        rank = -1 if obj.stateful or rank is None else rank
    result = Value(
        Kind.TENSOR,
        device=device,
        dtype=dtype_out,
        rank=rank,
        flags=flags,
        origins=combine([v for v in values if v.is_tensor], device).origins
        if not obj.stateful and first is not None
        else (),
    )
    if fact.output == "rnn":
        state_value = result.replace(flags=frozenset())
        if obj.external.endswith("LSTM"):
            state_value = Value(Kind.SEQUENCE, items=(state_value, state_value), data="tuple")
        return Value(Kind.SEQUENCE, items=(result, state_value), data="tuple")
    if fact.output == "tensors":
        return Value(Kind.SEQUENCE, items=(result, result), data="tuple")
    return result


def external_result(it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, args: Arguments) -> Value:
    """Calling a module of another library: its output is where it is."""
    kind = torch_api.external_class(obj.external)
    if kind is not None and kind.kind == "tokenizer":
        return tokens(it, frame, node, args)
    if obj.is_module:
        opaque.meet_inputs(it, frame, node, Value(Kind.OBJECT, data=obj), node.func, args)
        return Value(Kind.UNKNOWN, device=obj.device, flags=frozenset({"likely_tensor"}))
    return Value(Kind.UNKNOWN, ident=("call", node))
