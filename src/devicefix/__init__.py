"""Find and repair PyTorch device mismatches in source code.

The Python interface::

    from devicefix import check, fix

    result = check(source_text)            # CheckResult with .findings
    result = fix(source_text, unsafe=True)  # FixResult with .new_text, .applied, .remaining

Everything is loaded on first use, so that ``import devicefix`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from devicefix.api import check, fix
    from devicefix.engine.errors import FileError
    from devicefix.engine.results import CheckResult, FixResult
    from devicefix.findings import Applicability, Finding, Fix, Position, Related, Span, TextEdit
    from devicefix.settings import Settings

_HOMES = {
    "check": "devicefix.api",
    "fix": "devicefix.api",
    "CheckResult": "devicefix.engine.results",
    "FileError": "devicefix.engine.errors",
    "FixResult": "devicefix.engine.results",
    "Applicability": "devicefix.findings",
    "Finding": "devicefix.findings",
    "Fix": "devicefix.findings",
    "Position": "devicefix.findings",
    "Related": "devicefix.findings",
    "Span": "devicefix.findings",
    "TextEdit": "devicefix.findings",
    "Settings": "devicefix.settings",
    "load_ipython_extension": "devicefix.magic",
    "unload_ipython_extension": "devicefix.magic",
}

__all__ = [
    "Applicability",
    "CheckResult",
    "FileError",
    "Finding",
    "Fix",
    "FixResult",
    "Position",
    "Related",
    "Settings",
    "Span",
    "TextEdit",
    "__version__",
    "check",
    "fix",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)
