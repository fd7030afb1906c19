"""Abstract devices: where a tensor lives, as far as the source tells."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Device:
    """One abstract device.

    ``kind`` is

    - ``default``: made by a call that named no device: the CPU, unless a default-device context says otherwise;
    - ``cpu``: the CPU, on purpose;
    - ``cuda``: an accelerator by name; ``index`` is its number where the source gives one;
    - ``symbol``: whatever the expression identified by ``key`` evaluates to. Two symbols with one key are equal, about
      two with different keys nothing is known. A symbol stands for the device that the user picked, hence for an
      accelerator whenever there is one.
    """

    kind: str
    index: int | None = None
    key: Hashable = None

    @property
    def host(self) -> bool:
        """Whether this is the CPU."""
        return self.kind in ("default", "cpu")

    @property
    def unsettled(self) -> bool:
        """Whether this is "wherever that value is", of a value about which nothing is known."""
        return self.kind == "symbol" and isinstance(self.key, tuple) and self.key[0] == "device"

    @property
    def assumed(self) -> bool:
        """Whether this stands for "where the inputs of this function are", with no caller seen."""
        return self.kind == "symbol" and isinstance(self.key, tuple) and self.key[0] == "root"


DEFAULT: Final = Device("default")
CPU: Final = Device("cpu")
CUDA: Final = Device("cuda")
ACCELERATOR_NAMES: Final = frozenset({"cuda", "mps", "xpu", "npu", "hpu", "mlu", "musa", "privateuseone", "xla"})


def symbol(key: Hashable) -> Device:
    """The device that the expression ``key`` stands for."""
    return Device("symbol", key=key)


def parse_device(text: str) -> Device | None:
    """``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"`` … as devices; ``None`` for what is no device name."""
    name, _, number = text.partition(":")
    if name == "cpu":
        return CPU
    if name in ACCELERATOR_NAMES and (not number or number.isdigit()):
        return Device("cuda", int(number) if number else None, key=None if name == "cuda" else name)
    return None


def same(a: Device | None, b: Device | None) -> bool:
    """Whether both are known to be one device."""
    if a is None or b is None:
        return False
    return a == b or (a.host and b.host)


def differ(a: Device | None, b: Device | None) -> bool:
    """Whether the two are two devices as soon as an accelerator is in use.

    Two accelerators differ only when both carry a number; about two symbols nothing is claimed.
    """
    if a is None or b is None or a == b or a.unsettled or b.unsettled:
        return False
    if a.host or b.host:
        return not (a.host and b.host)
    return (
        a.kind == b.kind == "cuda" and a.key == b.key and a.index is not None and b.index is not None
    ) and a.index != b.index


def join(a: Device | None, b: Device | None) -> Device | None:
    """The device of a value that is on ``a`` on one path and on ``b`` on another."""
    if a == b:
        return a
    if a is not None and b is not None and a.host and b.host:
        return DEFAULT
    return None
