"""How to see that a file has changed without reading it."""

from __future__ import annotations

import os
from pathlib import Path

#: when a file was changed last (nanoseconds), and its size (bytes), seen before it was read
Stamp = tuple[int, int]
NO_STAMP: Stamp = (-1, -1)


def stamp_of(path: Path | str) -> Stamp:
    """The stamp of a file; `NO_STAMP` where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return NO_STAMP
    return status.st_mtime_ns, status.st_size
