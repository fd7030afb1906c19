"""Writing a file so that it is never seen half done."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
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
        replace_file(target, new, status)
    except OSError as error:
        raise SourceError(name, f"cannot be written: {error.strerror or error}") from None


def replace_file(
    target: str | os.PathLike[str], new: bytes, like: os.stat_result | None = None, *, durable: bool = True
) -> None:
    """Write a file in one step: a reader sees the old or the new bytes, never a part.

    ``like`` gives mode and owner. A ``durable`` file is on the disk before it replaces the old one. Interrupted at any
    moment it leaves nothing beside the file. Raises `OSError`.
    """
    folder, base = os.path.split(target)
    # The name comes first: an interrupt right after the file is there must find it.
    temporary = os.path.join(folder, f".{base}.{secrets.token_hex(6)}.tmp")
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if like is not None:
            _make_like(temporary, like)
        os.replace(temporary, target)
    except FileExistsError:
        raise
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _make_like(path: str, status: os.stat_result) -> None:
    os.chmod(path, stat.S_IMODE(status.st_mode))
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):  # only root may give files away; the mode matters more
            os.chown(path, status.st_uid, status.st_gid)
            os.chmod(path, stat.S_IMODE(status.st_mode))
