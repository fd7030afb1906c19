"""What is known of the files around an open one, kept from check to check and updated as files change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from devicefix.analysis.project import Project

if TYPE_CHECKING:
    from devicefix.analysis.model import ModuleInfo


class EditorProject(Project):
    """A project whose files change, and whose analysis can be stopped."""

    def __init__(self, roots: Sequence[Path]) -> None:
        super().__init__(roots)
        self.pause: Callable[[], None] = lambda: None  #: called often; raises when the analysis is no longer wanted
        self._stamps: dict[Path, tuple[int, int]] = {}

    def resolve(self, importer: ModuleInfo, module: str, level: int = 0) -> ModuleInfo | None:
        """As in `Project`; an opportunity to stop."""
        self.pause()
        found = super().resolve(importer, module, level)
        if found is not None and found.path not in self.overlay and found.path not in self._stamps:
            self._stamps[found.path] = _stamp(found.path)
        return found

    def edited(self, path: Path, text: str | None) -> None:
        """An editor's buffer has a new text; None: it was closed, and the file counts again."""
        was_open = path in self.overlay
        if text is None:
            self.overlay.pop(path, None)
        else:
            self.overlay[path] = text
        if was_open and text is not None:
            self._modules.pop(path, None)  # `forget` would also look for every imported file again
        else:
            self.forget(path)
            self._stamps.pop(path, None)

    def changed_on_disk(self, paths: Iterable[Path] | None = None) -> set[Path]:
        """Forget files that are not open and were changed, created or deleted; None: look at every file in use."""
        if paths is None:
            changed = {path for path, stamp in self._stamps.items() if _stamp(path) != stamp}
        else:
            changed = set(paths)
        changed -= self.overlay.keys()
        for path in changed:
            self._stamps.pop(path, None)
            self.forget(path)
        return changed

    def uses_of(self, path: Path) -> frozenset[Path]:
        """The files that an analysis of ``path`` may have read, directly or through others."""
        seen: set[Path] = set()
        pending = [path]
        while pending:
            for other in self.dependencies.get(pending.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    pending.append(other)
        return frozenset(seen - {path})


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return status.st_mtime_ns, status.st_size
