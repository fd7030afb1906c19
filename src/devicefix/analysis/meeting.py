"""Where tensors meet: the rules by which PyTorch refuses two devices."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.devices import CPU, differ
from devicefix.analysis.facts import LoadedMeeting, Mix
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.values import Origin

#: what joins a tensor without elements to others; only one of several dimensions can be stacked with them
JOINING = frozenset({"cat", "concat", "concatenate", "hstack"})
STACKING = JOINING | {"stack", "vstack"}

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

    ``manner``: in a ``pointwise`` operation a 0-dim tensor on the CPU may meet anything; in a ``strict`` one it may
    not;
    ``in_place`` is pointwise, but the first operand, being written, is not excused; ``index`` means that the first
    operand is indexed by the others, which must be on its device or on the CPU.
    """
    tensors = [(v, n) for v, n in operands if v.is_tensor]
    if not tensors:
        return None
    away = next(
        (
            o
            for o in tensors
            if o[0].device is not None
            and not o[0].device.host
            and not o[0].device.unsettled
            and not _placed_by_name(o[0])
        ),
        None,
    )
    if away is None:
        away = next((o for o in tensors if o[0].device is not None and not o[0].device.host), None)
    if away is None:
        _note_host_meeting(it, tensors)
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
        if value.device is None or operand is away:
            continue
        elsewhere = away[0].device
        assert elsewhere is not None
        if not differ(value.device, elsewhere) and not (_placed_by_name(value) and elsewhere.kind == "symbol"):
            _note_crossing(it, frame, node, operation, operand, away, manner, dtype)
            continue
        if value.device.host:
            if value.device == CPU and not value.origins and value.rank != 0 and elsewhere.assumed:
                it.records.met_on_host.add(away[0].device)  # type: ignore[arg-type]
            if value.has("empty") and operation.rpartition(".")[2] not in (JOINING if value.rank == 1 else STACKING):
                continue  # a placeholder for an argument that is not used
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


def _placed_by_name(value: Value) -> bool:
    """An attribute of a module that was put on a card by name: it stays there when the module goes elsewhere."""
    return (
        value.device is not None and value.device.kind == "cuda" and any(o.kind == "attribute" for o in value.origins)
    )


def _weakest(known: list[Device | None]) -> Device | None:
    if any(d is None for d in known):
        return None
    return known[0] if known and known[0] is not None and known[0].host else None


def _note_host_meeting(it: Interpreter, tensors: list[Operand]) -> None:
    """A part of a batch beside a tensor that was moved to the CPU."""
    if not any(v.device is not None and v.device.kind == "cpu" and not v.origins for v, _ in tensors):
        return
    for value, _ in tensors:
        it.records.kept_on_host.update((o.node, o.path) for o in value.origins if o.kind == "batch")


def _note_crossing(
    it: Interpreter, frame: Frame, node: ast.AST, operation: str, one: Operand, other: Operand, manner: str, dtype: str
) -> None:
    """Two accelerators that may be one: a card by number, and wherever the inputs of a function are."""
    for literal, partner in ((one, other), (other, one)):
        there, wanted = literal[0].device, partner[0].device
        if there is None or wanted is None or there.kind != "cuda" or wanted.kind != "symbol":
            continue
        if isinstance(literal[0].ident, tuple) and literal[0].ident[0] == "new":
            found = it.records.literal_meetings if there.index is None else it.records.crossings
            found.append(
                Mix(node, literal[0], partner[0], frame.scope(), operation, manner, dtype, literal[1], partner[1])
            )


def _record(
    it: Interpreter,
    frame: Frame,
    node: ast.AST,
    operation: str,
    culprit: Operand,
    partner: Operand,
    manner: str,
    dtype: str,
) -> None:
    if it.host_only:
        return
    it.records.mixes.append(
        Mix(
            node,
            culprit[0],
            partner[0],
            frame.scope(),
            operation,
            manner,
            dtype,
            culprit[1],
            partner[1],
            len(it.records.moves),
        )
    )


def loaded_origins(value: Value) -> tuple[Origin, ...]:
    """The loads that a value comes out of, those with ``map_location="cpu"`` included."""
    return tuple(origin for origin in value.origins if origin.kind in LOADS) if value.origins else ()


#: origins of what was read from a file: to the device that it was saved from, to the CPU
LOADS = frozenset({"loaded", "mapped"})


def meet_loaded(
    it: Interpreter, frame: Frame, node: ast.AST, values: list[Value], called: bool = False, strict: bool | None = False
) -> None:
    """Note operations in which something read by ``torch.load`` meets a tensor on an accelerator.

    ``strict``: the operation is none that a number could take part in as well; ``None`` if it copies across devices.
    """
    for value in values:
        if value.origins and value.device is not None and value.device.host:
            _meet_mapped(it, frame, node, value, values, called, strict)
            continue
        unknown = value.kind is Kind.UNKNOWN or (value.kind in (Kind.TENSOR, Kind.MODULE) and value.device is None)
        if not value.origins or not unknown:
            continue
        for origin in loaded_origins(value):
            if not isinstance(origin.node, ast.Call) or origin.kind != "loaded":
                continue
            for other in values:
                if (
                    other.device is not None
                    and not other.device.host
                    and (other.is_tensor or other.flags & {"likely_tensor", "moved"})
                ):
                    it.records.loaded_meetings.append(
                        LoadedMeeting(origin.node, node, other.device, frame.scope(), called)
                    )


def _meet_mapped(
    it: Interpreter, frame: Frame, node: ast.AST, value: Value, values: list[Value], called: bool, strict: bool | None
) -> None:
    """The same for what was read to the CPU: it meets an accelerator, or has a partner on the CPU."""
    calls = [o.node for o in value.origins if o.kind == "mapped" and isinstance(o.node, ast.Call)]
    if not calls or it.host_only or strict is None:
        return
    partners = [v for v in values if v is not value and (v.is_tensor or v.flags & {"likely_tensor", "moved"})]
    away = next((v.device for v in partners if v.device is not None and not v.device.host), None)
    if away is None:
        if any(v.is_tensor and v.rank != 0 and not loaded_origins(v) for v in partners):
            it.records.mapped_on_host.update(calls)
        return
    whole = value.ident == ("call", calls[0])  # a file that is one thing, and takes part in arithmetic
    tensor = strict or whole or value.is_tensor or value.has("likely_tensor")
    if tensor and not away.assumed and not away.unsettled:
        it.records.mapped_meetings.extend(LoadedMeeting(call, node, away, frame.scope(), called) for call in calls)
