"""What functions of torch do to the tensors that they are given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import draws, records
from devicefix.analysis.devices import Device
from devicefix.analysis.dtypes import DTYPE_CLASSES, dtype_of
from devicefix.analysis.meeting import Operand, loaded_origins, meet, meet_loaded
from devicefix.analysis.opaque import as_tensor, is_batch_element
from devicefix.analysis.operators import combine, promote
from devicefix.analysis.ranks import result_rank
from devicefix.analysis.tensor_factories import create, device_asked
from devicefix.analysis.values import NONE, NUMBER, STRING, UNKNOWN, DType, Kind, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.torch_api import Function


def call_function(it: Interpreter, frame: Frame, node: ast.Call, fact: Function, args: Arguments) -> Value:
    """``torch.f(…)``."""
    if fact.creates:
        result = create(it, frame, node, fact, args)
    else:
        result = apply_function(it, frame, node, fact, args, operands_of(fact, args, None), fact.name)
    if "generator" in args.keywords:
        draws.record_draw(it, frame, node, fact.name, result.device, args)
    return result


def operands_of(fact: Function, args: Arguments, receiver: Operand | None) -> list[Operand]:
    """The tensors that take part in a call, lists of tensors flattened, without those that may stay on the CPU."""
    operands: list[Operand] = [receiver] if receiver is not None else []
    for i, (value, node) in enumerate(zip(args.positional, args.nodes, strict=False)):
        name = fact.parameter_at(i)
        if name not in fact.cpu_args and (value.kind is not Kind.UNKNOWN or fact.takes_tensor(name)):
            operands.extend(tensor_operands(_in_tensors_place(value), node))
    for name, value in args.keywords.items():
        if value.kind is Kind.UNKNOWN and not fact.takes_tensor(name):
            continue
        value = _in_tensors_place(value)
        if name not in fact.cpu_args and name not in ("device", "dtype", "generator", "out"):
            operands.extend(tensor_operands(value, args.keyword_nodes.get(name)))
    return operands


def _in_tensors_place(value: Value) -> Value:
    """What only a tensor can be where it is given, if something else speaks for that too."""
    return as_tensor(value) if value.kind is Kind.UNKNOWN and value.has("likely_tensor") else value


def tensor_operands(value: Value, node: ast.expr | None) -> list[Operand]:
    """The tensors in an argument, those inside lists and dicts included, each with its expression if it has one."""
    if value.is_tensor:
        return [(value, node)]
    if is_batch_element(value):
        return [(as_tensor(value), node)]
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
        nodes = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
        inner = elements(value)
        result: list[Operand] = []
        for i, item in enumerate(inner):
            result.extend(tensor_operands(item, nodes[i] if i < len(nodes) and len(nodes) == len(inner) else None))
        if value.element is not None:
            several = [v for v in value.sources if v.is_tensor] if value.element.device is None else []
            for item in several or [value.element]:
                result.extend(tensor_operands(item, None))
        return result
    return []


def apply_function(
    it: Interpreter, frame: Frame, node: ast.Call, fact: Function, args: Arguments, operands: list[Operand], name: str
) -> Value:
    """Let the operands of a function or method meet, and give what it returns."""
    device: Device | None
    values = [v for v, _ in operands]
    asked = args.keywords.get("device")
    if asked is not None and asked.kind is not Kind.NONE and fact.returns == "tensor":
        # `zeros_like(x, device=d)`, `sparse_coo_tensor(i, v, device=d)`: everything is brought there
        device, origins = device_asked(asked)
        result = _result(fact, args, values, device)
        return result.replace(device=device, origins=origins, ident=None) if result.is_tensor else result
    given = args.every()
    listed = [inner for v in given if v.kind is Kind.SEQUENCE for inner in elements(v)]
    strict = {"same": False, "strict": True}.get(fact.mixing)
    if fact.mixing != "copy":
        meet_loaded(it, frame, node, [*values, *given, *listed], strict=strict)
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
    if (returns == "self" or fact.in_place) and values and values[0].is_tensor:
        result = values[0]  # the same object: a parameter stays one
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
                    origins=loaded_origins(known) if known is not None and (device is None or device.host) else (),
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
    rank = result_rank(fact, args, first, values, device)
    unknown = [v for v in args.every() if v.kind is Kind.UNKNOWN] if fact.mixing == "same" else []
    result = combine([*tensors, *unknown], device, dtype=dtype)
    flags = result.flags
    if asked is not None or fact.output_dtype in ("bool", "int") or fact.name in torch_api.DTYPE_METHODS:
        flags |= {"explicit_dtype"}
    if fact.name.endswith("_like") or fact.name.startswith("new_"):
        flags -= {"graph"}  # made after a pattern, not computed from it
    return result.replace(rank=rank, flags=flags)
