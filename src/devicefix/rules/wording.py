"""Phrases that findings share."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import Mix
    from devicefix.analysis.values import Value


def place(device: Device | None) -> str:
    """Where something is, in words."""
    if device is None:
        return "on another device"
    if device.host:
        return "on the CPU"
    if device.kind == "cuda":
        name = device.key if isinstance(device.key, str) else "cuda"
        return f"on {name}:{device.index}" if device.index is not None else f"on {name}"
    return "on the model's device" if device.assumed else "on the chosen device"


def short(node: ast.AST | None, limit: int = 60) -> str:
    """An expression as code, cut to a readable length."""
    if node is None:
        return "a tensor"
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return "a tensor"
    text = " ".join(text.split())
    return f"`{text[: limit - 1]}…`" if len(text) > limit else f"`{text}`"


def other_side(mix: Mix) -> str:
    """The partner of a mixing point, as the message names it."""
    value: Value = mix.partner
    if value.has("module_state"):
        return f"{short(mix.partner_node)}, whose parameters are {place(value.device)}"
    if mix.partner_node is not None and path_of(mix.partner_node) is not None:
        return f"{short(mix.partner_node)}, which is {place(value.device)}"
    return f"a tensor {place(value.device)}"


def where(mix: Mix) -> str:
    """The operation and its line."""
    name = mix.operation
    verb = {"index": "indexing", "index_put_": "indexed assignment"}.get(name, f"`{name}`")
    return f"in {verb} at line {getattr(mix.node, 'lineno', 0)}"
