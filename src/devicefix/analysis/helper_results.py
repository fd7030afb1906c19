"""Helpers that make a tensor out of numbers alone: who calls them knows where the result has to go."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.references import references

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.placement import NewTensor
    from devicefix.analysis.values import Origin, Scope


def results_moved(facts: FileFacts, new: NewTensor) -> list[tuple[ast.Call, str]]:
    """Calls whose results bring the new tensor to where it meets others, each with a device; none if one is unclear."""
    found: dict[ast.Call, list[str]] = {}
    for mix, origin in zip(new.mixes, new.origins, strict=True):
        call, devices = _site(facts, mix, origin)
        if call is None:
            return []
        found[call] = [d for d in found.get(call, devices) if d in devices]
    if not all(found.values()):
        return []
    return sorted(
        ((call, names[0]) for call, names in found.items()), key=lambda item: (item[0].lineno, item[0].col_offset)
    )


def _site(facts: FileFacts, mix: Mix, origin: Origin) -> tuple[ast.Call | None, list[str]]:
    """The innermost call around the making at which the device of the meeting has names, best first."""
    for scope in origin.scope.chain():
        call, caller = scope.call, scope.caller
        if not isinstance(call, ast.Call) or caller is None or not facts.here(call):
            break
        named = [r.device for r in references(caller, mix.partner.device, partners=[mix.partner]) if not r.doubt]
        if named:
            return (call if _is_met(facts, mix, origin, call, caller) else None), named
    return None, []


def _is_met(facts: FileFacts, mix: Mix, origin: Origin, call: ast.Call, caller: Scope) -> bool:
    """Whether what meets the other device is the result of a call, under its own name, and that is one tensor."""
    if mix.culprit_node is call:
        return mix.scope.function is caller.function
    statement = facts.parents.get(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    for scope in mix.scope.chain():
        if scope.function is caller.function and scope.call is caller.call:
            value = scope.names.get(target.id)
            return value is not None and value.is_tensor and any(o is origin for o in value.origins)
    return False
