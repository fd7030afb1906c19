"""Proof by running: a simulated accelerator, the four runs, and a look inside a model.

Importing this package does not import torch; the first use of one of the names below does::

    from devicefix.verify import simulated_accelerator, inspect, verify

    with simulated_accelerator("cuda", count=2):
        ...                      # `torch.cuda.is_available()` is true here and device rules are enforced
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from devicefix.verify._torch import TorchMissingError

if TYPE_CHECKING:
    from devicefix.verify.four_runs import Verdict, verify
    from devicefix.verify.guard import write_verified
    from devicefix.verify.inspect_model import inspect
    from devicefix.verify.mismatch import Mismatch
    from devicefix.verify.simulator import NotSimulatedError, simulated_accelerator

__all__ = [
    "Mismatch",
    "NotSimulatedError",
    "TorchMissingError",
    "Verdict",
    "inspect",
    "simulated_accelerator",
    "verify",
    "write_verified",
]

_HOMES = {
    "Mismatch": "devicefix.verify.mismatch",
    "NotSimulatedError": "devicefix.verify.simulator",
    "Verdict": "devicefix.verify.four_runs",
    "inspect": "devicefix.verify.inspect_model",
    "simulated_accelerator": "devicefix.verify.simulator",
    "verify": "devicefix.verify.four_runs",
    "write_verified": "devicefix.verify.guard",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
