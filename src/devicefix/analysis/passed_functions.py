"""Functions that are handed over to be called later or by somebody else, and methods that are called as functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import tensor_methods
from devicefix.analysis.frames import Arguments
from devicefix.analysis.tensor_moves import move_target
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

#: what a partial function is called as a method of what it holds
PARTIAL = "<partial>"

#: methods that give host data
HOST_READS = frozenset({"numpy", "item", "tolist"})

#: keywords of ``checkpoint`` that the function does not get
CHECKPOINT_OPTIONS = frozenset({"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"})


@dataclass(slots=True, eq=False)
class Partial:
    """A function with some of its arguments."""

    function: Value
    args: Arguments


def _partial(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``functools.partial(f, a, k=b)``."""
    if not args.positional or args.splat or args.keyword_splat:
        return Value(Kind.UNKNOWN, ident=("call", node))
    rest = Arguments(args.positional[1:], args.keywords, args.nodes[1:], args.keyword_nodes)
    held = Value(Kind.UNKNOWN, data=Partial(args.positional[0], rest), ident=("call", node))
    return Value(Kind.METHOD, data=(held, PARTIAL))


def call_partial(it: Interpreter, frame: Frame, node: ast.Call, held: Value, args: Arguments) -> Value:
    """``partial(f, a)(b)`` is ``f(a, b)``."""
    from devicefix.analysis.calls import apply

    first: Arguments = held.data.args
    merged = Arguments(
        [*first.positional, *args.positional],
        {**first.keywords, **args.keywords},
        [*first.nodes, *args.nodes],
        {**first.keyword_nodes, **args.keyword_nodes},
        args.splat,
        args.keyword_splat,
    )
    return apply(it, frame, node, held.data.function, merged)


def _mapped(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``vmap(f)(x)`` calls ``f`` on slices of ``x``, which are where it is."""
    if not args.positional:
        return Value(Kind.UNKNOWN, ident=("call", node))
    held = Value(Kind.UNKNOWN, data=Partial(args.positional[0], Arguments()), ident=("call", node))
    return Value(Kind.METHOD, data=(held, PARTIAL))


def _checkpoint(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``checkpoint(function, x, y)`` calls ``function(x, y)``."""
    from devicefix.analysis.calls import apply

    if not args.positional or (args.splat and len(args.positional) == 1):
        return Value(Kind.UNKNOWN, ident=("call", node))
    keywords = {k: v for k, v in args.keywords.items() if k not in CHECKPOINT_OPTIONS}
    nodes = {k: n for k, n in args.keyword_nodes.items() if k in keywords}
    given = Arguments(args.positional[1:], keywords, args.nodes[1:], nodes, args.splat, args.keyword_splat)
    return apply(it, frame, node, args.positional[0], given)


def call_unbound(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """``torch.Tensor.to(x, device)`` is ``x.to(device)``; but no statement could be made of it that keeps the result."""
    receiver = args.get(0)
    if receiver is None or not receiver.is_tensor or name in HOST_READS:
        return Value(Kind.UNKNOWN, ident=("call", node))
    rest = Arguments(
        args.positional[1:], args.keywords, args.nodes[1:], args.keyword_nodes, args.splat, args.keyword_splat
    )
    if name in torch_api.MOVE_METHODS or name in torch_api.DTYPE_METHODS:
        device, dtype, moves = move_target(name, rest)
        result = receiver.replace(ident=None, dtype=dtype or receiver.dtype)
        return result.replace(device=device, origins=()) if moves else result
    return tensor_methods.call_method(it, frame, node, receiver, name, rest)


HANDLERS = {
    "functools.partial": _partial,
    "torch.vmap": _mapped,
    "torch.func.vmap": _mapped,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
}
