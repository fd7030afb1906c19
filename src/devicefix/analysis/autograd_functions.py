"""``torch.autograd.Function``: ``apply`` runs ``forward``, and ``backward`` gets gradients where the outputs are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.classes import ancestry, find_method
from devicefix.analysis.values import NONE, UNKNOWN, Closure, Kind, Obj, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo

BASES = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
CONTEXT = "torch.autograd.function.FunctionCtx"

#: methods of the context that hand tensors from ``forward`` to ``backward``
SAVING = frozenset({"save_for_backward", "save_for_forward"})


def is_autograd_function(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether a class of the project defines an operation with its own gradient."""
    return not BASES.isdisjoint(ancestry(it, cls)[1])


def apply(it: Interpreter, frame: Frame, node: ast.Call, cls: ClassInfo, args: Arguments) -> Value:
    """``MyFunction.apply(…)``."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments as Args

    forward = find_method(it, cls, "forward")
    if forward is None:
        return Value(Kind.UNKNOWN, ident=("call", node))
    context = Value(Kind.OBJECT, data=Obj(None, external=CONTEXT))
    setup = find_method(it, cls, "setup_context")
    if setup is None:
        given = Args(
            [context, *args.positional], args.keywords, [node.func, *args.nodes], args.keyword_nodes, args.splat,
            args.keyword_splat,
        )  # fmt: skip
        result = call_closure(it, frame, Closure(forward), given, node=node)
    else:
        result = call_closure(it, frame, Closure(forward), args, node=node)
        inputs = Value(Kind.SEQUENCE, items=tuple(args.positional), data="tuple") if not args.splat else UNKNOWN
        call_closure(it, frame, Closure(setup), Args([context, inputs, result], nodes=[node.func] * 3), node=node)
    backward = find_method(it, cls, "backward")
    gradients = [_gradient(output) for output in _outputs(result)]
    if backward is not None and gradients and all(gradient is not None for gradient in gradients):
        given = Args([context, *(g for g in gradients if g is not None)], nodes=[node.func] * (len(gradients) + 1))
        call_closure(it, frame, Closure(backward), given, node=node)
    return result


def _outputs(result: Value) -> list[Value]:
    if result.kind is Kind.SEQUENCE:
        return list(result.items) if isinstance(result.items, tuple) else []
    return [result]


def _gradient(output: Value) -> Value | None:
    """The gradient of an output: a tensor of its shape and where it is; None if that is not known."""
    if not output.is_tensor or output.device is None:
        return None
    return Value(Kind.TENSOR, device=output.device, dtype=output.dtype, rank=output.rank)


def call_context(obj: Obj, name: str, args: Arguments) -> Value:
    """``ctx.save_for_backward(x, y)`` and other methods of the context."""
    if name in SAVING:
        if args.splat:
            obj.attrs.pop("saved_tensors", None)
        else:
            saved = Value(Kind.SEQUENCE, items=tuple(args.positional), data="tuple")
            obj.attrs["saved_tensors"] = obj.attrs["saved_variables"] = saved
    return NONE
