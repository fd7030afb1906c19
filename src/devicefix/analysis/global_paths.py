"""Device expressions that start at a global name: ``config.DEVICE``, ``args.device``, an imported variable."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import Move
    from devicefix.analysis.model import ModuleInfo


def named_by_moves(module: ModuleInfo, moves: Iterable[Move]) -> Iterator[tuple[str, Device]]:
    """The paths that moves of this file go to, each with its device; none that stands for several."""
    found: dict[str, set[Device]] = {}
    for move in moves:
        device, path = move.device, _target(move.call)
        if device is None or device.host or device.assumed or device.unsettled or not path:
            continue
        root = path.partition(".")[0]
        if move.scope.module is module and root not in move.scope.names and _always_bound(module, root):
            found.setdefault(path, set()).add(device)
    for path, devices in found.items():
        if len(devices) == 1:
            yield path, devices.pop()


def _target(call: ast.Call) -> str:
    """``config.DEVICE`` of ``x.to(config.DEVICE)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
        return ""
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "device")]
    path = (path_of(given[0]) if given else None) or ""
    return "" if "[" in path else path


def _always_bound(module: ModuleInfo, name: str) -> bool:
    """Whether the file binds a name whenever it is imported, not only when it is run as a program."""
    body = set(module.tree.body)
    return any(statement in body for statement in module.bindings.get(name, ()))
