"""Where the cache is, and how it is removed."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "DEVICEFIX_CACHE_DIR"
TAG = "CACHEDIR.TAG"
_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is the cache of devicefix.\n"


def cache_folder(given: str | None = None) -> Path:
    """The folder: the one given, that of the environment variable, or the user's."""
    chosen = given or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("devicefix", appauthor=False)


def prepare(folder: Path) -> None:
    """Make the folder and mark it as a cache. Raises `OSError`."""
    tag = folder / TAG
    if not tag.exists():
        folder.mkdir(parents=True, exist_ok=True)
        tag.write_text(_SIGNATURE, "utf-8")


def is_ours(folder: Path) -> bool:
    """Whether a folder was made by `prepare`."""
    try:
        return (folder / TAG).read_text("utf-8") == _SIGNATURE
    except (OSError, UnicodeDecodeError):
        return False


def remove(folder: Path) -> int:
    """Remove the cache; 0 if there is none, else the number of bytes that are free again.

    Raises `ValueError` for a folder that holds something and was not made by this program, and `OSError`.
    """
    import shutil

    if not folder.exists():
        return 0
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder")
    if not is_ours(folder):
        if any(folder.iterdir()):
            raise ValueError(f"{folder} was not made by devicefix; it is left alone")
        return 0
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    shutil.rmtree(folder)
    return size
