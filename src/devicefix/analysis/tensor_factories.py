"""Calls that make new tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.device_arguments import as_device
from devicefix.analysis.devices import CPU, DEFAULT, Device
from devicefix.analysis.dtypes import DTYPE_CLASSES, data_dtype, dtype_of
from devicefix.analysis.ranks import factory_rank
from devicefix.analysis.values import DType, Kind, Origin, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.torch_api import Function


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
    rank = factory_rank(short, args)
    if _is_empty(short, args):
        flags.add("empty")
    sources = tuple(source for value in args.every() for source in sources_of(value))
    if short == "normal" and args.get(2, "size") is None:  # of tensors: it stays where they are, and takes no `device`
        pattern = next((v for v in args.every() if v.is_tensor), Value(Kind.TENSOR, dtype=DType.FLOAT))
        return pattern.replace(ident=("new", node), flags=frozenset(flags))
    if short in ("as_tensor", "asarray") and "device" not in args.keywords:
        given = args.get(0)
        if given is not None and given.is_tensor and given.rank != 0:
            return given.replace(dtype=dtype if explicit else given.dtype, flags=frozenset(flags))
    given = args.keywords.get("device")
    if given is None and fact.device and "device" in fact.parameters:
        given = args.get(fact.parameters.index("device"))
    device: Device | None = None
    origins: tuple[Origin, ...] = ()
    follows: object = None
    if given is not None and given.kind is Kind.NONE and not _is_none_literal(args, fact):
        pass  # a variable that holds None here and now; what it will hold is up to the caller
    elif given is not None and given.kind is not Kind.NONE:
        device, origins = device_asked(given)
        if given.kind in (Kind.STRING, Kind.DEVICE) and device is not None and device.kind == "cuda":
            it.records.scopes[node].append(frame.scope())
        follows = ("device of", given.sources[0].ident) if given.kind is Kind.DEVICE and given.sources else None
    elif args.keyword_splat or it.records.default_device_changed:
        pass
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
        data=follows,
        flags=frozenset(flags),
        sources=sources,
    )


def device_asked(given: Value) -> tuple[Device | None, tuple[Origin, ...]]:
    """Where ``device=given`` puts a tensor; if that is the CPU, also where the tensor was made that it was read off."""
    device = None if given.has("maybe_none") else as_device(given)
    if device == CPU or (given.kind is Kind.DEVICE and device == DEFAULT):
        origins = given.sources[0].origins if given.kind is Kind.DEVICE and given.sources else ()
        return (CPU if given.kind is Kind.STRING else device), origins
    return device, ()


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


def sources_of(value: Value) -> tuple[Value, ...]:
    """What a value was read off, that of the members of lists included."""
    if value.kind is Kind.SEQUENCE:
        return (
            tuple(
                s for item in (*elements(value), *([value.element] if value.element else ())) for s in sources_of(item)
            )
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
