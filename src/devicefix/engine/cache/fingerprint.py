"""Short names for what a result depends on besides files: this program and the settings."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from devicefix import __version__
from devicefix.settings import Settings

#: the layout of the cache's files
FORMAT = 1

#: settings that say which files are read and how results are shown, but not what is found
_IRRELEVANT = frozenset(("exclude", "unsafe_fixes", "output_format", "jobs", "root"))


def digest(raw: bytes) -> str:
    """A name for bytes."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def digest_of(parts: Iterable[object]) -> str:
    """A name for a list of values."""
    return digest("\0".join(map(repr, parts)).encode("utf-8", "surrogatepass"))


def program() -> str:
    """A name for the version of this program: its rules, its tables, everything in its folder, and of Python."""
    return digest_of([FORMAT, __version__, sys.version_info[:3], *sorted(_stamps(Path(__file__).parents[2]))])


def _stamps(folder: Path | str) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    found += [(f"{entry.name}/{name}", stamp, size) for name, stamp, size in _stamps(entry.path)]
            elif entry.name.endswith(".py"):
                status = entry.stat()
                found.append((entry.name, status.st_mtime_ns, status.st_size))
    return found


def of_settings(settings: Settings) -> str:
    """A name for the settings that matter for what is found."""
    relevant = [(f.name, getattr(settings, f.name)) for f in fields(settings) if f.name not in _IRRELEVANT]
    if settings.per_file_ignores:  # their patterns are relative to this folder
        relevant.append(("root", settings.root or os.getcwd()))
    return digest_of(relevant)[:16]
