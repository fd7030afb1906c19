"""Files that are read with ``map_location="cpu"``, although their tensors meet others on a device.

That is the right way to read what ``load_state_dict`` copies. What is used directly has to be where its partners are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of
from devicefix.analysis.joins import any_element
from devicefix.analysis.load_locations import named_alike
from devicefix.analysis.loads import Load, follow
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts, LoadedMeeting


@dataclass(slots=True)
class MappedLoad:
    """A load to the CPU, an operation in which its result meets a device, and what to write instead."""

    call: ast.Call
    given: ast.expr  #: the ``map_location``
    meeting: LoadedMeeting
    where: str = ""  #: "" if there is no name for the device, or something else wants the tensors on the CPU
    doubt: str = ""
    note: str = ""


def mapped_loads(facts: FileFacts) -> Iterator[MappedLoad]:
    """Such loads of this file, in source order."""
    found: dict[ast.Call, list[LoadedMeeting]] = {}
    for meeting in facts.records.mapped_meetings:
        if facts.here(meeting.load):
            found.setdefault(meeting.load, []).append(meeting)
    for call, meetings in sorted(found.items(), key=lambda item: (item[0].lineno, item[0].col_offset)):
        steps = [s for s in facts.records.steps if s.kind == "load" and s.node is call]
        given = _location(call)
        if given is None or not steps:
            continue
        load = Load(call, str(steps[0].subject.data), [s.scope for s in steps])
        load.met = {m.node for m in meetings if not m.called}
        follow(facts, load)
        if any(m.called for m in meetings) and (load.moved or load.others or _moved_later(facts, load)):
            continue  # a whole module may be moved anywhere
        yield _repaired(facts, load, MappedLoad(call, given, meetings[0]), meetings)


def _repaired(facts: FileFacts, load: Load, found: MappedLoad, meetings: list[LoadedMeeting]) -> MappedLoad:
    wanted = {m.device for m in meetings}
    if load.call in facts.records.mapped_on_host or load.generator_state or load.on_host:
        found.note = "some of it is also used on the CPU: what meets the device has to be moved there"
    else:
        found.where = named_alike(load.scopes, wanted)
        found.note = "" if found.where else "nothing names that device where the file is read"
        placed = all(_lives_there(facts, *kept, device) for kept in load.kept for device in wanted)
        if load.moved or load.others or not placed:
            found.doubt = "what else is done with the loaded object was not followed"
    return found


def _location(call: ast.Call) -> ast.expr | None:
    named = next((k.value for k in call.keywords if k.arg == "map_location"), None)
    return named or (call.args[1] if len(call.args) > 1 else None)


def _moved_later(facts: FileFacts, load: Load) -> bool:
    """Whether an attribute that holds a module may be moved by another method, alone or with its owner."""
    names = {name for name, _ in load.kept}
    if not names:
        return False
    function = facts.function(load.call)
    owners = [s.self_object for s in load.scopes]
    if function is None or any(owner is None or owner.is_module or owner.cls is None for owner in owners):
        return True
    return any(
        node.attr in ("to", "cuda") and (path_of(node.value) or "").rpartition(".")[2] in names
        for node in facts.nodes(ast.Attribute)
    )


def _lives_there(facts: FileFacts, name: str, key: str, device: Device) -> bool:
    """Whether the other statements that set an attribute put it on that device; a whole module is seen to be called."""
    others = [w.value for w in facts.records.writes if w.name == name]
    placed = [v for v in others if _device(v) == device]
    if not key and not placed:
        return all(v.kind is Kind.UNKNOWN for v in others)
    return bool(placed)


def _device(value: Value) -> Device | None:
    inner = any_element(value) if value.kind in (Kind.SEQUENCE, Kind.MAPPING) else value
    return inner.device if inner.is_tensor else None
