"""Tensors on two accelerators, and tensors that were brought to the CPU and meet an accelerator there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from devicefix.analysis.entered_modules import at_the_call
from devicefix.analysis.evidence import path_of
from devicefix.analysis.global_tensors import written_into
from devicefix.analysis.module_devices import lookup, weight_of
from devicefix.analysis.placement import NewTensor, place_at_creation
from devicefix.analysis.references import references
from devicefix.analysis.values import DType, Kind, Origin, Value
from devicefix.codemods.changes import AppendToExpression, Change, EditCall

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts, Mix, Move


CARD = re.compile(r"[a-z]+:\d+")


@dataclass(slots=True)
class Crossing:
    """Two devices that meet where neither is the default one."""

    kind: str  #: ``cards``, ``literal`` (a card by number in a function that follows its inputs), ``host``, ``stale``
    node: ast.AST
    mix: Mix
    title: str = ""
    changes: list[Change] = field(default_factory=list)
    note: str = ""
    move: Move | None = None  #: what brought a tensor to the CPU


def crossings(facts: FileFacts) -> Iterator[Crossing]:
    """Crossings of this file, each operation (or creation) once."""
    found: list[Crossing] = [*_cards(facts), *_literals(facts), *_on_host(facts)]
    yield from sorted(found, key=lambda c: (getattr(c.node, "lineno", 0), getattr(c.node, "col_offset", 0)))


# -- two cards -------------------------------------------------------------------------------------


def _cards(facts: FileFacts) -> Iterator[Crossing]:
    seen: set[tuple[ast.AST, ast.AST | None]] = set()
    for met in facts.mixes:
        one, other = met.culprit.device, met.partner.device
        if one is None or other is None or one.kind != "cuda" or other.kind != "cuda" or not facts.here(met.node):
            continue
        mix = at_the_call(met)
        if not facts.here(mix.node):
            continue
        if facts.is_stale(mix) or (mix.node, mix.culprit_node) in seen:
            continue
        seen.add((mix.node, mix.culprit_node))
        wired = _hard_wired(facts, mix)
        if wired is not None:
            if (wired.node, None) not in seen:
                seen.add((wired.node, None))
                yield wired
            continue
        crossing = Crossing("cards", mix.culprit_node or mix.node, mix)
        move = _move_beside(facts, mix)
        if move is None:
            crossing.note = "neither side has a name here that the other could follow"
        else:
            crossing.title, change = move
            crossing.changes.append(change)
        yield crossing


def _move_beside(facts: FileFacts, mix: Mix) -> tuple[str, Change] | None:
    """Bring one operand to the other one, by the other one's name."""
    pairs = [
        (mix.culprit, mix.culprit_node, mix.partner, mix.partner_node),
        (mix.partner, mix.partner_node, mix.culprit, mix.culprit_node),
    ]
    if mix.manner == "module":
        pairs = pairs[:1]
    elif mix.manner == "in_place":
        # what is written to stays; operands come in the order of the operation
        pairs = pairs[1:] if _is_target(mix, mix.culprit_node) else pairs[:1]
    elif _follows(mix.partner) > _follows(mix.culprit):
        pairs.reverse()
    for value, node, _, reference in pairs:
        if node is None or isinstance(node, ast.Starred) or value.has("module_state") or not facts.here(node):
            continue
        if written_into(facts, node):
            continue
        device = _device_of(facts, reference, mix)
        if device is not None:
            return f"bring it there with `.to({device})`", AppendToExpression(node, f".to({device})")
    return None


def _is_target(mix: Mix, node: ast.expr | None) -> bool:
    if isinstance(mix.node, ast.AugAssign):
        return node is mix.node.target
    if isinstance(mix.node, ast.Call) and isinstance(mix.node.func, ast.Attribute):
        return node is mix.node.func.value
    return isinstance(mix.node, ast.Subscript) and node is mix.node.value


def _follows(value: Value) -> int:
    """How readily a tensor is copied to another: constants and labels more so than activations."""
    if value.has("parameter") or value.has("buffer") or value.rank == 0:
        return 2
    return 1 if value.dtype in (DType.INT, DType.BOOL) else 0


def _device_of(facts: FileFacts, reference: ast.expr | None, mix: Mix) -> str | None:
    path = path_of(reference) if reference is not None and facts.here(reference) else None
    if path is None:
        wanted = mix.partner.device if reference is mix.partner_node else mix.culprit.device
        return _beside(mix, wanted)
    if mix.manner != "module" or reference is not mix.partner_node:
        return f"{path}.device"
    module = lookup(mix.scope, path)
    if module is not None and module.kind is Kind.OBJECT and module.data is mix.partner.data:
        weight = weight_of(module.data)
        if weight:
            return f"{path}.{weight}.device"
    return f"next({path}.parameters()).device"


def _beside(mix: Mix, device: Device | None) -> str | None:
    """Another tensor in the function that is where the one without a name is."""
    known = references(mix.scope, device) if mix.scope.function is not None else []
    return next((r.device for r in known if r.kind in ("tensor", "weight") and not r.doubt), None)


# -- a card by number in a function that follows its inputs ----------------------------------------


def scratch_calls(facts: FileFacts) -> set[ast.AST]:
    """Calls that create a tensor on a card by number where an input of the function says which card it must be."""
    wired = (crossing for crossing in _cards(facts) if crossing.kind == "literal")
    return {crossing.node for crossing in (*_literals(facts), *wired)}


def _literals(facts: FileFacts) -> Iterator[Crossing]:
    groups: dict[ast.Call, list[Mix]] = {}
    if not facts.records.crossings or _names_several_cards(facts.tree):
        return
    for mix in facts.records.crossings:
        if mix.partner.has("module_state"):
            continue
        ident = mix.culprit.ident
        call = ident[1] if isinstance(ident, tuple) and len(ident) > 1 else None
        if isinstance(call, ast.Call) and facts.here(call) and _literal_device(call) is not None:
            groups.setdefault(call, []).append(mix)
    for call, mixes in groups.items():
        crossing = _follows_input(facts, call, mixes)
        if crossing is not None:
            yield crossing


def _follows_input(facts: FileFacts, call: ast.Call, mixes: list[Mix]) -> Crossing | None:
    """A tensor that is made on a card by number, with the input whose device it should take."""
    new = _made_beside(facts, call, mixes)
    if not new.mixes:
        return None
    device = place_at_creation(facts, new).device
    owner = (device or "").partition(".")[0]
    function = new.origins[0].scope.function
    if device is None or function is None or "." not in device or owner not in {p.arg for p in function.parameters}:
        return None  # a script that names its one card everywhere
    change = EditCall(call, set_keywords=(("device", device),))
    return Crossing("literal", call, new.mixes[0], f"create it with `device={device}`", [change])


def _hard_wired(facts: FileFacts, mix: Mix) -> Crossing | None:
    """One of two cards is where a new tensor was made by number: it should follow the input, not the other way round."""
    if _names_several_cards(facts.tree):
        return None
    turned = replace(
        mix,
        culprit=mix.partner,
        partner=mix.culprit,
        culprit_node=mix.partner_node,
        partner_node=mix.culprit_node,
    )
    for side in (mix, turned):
        ident = side.culprit.ident
        call = ident[1] if isinstance(ident, tuple) and len(ident) == 2 and ident[0] == "new" else None
        if isinstance(call, ast.Call) and facts.here(call) and _literal_device(call) is not None:
            found = _follows_input(facts, call, [side])
            if found is not None:
                return found
    return None


def _made_beside(facts: FileFacts, call: ast.Call, mixes: list[Mix]) -> NewTensor:
    """A tensor that is made on the card, with what it meets in the function that makes it."""
    new = NewTensor(call)
    for mix in mixes:
        for scope in facts.records.scopes.get(call, ()):
            if scope.function is mix.scope.function and scope.call is mix.scope.call and scope.function is not None:
                new.mixes.append(mix)
                new.origins.append(Origin("factory", call, scope))
                break
    return new


def device_met(facts: FileFacts, call: ast.Call) -> str:
    """The device, as it can be named at ``call``, of all that meets what it makes on "the card"; "" if unknown."""
    meetings = [mix for mix in facts.records.literal_meetings if mix.culprit.ident == ("new", call)]
    new = _made_beside(facts, call, meetings)
    if not new.mixes or len(new.mixes) < len(meetings):
        return ""
    placed = place_at_creation(facts, new)
    return placed.device if placed.device is not None and not placed.doubt and not placed.threaded else ""


def _names_several_cards(tree: ast.AST) -> bool:
    """Whether a file spreads its tensors over cards by design."""
    return (
        len(
            {
                n.value
                for n in ast.walk(tree)
                if isinstance(n, ast.Constant) and isinstance(n.value, str) and CARD.fullmatch(n.value)
            }
        )
        > 1
    )


def _literal_device(call: ast.Call) -> str | None:
    """The text in ``device="cuda:0"``."""
    for keyword in call.keywords:
        if keyword.arg == "device" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            return keyword.value.value
    return None


# -- back on the CPU -------------------------------------------------------------------------------


def _on_host(facts: FileFacts) -> Iterator[Crossing]:
    """A tensor that was moved to the CPU meets a device: which of the two is meant cannot be told."""
    seen: set[ast.AST] = set()
    for mix in facts.mixes:
        device = mix.culprit.device
        if device is None or device.kind != "cpu" or mix.culprit.origins or mix.assumed or not facts.here(mix.node):
            continue
        if facts.is_stale(mix) or mix.node in seen:
            continue
        move = _move_to_host(facts, mix)
        if move is None:
            continue
        seen.add(mix.node)
        attribute = _frozen_attribute(move)
        if attribute is None:
            note = "it was brought to the CPU on purpose: it stays on the device, or the other side comes to the CPU"
            yield Crossing("host", mix.culprit_node or mix.node, mix, note=note, move=move)
        elif facts.here(move.call):
            note = f"`.to()` does not change it: take the device from a parameter or an input instead of `{attribute}`"
            yield Crossing("stale", move.call, mix, note=note, move=move)


def _move_to_host(facts: FileFacts, mix: Mix) -> Move | None:
    """The move that the culprit comes out of."""
    ident = mix.culprit.ident
    for move in facts.records.moves:
        if move.device is None or move.device.kind != "cpu":
            continue
        if move.call is mix.culprit_node or (ident is not None and ident == move.result.ident):
            return move
    return None


def _frozen_attribute(move: Move) -> str | None:
    """``self.device`` in ``x.to(self.device)``: an attribute of a module that moving it leaves alone."""
    obj = move.scope.self_object
    if obj is None or not obj.is_module or not move.call.args:
        return None
    given = move.call.args[0]
    if not isinstance(given, ast.Attribute) or not isinstance(given.value, ast.Name):
        return None
    value = obj.attrs.get(given.attr)
    return ast.unparse(given) if value is not None and value.kind in (Kind.STRING, Kind.DEVICE) else None


__all__ = ["Crossing", "crossings", "device_met", "scratch_calls"]
