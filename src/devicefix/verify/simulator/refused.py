"""What the simulator does not simulate: some of it is replaced by plain Python, the rest is refused in clear words."""

from __future__ import annotations

import sys
from typing import Any

import torch

from devicefix.verify.simulator.state import Simulation, is_simulated
from devicefix.verify.tags import device_of


class NotSimulatedError(NotImplementedError):
    """The program asked for something that only a real accelerator can do."""


def _refuse(what: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSimulatedError(
            f"devicefix's simulated accelerator cannot do {what}; run it with --device cuda on a machine with a card"
        )

    return refuse


def _compile(model: Any = None, **kwargs: Any) -> Any:
    """torch.compile changes speed, not values: run the Python."""
    return model if model is not None else (lambda function: function)


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    patch(torch, "compile", _compile)
    script = torch.jit.script

    def script_as_python(obj: Any, *args: Any, **kwargs: Any) -> Any:
        """TorchScript's interpreter knows no tags: run the Python, except where torch itself scripts something."""
        caller = sys._getframe(1).f_globals.get("__name__", "")
        return script(obj, *args, **kwargs) if caller.startswith("torch.") else obj

    patch(torch.jit, "script", script_as_python)
    patch(torch.jit, "trace", lambda function, *args, **kwargs: function)
    fake: Any = torch._subclasses.fake_tensor.FakeTensorMode
    patch(fake, "__enter__", _refuse("FakeTensorMode (torch.export, make_fx, torch.fx tracing with fake tensors)"))
    for name, what in (
        ("CUDAGraph", "CUDA graphs"),
        ("graph", "CUDA graphs"),
        ("make_graphed_callables", "CUDA graphs"),
    ):
        if hasattr(torch.cuda, name):
            patch(torch.cuda, name, _refuse(what))
    distributed: Any = torch.distributed
    if hasattr(distributed, "init_process_group"):
        initialise = distributed.init_process_group

        def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
            if backend is None or "nccl" in str(backend):
                _refuse("NCCL (torch.distributed on cards)")()
            return initialise(backend, *args, **kwargs)

        patch(distributed, "init_process_group", init_process_group)
    to_dlpack = torch.Tensor.__dlpack__

    def dlpack(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_simulated(device_of(self)):
            _refuse("DLPack exchange of a tensor on a card")()
        return to_dlpack(self, *args, **kwargs)

    patch(torch.Tensor, "__dlpack__", dlpack)
    _install_autocast(simulation)
    _install_record_function(simulation)


def _install_autocast(simulation: Simulation) -> None:
    """Autocast for the card is autocast for the CPU: its own lists of operators, but the right dtype."""
    patch = simulation.patcher.set
    kind = simulation.kind
    autocast: Any = torch.amp.autocast_mode.autocast
    start, enabled, dtype_of = autocast.__init__, torch.is_autocast_enabled, torch.get_autocast_dtype

    def initialise(
        self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None
    ) -> None:
        if device_type == kind:
            device_type, dtype = "cpu", dtype or torch.float16
        start(self, device_type, dtype, enabled, cache_enabled)

    def is_enabled(device_type: str = kind) -> bool:
        return bool(enabled("cpu" if device_type == kind else device_type))

    def get_dtype(device_type: str) -> Any:
        return dtype_of("cpu") if device_type == kind and enabled("cpu") else dtype_of(device_type)

    patch(autocast, "__init__", initialise)
    patch(torch, "is_autocast_enabled", is_enabled)
    patch(torch, "get_autocast_dtype", get_dtype)


def _install_record_function(simulation: Simulation) -> None:
    """Optimizers open a profiler range per step. Without a profiler it does nothing but pass through the dispatcher."""
    record: Any = torch.autograd.profiler.record_function
    enter, leave = record.__enter__, record.__exit__

    def enter_if_profiling(self: Any) -> Any:
        self._devicefix_skipped = not torch.autograd._profiler_enabled()
        return self if self._devicefix_skipped else enter(self)

    def leave_if_entered(self: Any, *error: Any) -> Any:
        return None if self._devicefix_skipped else leave(self, *error)

    simulation.patcher.set(record, "__enter__", enter_if_profiling)
    simulation.patcher.set(record, "__exit__", leave_if_entered)
