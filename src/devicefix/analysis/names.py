"""What names stand for, and what the uses of a name make of an unknown value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.imports import external, global_value
from devicefix.analysis.values import MAYBE_NONE, UNKNOWN, DType, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

BUILTINS = frozenset(
    {"isinstance", "len", "int", "float", "bool", "str", "list", "tuple", "dict", "set", "range", "enumerate",
    "zip", "map",
     "filter", "sorted", "reversed", "iter", "next", "sum", "max", "min", "abs", "round", "print", "super", "getattr",
     "setattr", "hasattr", "type", "repr", "any", "all", "vars", "open", "id", "callable", "frozenset", "divmod", "pow",
     "slice", "object", "property", "Exception", "ValueError"}
)  # fmt: skip


def load_name(it: Interpreter, frame: Frame, node: ast.Name) -> Value:
    """A name as an expression."""
    name = node.id
    value = frame.names.get(name)
    if value is None:
        value = lookup(it, frame, name)
        if value is None:
            return UNKNOWN
    if value.kind is Kind.UNKNOWN and frame.function is not None:
        return guess(frame, value, name)
    return value


def lookup(it: Interpreter, frame: Frame, name: str) -> Value | None:
    """A name that the function itself does not bind."""
    if frame.outer is not None and name in frame.outer:
        return frame.outer[name]
    running = it.globals.get(frame.module)
    if running is not None and name in running:
        return running[name]
    value = global_value(it, frame.module, name)
    if value is not None:
        return value
    if name in BUILTINS:
        return external(f"builtins.{name}")
    return None


def guess(frame: Frame, value: Value, path: str) -> Value:
    """An unknown value, seen as what the uses of its name say it is."""
    if "mixed" in value.flags or frame.function is None:
        return value
    evidence = frame.function.evidence
    if path in evidence.tensors or (path in evidence.likely_tensors and value.has("likely_tensor")):
        batched = any(o.kind == "batch" for o in value.origins)  # a batch has a dimension for its rows
        dtype = DType.FLOAT if path in evidence.floating else DType.UNKNOWN
        return Value(
            Kind.TENSOR, device=value.device, dtype=dtype, ident=value.ident, origins=value.origins,
            rank=-1 if batched else None,
            flags=(value.flags & MAYBE_NONE) | {"guessed"},
        )  # fmt: skip
    if path in evidence.modules:
        return Value(
            Kind.MODULE,
            device=value.device,
            ident=value.ident,
            flags=(value.flags & MAYBE_NONE) | {"guessed"},
            origins=value.origins,
        )
    return value
