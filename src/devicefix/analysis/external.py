"""Calls of functions and classes of other libraries, torch first of all."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import (
    builtins,
    copies,
    datasets,
    distributions,
    draws,
    hooks,
    loaders,
    numpy_calls,
    passed_functions,
    prepared,
    records,
    standard_library,
    tensor_factories,
    workers,
)
from devicefix.analysis.classes import external_kind, is_external_module
from devicefix.analysis.device_arguments import as_device
from devicefix.analysis.devices import CPU, CUDA, DEFAULT, symbol
from devicefix.analysis.dtypes import DTYPE_CLASSES
from devicefix.analysis.facts import Step
from devicefix.analysis.module_creation import create_module
from devicefix.analysis.ownership import optimized
from devicefix.analysis.ranks import data_rank
from devicefix.analysis.tensor_factories import sources_of
from devicefix.analysis.torch_functions import call_function, tensor_operands
from devicefix.analysis.values import (
    NUMBER,
    UNKNOWN,
    DType,
    Kind,
    Obj,
    Origin,
    Value,
)

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter

Handler = Callable[["Interpreter", "Frame", ast.Call, "Arguments"], Value]


def call(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments, function: Value) -> Value:
    """Call something by its dotted name."""
    if name.startswith("builtins."):
        return builtins.call_function(it, frame, node, name[len("builtins.") :], args)
    root = name.partition(".")[0]
    if root in ("numpy", "np"):
        return numpy_calls.call(it, frame, node, name, args)
    name = torch_api.canonical(name)
    workers.record_external(it, frame, node, name, args)
    if root == "torch":
        draws.record_shuffle(it, frame, node, name, args)
    if name.startswith("torch.Tensor."):
        return passed_functions.call_unbound(it, frame, node, name.removeprefix("torch.Tensor."), args)
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(it, frame, node, args)
    if name in torch_api.LEGACY_CONSTRUCTORS:
        return _legacy(it, frame, node, name, args)
    fact = torch_api.function(name)
    if fact is not None:
        return call_function(it, frame, node, fact, args)
    if torch_api.module_class(name) is not None:
        return create_module(it, frame, node, name, args)
    if torch_api.optimizer_class(name) is not None:
        return _optimizer(it, frame, node, name, args)
    if root == "math":
        return NUMBER
    return _library(it, frame, node, name, args)


def _library(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    last = name.rpartition(".")[2]
    if last in ("tqdm", "trange", "track", "islice", "cycle", "chain", "track"):
        return args.positional[0] if args.positional else UNKNOWN
    if last in ("from_pretrained", "from_config"):
        name = name.rpartition(".")[0]
    listed = external_kind(it, name)
    if is_external_module(name) or listed == "module":
        value = create_module(it, frame, node, name, args)
        if last in ("from_pretrained", "from_config"):
            value.data.origins = value.data.origins if "device_map" not in args.keywords else ()
        return value
    if last == "Accelerator":
        return prepared.accelerator(node, name, args)
    known = torch_api.external_class(name)
    if known is not None:
        if known.kind == "loader":
            if known.yields == "in_place_container":
                return loaders.graph_loader(it, frame, node, args)
            return loaders.data_loader(it, frame, node, args)
        if known.kind == "distribution":
            return distributions.create(it, frame, node, name, args)
        return Value(
            Kind.OBJECT, data=Obj(None, external=known.name, arguments=(tuple(args.positional), dict(args.keywords)))
        )
    if listed:
        return Value(Kind.OBJECT, data=Obj(None, external=name))
    return Value(Kind.UNKNOWN, ident=("call", node))


# -- torch, where the tables are not enough ----------------------------------------------------------------------------


def _device(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    given = args.get(0, "type") or args.get(0, "device")
    device = as_device(given)
    index = args.get(1, "index")
    if device is not None and index is not None and device.kind == "cuda":
        number = index.data if isinstance(index.data, int) else None
        device = device.__class__("cuda", number, device.key) if number is not None else symbol(("call", node))
    if device is None:
        device = symbol(("call", node))
    return Value(
        Kind.DEVICE,
        device=device,
        ident=("call", node),
        sources=given.sources if given is not None and given.kind is Kind.DEVICE else (),
    )


def _cuda_device(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return Value(Kind.UNKNOWN, flags=frozenset({"cuda_context"}))


def _legacy(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """``torch.FloatTensor(…)``: always on the CPU; ``torch.cuda.FloatTensor(…)``: always on the card."""
    dtype_name = torch_api.LEGACY_CONSTRUCTORS[name]
    dtype = DTYPE_CLASSES[torch_api.DTYPES[dtype_name]] if dtype_name else DType.FLOAT
    first = args.get(0)
    if first is not None and first.is_tensor:
        result = first.replace(ident=None, dtype=dtype, flags=frozenset({"leaf"}))
        if name.startswith("torch.cuda.") or first.device is None or first.device.host:
            return result
        return result.replace(device=None, origins=())  # it takes no tensor of a card: this one is on the CPU
    rank: int | None
    if first is None:
        rank = 1
    elif first.kind is Kind.SEQUENCE:
        rank = data_rank(first)
    elif first.kind is Kind.NDARRAY:
        rank = -1
    elif len(args.positional) > 1 or args.splat or first.kind is Kind.SIZE:
        rank = len(args.positional) if not args.splat and first.kind is not Kind.SIZE else -1
    else:
        rank = -1
    flags = frozenset({"leaf", "explicit_dtype"} if dtype_name else {"leaf"})
    if (
        first is None
        or (first.kind is Kind.NUMBER and first.data == 0)
        or (first.kind is Kind.SEQUENCE and first.items == ())
    ):
        flags |= {"empty"}
    if name.startswith("torch.cuda."):
        it.records.scopes[node].append(frame.scope())
        it.records.values[node].extend(args.positional[:1])
        return Value(Kind.TENSOR, device=CUDA, dtype=dtype, rank=rank, ident=("new", node), flags=flags)
    sources = tuple(s for v in args.every() for s in sources_of(v))
    origin = Origin("legacy", node, frame.scope(), detail=name)
    if it.records.default_device_changed:
        return Value(Kind.TENSOR, device=None, dtype=dtype, rank=rank, flags=flags)
    return Value(
        Kind.TENSOR,
        device=DEFAULT,
        dtype=dtype,
        rank=rank,
        origins=(origin,),
        ident=("new", node),
        flags=flags,
        sources=sources,
    )


def _from_numpy(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0)
    fact = torch_api.function("torch.from_numpy")
    assert fact is not None
    result = tensor_factories.create(it, frame, node, fact, args)
    return result.replace(
        rank=-1 if value is not None and value.kind in (Kind.NDARRAY, Kind.UNKNOWN) else None,
        dtype=value.dtype if value is not None else DType.UNKNOWN,
        flags=result.flags | {"explicit_dtype"},
    )


def _as_tensor(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``torch.tensor`` copies a tensor to the default device's … no: it follows a tensor that it is given."""
    fact = torch_api.function("torch.as_tensor")
    assert fact is not None
    given = args.get(0, "data")
    if given is not None and given.is_tensor and "device" not in args.keywords:
        return given.replace(ident=None, flags=given.flags & {"explicit_dtype"})
    result = tensor_factories.create(it, frame, node, fact, args)
    if given is not None and given.kind is Kind.UNKNOWN and "device" not in args.keywords:
        return result.replace(device=None, origins=())  # a tensor that it is given keeps its device
    if given is not None and given.kind is Kind.NDARRAY:
        result = result.replace(
            rank=-1 if result.rank is None else result.rank,
            flags=result.flags | {"explicit_dtype"},
            dtype=given.dtype if "dtype" not in args.keywords else result.dtype,
        )
    if given is not None and given.kind is Kind.UNKNOWN and given.ident is not None:
        result = result.replace(rank=None)
    return result


def _tensor(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    fact = torch_api.function("torch.tensor")
    assert fact is not None
    given = args.get(0, "data")
    if given is not None and given.is_tensor and "device" not in args.keywords:
        return given.replace(ident=None, flags=frozenset({"leaf"}))
    result = tensor_factories.create(it, frame, node, fact, args)
    if given is not None and given.kind is Kind.UNKNOWN and given.device is not None and "device" not in args.keywords:
        return result.replace(device=None, origins=())  # it may be a tensor already, which keeps its device
    return result


def _parameter(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0, "data")
    requires = args.keywords.get("requires_grad") or args.get(1)
    flags = {"parameter", "leaf"}
    if requires is None or requires.data is True:
        flags.add("requires_grad")
    if value is None or not value.is_tensor:
        return Value(
            Kind.TENSOR,
            device=value.device if value is not None else DEFAULT,
            flags=frozenset(flags),
            ident=("new", node),
        )
    return value.replace(flags=(value.flags & {"explicit_dtype"}) | flags, ident=("new", node))


def _variable(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0, "data") or UNKNOWN
    requires = args.keywords.get("requires_grad") or args.get(1)
    if not value.is_tensor or requires is None or requires.data is not True:
        return value
    return value.replace(flags=(value.flags & {"explicit_dtype"}) | {"leaf", "requires_grad"}, ident=("new", node))


def _number(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return NUMBER


def _packed(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """A packed sequence counts as a tensor on the device of its data; its lengths stay on the CPU."""
    data = args.get(0, "data") or args.get(0, "input") or UNKNOWN
    lengths = args.get(1, "lengths")
    if lengths is not None and lengths.origins:
        it.records.kept_on_host.update((o.node, o.path) for o in lengths.origins if o.kind == "batch")
    if data.is_tensor:
        return data.replace(flags=data.flags | {"packed"}, ident=("new", node))
    return Value(Kind.TENSOR, device=data.device, flags=frozenset({"packed"}), ident=("new", node))


def _pad_packed(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    data = args.get(0, "sequence") or UNKNOWN
    padded = (
        data.replace(flags=data.flags - {"packed"}, ident=None)
        if data.is_tensor
        else Value(Kind.UNKNOWN, device=data.device)
    )
    lengths = Value(Kind.TENSOR, device=CPU, dtype=DType.INT, rank=1)
    return Value(Kind.SEQUENCE, items=(padded, lengths), data="tuple")


def _load(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return _loaded(it, frame, node, "torch.load", args.get(1, "map_location"), args)


def _load_url(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return _loaded(it, frame, node, "torch.hub.load_state_dict_from_url", args.get(2, "map_location"), args)


def _loaded(it: Interpreter, frame: Frame, node: ast.Call, name: str, given: Value | None, args: Arguments) -> Value:
    """What a file holds: unknown, and without ``map_location`` on the device that the file says."""
    scope = frame.scope()
    device = as_device(given) if given is not None else None
    hidden = given is None and (args.keyword_splat or args.splat)
    if device is None and given is not None and _returns_first(args.keyword_nodes.get("map_location")):
        device = CPU  # lambda storage, location: storage
    origins: tuple[Origin, ...] = ()
    if given is None and not hidden:
        origins = (Origin("loaded", node, scope, detail=name),)
    elif device is not None and device.host:
        origins = (Origin("mapped", node, scope, detail=name),)
    flags = frozenset({"location_unknown"}) if hidden else frozenset()
    value = Value(Kind.UNKNOWN, device=device, ident=("call", node), origins=origins, flags=flags, data=name)
    it.records.steps.append(Step("load", node, value, scope, given))
    return value.replace(data=None)


def _returns_first(node: ast.expr | None) -> bool:
    if not isinstance(node, ast.Lambda) or not node.args.args or not isinstance(node.body, ast.Name):
        return False
    return node.body.id == node.args.args[0].arg


def _optimizer(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    given = args.get(0, "params") or UNKNOWN
    value = Value(Kind.OBJECT, data=Obj(None, external=name, arguments=(tuple(args.positional), dict(args.keywords))))
    scope = frame.scope()
    for subject in optimized(given):
        it.records.steps.append(Step("optimizer", node, subject, scope, value))
    return value


def _same(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    return args.positional[0] if args.positional else UNKNOWN


def _grad(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    from devicefix.analysis.meeting import meet

    outputs, inputs, grads = args.get(0, "outputs"), args.get(1, "inputs"), args.get(2, "grad_outputs")
    operands = []
    for value, argument in ((outputs, args.nodes[:1]), (grads, args.nodes[2:3])):
        operands.extend(tensor_operands(value, argument[0] if argument else None) if value is not None else [])
    if len(operands) > 1:
        meet(it, frame, node, "torch.autograd.grad", operands, manner="strict", dtype="strict")
    first = next((t[0] for t in tensor_operands(inputs, None)), None) if inputs is not None else None
    if first is None:
        return UNKNOWN
    result = Value(Kind.TENSOR, device=first.device, dtype=first.dtype, rank=first.rank)
    if inputs is not None and inputs.kind is Kind.SEQUENCE:
        return Value(Kind.SEQUENCE, element=result, data="tuple")
    return Value(Kind.SEQUENCE, items=(result,), data="tuple")


#: what wraps a module of transformers in adapters, which are put beside its weights
PEFT = (
    "peft.get_peft_model",
    "peft.prepare_model_for_kbit_training",
    "peft.PeftModel.from_pretrained",
    "peft.PeftModelForCausalLM.from_pretrained",
)

_HANDLERS: dict[str, Handler] = {
    "torch.nn.register_module_forward_pre_hook": hooks.register_global,
    "torch.nn.register_module_forward_hook": hooks.register_global,
    "torch.device": _device,
    "torch.cuda.device": _cuda_device,
    "torch.from_numpy": _from_numpy,
    "torch.as_tensor": _as_tensor,
    "torch.asarray": _as_tensor,
    "torch.tensor": _tensor,
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.autograd.Variable": _variable,
    "torch.cuda.is_available": _number,
    "torch.cuda.device_count": _number,
    "torch.set_default_device": draws.set_default_device,
    "torch.set_default_tensor_type": draws.set_default_device,
    "torch.is_tensor": _number,
    "torch.Generator": draws.generator,
    "torch.manual_seed": draws.global_generator,
    "torch.random.manual_seed": draws.global_generator,
    "torch.nn.utils.rnn.PackedSequence": _packed,
    "torch.nn.utils.rnn.pack_padded_sequence": _packed,
    "torch.nn.utils.rnn.pack_sequence": _packed,
    "torch.nn.utils.rnn.pad_packed_sequence": _pad_packed,
    "torch.load": _load,
    "torch.hub.load_state_dict_from_url": _load_url,
    "torch.utils.model_zoo.load_url": _load_url,
    "torch.utils.data.DataLoader": loaders.data_loader,
    "torch.utils.data.dataloader.DataLoader": loaders.data_loader,
    "torch.utils.data.default_collate": loaders.default_collate,
    "torch.utils.data.dataloader.default_collate": loaders.default_collate,
    "torch.compile": _same,
    **dict.fromkeys(PEFT, _same),
    "torch.jit.script": _same,
    "torch.nn.utils.weight_norm": _same,
    "torch.nn.utils.spectral_norm": _same,
    "torch.autograd.grad": _grad,
    **copies.HANDLERS,
    **datasets.HANDLERS,
    **distributions.HANDLERS,
    **passed_functions.HANDLERS,
    **records.HANDLERS,
    **standard_library.HANDLERS,
}
