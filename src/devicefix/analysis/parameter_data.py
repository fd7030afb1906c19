"""``p.data = …``: how a class puts its own parameters on a device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis import heap
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def write_data(it: Interpreter, frame: Frame, target: ast.Attribute, value: Value) -> None:
    """``x.data = value``: a parameter, or the module whose parameters are looped over, is then where ``value`` is."""
    base = it.evaluate(frame, target.value)
    if not base.is_tensor:
        heap.write_attribute(it, frame, base, target.attr, value)
        return
    if value.device is not None and value.device.host:
        return  # it stays where it was made
    place = target.value
    if isinstance(place, ast.Attribute):
        owner = it.evaluate(frame, place.value)
        if owner.kind is Kind.OBJECT:
            stored = owner.data.attrs.get(place.attr)
            if stored is not None and stored.is_tensor:
                owner.data.attrs[place.attr] = stored.replace(device=value.device, origins=())
            elif owner.data.is_module and owner.data.origins:
                heap.settle(it, owner.data, value.device)  # one parameter of a layer of torch stands for all of them
            it.heap_version += 1
        return
    for origin in base.origins:
        if origin.kind == "module" and origin.owner is not None:
            heap.settle(it, origin.owner, value.device)
            it.heap_version += 1
