"""The one exit for every mismatch that the simulator finds: explain it, then raise it or, on request, record it and
go on."""

from __future__ import annotations

from typing import Any

from devicefix.verify.origins import explain
from devicefix.verify.simulator.state import required


def fail(error: Exception, *tensors: Any) -> None:
    """Raise ``error`` with the origins of ``tensors`` attached; with ``keep_going`` record it and return."""
    simulation = required()
    mismatch = explain(error, [t for t in tensors if t is not None])
    simulation.log.record(mismatch)
    if not simulation.log.keep_going:
        raise error
