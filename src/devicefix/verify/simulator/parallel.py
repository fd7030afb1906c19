"""DataParallel's four communication primitives, and threads."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch
import torch.cuda.nccl

from devicefix.verify.simulator.dispatch import SimulatorMode
from devicefix.verify.simulator.state import Simulation, active, normalise
from devicefix.verify.tags import CPU


def _broadcast(tensor: Any, devices: Any) -> Any:
    return [tensor.to(normalise(device)) for device in devices]


def _broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int) -> Any:
    return [[tensor.to(normalise(device)) for tensor in tensors] for device in devices]


def _scatter(tensor: Any, devices: Any, sizes: Any, dim: int, streams: Any) -> Any:
    chunks = tensor.split(sizes, dim) if sizes else tensor.chunk(len(devices), dim)
    return [chunk.to(normalise(device)) for chunk, device in zip(chunks, devices, strict=False)]


def _gather(tensors: Any, dim: int, destination: Any) -> Any:
    target = normalise(destination) if destination is None or destination >= 0 else CPU
    return torch.cat([tensor.to(target) for tensor in tensors], dim)


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    patch(torch._C, "_broadcast", _broadcast)
    patch(torch._C, "_broadcast_coalesced", _broadcast_coalesced)
    patch(torch._C, "_scatter", _scatter)
    patch(torch._C, "_gather", _gather)
    patch(torch.cuda.nccl, "is_available", lambda tensors: False)  # sums gradients the plain way
    start = threading.Thread.start

    def start_simulated(self: Any) -> None:
        """Dispatch modes belong to one thread: a thread started inside the simulation enters it, too."""
        run = self.run

        def run_simulated() -> None:
            with SimulatorMode() if active() is not None else contextlib.nullcontext():
                run()

        self.run = run_simulated
        start(self)

    patch(threading.Thread, "start", start_simulated)
