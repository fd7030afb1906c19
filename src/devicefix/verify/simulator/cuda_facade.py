"""``torch.cuda``, ``torch.accelerator``, ``torch.device(0)``, generators, streams: the interface of a machine with
cards."""

from __future__ import annotations

import contextlib
import functools
import time
import types
from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify.simulator.state import (
    Simulation,
    current_card,
    is_simulated,
    normalise,
    required,
    set_current_card,
)
from devicefix.verify.tags import CPU, Device

if TYPE_CHECKING:
    from collections.abc import Callable

_GIB = 1 << 30


class SimulatedStream:
    """``torch.cuda.Stream`` and ``Event``: everything happens at once, in order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device = required().devices[current_card()]
        self.recorded = 0.0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: name == "query"  # wait_stream, synchronize ...: nothing to wait for

    def record(self, *args: Any) -> None:
        """Remember the time, for `elapsed_time`."""
        self.recorded = time.perf_counter()

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds between two records."""
        return float(end.recorded - self.recorded) * 1e3

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        pass


class SimulatedGenerator(torch._C.Generator):
    """A CPU generator that claims a device."""

    _claimed: torch.device

    def __new__(cls, device: Any = "cpu") -> Any:  # noqa: D102
        claimed = normalise(device)
        generator = super().__new__(cls, CPU)
        generator._claimed = claimed
        known = required().generators
        if is_simulated(claimed):
            known.add(generator._cdata)
        else:
            known.discard(generator._cdata)  # the address of one that is gone may come again
        return generator

    @property
    def device(self) -> torch.device:
        """The device it claims to be on."""
        return self._claimed


class GeneratorType(type):
    """Stands for ``torch.Generator``."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, torch._C.Generator)

    def __call__(cls, device: Any = "cpu") -> Any:  # noqa: D102
        return SimulatedGenerator(device)


class DeviceType(type):
    """Stands for ``torch.device``; ``torch.device(0)`` would ask C++ for an accelerator."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        if args and type(args[0]) is int:
            args = (required().kind, *args)
        return Device(*args, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Device)


def _constant(value: Any = None) -> Callable[..., Any]:
    return lambda *args, **kwargs: value  # a new object each time: torch._dynamo wants no duplicates


def _card(device: Any = None) -> int:
    return int(normalise("cuda" if device is None else device).index)


def _set_device(device: Any) -> None:
    if isinstance(device, int) and device < 0:
        return  # as torch does: -1 means leave it
    set_current_card(_card(device))


def _exchange(index: int) -> int:
    old = current_card()
    if index >= 0:
        set_current_card(_card(index))
    return old


def _properties() -> Any:
    return types.SimpleNamespace(
        name="Simulated GPU",
        total_memory=16 * _GIB,
        major=8,
        minor=0,
        multi_processor_count=108,
        is_integrated=False,
        is_multi_gpu_board=False,
        max_threads_per_multi_processor=2048,
        warp_size=32,
        gcnArchName="",
        L2_cache_size=40 << 20,
    )


def _cuda_functions(simulation: Simulation) -> dict[str, Any]:
    """The functions of ``torch.cuda`` that are replaced."""
    properties, count = _properties(), simulation.count
    functions: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: count,
        "current_device": lambda: current_card(),
        "set_device": _set_device,
        "init": lambda: normalise("cuda") and None,
        "_lazy_init": lambda: normalise("cuda") and None,
        "is_initialized": lambda: simulation.initialized,
        "_exchange_device": _exchange,
        "_maybe_exchange_device": lambda index: _exchange(index),
        "get_device_name": lambda device=None: properties.name,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "is_bf16_supported": _constant(True),
        "is_tf32_supported": _constant(True),
        "mem_get_info": lambda device=None: (15 * _GIB, 16 * _GIB),
        "memory_stats": lambda device=None: {},
        "memory_summary": _constant("no memory is simulated"),
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state.cpu()),
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(count)],
        "set_rng_state_all": lambda states: torch.set_rng_state(states[0].cpu()),
        "initial_seed": lambda: torch.initial_seed(),
        "Stream": type("Stream", (SimulatedStream,), {}),
        "Event": type("Event", (SimulatedStream,), {}),
        "current_stream": lambda device=None: SimulatedStream(),
        "default_stream": lambda device=None: SimulatedStream(),
        "set_stream": _constant(),
        "stream": lambda stream=None: contextlib.nullcontext(),
        "get_arch_list": lambda: ["sm_80"],
        "_is_in_bad_fork": lambda: simulation.bad_fork,
        "can_device_access_peer": lambda first, second: True,
        "is_current_stream_capturing": _constant(False),
    }
    for name in [
        "synchronize",
        "empty_cache",
        "ipc_collect",
        "reset_peak_memory_stats",
        "reset_max_memory_allocated",
        "reset_max_memory_cached",
        "reset_accumulated_memory_stats",
        "manual_seed",
        "manual_seed_all",
        "seed",
        "seed_all",
        "set_per_process_memory_fraction",
    ]:
        functions[name] = _constant()
    for name in [
        "memory_allocated",
        "max_memory_allocated",
        "memory_reserved",
        "max_memory_reserved",
        "memory_cached",
        "max_memory_cached",
        "utilization",
    ]:
        functions[name] = _constant(0)
    return functions


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    cuda: Any = torch.cuda
    for name, function in _cuda_functions(simulation).items():
        patch(cuda, name, function)
    _install_accelerator(simulation)
    patch(torch.version, "cuda", "12.8")
    patch(torch.backends.cudnn, "is_acceptable", _constant(False))
    patch(torch.backends.cudnn, "is_available", _constant(True))
    patch(torch.backends.cudnn, "version", _constant(90100))
    patch(torch.backends.cuda, "is_built", _constant(True))
    patch(torch, "device", DeviceType("device", (), {"__module__": "torch", "__qualname__": "device"}))
    patch(torch, "Generator", GeneratorType("Generator", (), {"__module__": "torch", "__qualname__": "Generator"}))
    for name in ("Stream", "Event"):
        patch(torch, name, type(name, (SimulatedStream,), {}))
    parse: Any = torch._C._nn._parse_to

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        """``module.to(0)``."""
        args = tuple(Device(simulation.kind, arg) if type(arg) is int else arg for arg in args)
        if type(kwargs.get("device")) is int:
            kwargs["device"] = Device(simulation.kind, kwargs["device"])
        return parse(*args, **kwargs)

    patch(torch._C._nn, "_parse_to", functools.wraps(parse)(parse_to))


def _install_accelerator(simulation: Simulation) -> None:
    """``torch.accelerator`` (torch 2.6 and newer) and the C++ functions beneath it."""
    patch = simulation.patcher.set
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is not None:
        for name, function in {
            "is_available": lambda: True,
            "device_count": lambda: simulation.count,
            "current_accelerator": lambda *args, **kwargs: Device(simulation.kind),
            "current_device_index": lambda: current_card(),
            "current_device_idx": lambda: current_card(),
            "set_device_index": lambda device: _set_device(device),
            "set_device_idx": lambda device: _set_device(device),
            "synchronize": _constant(),
            "current_stream": lambda device=None: SimulatedStream(),
            "empty_cache": _constant(),
            "memory_allocated": _constant(0),
        }.items():
            if hasattr(accelerator, name):
                patch(accelerator, name, function)
    for name, function in {
        "_accelerator_exchangeDevice": lambda index: _exchange(index),
        "_accelerator_maybeExchangeDevice": lambda index: _exchange(index),
        "_accelerator_getDeviceIndex": lambda: current_card(),
        "_accelerator_setDeviceIndex": lambda index: _set_device(index),
        "_accelerator_getAccelerator": lambda: Device(simulation.kind),
    }.items():
        if hasattr(torch._C, name):
            patch(torch._C, name, function)
