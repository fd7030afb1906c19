"""Loaded by every Python process of a command that is verified on the simulated accelerator.

Python imports ``sitecustomize`` at start-up. This one waits until torch has been imported, then starts the simulation
for the rest of the process. It is found through PYTHONPATH and does nothing without DEVICEFIX_SIMULATE.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _StartAfterTorch(importlib.abc.MetaPathFinder):
    """Finds torch as usual, but hooks the end of its import."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _start()

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _start() -> None:
    from devicefix.verify.simulator import simulated_accelerator

    simulation = simulated_accelerator("cuda", int(os.environ["DEVICEFIX_SIMULATE"]), even_with_card=True)
    simulation.__enter__()
    atexit.register(simulation.__exit__, None, None, None)  # it lasts as long as the process
    mark = os.environ.get("DEVICEFIX_SIMULATE_MARK")
    if mark:
        with open(mark, "w", encoding="utf-8"):
            pass


def _run_the_real_one() -> None:
    """An environment may have a sitecustomize of its own."""
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("DEVICEFIX_SIMULATE"):
    sys.meta_path.insert(0, _StartAfterTorch())
_run_the_real_one()
