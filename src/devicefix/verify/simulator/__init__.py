"""A simulated accelerator: CPU values, claimed devices, CUDA's rules.

Every tensor stays an ordinary CPU tensor, so autograd, optimizers, data loaders, pickling and the identity of
parameters are torch's own code. What is added: a tag on each storage that says which device the tensor claims to be
on (`tags`), a dispatch mode that compares the tags at every operation by CUDA's rules (`dispatch`, `checks`,
`rules`), and replacements for the attributes of torch that show or change devices (everything else in this package).
All of it is undone on exit.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from devicefix.verify._torch import require_torch

require_torch()

import torch  # noqa: E402
import torch._subclasses.fake_tensor  # noqa: E402
import torch.distributed  # noqa: E402
import torch.utils._device  # noqa: E402
import torch.utils.data  # noqa: E402

with contextlib.suppress(Exception):
    # imported lazily by optimizers and by jvp; importing them while torch is patched would go wrong
    import torch._decomp.decompositions_for_jvp
    import torch._dynamo

from devicefix.verify.mismatch import Log, Mismatch  # noqa: E402
from devicefix.verify.simulator import (  # noqa: E402
    above_dispatcher,
    autograd,
    cuda_facade,
    factories,
    parallel,
    refused,
    storages,
    tensors,
)
from devicefix.verify.simulator.dispatch import SimulatorMode  # noqa: E402
from devicefix.verify.simulator.refused import NotSimulatedError  # noqa: E402
from devicefix.verify.simulator.rules import operator_table  # noqa: E402
from devicefix.verify.simulator.state import Simulation, activate, active  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Mismatch", "NotSimulatedError", "Simulation", "simulated_accelerator"]


@contextlib.contextmanager
def simulated_accelerator(
    kind: str = "cuda",
    count: int = 1,
    *,
    keep_going: bool = False,
    log: Log | None = None,
    even_with_card: bool = False,
) -> Iterator[Simulation]:
    """Within this context the machine has ``count`` accelerators, and device mismatches raise what CUDA would raise.

    With ``keep_going`` a mismatch is recorded in the yielded simulation's ``mismatches`` and the program goes on as
    if the tensors had been on one device. ``even_with_card`` allows the simulation on a machine that has a real card.
    """
    if kind != "cuda":
        raise NotSimulatedError(f"only 'cuda' is simulated, not {kind!r}")
    if count < 1:
        raise ValueError("a simulation needs at least one accelerator")
    if active() is not None:
        raise RuntimeError("a simulation is already active")
    if not even_with_card and torch.cuda.is_available():
        raise NotSimulatedError(
            "this machine has a real accelerator: run on it (--device cuda), or ask for the simulated one "
            "by name (--device simulated, even_with_card=True)"
        )
    operator_table()  # refuses here, not in the middle of the program
    torch.utils._device._device_constructors()  # a cached set: fill it with the functions before they change
    simulation = Simulation(kind, count, log or Log(keep_going))
    saved_context: Any = torch.utils._device.CURRENT_DEVICE
    try:
        activate(simulation)
        for part in (tensors, storages, cuda_facade, factories, above_dispatcher, autograd, refused, parallel):
            part.install(simulation)
        with SimulatorMode():
            yield simulation
    finally:
        simulation.patcher.restore()
        activate(None)
        if torch.utils._device.CURRENT_DEVICE is not saved_context:
            torch.set_default_device(saved_context)  # set_default_device("cuda") must not outlive the cards
