"""Methods of tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import draws, gradient_hooks
from devicefix.analysis.dtypes import NO_DTYPE_CHANGE, dtype_of
from devicefix.analysis.facts import HostRead
from devicefix.analysis.ranks import data_rank, factory_rank
from devicefix.analysis.tensor_factories import device_asked
from devicefix.analysis.tensor_moves import move
from devicefix.analysis.torch_functions import apply_function, operands_of
from devicefix.analysis.values import NONE, NUMBER, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


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
        it.records.host_reads.append(HostRead(node, name, receiver, frame.scope(), without_card=it.host_only > 0))
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
    if name in ("requires_grad_", "share_memory_"):  # the same object: a parameter stays one
        return receiver.replace(flags=receiver.flags | {"requires_grad"}) if name == "requires_grad_" else receiver
    if name in ("clone", "detach", "contiguous", "data", "pin_memory", "retain_grad"):
        flags = receiver.flags & NO_DTYPE_CHANGE
        return receiver.replace(flags=flags, ident=("same", receiver.ident) if receiver.ident else None)
    if name == "register_hook":
        return gradient_hooks.register(it, frame, node, receiver, args)
    fact = torch_api.method(name)
    if fact is None:
        return Value(Kind.UNKNOWN, device=receiver.device)
    operands = operands_of(fact, args, (receiver, receiver_node))
    if name == "backward":
        return NONE
    result = apply_function(it, frame, node, fact, args, operands, name)
    if (
        result.is_tensor
        and result.ident is None
        and receiver.ident is not None
        and len([v for v, _ in operands if v.is_tensor]) == 1
    ):
        kept = receiver.flags & {"empty"}  # in another shape it has no elements either
        result = result.replace(ident=("from", receiver.ident, node), flags=result.flags | kept)
    if "generator" in args.keywords:
        draws.record_draw(it, frame, node, name, receiver.device, args)
    if fact.in_place and result.is_tensor and isinstance(receiver_node, ast.Name) and receiver_node.id in frame.names:
        if result.device != receiver.device:
            frame.names[receiver_node.id] = result
    return result


def _new(receiver: Value, args: Arguments, name: str) -> Value:
    given = args.keywords.get("device")
    asked = dtype_of(args.keywords.get("dtype"))
    device, origins = (receiver.device, receiver.origins)
    if given is not None and given.kind is not Kind.NONE:
        device, origins = device_asked(given)
    rank = (
        data_rank(args.get(0))
        if name == "new_tensor"
        else factory_rank("zeros" if name != "new_full" else "full", args)
    )
    return Value(
        Kind.TENSOR, device=device, dtype=asked or receiver.dtype, rank=rank,
        origins=origins,
        flags=frozenset({"explicit_dtype", "leaf"}),
    )  # fmt: skip
