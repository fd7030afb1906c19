"""The cache's files: one line with a checksum, then JSON. Whatever is wrong with them, they count as missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devicefix.engine.cache.fingerprint import digest
from devicefix.source.write import replace_file

_MAGIC = b"devicefix cache "


def read(path: Path) -> Any:
    """The content of a file; None when it is missing or damaged."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
        head, _, body = raw.partition(b"\n")
        if head != _MAGIC + digest(body).encode():
            return None
        return json.loads(body)
    except (OSError, ValueError, RecursionError):
        return None


def write(path: Path, content: Any) -> None:
    """Replace a file in one step. Raises `OSError`."""
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    replace_file(path, _MAGIC + digest(body).encode() + b"\n" + body, durable=False)
