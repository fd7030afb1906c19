"""From a path or bytes to the right kind of source."""

from __future__ import annotations

from pathlib import Path

from devicefix.source.errors import SourceError
from devicefix.source.text import SourceText


def load_source(raw: bytes, path: Path | str) -> SourceText:
    """A notebook for ``.ipynb``, else a Python file. Raises `SourceError`."""
    if str(path).endswith(".ipynb"):
        from devicefix.source.notebook import NotebookSource

        return NotebookSource.from_bytes(raw, path)
    return SourceText.from_bytes(raw, path)


def read_source(path: Path | str) -> SourceText:
    """Read and decode a file. Raises `SourceError`."""
    return load_source(read_bytes(path), path)


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file. Raises `SourceError`."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise SourceError(str(path), f"cannot be read: {error.strerror or error}") from None
