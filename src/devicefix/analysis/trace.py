"""What the analysis of one file asked the file system, so that a cache knows when the answer is out of date."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from devicefix.source.stamps import Stamp


@dataclass(slots=True)
class Trace:
    """``read``: files whose content counted, and their stamps.

    ``present``, ``absent``: paths of which only that counted.
    """

    read: dict[Path, Stamp] = field(default_factory=dict)
    present: set[Path] = field(default_factory=set)
    absent: set[Path] = field(default_factory=set)


class Looked:
    """Where a file was looked for in vain, told by as few paths as will do.

    Of ``a/b/c.py`` in a folder without ``a`` the path ``a`` is told: as long as that is missing, the rest is as well.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, bool] = {}

    def missing(self, path: Path) -> Path:
        """The outermost part of ``path`` that does not exist."""
        while not self._is_folder(path.parent) and path.parent != path:
            path = path.parent
        return path

    def clear(self) -> None:
        """Forget what was seen: folders may have come and gone."""
        self._folders.clear()

    def _is_folder(self, folder: Path) -> bool:
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = folder.is_dir()
        return known
