"""Rewriting files so that it can be taken back at any moment.

A journal is a folder next to the files, ``.devicefix-undo-XXXXXX``, that holds the original bytes of every file that
is going to change and a manifest. It is complete before the first file changes, and deleting the manifest is the one
step that makes a rewrite final. A process that is killed outright leaves the folder behind; `recover` restores from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from devicefix.source.write import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX = ".devicefix-undo-"
_MANIFEST = "manifest.json"


class ForeignChangeError(RuntimeError):
    """Somebody else changed a file in the meantime; it is left alone."""


class Journal:
    """Knows the original of every file it may write."""

    def __init__(self, folder: Path, paths: Iterable[Path]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
        self._original: dict[Path, bytes | None] = {}
        self._times: dict[Path, tuple[int, int]] = {}
        self._current: dict[Path, bytes | None] = {}
        entries = []
        for number, path in enumerate(sorted({path.resolve() for path in paths})):
            data = path.read_bytes() if path.exists() else None
            self._original[path] = self._current[path] = data
            entry: dict[str, object] = {"path": str(path), "backup": None}
            if data is not None:
                status = path.stat()
                self._times[path] = status.st_atime_ns, status.st_mtime_ns
                backup = self.folder / f"{number}.orig"
                shutil.copy2(path, backup)
                _sync(backup)
                entry["backup"] = backup.name
            entries.append(entry)
        manifest = self.folder / _MANIFEST
        half = manifest.with_suffix(".half")
        half.write_text(json.dumps(entries, indent=2), encoding="utf-8")
        _sync(half)
        half.replace(manifest)

    def original(self, path: Path) -> bytes | None:
        """The bytes a file had when the journal was opened; None if it did not exist."""
        return self._original[path.resolve()]

    def apply(self, contents: Mapping[Path, bytes]) -> None:
        """Bring the files to ``contents``; those not named go back to their originals."""
        wanted = dict(self._original)
        for path, data in contents.items():
            if path.resolve() not in wanted:
                raise ValueError(f"{path} is not in the journal")
            wanted[path.resolve()] = data
        for path, bytes_ in wanted.items():
            self._write(path, bytes_)

    def restore(self) -> list[Path]:
        """Bring every original back. Returns the files that somebody else changed and that were left as they are."""
        foreign = []
        for path in self._original:
            try:
                self._write(path, self._original[path])
            except ForeignChangeError:
                foreign.append(path)
        return foreign

    def close(self) -> None:
        """The present contents are final."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / _MANIFEST).unlink()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, path: Path, data: bytes | None) -> None:
        present = path.read_bytes() if path.exists() else None
        if present != self._current[path]:
            raise ForeignChangeError(f"{path} was changed by somebody else")
        if present == data:
            return
        if data is None:
            path.unlink()
        else:
            _write(path, data)
            if data == self._original[path]:  # so that compiled copies of the original stay valid
                os.utime(path, ns=self._times[path])
        self._current[path] = data


def _write(path: Path, data: bytes) -> None:
    replace_file(path, data, path.stat() if path.exists() else None)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def recover(folder: Path) -> list[Path]:
    """Restore what a killed process left half done in ``folder``. Returns the files that were brought back."""
    restored: list[Path] = []
    for journal in sorted(folder.glob(PREFIX + "*")):
        manifest = journal / _MANIFEST
        if manifest.exists():
            for entry in json.loads(manifest.read_text(encoding="utf-8")):
                path = Path(entry["path"])
                if entry["backup"] is None:
                    if path.exists():
                        path.unlink()
                        restored.append(path)
                    continue
                backup = journal / entry["backup"]
                if not path.exists() or path.read_bytes() != backup.read_bytes():
                    _write(path, backup.read_bytes())
                    status = backup.stat()
                    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
                    restored.append(path)
            manifest.unlink()
        shutil.rmtree(journal, ignore_errors=True)
    return restored
