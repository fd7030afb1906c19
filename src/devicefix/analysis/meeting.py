"""Where tensors meet: the rules by which PyTorch refuses two devices."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.devices import differ
from devicefix.analysis.facts import Mix
from devicefix.analysis.values import Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

Operand = tuple[Value, ast.expr | None]


def meet(
    it: Interpreter,
    frame: Frame,
    node: ast.AST,
    operation: str,
    operands: list[Operand],
    *,
    manner: str = "pointwise",
    dtype: str = "none",
) -> Device | None:
    """Record a mixing point if the operands live on two devices; return the device of the result.

    ``manner``: in a ``pointwise`` operation a 0-dim tensor on the CPU may meet anything; in a ``strict`` one it may not;
    ``in_place`` is pointwise, but the first operand, being written, is not excused; ``index`` means that the first
    operand is indexed by the others, which must be on its device or on the CPU.
    """
    tensors = [(v, n) for v, n in operands if v.is_tensor]
    if not tensors:
        return None
    away = next((o for o in tensors if o[0].device is not None and not o[0].device.host), None)
    if away is None:
        known = [v.device for v, _ in tensors]
        return known[0] if all(d == known[0] for d in known) else _weakest(known)
    if manner == "index":
        base = tensors[0][0]
        if base.device is not None and base.device.host:
            _record(it, frame, node, operation, tensors[0], away, manner, dtype)
            return away[0].device
        return base.device
    for position, operand in enumerate(tensors):
        value = operand[0]
        if value.device is None or operand is away or not differ(value.device, away[0].device):
            continue
        if value.device.host:
            if manner in ("pointwise", "in_place") and not (manner == "in_place" and position == 0):
                if value.rank == 0 or (value.rank is None and not value.origins):
                    continue
                if value.rank is None and not value.has("shaped"):
                    continue
            _record(it, frame, node, operation, operand, away, manner, dtype)
        else:
            # two cards: the second one follows the first
            _record(it, frame, node, operation, operand, away, manner, dtype)
    if manner == "in_place":
        return tensors[0][0].device
    return away[0].device


def _weakest(known: list[Device | None]) -> Device | None:
    if any(d is None for d in known):
        return None
    return known[0] if known and known[0] is not None and known[0].host else None


def _record(
    it: Interpreter, frame: Frame, node: ast.AST, operation: str, culprit: Operand, partner: Operand, manner: str, dtype: str
) -> None:
    it.records.mixes.append(
        Mix(node, culprit[0], partner[0], frame.scope(), operation, manner, dtype, culprit[1], partner[1])
    )
