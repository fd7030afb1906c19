"""Writing a file so that it is never seen half done."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from devicefix.source.errors import SourceError


def write_atomically(path: Path | str, new: bytes, *, expected: bytes | None = None) -> None:
    """Replace the content of a file in one step; mode and symbolic links are kept.

    With ``expected`` the file is left alone if its bytes are no longer these. Raises `SourceError`.
    """
    target = os.path.realpath(path)
    name = str(path)
    try:
        status = os.stat(target)
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
            raise SourceError(name, "cannot be written: the file is read-only")
        if expected is not None and Path(target).read_bytes() != expected:
            raise SourceError(name, "not written: the file changed while it was being checked")
        _replace(target, new, status)
    except OSError as error:
        raise SourceError(name, f"cannot be written: {error.strerror or error}") from None


def _replace(target: str, new: bytes, status: os.stat_result) -> None:
    folder, base = os.path.split(target)
    handle, temporary = tempfile.mkstemp(prefix=f".{base}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        if hasattr(os, "chown"):
            with contextlib.suppress(OSError):  # only root may give files away; the mode matters more
                os.chown(temporary, status.st_uid, status.st_gid)
                os.chmod(temporary, stat.S_IMODE(status.st_mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
