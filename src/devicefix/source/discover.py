"""From the paths that the user named to the files that are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from devicefix.settings import Settings
from devicefix.source.errors import DiscoveryError
from devicefix.source.ignore import IgnoreFiles, Patterns

SUFFIXES = (".py", ".pyi", ".ipynb")
SKIPPED_FOLDERS = frozenset(
    (
        "__pycache__",
        "__pypackages__",
        "_build",
        "bower_components",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    )
)


def discover(
    paths: Iterable[Path | str], settings: Settings | None = None, *, suffixes: tuple[str, ...] = SUFFIXES
) -> Iterator[Path | DiscoveryError]:
    """The files to read, each once, in a fixed order.

    A file that is named is always taken, whatever its name. In folders those with a fitting suffix are taken, and
    version control, virtual environments, hidden and build folders and what ``.gitignore`` lists are left out.
    """
    settings = settings or Settings()
    seen: set[str] = set()
    excluded = Patterns(settings.exclude, Path(settings.root or Path.cwd()))
    for given in paths:
        path = Path(given)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            yield DiscoveryError(str(given), _why(error, path))
            continue
        if stat.S_ISDIR(mode):
            for found in _walk(path, excluded, suffixes):
                if isinstance(found, DiscoveryError) or _first_time(found, seen):
                    yield found
        elif stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            if _first_time(path, seen):
                yield path
        else:
            yield DiscoveryError(str(given), "neither a file nor a folder")


def _why(error: OSError | ValueError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return "broken symbolic link" if path.is_symlink() else "no such file or folder"
    return str(getattr(error, "strerror", None) or error)


def _first_time(path: Path, seen: set[str]) -> bool:
    real = os.path.realpath(path)
    if real in seen:
        return False
    seen.add(real)
    return True


def _walk(root: Path, excluded: Patterns, suffixes: tuple[str, ...]) -> Iterator[Path | DiscoveryError]:
    ignore = IgnoreFiles(root)
    # Each entry: the folder as the user would write it, the absolute folders from the root of the walk to it.
    pending: list[tuple[Path, tuple[Path, ...]]] = [(root, (root.absolute(),))]
    while pending:
        folder, chain = pending.pop()
        try:
            with os.scandir(folder) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield DiscoveryError(str(folder), f"cannot be read: {error.strerror or error}")
            continue
        folders = []
        for entry in children:
            absolute = chain[-1] / entry.name
            try:
                is_dir = entry.is_dir(follow_symlinks=False)
                wanted = is_dir or (entry.name.endswith(suffixes) and entry.is_file())
            except OSError:
                continue
            if not wanted or (is_dir and _is_skipped(entry.name, absolute)):
                continue
            if ignore.ignored(absolute, chain, is_dir=is_dir) or excluded.match(absolute, is_dir=is_dir):
                continue
            path = Path(entry.name) if folder == Path() else folder / entry.name
            if is_dir:
                folders.append((path, (*chain, absolute)))
            else:
                yield path
        pending.extend(reversed(folders))


def _is_skipped(name: str, folder: Path) -> bool:
    if name.startswith(".") or name in SKIPPED_FOLDERS or name.endswith(".egg-info"):
        return True
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").exists()
