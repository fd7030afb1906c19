"""Data sets of torch that are made of tensors or of other data sets: their items stay where those are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.values import UNKNOWN, Kind, Obj, Value, any_element

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def _of_tensors(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``TensorDataset(x, y)``."""
    return Value(
        Kind.OBJECT, data=Obj(None, external="torch.utils.data.TensorDataset", arguments=(tuple(args.positional), {}))
    )


def _subset(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``Subset(data, indices)`` has the items of ``data``."""
    return args.get(0, "dataset") or UNKNOWN


def _split(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``random_split(data, lengths)``: a list of subsets."""
    return Value(Kind.SEQUENCE, element=args.get(0, "dataset") or UNKNOWN, data="list")


def _joined(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``ConcatDataset([a, b])``: items of either."""
    parts = args.get(0, "datasets") or UNKNOWN
    return any_element(parts) if parts.kind is Kind.SEQUENCE else UNKNOWN


HANDLERS = {
    "torch.utils.data.TensorDataset": _of_tensors,
    "torch.utils.data.Subset": _subset,
    "torch.utils.data.random_split": _split,
    "torch.utils.data.ConcatDataset": _joined,
}
