"""Data sets of torch that are made of tensors or of other data sets: their items stay where those are."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.devices import parse_device
from devicefix.analysis.joins import any_element
from devicefix.analysis.values import UNKNOWN, Kind, Obj, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.values import Origin


def _of_tensors(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``TensorDataset(x, y)``."""
    note_contents(it, args.positional)
    return Value(
        Kind.OBJECT, data=Obj(None, external="torch.utils.data.TensorDataset", arguments=(tuple(args.positional), {}))
    )


def note_contents(it: Interpreter, values: Iterable[Value]) -> None:
    """Note what the tensors are made by that a data set holds."""

    def made(origin: Origin) -> Iterator[ast.AST]:
        if origin.kind in ("factory", "legacy"):
            yield origin.node
        for under in origin.under:
            yield from made(under)

    it.records.in_data_sets.update(node for value in values for origin in value.origins for node in made(origin))


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


#: flag of something unknown that was told a device: what it holds may be there
PLACED = frozenset({"placed"})


def is_told_device(args: Arguments) -> bool:
    """Whether a device is among the arguments of a call."""
    return "device" in args.keywords or any(
        v.kind is Kind.DEVICE or (v.kind is Kind.STRING and (v.device is not None or _is_device(v.data)))
        for v in args.every()
    )


def _is_device(text: object) -> bool:
    return isinstance(text, str) and parse_device(text) is not None


def told_device(frame: Frame, node: ast.Call, result: Value) -> Value:
    """The result of code that was not seen and was told a device; the object whose method it is may have changed."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(owner, ast.Name):
        known = frame.names.get(owner.id)
        foreign = known is not None and known.kind is Kind.OBJECT and not (known.data.cls or known.data.is_module)
        if known is not None and (known.kind is Kind.UNKNOWN or foreign):
            frame.names[owner.id] = known.replace(flags=known.flags | PLACED)
    return result.replace(flags=result.flags | PLACED)


def unseen_item(dataset: Value) -> Value:
    """An item of a data set about which nothing is known but whether it was told a device."""
    device = dataset.device
    elsewhere = dataset.flags & {"moved", "placed"} or (device is not None and not device.host and not device.assumed)
    return Value(Kind.UNKNOWN, flags=frozenset({"moved"})) if elsewhere else UNKNOWN


HANDLERS = {
    "torch.utils.data.TensorDataset": _of_tensors,
    "torch.utils.data.Subset": _subset,
    "torch.utils.data.random_split": _split,
    "torch.utils.data.ConcatDataset": _joined,
}
