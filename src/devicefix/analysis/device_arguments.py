"""What a value means where a device is expected."""

from __future__ import annotations

from devicefix.analysis.devices import Device, parse_device, symbol
from devicefix.analysis.values import Kind, Value


def as_device(value: Value | None) -> Device | None:
    """The device that a value used as a device stands for; ``None`` if nothing is known."""
    if value is None:
        return None
    if value.kind in (Kind.DEVICE, Kind.TENSOR):
        return value.device
    if value.kind is Kind.STRING:
        if isinstance(value.data, str):
            return parse_device(value.data)
        if value.device is not None:
            return value.device
        return symbol(value.ident) if value.ident is not None else None
    if value.kind is Kind.NUMBER:
        if isinstance(value.data, int) and not isinstance(value.data, bool):
            return Device("cuda", value.data)
        return symbol(value.ident) if value.ident is not None else None
    if value.kind is Kind.UNKNOWN and value.ident is not None:
        # an expression that we cannot look into, used as a device: the device that somebody chose
        return symbol(value.ident)
    return None
