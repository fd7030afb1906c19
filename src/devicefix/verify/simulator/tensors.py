"""The device-facing attributes of ``torch.Tensor``."""

from __future__ import annotations

from typing import Any

import torch

from devicefix.verify.simulator import moves
from devicefix.verify.simulator.state import Simulation, is_simulated
from devicefix.verify.tags import CPU, Tensor, device_of


def _get_device(self: Any) -> int:
    index = device_of(self).index
    return -1 if index is None else index


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    for name, function in {
        "to": moves.tensor_to,
        "cuda": moves.tensor_cuda,
        "cpu": moves.tensor_cpu,
        "type": moves.tensor_type,
        "type_as": moves.tensor_type_as,
        "numpy": moves.tensor_numpy,
        "pin_memory": moves.tensor_pin_memory,
        "is_pinned": moves.tensor_is_pinned,
        "get_device": _get_device,
        "record_stream": lambda self, stream: None,
        "device": property(device_of),
        "is_cuda": property(lambda self: is_simulated(device_of(self))),
        "is_cpu": property(lambda self: device_of(self) == CPU),
    }.items():
        patch(Tensor, name, function)
    patch(torch, "get_device", _get_device)
