"""Dropped moves that belong together: what is on a device already has met the others there, and goes with them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.analysis.dropped import Dropped
    from devicefix.analysis.facts import FileFacts


def moved_together(facts: FileFacts, drops: list[Dropped]) -> list[Dropped]:
    """All tensors that one function sends from one device to another are moved, or none."""
    shared = [(drop, _doubtful_companion(facts, drop, drops)) for drop in drops]
    for drop, companion in shared:
        if companion is not None:
            drop.doubt = f"`{ast.unparse(companion.receiver)}` has to move with it, of which less is known"
    return drops


def _doubtful_companion(facts: FileFacts, drop: Dropped, drops: list[Dropped]) -> Dropped | None:
    """Another dropped move to the same place, which is not made without being asked for."""
    if drop.doubt or drop.call is None or all(v.device is None or v.device.host for v in drop.values):
        return None  # on the CPU nothing has worked beside others on a device
    function, place = facts.function(drop.node), _place(drop.call)
    for other in drops:
        if other is drop or other.call is None or not (other.doubt or other.note):
            continue
        if facts.function(other.node) is function and _place(other.call) == place:
            return other
    return None


def _place(call: ast.Call) -> tuple[str, ...]:
    return tuple(map(ast.unparse, call.args)) + tuple(f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords)
