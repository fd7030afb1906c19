"""``--watch``: check again whenever a file changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from devicefix.source.discover import SUFFIXES

SETTINGS = ("devicefix.toml", ".devicefix.toml", "pyproject.toml", ".gitignore")


class NoWatcher(Exception):
    """The library that watches files is not installed."""


def watch(paths: list[str], check: Callable[[], int]) -> int:
    """Check at once and after every change below ``paths``, until interrupted. Returns the status of the last check.

    Raises `NoWatcher`.
    """
    try:
        import watchfiles
    except ImportError:
        raise NoWatcher("--watch needs `pip install 'devicefix[watch]'`") from None
    status = _once(check)
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        return status  # the check has said so
    usual = watchfiles.DefaultFilter()  # leaves out version control, virtual environments, caches
    for _ in watchfiles.watch(
        *paths, watch_filter=lambda change, path: usual(change, path) and matters(path), raise_interrupt=False
    ):
        if sys.stdout.isatty():
            print("\x1b[2J\x1b[H", end="")
        status = _once(check)
    return status


def _once(check: Callable[[], int]) -> int:
    status = check()
    print("watching for changes; stop with Ctrl-C", file=sys.stderr, flush=True)
    return status


def matters(path: str) -> bool:
    """Whether a changed path may change what is found."""
    file = Path(path)
    return file.suffix in SUFFIXES or file.name in SETTINGS
