"""The Python interface for programs that hold source text."""

from __future__ import annotations

from pathlib import Path

from devicefix.engine.check import check_source
from devicefix.engine.fix import fix_source
from devicefix.engine.results import CheckResult, FixResult
from devicefix.settings import Settings
from devicefix.source.load import load_source


def check(code: str | bytes, *, path: str | Path = "<string>", settings: Settings | None = None) -> CheckResult:
    """Find what is wrong in ``code`` (a Python file, or a notebook if ``path`` ends in ``.ipynb``).

    Raises `SourceError` when the code cannot be decoded; syntax errors are in the result.
    """
    raw = code.encode("utf-8") if isinstance(code, str) else code
    return check_source(load_source(raw, path), settings=settings)


def fix(
    code: str | bytes, *, path: str | Path = "<string>", unsafe: bool | None = None, settings: Settings | None = None
) -> FixResult:
    """Repair ``code``; ``unsafe`` also makes the fixes whose conditions could not all be shown (None: as the settings say).

    Raises `SourceError` when the code cannot be decoded; syntax errors are in the result.
    """
    raw = code.encode("utf-8") if isinstance(code, str) else code
    return fix_source(load_source(raw, path), unsafe=unsafe, settings=settings)
