"""One member of a value: by unpacking it, or by a loop over it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis import instance_items
from devicefix.analysis.joins import any_element
from devicefix.analysis.loaders import batch, item, passes_batches_on
from devicefix.analysis.values import KEPT_FLAGS, UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def member(value: Value, index: int | None) -> Value:
    """One element of a value that is unpacked or iterated over, so far as it is known without a loop."""
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.LOADER):
        if index is not None and isinstance(value.items, tuple):
            return value.items[index] if index < len(value.items) else UNKNOWN
        return any_element(value)
    if value.kind is Kind.SIZE:
        return Value(Kind.SIZE, sources=value.sources)
    if value.kind is Kind.TENSOR:
        rank = None if value.rank is None or value.rank < 0 else max(value.rank - 1, 0)
        return value.replace(rank=rank, ident=("item", value.ident, index), flags=value.flags & KEPT_FLAGS)
    if value.kind is Kind.UNKNOWN:
        return item(value, index, index)
    return UNKNOWN


def iterate(it: Interpreter, frame: Frame, value: Value, node: ast.expr, place: ast.AST) -> Value:
    """What a loop over a value binds in one turn. ``place`` is the ``for`` statement or the comprehension."""
    if value.kind is Kind.LOADER:
        return batch(it, frame, value, place)
    if passes_batches_on(value):
        return batch(it, frame, value, place)
    if value.kind is Kind.OBJECT:
        return instance_items.iterate(it, frame, value, place)
    if value.kind is Kind.MAPPING:
        keys = tuple(value.items) if isinstance(value.items, dict) and value.element is None else ()
        if keys and all(isinstance(k, str) for k in keys):
            return Value(Kind.STRING, ident=("key", value.ident))
        return Value(Kind.UNKNOWN, ident=("key", value.ident))
    if (
        value.kind is Kind.UNKNOWN
        and frame.function is not None
        and frame.function.cls is None
        and value.has("parameter")
    ):
        # a list of tensors, a data loader, a range: nothing says where its members are
        return Value(Kind.UNKNOWN, ident=("item", value.ident, None))
    return member(value, None)
