"""What a value means where a device is expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from devicefix.analysis.devices import Device, parse_device, symbol
from devicefix.analysis.dtypes import is_dtype
from devicefix.analysis.joins import join
from devicefix.analysis.values import UNKNOWN, Kind, Value


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
    if value.kind is Kind.UNKNOWN and value.ident is not None and not is_dtype(value):
        # an expression that we cannot look into, used as a device: the device that somebody chose
        return symbol(value.ident)
    if value.kind is Kind.EXTERNAL and isinstance(value.data, str):
        home, _, name = value.data.rpartition(".")  # from settings import DEVICE, of a file that is not there
        if DEVICE_WORDS.search(name) and home.partition(".")[0] not in ("torch", "numpy", "builtins"):
            return symbol(("external", value.data))
    return None


def global_devices(names: Mapping[str, Value]) -> Iterator[tuple[str, Device]]:
    """The names among those of a file that hold a device, however that was chosen."""
    for name, value in names.items():
        if value.kind is Kind.DEVICE or (value.kind is Kind.STRING and DEVICE_WORDS.search(name)):
            device = as_device(value)
            if device is not None and not device.host and not value.flags & {"maybe_none", "maybe_unbound"}:
                yield name, device


#: what a name that holds a device as text is likely to contain
DEVICE_WORDS = re.compile("dev|gpu|cuda", re.IGNORECASE)


def one_of(values: Iterable[Value]) -> Value:
    """What a function returns that has several returns: one of these."""
    result: Value | None = None
    for value in values:
        result = value if result is None else either(result, value) or join(result, value)
    return UNKNOWN if result is None else result


def either(a: Value, b: Value) -> Value | None:
    """A device variable that two paths set differently: one device, about which the run decides.

    ``None`` where the two are not known to be devices, or one of them is only where some value happens to be.
    """
    if not (_is_device(a) or _is_device(b)) or (a.flags | b.flags) & {"mixed", "maybe_none", "maybe_unbound"}:
        return None
    one, other = as_device(a), as_device(b)
    if one is None or other is None or one == other or (one.host and other.host):
        return None
    if Kind.TENSOR in (a.kind, b.kind) or any(d.assumed or d.unsettled for d in (one, other)):
        return None
    key = ("either", frozenset((*_members(one), *_members(other))))
    return Value(Kind.DEVICE, device=symbol(key), ident=key)


def _is_device(value: Value) -> bool:
    if value.kind is Kind.STRING:
        return value.device is not None or (isinstance(value.data, str) and parse_device(value.data) is not None)
    return value.kind is Kind.DEVICE and value.device is not None


def _members(device: Device) -> frozenset[Device]:
    """The devices that one may be, if it is one of several itself."""
    if device.kind == "symbol" and isinstance(device.key, tuple) and device.key[0] == "either":
        members: frozenset[Device] = device.key[1]
        return members
    return frozenset({device})
