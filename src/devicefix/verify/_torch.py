"""The one place that imports torch on behalf of the rest of the package.

Everything under ``devicefix.verify`` needs torch, nothing else in devicefix does, so torch is an optional extra and the
command line must say so in one line instead of showing a traceback.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

MISSING = "torch is not installed; pip install 'devicefix[torch]'"
OLDEST = (2, 4)


class TorchMissingError(ImportError):
    """torch cannot be imported, or is older than what the simulator knows."""


def require_torch() -> ModuleType:
    """Import torch, or raise `TorchMissingError` with a one-line explanation."""
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TorchMissingError(MISSING) from None
    version = version_of(torch)
    if version < OLDEST:
        raise TorchMissingError(f"torch {torch.__version__} is too old: devicefix verify needs torch 2.4 or newer")
    return torch


def version_of(torch: ModuleType) -> tuple[int, int]:
    """``2.13.0+cpu`` as ``(2, 13)``."""
    major, minor = re.findall(r"\d+", str(torch.__version__))[:2]
    return int(major), int(minor)
