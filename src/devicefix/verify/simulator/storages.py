"""Storages, checkpoints, deep copies and data loaders: where a tensor's tag must survive being taken apart."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify.simulator.state import Simulation, active, is_simulated, normalise
from devicefix.verify.sites import user_site
from devicefix.verify.tags import ATTRIBUTE, CPU, Device, Storage, Tag, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


def _device(self: Any) -> torch.device:
    tag = getattr(self, ATTRIBUTE)
    return CPU if tag is None or tag.device is None else tag.device  # type: ignore[no-any-return]


def _clone(self: Any) -> Any:
    copy = type(self)(self.nbytes()).copy_(self)
    setattr(copy, ATTRIBUTE, getattr(self, ATTRIBUTE))
    return copy


def _to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
    target = normalise(device)
    copy = _clone(self)
    setattr(copy, ATTRIBUTE, Tag(target, None, user_site()))
    return copy


def _location_of(storage: Any) -> str | None:
    """What torch.save writes: ``cuda:0``."""
    return f"{storage.device.type}:{storage.device.index}" if is_simulated(storage.device) else None


def restore_location(storage: Any, location: Any) -> Any:
    """What torch.load does with it."""
    simulation = active()
    if simulation is None or not str(location).startswith(simulation.kind):
        return None
    device = Device(location)
    if (device.index or 0) >= simulation.count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {device.index} but torch.cuda.device_count() is "
            f"{simulation.count}. Please use torch.load with map_location to map your storages to an existing device."
        )
    setattr(storage, ATTRIBUTE, Tag(normalise(device), user_site(), how="loaded"))
    return storage


def load_marking_origin(original: Callable[..., Any], device: torch.device | None = CPU) -> Callable[..., Any]:
    """``torch.load``: what comes from a file says so."""

    def load(*args: Any, **kwargs: Any) -> Any:
        loaded = original(*args, **kwargs)
        _mark(loaded, Tag(device, user_site(), how="loaded"))
        return loaded

    return functools.wraps(original)(load)


def next_batch_marking_origin(original: Callable[..., Any], device: torch.device | None = CPU) -> Callable[..., Any]:
    """A DataLoader's next batch: the line with the loop is the one to know, not the one in the collate function."""

    def next_batch(self: Any) -> Any:
        batch = original(self)
        _mark(batch, Tag(device, user_site(), how="batch"))
        return batch

    return next_batch


def _mark(value: Any, tag: Tag, depth: int = 4) -> None:
    """Give tensors on the CPU in a nested container an origin, in place of one deeper in the machinery."""
    if isinstance(value, Tensor):
        try:
            storage: Any = value.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return
        own = getattr(storage, ATTRIBUTE, None)
        if own is None or (own.device is tag.device and not own.how):
            setattr(storage, ATTRIBUTE, Tag(tag.device, tag.made, None, tag.how))  # its own: see `remember_copy`
    elif depth and isinstance(value, dict):
        for item in value.values():
            _mark(item, tag, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            _mark(item, tag, depth - 1)


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    patch(Storage, ATTRIBUTE, None)  # the default, so that reading a tag never fails
    patch(Storage, "device", property(_device))
    patch(Storage, "clone", _clone)
    patch(Storage, "to", _to)
    registry = torch.serialization._package_registry
    patch(torch.serialization, "_package_registry", list(registry))
    torch.serialization.register_package(1, _location_of, restore_location)
    patch(torch, "load", load_marking_origin(torch.load))
    iterator: Any = torch.utils.data.dataloader._BaseDataLoaderIter
    patch(iterator, "__next__", next_batch_marking_origin(iterator.__next__))
