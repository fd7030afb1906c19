"""What is going on: the active simulation, the current card of each thread, devices as the user writes them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify._torch import version_of
from devicefix.verify.simulator.patching import Patcher
from devicefix.verify.tags import CPU, Device, Tag, canonical

if TYPE_CHECKING:
    from devicefix.verify.mismatch import Log, Mismatch

VERSION = version_of(torch)
AcceleratorError: type[RuntimeError] = getattr(torch, "AcceleratorError", RuntimeError)
_local = threading.local()


class Simulation:
    """One simulated machine: its cards, what was replaced in torch, and the mismatches seen so far."""

    def __init__(self, kind: str, count: int, log: Log) -> None:
        self.kind = kind
        self.count = count
        self.devices = [canonical(kind, index) for index in range(count)]
        self.log = log
        self.patcher = Patcher()
        self.generators: set[int] = set()  # identities of generators that claim to be on a card
        self.initialized = False  # like torch.cuda.is_initialized()
        self.bad_fork = False  # a forked child may not use cards its parent used

    @property
    def mismatches(self) -> list[Mismatch]:
        """Every device mismatch of the run so far, in order."""
        return self.log.mismatches


_active: Simulation | None = None


def active() -> Simulation | None:
    """The simulation that is going on, if any."""
    return _active


def required() -> Simulation:
    """The simulation that must be going on here."""
    if _active is None:
        raise RuntimeError("no simulation is active")
    return _active


def activate(simulation: Simulation | None) -> None:
    """Start or end a simulation."""
    global _active
    _active = simulation
    if simulation is None:
        _local.current = 0


def current_card() -> int:
    """The index of this thread's current card."""
    return getattr(_local, "current", 0)


def set_current_card(index: int) -> None:
    """Choose this thread's current card."""
    _local.current = index


def is_simulated(device: Any) -> bool:
    """Whether something is a device of the active simulation."""
    return _active is not None and isinstance(device, Device) and device.type == _active.kind


def normalise(device: Any) -> torch.device:
    """A device as the user writes it (int, str, torch.device) as a device with an index, or as it is (cpu, meta)."""
    simulation = _active
    if isinstance(device, int):
        device = Device(simulation.kind if simulation else "cuda", device)
    elif not isinstance(device, Device):
        device = Device(device)
    if simulation is None or device.type != simulation.kind:
        return CPU if device.type == "cpu" else device  # type: ignore[no-any-return]
    if simulation.bad_fork:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
            "you must use the 'spawn' start method"
        )
    simulation.initialized = True
    index = current_card() if device.index is None else device.index
    if not 0 <= index < simulation.count:
        raise AcceleratorError(
            "CUDA error: invalid device ordinal\nCUDA kernel errors might be asynchronously reported at some other "
            "API call, so the stacktrace below might be incorrect.\n"
            "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
        )
    return simulation.devices[index]


def type_name(tensor: Any, raw_type: Any, tag: Tag | None) -> str:
    """``torch.FloatTensor`` or ``torch.cuda.FloatTensor``, as in CUDA's messages about convolutions."""
    name = str(raw_type(tensor))
    return name.replace("torch.", "torch.cuda.", 1) if tag is not None and is_simulated(tag.device) else name


def _after_fork_in_child() -> None:
    if _active is not None and _active.initialized:
        _active.bad_fork = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
