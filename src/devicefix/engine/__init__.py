"""Checking, fixing to rest with a proof, many files at once: what the command line and the editors share.

The names are loaded on first use: a run over files without findings needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devicefix.engine.check import check_source
    from devicefix.engine.errors import FileError
    from devicefix.engine.fix import fix_source
    from devicefix.engine.results import CheckResult, FixResult, Withdrawn

_HOMES = {
    "CheckResult": "results",
    "FileError": "errors",
    "FixResult": "results",
    "Withdrawn": "results",
    "check_source": "check",
    "fix_source": "fix",
}

__all__ = ["CheckResult", "FileError", "FixResult", "Withdrawn", "check_source", "fix_source"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
