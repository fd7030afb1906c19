"""Functions that a tensor runs on its gradient, which is where the tensor is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.frames import Arguments
from devicefix.analysis.tree_index import walk
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def register(it: Interpreter, frame: Frame, node: ast.Call, tensor: Value, args: Arguments) -> Value:
    """``tensor.register_hook(function)``."""
    from devicefix.analysis.calls import apply

    hook = args.get(0, "hook")
    # a tensor on the CPU may still be moved with its module before the hook runs
    if hook is not None and tensor.device is not None and not tensor.device.host and _settled(frame, node, hook):
        gradient = Value(Kind.TENSOR, device=tensor.device, dtype=tensor.dtype, rank=tensor.rank)
        apply(it, frame, node, hook, Arguments([gradient], nodes=[node.func]))
    return Value(Kind.UNKNOWN, ident=("call", node))


def _settled(frame: Frame, node: ast.Call, hook: Value) -> bool:
    """Whether a hook of the project sees the same names when it runs as it does where it is registered."""
    if hook.kind is Kind.METHOD:
        return len(hook.data) == 3
    if hook.kind is not Kind.FUNCTION:
        return False
    around = frame.function.node if frame.function is not None else frame.module.tree
    read = {n.id for n in walk(hook.data.function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return not any(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in read and n.lineno > node.lineno
        for n in walk(around)
    )
