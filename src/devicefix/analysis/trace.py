"""What the analysis of one file asked the file system, so that a cache knows when the answer is out of date."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import listdir
from os.path import isfile, join

from devicefix.source.stamps import Stamp


@dataclass(slots=True)
class Trace:
    """``read``: files whose content counted, and their stamps.

    ``present``, ``absent``: paths of which only that counted.
    """

    read: dict[str, Stamp] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)


class Looked:
    """What folders hold, as far as somebody looked for a module in them. One string stands for each path.

    Where a file was looked for in vain is told by as few paths as will do: of ``a/b/c.py`` in a folder without ``a``
    the path ``a`` is told, for as long as that is missing the rest is as well.
    """

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}
        self._missing: dict[str, str] = {}

    def find(self, base: str, parts: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """The file that holds a module below a folder, "" for none, and the paths that are missing for it."""
        folder = base
        for part in parts[:-1]:
            if part not in self._in(folder):
                return "", (self._told(join(folder, part)),)
            folder = join(folder, part)
        if not parts:
            return self._package(folder)
        last = parts[-1]
        file, package = join(folder, f"{last}.py"), join(folder, last)
        names = self._in(folder)
        if f"{last}.py" in names and isfile(file):
            return file, ()
        missing = self._told(file)
        if last not in names:
            return "", (missing, self._told(package))
        found, more = self._package(package)
        return found, (missing, *more)

    def clear(self) -> None:
        """Forget what was seen: files may have come and gone."""
        self._names.clear()
        self._missing.clear()

    def _package(self, folder: str) -> tuple[str, tuple[str, ...]]:
        file = join(folder, "__init__.py")
        if "__init__.py" in self._in(folder) and isfile(file):
            return file, ()
        return "", (self._told(file),)

    def _in(self, folder: str) -> frozenset[str]:
        names = self._names.get(folder)
        if names is None:
            try:
                names = frozenset(map(sys.intern, listdir(folder)))
            except OSError:
                names = frozenset()
            self._names[folder] = names
        return names

    def _told(self, path: str) -> str:
        return self._missing.setdefault(path, path)
