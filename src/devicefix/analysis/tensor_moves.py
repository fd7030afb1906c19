"""Moves and casts of tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.device_arguments import as_device
from devicefix.analysis.devices import CPU, CUDA, DEFAULT, Device
from devicefix.analysis.dtypes import DTYPE_CLASSES, dtype_of, is_dtype
from devicefix.analysis.facts import Move
from devicefix.analysis.values import DType, Kind, Origin, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def move(it: Interpreter, frame: Frame, node: ast.Call, receiver: Value, name: str, args: Arguments) -> Value:
    """``x.to(…)``, ``x.cuda()``, ``x.cpu()``, ``x.half()``, ``x.type(…)`` on a tensor: a new tensor."""
    device, dtype, moves = move_target(name, args)
    flags = receiver.flags & {"maybe_none", "guessed", "shaped", "explicit_dtype", "packed"}
    if dtype is not None or any(map(is_dtype, args.every())):
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


def _asked(value: Value) -> DType | None:
    """The dtype class that is asked for; ``None``, as if it stayed, for one that a caller chooses."""
    chosen = value.kind is not Kind.DTYPE or (value.has("parameter") and value.dtype is DType.UNKNOWN)
    return None if chosen else value.dtype


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
        if is_dtype(given):
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
            dtype = _asked(value) or dtype  # and no device, whatever it is
        elif is_dtype(value):
            dtype = _asked(value)
        elif value.is_tensor:
            device, dtype, moves = value.device, value.dtype, True
        elif value.kind in (Kind.DEVICE, Kind.STRING, Kind.UNKNOWN, Kind.EXTERNAL) or (
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
