"""What functions of torch and methods of tensors do to abstract values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import devices, draws, gradient_hooks, records
from devicefix.analysis.devices import CPU, CUDA, DEFAULT, Device, parse_device, symbol
from devicefix.analysis.facts import HostRead, Move
from devicefix.analysis.meeting import Operand, loaded_origins, meet, meet_loaded
from devicefix.analysis.opaque import as_tensor, is_batch_element
from devicefix.analysis.operators import combine, promote
from devicefix.analysis.values import (
    NONE,
    NUMBER,
    STRING,
    UNKNOWN,
    DType,
    Kind,
    Origin,
    Value,
    any_element,
    elements,
    merge_origins,
)

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.torch_api import Function

DTYPE_CLASSES = {"float": DType.FLOAT, "int": DType.INT, "bool": DType.BOOL, "complex": DType.COMPLEX}
HOST_RESULTS = {"number", "int", "bool", "str", "list"}
TENSOR_CONVERTERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
NO_DTYPE_CHANGE = frozenset({"explicit_dtype", "maybe_none", "guessed", "shaped"})


def external_attribute(name: str) -> Value:
    """``torch.float32``, ``torch.cuda``, ``math.pi`` …"""
    head, _, last = name.rpartition(".")
    if head == "torch" and last in torch_api.DTYPES:
        return Value(Kind.DTYPE, dtype=DTYPE_CLASSES[torch_api.DTYPES[last]], data=last)
    if head in ("math", "numpy", "torch") and last in ("pi", "inf", "nan", "e", "tau"):
        return Value(Kind.NUMBER, dtype=DType.FLOAT, data=1.0)
    return Value(Kind.EXTERNAL, data=name)


def attribute(base: Value, name: str) -> Value:
    """An attribute of a tensor."""
    if name == "device":
        return Value(Kind.DEVICE, device=base.device, ident=("device", base.ident), sources=(base,))
    if name == "dtype":
        return Value(Kind.DTYPE, dtype=base.dtype, sources=(base,))
    if name in ("shape", "ndim"):
        return Value(Kind.SIZE, sources=(base,))
    if name in ("data", "T", "mT", "H", "mH"):
        return base.replace(ident=("attr", base.ident, name), flags=base.flags & NO_DTYPE_CHANGE)
    if name in ("grad", "real", "imag"):
        return Value(
            Kind.TENSOR, device=base.device, dtype=DType.FLOAT if name == "grad" else DType.UNKNOWN, rank=base.rank
        )
    kind = torch_api.attribute(name)
    if kind in HOST_RESULTS:
        return STRING if kind == "str" else NUMBER
    if torch_api.method(name) is not None or name in torch_api.MOVE_METHODS or name in torch_api.DTYPE_METHODS:
        return Value(Kind.METHOD, data=(base, name))
    if base.has("packed") and name == "batch_sizes":
        return Value(Kind.TENSOR, device=CPU, dtype=DType.INT, rank=1)
    return Value(Kind.METHOD, data=(base, name))


def as_device(value: Value | None) -> Device | None:
    """The device that a value used as a device stands for; ``None`` if nothing is known."""
    if value is None:
        return None
    if value.kind in (Kind.DEVICE, Kind.TENSOR):
        return value.device
    if value.kind is Kind.STRING:
        if isinstance(value.data, str):
            return parse_device(value.data)
        if value.device is not None:
            return value.device
        return symbol(value.ident) if value.ident is not None else None
    if value.kind is Kind.NUMBER:
        if isinstance(value.data, int) and not isinstance(value.data, bool):
            return Device("cuda", value.data)
        return symbol(value.ident) if value.ident is not None else None
    if value.kind is Kind.UNKNOWN and value.ident is not None:
        # an expression that we cannot look into, used as a device: the device that somebody chose
        return symbol(value.ident)
    return None


def dtype_of(value: Value | None) -> DType | None:
    """The dtype class that an argument asks for; ``None`` if it is no dtype."""
    if value is None:
        return None
    if value.kind in (Kind.DTYPE, Kind.TENSOR):
        return value.dtype
    if value.kind is Kind.EXTERNAL:
        return {"builtins.float": DType.FLOAT, "builtins.int": DType.INT, "builtins.bool": DType.BOOL}.get(
            str(value.data)
        )
    return DType.UNKNOWN if value.kind is Kind.UNKNOWN else None


# -- functions -------------------------------------------------------------------------------------------------------


def call_function(it: Interpreter, frame: Frame, node: ast.Call, fact: Function, args: Arguments) -> Value:
    """``torch.f(…)``."""
    if fact.creates:
        result = create(it, frame, node, fact, args)
    else:
        result = _apply(it, frame, node, fact, args, _operands(fact, args, None), fact.name)
    if "generator" in args.keywords:
        draws.record_draw(it, frame, node, fact.name, result.device, args)
    return result


def _operands(fact: Function, args: Arguments, receiver: Operand | None) -> list[Operand]:
    """The tensors that take part in a call, lists of tensors flattened, without those that may stay on the CPU."""
    operands: list[Operand] = [receiver] if receiver is not None else []
    for i, (value, node) in enumerate(zip(args.positional, args.nodes, strict=False)):
        name = fact.parameter_at(i)
        if name not in fact.cpu_args and (value.kind is not Kind.UNKNOWN or fact.takes_tensor(name)):
            operands.extend(_tensors(value, node))
    for name, value in args.keywords.items():
        if value.kind is Kind.UNKNOWN and not fact.takes_tensor(name):
            continue
        if name not in fact.cpu_args and name not in ("device", "dtype", "generator", "out"):
            operands.extend(_tensors(value, args.keyword_nodes.get(name)))
    return operands


def _tensors(value: Value, node: ast.expr | None) -> list[Operand]:
    if value.is_tensor:
        return [(value, node)]
    if is_batch_element(value):
        return [(as_tensor(value), node)]
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
        nodes = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
        inner = elements(value)
        result: list[Operand] = []
        for i, item in enumerate(inner):
            result.extend(_tensors(item, nodes[i] if i < len(nodes) and len(nodes) == len(inner) else None))
        if value.element is not None:
            several = [v for v in value.sources if v.is_tensor] if value.element.device is None else []
            for item in several or [value.element]:
                result.extend(_tensors(item, None))
        return result
    return []


def _apply(
    it: Interpreter, frame: Frame, node: ast.Call, fact: Function, args: Arguments, operands: list[Operand], name: str
) -> Value:
    device: Device | None
    values = [v for v, _ in operands]
    given = args.every()
    listed = [inner for v in given if v.kind is Kind.SEQUENCE for inner in elements(v)]
    meet_loaded(it, frame, node, [*values, *given, *listed])
    if "out" in args.keywords and args.keywords["out"].is_tensor:
        operands = [(args.keywords["out"], args.keyword_nodes.get("out")), *operands]
    if fact.mixing in ("same", "strict", "index"):
        if fact.in_place:
            manner = "in_place" if fact.mixing == "same" else "strict"
        else:
            manner = {"same": "pointwise", "strict": "strict", "index": "index"}[fact.mixing]
            if name.rpartition(".")[2] in ("clamp", "clip") and any(
                v.kind in (Kind.NUMBER, Kind.SIZE) for v in args.every()
            ):
                manner = "pointwise"  # one bound is a number, so a 0-dim tensor as the other is read as one
        dtype = (
            "strict"
            if fact.dtype_strict
            else "arithmetic"
            if fact.output_dtype in ("input", "promote", "float")
            else "none"
        )
        if fact.output_dtype in ("input", "promote") and name.rpartition(".")[2] in DTYPE_FREE:
            dtype = "none"
        device = meet(it, frame, node, name, operands, manner=manner, dtype=dtype)
        if fact.in_place and values and values[0].is_tensor and device is not None and device.host:
            away = next((v for v in values if v.is_tensor and v.device is not None and not v.device.host), None)
            if away is not None:
                device = away.device
    else:
        device = (
            values[0].device
            if values and values[0].is_tensor
            else next((v.device for v in values if v.is_tensor), None)
        )
        if fact.mixing == "none" and len([v for v in values if v.is_tensor]) > 1:
            pass
    return _result(fact, args, values, device)


#: operations in which the operands' dtypes have nothing to do with each other
DTYPE_FREE = frozenset(
    {"gather", "index_select", "masked_fill", "masked_fill_", "masked_select", "take", "embedding",
    "take_along_dim", "logical_and",
     "logical_or", "bitwise_and", "bitwise_or", "where", "scatter_", "index_fill_"}
)  # fmt: skip


def _result(fact: Function, args: Arguments, values: list[Value], device: Device | None) -> Value:
    returns = fact.returns
    for parameter, other in fact.alternatives:
        given = args.get(fact.parameters.index(parameter) if parameter in fact.parameters else -1, parameter)
        if given is not None and not given.is_tensor:
            returns = other
    if returns == "self" and values and values[0].is_tensor:
        result = values[0]
        if device is not None and result.device is not None and result.device.host and not device.host:
            result = result.replace(device=device, origins=())
        if fact.name.endswith("requires_grad_"):
            result = result.replace(flags=result.flags | {"requires_grad"})
        return result
    tensors = [v for v in values if v.is_tensor]
    if returns in ("tensor", "tensors", "self"):
        if not tensors:
            known = values[0] if values else args.get(0)
            if returns == "tensor":
                # torch functions return tensors whatever they are given
                device = known.device if known is not None else None
                return Value(
                    Kind.TENSOR,
                    device=device,
                    dtype=DTYPE_CLASSES.get(fact.output_dtype, DType.UNKNOWN),
                    origins=loaded_origins(known) if known is not None and device is None else (),
                )
            return Value(Kind.UNKNOWN, device=known.device if known is not None else None)
        result = _tensor_result(fact, args, values, tensors, device)
        if returns == "tensors":
            if fact.outputs:
                items = tuple(
                    result.replace(dtype=DTYPE_CLASSES.get(dtype, result.dtype), ident=None)
                    for _, dtype in fact.outputs
                )
                return records.record(tuple(name for name, _ in fact.outputs), items, result=True)
            return Value(Kind.SEQUENCE, element=result, data="tuple")
        return result
    if returns == "size":
        return Value(Kind.SIZE, sources=tuple(tensors[:1]) or tuple(values[:1]))
    if returns in ("int", "number"):
        return (
            Value(Kind.SIZE, sources=tuple(tensors[:1]))
            if fact.name in ("size", "dim", "numel", "nelement", "ndimension")
            else NUMBER
        )
    if returns == "bool":
        return NUMBER
    if returns == "str":
        return STRING
    if returns == "none":
        return NONE
    if returns == "ndarray":
        return Value(Kind.NDARRAY)
    if returns == "list":
        return Value(Kind.SEQUENCE, element=NUMBER, data="list")
    if returns == "device":
        return Value(Kind.DEVICE, device=device)
    if returns == "argument":
        return values[0] if values else (args.positional[0] if args.positional else UNKNOWN)
    return Value(Kind.UNKNOWN, device=device)


def _tensor_result(
    fact: Function, args: Arguments, values: list[Value], tensors: list[Value], device: Device | None
) -> Value:
    asked = dtype_of(args.keywords.get("dtype")) if fact.dtype else None
    if asked is not None:
        dtype = asked
    elif fact.output_dtype in DTYPE_CLASSES:
        dtype = DTYPE_CLASSES[fact.output_dtype]
    elif fact.output_dtype in ("input", "promote", "sum"):
        everything = [*values, *(v for v in args.every() if v.kind is Kind.NUMBER)]
        dtype = promote(everything if fact.output_rank == "broadcast" else tensors)
    else:
        dtype = DType.UNKNOWN
    if fact.output_dtype == "float" and asked is None and any(v.dtype is DType.UNKNOWN for v in tensors):
        dtype = DType.FLOAT
    first = tensors[0]
    rank = _rank(fact, args, first, values, device)
    result = combine(tensors, device, dtype=dtype)
    flags = result.flags
    if asked is not None or fact.output_dtype in ("bool", "int") or fact.name in torch_api.DTYPE_METHODS:
        flags |= {"explicit_dtype"}
    if fact.name.endswith("_like") or fact.name.startswith("new_"):
        flags -= {"graph"}  # made after a pattern, not computed from it
    return result.replace(rank=rank, flags=flags)


def _rank(fact: Function, args: Arguments, first: Value, values: list[Value], device: Device | None) -> int | None:
    kind, _, parameter = fact.output_rank.partition(":")
    short = fact.name.rpartition(".")[2]
    if kind.isdigit():
        return int(kind)
    if short == "unsqueeze":
        return first.rank + 1 if first.rank is not None and first.rank >= 0 else -1
    if kind == "same":
        return first.rank
    if kind == "some":
        return -1
    if kind == "broadcast":
        return combine(values, device).rank
    if kind == "reduce":
        position = fact.parameters.index(parameter) if parameter in fact.parameters else -1
        given = args.get(position, parameter)
        if parameter == "reduction":
            if given is None:
                return 0
            return (
                0
                if isinstance(given.data, str) and given.data != "none"
                else first.rank
                if given.data == "none"
                else None
            )
        keeps = args.keywords.get("keepdim")
        if keeps is not None and keeps.data is not False:
            return first.rank if keeps.data is True else None
        if given is None or given.kind is Kind.NONE:
            return 0
        return _reduced(first.rank, given)
    if short in ("view", "reshape", "expand", "repeat", "tile", "flatten", "broadcast_to", "unflatten"):
        return _view_rank(short, args, first)
    if short in ("cat", "concat", "concatenate", "stack", "pad", "roll", "flip", "cumsum", "cumprod", "sort"):
        return -1
    if short in (
        "meshgrid",
        "outer",
        "diag",
        "diag_embed",
        "matmul",
        "bmm",
        "mm",
        "block_diag",
        "cartesian_prod",
        "tril",
        "triu",
    ):
        return -1
    if short in (
        "transpose",
        "permute",
        "t",
        "swapaxes",
        "movedim",
        "expand_as",
        "view_as",
        "clone",
        "contiguous",
        "masked_fill",
    ):
        return first.rank if first.rank is not None else None
    return None


def _reduced(rank: int | None, given: Value) -> int | None:
    """The rank that is left when one dimension, or each of a tuple of them, is reduced."""
    if rank is None or rank < 0:
        return None
    if given.kind is Kind.SEQUENCE:
        return max(rank - len(given.items), 0) if isinstance(given.items, tuple) and given.items else None
    return max(rank - 1, 0)


def _view_rank(name: str, args: Arguments, first: Value) -> int | None:
    if name == "flatten":
        return -1
    sizes = args.positional
    if not sizes and not args.splat:
        return None
    if len(sizes) == 1 and isinstance(sizes[0].items, tuple):
        return len(sizes[0].items)
    if args.splat or (len(sizes) == 1 and sizes[0].kind in (Kind.SIZE, Kind.SEQUENCE, Kind.UNKNOWN)):
        return -1 if name != "expand" or first.rank not in (0, None) else None
    return len(sizes)


# -- factories -------------------------------------------------------------------------------------------------------


def create(
    it: Interpreter, frame: Frame, node: ast.Call, fact: Function, args: Arguments, kind: str = "factory"
) -> Value:
    """A call that makes a new tensor."""
    if "out" in args.keywords and args.keywords["out"].kind is not Kind.NONE:
        return args.keywords["out"]
    short = fact.name.rpartition(".")[2]
    dtype, explicit = _factory_dtype(fact, args, short)
    flags = {"leaf"}
    if explicit:
        flags.add("explicit_dtype")
    wants_grad = args.keywords.get("requires_grad")
    if wants_grad is not None and wants_grad.data is not False:
        flags.add("requires_grad")
    rank = _factory_rank(short, args)
    if _is_empty(short, args):
        flags.add("empty")
    sources = tuple(source for value in args.every() for source in _sources(value))
    if short in ("normal", "as_tensor", "asarray", "linspace", "arange", "full") and any(
        v.is_tensor for v in args.every()
    ):
        tensors = [v for v in args.positional if v.is_tensor and v.rank != 0]
        if short in ("normal", "as_tensor", "asarray") and tensors and "device" not in args.keywords:
            return tensors[0].replace(dtype=dtype if explicit else tensors[0].dtype, flags=frozenset(flags))
    given = args.keywords.get("device")
    if given is None and fact.device and "device" in fact.parameters:
        given = args.get(fact.parameters.index("device"))
    device: Device | None
    origins: tuple[Origin, ...] = ()
    if given is not None and given.kind is Kind.NONE and not _is_none_literal(args, fact):
        # a variable that holds None here and now; what it will hold is up to the caller
        return Value(
            Kind.TENSOR,
            device=None,
            dtype=dtype,
            rank=rank,
            ident=("new", node),
            flags=frozenset(flags),
            sources=sources,
        )
    if given is not None and given.kind is not Kind.NONE:
        device = as_device(given)
        if given.has("maybe_none"):
            device = None
        if device == CPU or (given.kind is Kind.DEVICE and device == DEFAULT):
            device = CPU if given.kind is Kind.STRING else device
            origins = given.sources[0].origins if given.kind is Kind.DEVICE and given.sources else ()
        if given.kind in (Kind.STRING, Kind.DEVICE) and device is not None and device.kind == "cuda":
            it.records.scopes[node].append(frame.scope())
        follows = ("device of", given.sources[0].ident) if given.kind is Kind.DEVICE and given.sources else None
        return Value(
            Kind.TENSOR,
            device=device,
            dtype=dtype,
            rank=rank,
            origins=origins,
            ident=("new", node),
            data=follows,
            flags=frozenset(flags),
            sources=sources,
        )
    if args.keyword_splat or it.records.default_device_changed:
        device = None
    elif it.default_devices:
        device = it.default_devices[-1]
    else:
        device = DEFAULT
        scope = frame.scope()
        it.records.scopes[node].append(scope)
        it.records.made[("new", node)].append(len(it.records.moves))
        origins = (Origin(kind, node, scope, detail=fact.name),)
    return Value(
        Kind.TENSOR,
        device=device,
        dtype=dtype,
        rank=rank,
        origins=origins,
        ident=("new", node),
        flags=frozenset(flags),
        sources=sources,
    )


def _is_none_literal(args: Arguments, fact: Function) -> bool:
    node = args.keyword_nodes.get("device")
    return isinstance(node, ast.Constant) and node.value is None


def _is_empty(short: str, args: Arguments) -> bool:
    """``torch.empty(0)``, ``torch.tensor([])``: a placeholder without elements."""
    first = args.get(0)
    if first is None:
        return False
    if short in ("tensor", "as_tensor"):
        return first.kind is Kind.SEQUENCE and first.items == ()
    sizes = first.items if isinstance(first.items, tuple) else tuple(args.positional)
    return any(v.kind is Kind.NUMBER and v.data == 0 and v.data is not False for v in sizes) and short in (
        "empty",
        "zeros",
        "ones",
        "rand",
        "randn",
    )


def _sources(value: Value) -> tuple[Value, ...]:
    if value.kind is Kind.SEQUENCE:
        return (
            tuple(s for item in (*elements(value), *([value.element] if value.element else ())) for s in _sources(item))
            + value.sources
        )
    return value.sources


def _factory_dtype(fact: Function, args: Arguments, short: str) -> tuple[DType, bool]:
    asked = args.keywords.get("dtype")
    if asked is None and "dtype" in fact.parameters:
        asked = args.get(fact.parameters.index("dtype"))
    if asked is not None and asked.kind is not Kind.NONE:
        return dtype_of(asked) or DType.UNKNOWN, True
    if fact.default_dtype in DTYPE_CLASSES:
        return DTYPE_CLASSES[fact.default_dtype], False
    if short == "full":
        fill = args.get(1, "fill_value")
        return data_dtype(fill), False
    if short in ("tensor", "as_tensor", "asarray", "scalar_tensor"):
        return data_dtype(args.get(0, "data")), False
    if short in ("arange", "range"):
        classes = [data_dtype(v) for v in args.positional]
        if DType.FLOAT in classes:
            return DType.FLOAT, False
        sized = all(v.kind is Kind.SIZE or c is DType.INT for v, c in zip(args.positional, classes, strict=False))
        return (DType.INT if sized or len(args.positional) == 1 else DType.UNKNOWN), False
    return DType.UNKNOWN, False


def data_dtype(value: Value | None) -> DType:
    """The dtype class that ``torch.tensor(value)`` gets."""
    if value is None:
        return DType.UNKNOWN
    if value.kind is Kind.NUMBER:
        if isinstance(value.data, bool):
            return DType.BOOL
        if isinstance(value.data, int):
            return DType.INT
        if isinstance(value.data, float):
            return DType.FLOAT
        return value.dtype
    if value.kind is Kind.SIZE:
        return DType.INT if value.data is None and value.dtype is DType.UNKNOWN else value.dtype
    if value.kind is Kind.SEQUENCE:
        found = {data_dtype(v) for v in elements(value)}
        if value.element is not None:
            found.add(data_dtype(value.element))
        if DType.FLOAT in found:
            return DType.FLOAT
        return found.pop() if len(found) == 1 else DType.UNKNOWN
    return value.dtype if value.is_tensor else DType.UNKNOWN


def _factory_rank(short: str, args: Arguments) -> int | None:
    if short in ("tensor", "as_tensor", "asarray"):
        return data_rank(args.get(0, "data"))
    if short == "scalar_tensor":
        return 0
    if short in ("arange", "linspace", "logspace", "randperm", "range") or short.endswith("_window"):
        return 1
    if short in ("eye", "tril_indices", "triu_indices", "vander"):
        return 2
    if short == "from_numpy":
        value = args.get(0)
        return -1 if value is not None and value.has("shaped") else None
    if short == "normal":
        return -1
    sizes = args.positional
    if short in ("full", "randint"):
        size = args.keywords.get("size") or next(
            (v for v in reversed(sizes) if v.kind in (Kind.SEQUENCE, Kind.SIZE)), None
        )
        if size is not None and isinstance(size.items, tuple):
            return len(size.items)
        return -1
    size = args.keywords.get("size")
    if size is not None:
        sizes = [size]
    if args.splat:
        return -1
    if len(sizes) == 1:
        only = sizes[0]
        if isinstance(only.items, tuple):
            return len(only.items)
        if only.kind is Kind.SIZE:
            return -1
        if only.kind is Kind.SEQUENCE:
            return -1
        return 1 if only.kind is Kind.NUMBER else -1
    return len(sizes) if sizes else None


def data_rank(value: Value | None) -> int | None:
    """The number of dimensions that ``torch.tensor(value)`` gets."""
    if value is None:
        return None
    if value.kind is Kind.NUMBER:
        return 0
    if value.kind is Kind.SIZE:
        return None if not value.sources else 0 if value.data is None else 1
    if value.kind is Kind.SEQUENCE:
        inner = data_rank(any_element(value)) if elements(value) or value.element else 0
        return 1 + inner if inner is not None and inner >= 0 else -1
    if value.is_tensor:
        return value.rank
    return None


# -- methods ---------------------------------------------------------------------------------------------------------


def gives_tensor(name: str) -> bool:
    """Whether a method of that name gives a tensor if its receiver is one."""
    fact = torch_api.method(name)
    return fact is not None and fact.returns in ("tensor", "self")


def call_method(it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments) -> Value:
    """``x.name(…)`` on a tensor."""
    receiver_node = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in torch_api.MOVE_METHODS or name in torch_api.DTYPE_METHODS or name == "type":
        return move(it, frame, node, receiver, name, args)
    if name in ("numpy", "item", "tolist"):
        it.records.host_reads.append(HostRead(node, name, receiver, frame.scope()))
        if name == "numpy":
            return Value(Kind.NDARRAY, flags=frozenset({"shaped"}) if receiver.rank not in (0, None) else frozenset())
        return NUMBER if name == "item" else Value(Kind.SEQUENCE, element=NUMBER, data="list")
    if name in ("size", "dim", "numel", "nelement", "ndimension", "stride"):
        it.records.values[node].append(receiver)
        return Value(Kind.SIZE, sources=(receiver,))
    if name == "type_as" and args.positional:
        other = args.positional[0]
        return receiver.replace(
            device=other.device,
            dtype=other.dtype,
            origins=other.origins if other.device and other.device.host else (),
            ident=None,
            flags=(receiver.flags & NO_DTYPE_CHANGE) | {"explicit_dtype"},
        )
    if name in ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"):
        return _new(receiver, args, name)
    if name == "new":
        return receiver.replace(rank=None, ident=None, flags=frozenset())
    if name in (
        "clone",
        "detach",
        "contiguous",
        "requires_grad_",
        "data",
        "pin_memory",
        "share_memory_",
        "retain_grad",
    ):
        flags = receiver.flags & NO_DTYPE_CHANGE
        if name == "requires_grad_":
            flags |= {"requires_grad"} | (receiver.flags & {"leaf"})
            return receiver.replace(flags=flags)
        return receiver.replace(flags=flags, ident=("same", receiver.ident) if receiver.ident else None)
    if name == "register_hook":
        return gradient_hooks.register(it, frame, node, receiver, args)
    fact = torch_api.method(name)
    if fact is None:
        return Value(Kind.UNKNOWN, device=receiver.device)
    operands = _operands(fact, args, (receiver, receiver_node))
    if name == "backward":
        return NONE
    result = _apply(it, frame, node, fact, args, operands, name)
    if (
        result.is_tensor
        and result.ident is None
        and receiver.ident is not None
        and len([v for v, _ in operands if v.is_tensor]) == 1
    ):
        result = result.replace(ident=("from", receiver.ident, node))
    if "generator" in args.keywords:
        draws.record_draw(it, frame, node, name, receiver.device, args)
    if fact.in_place and result.is_tensor and isinstance(receiver_node, ast.Name) and receiver_node.id in frame.names:
        if result.device != receiver.device:
            frame.names[receiver_node.id] = result
    return result


def _new(receiver: Value, args: Arguments, name: str) -> Value:
    given = args.keywords.get("device")
    asked = dtype_of(args.keywords.get("dtype"))
    device = as_device(given) if given is not None else receiver.device
    rank = (
        data_rank(args.get(0))
        if name == "new_tensor"
        else _factory_rank("zeros" if name != "new_full" else "full", args)
    )
    return Value(
        Kind.TENSOR, device=device, dtype=asked or receiver.dtype, rank=rank,
        origins=() if given is not None else receiver.origins,
        flags=frozenset({"explicit_dtype", "leaf"}),
    )  # fmt: skip


def move(it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments) -> Value:
    """``x.to(…)``, ``x.cuda()``, ``x.cpu()``, ``x.half()``, ``x.type(…)`` on a tensor: a new tensor."""
    device, dtype, moves = move_target(name, args)
    flags = receiver.flags & {"maybe_none", "guessed", "shaped", "explicit_dtype", "packed"}
    if dtype is not None:
        flags |= {"explicit_dtype"}
    if receiver.has("leaf") and receiver.has("requires_grad"):
        flags |= {"was_leaf"}
    if receiver.has("parameter"):
        flags |= {"was_parameter"}
    result = receiver.replace(flags=flags, ident=("moved", receiver.ident, node))
    if dtype is not None:
        result = result.replace(dtype=dtype)
    if moves:
        target = device
        origins: tuple[Origin, ...] = ()
        first = args.get(0)
        if target is not None and target.host and first is not None:
            if first.is_tensor:
                origins = first.origins
            elif first.kind is Kind.DEVICE and first.sources:
                origins = first.sources[0].origins
        result = result.replace(device=target, origins=origins)
    it.records.moves.append(Move(node, name, receiver, result, device if moves else None, frame.scope()))
    return result


def move_target(name: str, args: Arguments) -> tuple[Device | None, DType | None, bool]:
    """Where a move method moves to: (device, dtype class, whether it moves at all)."""
    if name == "cuda":
        given = args.get(0, "device")
        if given is None or given.kind is Kind.NONE:
            return CUDA, None, True
        if given.kind is Kind.NUMBER and given.data is True:
            return CUDA, None, True
        return as_device(given) or None, None, True
    if name == "cpu":
        return CPU, None, True
    if name in torch_api.DTYPE_METHODS:
        return None, DTYPE_CLASSES[torch_api.DTYPE_METHODS[name]], False
    if name == "type":
        given = args.get(0, "dtype")
        if given is None:
            return None, None, False
        if given.kind is Kind.DTYPE:
            return None, dtype_of(given), False
        if given.kind is Kind.STRING and isinstance(given.data, str):
            if given.data.startswith("torch.cuda."):
                return CUDA, DType.UNKNOWN, True
            return (
                (DEFAULT if given.data.startswith("torch.") else None),
                DType.UNKNOWN,
                given.data.startswith("torch."),
            )
        return None, DType.UNKNOWN, True
    if name != "to":
        return Device("cuda", key=name), None, True
    device: Device | None = None
    dtype: DType | None = None
    moves = False
    for value in (*args.positional, *(args.keywords[k] for k in ("device", "dtype", "other") if k in args.keywords)):
        if value is args.keywords.get("dtype"):
            dtype = value.dtype if value.kind is Kind.DTYPE else dtype  # and no device, whatever it is
        elif value.kind is Kind.DTYPE:
            dtype = value.dtype
        elif value.is_tensor:
            device, dtype, moves = value.device, value.dtype, True
        elif value.kind in (Kind.DEVICE, Kind.STRING, Kind.UNKNOWN) or (
            value.kind is Kind.NUMBER
            and not isinstance(value.data, bool)
            and value is not args.keywords.get("non_blocking")
        ):
            if not moves:
                device, moves = as_device(value), True
        elif value.kind not in (Kind.NUMBER, Kind.NONE):
            if not moves:
                device, moves = None, True
    if args.keyword_splat or args.splat:
        return None, DType.UNKNOWN, True
    return device, dtype, moves


__all__ = [
    "as_device",
    "attribute",
    "call_function",
    "call_method",
    "create",
    "data_dtype",
    "devices",
    "dtype_of",
    "external_attribute",
    "merge_origins",
    "move",
    "move_target",
]
