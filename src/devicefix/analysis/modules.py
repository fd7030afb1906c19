"""Calling modules and the methods of instances."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import autograd_functions, distributions, heap, hooks, opaque, parameter_data, tensors
from devicefix.analysis.classes import external_kind, find_method, is_external_module
from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.facts import Move, Step
from devicefix.analysis.meeting import Operand, meet, meet_loaded
from devicefix.analysis.operators import combine
from devicefix.analysis.values import (
    NONE,
    NUMBER,
    STRING,
    UNKNOWN,
    Closure,
    DType,
    Kind,
    Obj,
    Origin,
    Value,
    any_element,
    join,
    join_all,
    module_objects,
)

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.torch_api import ModuleClass


def create_module(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """``nn.Linear(…)`` and other modules of torch or of libraries whose classes are modules."""
    fact = torch_api.module_class(name)
    obj = Obj(
        None,
        external=fact.name if fact else name,
        is_module=True,
        arguments=(tuple(args.positional), dict(args.keywords)),
    )
    scope = frame.scope()
    obj.origins = (Origin("module", node, scope, detail=name.rpartition(".")[2], owner=obj),)
    it.records.built.append(obj.origins[0])
    if fact is not None:
        given = args.keywords.get("device")
        if given is not None:
            obj.device = tensors.as_device(given)
            obj.origins = ()
        elif args.keyword_splat:
            obj.origins = ()
        elif it.default_devices or it.records.default_device_changed:
            obj.device = it.default_devices[-1] if it.default_devices else None
            obj.origins = ()
        obj.stateful = _stateful(fact, args, obj)
        _children(fact, args, obj)
        if not obj.stateful and not obj.children:
            obj.origins = ()
    elif args.keyword_splat or not opaque.PLACING.isdisjoint(args.keywords):
        obj.origins = ()
    if name.rpartition(".")[2] in ("DataParallel", "DistributedDataParallel"):
        inner = args.get(0, "module")
        if inner is not None:
            obj.children.append(inner)
            obj.attrs["module"] = inner
            if inner.kind is Kind.OBJECT:
                obj.device, obj.origins = heap.module_device(it, inner.data), ()
        it.records.steps.append(Step("wrap", node, inner or UNKNOWN, scope))
    return Value(Kind.OBJECT, data=obj)


def _stateful(fact: ModuleClass, args: Arguments, obj: Obj) -> bool:
    if fact.container in ("list", "dict", "sequential", "parameter_list", "parameter_dict"):
        return True
    state = fact.stateful
    for name in fact.state_arguments:
        position = fact.parameters.index(name) if name in fact.parameters else -1
        given = args.get(position, name)
        if given is None:
            continue
        if given.is_tensor:
            state = True
            obj.attrs[name] = given.replace(flags=given.flags | {"buffer"})
            if obj.device is None:
                obj.device = given.device
                if given.device is not None and not given.device.host:
                    obj.origins = ()
        elif given.kind is Kind.NUMBER and given.data is False:
            state = False
        elif given.kind is Kind.NUMBER and given.data is True:
            state = True
        elif given.kind is Kind.UNKNOWN:
            obj.device = given.device
            obj.origins = ()
    return state


def _children(fact: ModuleClass, args: Arguments, obj: Obj) -> None:
    if not fact.container:
        return
    for value in args.every():
        if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            obj.children.extend(heap.elements(value))
            if value.element is not None:
                obj.children.append(value.element)
            obj.attrs["<items>"] = value if value.kind is Kind.MAPPING else obj.attrs.get("<items>", UNKNOWN)
            if value.kind is not Kind.MAPPING:
                obj.attrs.pop("<items>", None)
        else:
            obj.children.append(value)
    for child in obj.children:
        if child.kind is Kind.OBJECT:
            child.data.origins = tuple(o for o in child.data.origins if o.kind == "module")


# -- calling ---------------------------------------------------------------------------------------------------------


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
            return _sequential(it, frame, node, obj, args)
        return Value(Kind.UNKNOWN, device=obj.device)
    fact = torch_api.module_class(obj.external)
    if fact is None:
        return external_result(it, frame, node, obj, args)
    if fact.container == "sequential":
        return _sequential(it, frame, node, obj, args)
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
        opaque.meet_inputs(it, frame, node, function, node.func, args)
        return Value(Kind.UNKNOWN, device=function.device, flags=frozenset({"likely_tensor"}))
    return join_all([call_instance(it, frame, node, alternative, args) for alternative in known])


def _sequential(it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, args: Arguments) -> Value:
    from devicefix.analysis.frames import Arguments as Args

    value = args.get(0) or UNKNOWN
    given: ast.expr = args.nodes[0] if args.nodes else ast.Constant(None)
    for child in obj.children:
        if child.kind is not Kind.OBJECT or child.data is obj:
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
        if value.kind is Kind.UNKNOWN and value.has("likely_tensor") and obj.stateful and not fact.container:
            value = opaque.as_tensor(value)
        operands.extend(tensors._tensors(value, argument))
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
        meet_loaded(it, frame, node, [state, *args.every()])
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


def tokens(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``tokenizer(text, return_tensors="pt")``: an encoding on the CPU that moves in place."""
    if not wants_tensors(args):
        return Value(Kind.MAPPING, element=Value(Kind.SEQUENCE, element=UNKNOWN))
    obj = Obj(None, external="transformers.BatchEncoding")
    origin = Origin("encoding", node, frame.scope(), detail="tokenizer")
    tensor = Value(Kind.TENSOR, device=DEFAULT, dtype=DType.INT, rank=2, origins=(origin,))
    obj.attrs["<items>"] = Value(Kind.MAPPING, items={"input_ids": tensor, "attention_mask": tensor}, element=tensor)
    obj.device = DEFAULT
    return Value(Kind.OBJECT, data=obj)


def wants_tensors(args: Arguments) -> bool:
    """Whether a tokenizer is asked for tensors of torch."""
    wanted = args.keywords.get("return_tensors")
    return wanted is not None and wanted.data == "pt"


def token_ids(it: Interpreter, frame: Frame, node: ast.Call) -> Value:
    """``tokenizer.encode(text, return_tensors="pt")``: a tensor on the CPU."""
    origin = Origin("encoding", node, frame.scope(), detail="tensor")
    return Value(Kind.TENSOR, device=DEFAULT, dtype=DType.INT, rank=2, origins=(origin,))


#: methods of tokenizers that make an encoding, and those that make a tensor
ENCODERS = frozenset({"encode_plus", "batch_encode_plus", "pad", "prepare_for_model"})
ID_ENCODERS = frozenset({"encode"})


# -- methods ---------------------------------------------------------------------------------------------------------


def call_object_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments
) -> Value:
    """A method that the project's own classes do not define."""
    obj: Obj = receiver.data
    if receiver.has("super"):
        return _super_method(it, frame, node, receiver, name, args)
    if obj.is_module:
        return _module_method(it, frame, node, receiver, obj, name, args)
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
            return token_ids(it, frame, node)
    if name == "from_pretrained" and known is not None:
        return Value(Kind.OBJECT, data=obj)
    if obj.external and name == "prepare" and obj.external.endswith("Accelerator"):
        prepared = tuple(_placed(v) for v in args.positional)
        return prepared[0] if len(prepared) == 1 else Value(Kind.SEQUENCE, items=prepared, data="tuple")
    if name in ("step", "zero_grad") and obj.external:
        if name == "step" and torch_api.optimizer_class(obj.external) is not None:
            it.records.steps.append(Step("optimizer_step", node, receiver, frame.scope()))
        return NONE
    if name == "load_state_dict" and obj.external:
        it.records.steps.append(Step("load_state_dict", node, receiver, frame.scope()))
        return NONE
    return Value(Kind.UNKNOWN, ident=("call", node))


def _placed(value: Value) -> Value:
    """What ``prepare`` gives back: the same thing, placed by the framework."""
    if value.kind is Kind.OBJECT and value.data.is_module:
        value.data.origins = ()
        value.data.device = None
        return value
    if value.kind is Kind.LOADER:
        return Value(Kind.UNKNOWN)
    return value


def _move_container(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, obj: Obj, name: str, args: Arguments
) -> Value:
    device, _dtype, moves = tensors.move_target(name, args)
    result = receiver
    kind = external_kind(it, obj.external) if obj.external else ""
    if kind == "in_place_container":
        obj.device = device
        contents = obj.attrs.get("<items>")
        if contents is not None and moves:
            obj.attrs["<items>"] = heap._map(
                contents, lambda v: v.replace(device=device, origins=()) if v.is_tensor else v
            )
        it.heap_version += 1
    elif kind == "copying_container":
        copy = Obj(None, external=obj.external, attrs=dict(obj.attrs), device=device)
        result = Value(Kind.OBJECT, data=copy)
    it.records.moves.append(Move(node, name, receiver, result, device, frame.scope()))
    return result


def _module_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, obj: Obj, name: str, args: Arguments
) -> Value:
    if name in torch_api.MOVE_METHODS:
        device, _dtype, moves = tensors.move_target(name, args)
        it.records.moves.append(Move(node, name, receiver, receiver, device if moves else None, frame.scope()))
        if moves:
            heap.move_object(it, frame, node, receiver, device)
        return receiver
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
    if name in ("parameters", "buffers"):
        element = Value(
            Kind.TENSOR,
            device=heap.module_device(it, obj) or (DEFAULT if obj.origins else None),
            dtype=DType.FLOAT,
            origins=obj.origins,
            rank=-1,
            flags=frozenset({"parameter", "leaf"}),
            ident=("parameters", id(obj)),
        )
        return Value(Kind.SEQUENCE, element=element, data="parameters", ident=id(obj), sources=(receiver,))
    if name in ("named_parameters", "named_buffers"):
        element = Value(
            Kind.TENSOR,
            device=heap.module_device(it, obj) or (DEFAULT if obj.origins else None),
            dtype=DType.FLOAT,
            origins=obj.origins,
            rank=-1,
            flags=frozenset({"parameter", "leaf"}),
            ident=("parameters", id(obj)),
            sources=(receiver,),
        )
        return Value(
            Kind.SEQUENCE, element=Value(Kind.SEQUENCE, items=(STRING, element), data="tuple"), sources=(receiver,)
        )
    if name in ("children", "modules", "named_children", "named_modules"):
        return _members(receiver, obj, name)
    if name == "append" and args.positional:
        obj.children.append(args.positional[0])
        _adopt(obj, args.positional[0])
        return NONE
    if name == "extend" and args.positional:
        obj.children.append(any_element(args.positional[0]))
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
        return Value(Kind.UNKNOWN, device=obj.device, sources=(receiver,))
    if obj.external and is_external_module(obj.external):
        if name == "from_pretrained":
            return receiver
        if isinstance(node.func, ast.Attribute):
            opaque.meet_inputs(it, frame, node, receiver, node.func.value, args)
        return Value(Kind.UNKNOWN, device=obj.device, flags=frozenset({"likely_tensor"}))
    return Value(Kind.UNKNOWN, device=obj.device, ident=("call", node))


def _members(receiver: Value, obj: Obj, name: str) -> Value:
    """``children()``, ``named_modules()`` and their like: one value stands for all of them, and moves them all."""
    inside = (*obj.attrs.values(), *obj.children)
    members = [receiver] if name.endswith("modules") else [member for v in inside for member in module_objects(v)]
    element = Value(Kind.MODULE, device=obj.device, items=tuple(members))
    if name.startswith("named"):
        element = Value(Kind.SEQUENCE, items=(STRING, element), data="tuple")
    return Value(Kind.SEQUENCE, element=element)


def _moves(function: Value) -> bool:
    """Whether a function of the project moves something."""
    if function.kind is not Kind.FUNCTION:
        return False
    body = function.data.function.node
    return any(isinstance(n, ast.Attribute) and n.attr in ("to", "cuda") for n in ast.walk(body))


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
            return _module_method(it, frame, node, plain, obj, name, args)
        return plain
    if name in ("forward", "__call__"):
        if obj.children:
            return _sequential(it, frame, node, obj, args)
        return Value(Kind.UNKNOWN, device=obj.device, flags=frozenset({"likely_tensor"}))
    if obj.is_module:
        return _module_method(it, frame, node, plain, obj, name, args)
    contents = obj.attrs.get("<items>")
    if contents is not None:
        from devicefix.analysis.builtins import call_method

        return call_method(it, frame, node, contents, name, args)
    return UNKNOWN


def call_unknown_module_method(
    it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments
) -> Value:
    """A method of a module of which only that is known."""
    if name in torch_api.MOVE_METHODS:
        device, _dtype, moves = tensors.move_target(name, args)
        for member in (receiver.items or ()) if moves else ():
            heap.move_object(it, frame, node, member, device)
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
    if name in ("parameters", "buffers"):
        element = Value(Kind.TENSOR, device=receiver.device, dtype=DType.FLOAT, flags=frozenset({"parameter", "leaf"}))
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


__all__ = ["NUMBER", "call_instance", "call_object_method", "create_module"]
