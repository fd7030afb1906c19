"""The index of the cache: for every file what was found, in a word, and what that came from.

It is the one file that a run without changes reads. Paths are split into folder and name and numbered, because most
files depend on the same others::

    folders   [path, time of the last change (ns; 0: look at its names)]
    paths     [folder, name, time of the last change (ns; 0: look at the bytes), size, digest]   content counts
    names     [folder, name, whether it is there]                                                only that counts
    files     [path, settings, record, number of findings, of those with a fix, skipped, [paths], [names]]
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from devicefix.engine.cache.fingerprint import digest

#: files and folders that changed so little before they were looked at (ns) may change again without another time
RECENT = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one file. ``record`` names its findings; empty: there are none."""

    settings: str
    record: str
    findings: int
    fixes: int
    skipped: bool
    read: tuple[str, ...]
    names: tuple[tuple[str, bool], ...]


class Index:
    """An index as it was read. Raises any exception for content of another shape."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.folders: list[list[Any]] = content["folders"]
        self.paths: list[list[Any]] = content["paths"]
        self.names: list[list[Any]] = content["names"]
        self.files: list[list[Any]] = content["files"]
        self.restamped = False  #: whether times in it were brought up to date
        self._full = [f"{self.folders[folder][0]}{name}" for folder, name, *_ in self.paths]
        self._by_path = {self._full[row[0]]: row for row in self.files}
        self._changed = self._changed_paths()
        self._moved = self._moved_names()

    def find(self, path: str) -> list[Any] | None:
        """The row of a file, if everything that it depends on is as it was."""
        row = self._by_path.get(path)
        if row is None or (self._changed and not self._changed.isdisjoint((row[0], *row[6]))):
            return None
        return None if self._moved and not self._moved.isdisjoint(row[7]) else row

    def entries(self) -> dict[str, Entry]:
        """All rows that still hold."""
        found = {}
        for path in self._by_path:
            row = self.find(path)
            if row is not None:
                _, settings, record, findings, fixes, skipped, read, names = row
                found[path] = Entry(
                    settings, record, findings, fixes, skipped, tuple(self._full[n] for n in read),
                    tuple((self._name(n), self.names[n][2]) for n in names),
                )  # fmt: skip
        return found

    def states(self) -> dict[str, tuple[int, int, str]]:
        """Time, size and digest of every unchanged path."""
        return {
            self._full[n]: (time, size, name)
            for n, (_, _, time, size, name) in enumerate(self.paths)
            if n not in self._changed
        }

    def _name(self, number: int) -> str:
        folder, name, _ = self.names[number]
        return f"{self.folders[folder][0]}{name}"

    def _changed_paths(self) -> set[int]:
        changed = set()
        stat = os.stat
        for number, row in enumerate(self.paths):
            path = self._full[number]
            try:
                status = stat(path)
                if status.st_mtime_ns == row[2] and status.st_size == row[3]:
                    continue
                with open(path, "rb") as file:
                    same = status.st_size == row[3] and digest(file.read()) == row[4]
            except (OSError, ValueError):
                same = False
            if not same:
                changed.add(number)
            elif not is_recent(status.st_mtime_ns):
                row[2] = status.st_mtime_ns
                self.restamped = True
        return changed

    def _moved_names(self) -> set[int]:
        suspect = set()
        for number, row in enumerate(self.folders):
            now = folder_time(row[0])
            if now != row[1]:
                suspect.add(number)
                if not is_recent(now):
                    row[1] = now
                    self.restamped = True
        if not suspect:
            return set()
        return {
            number
            for number, (folder, name, there) in enumerate(self.names)
            if folder in suspect and os.path.lexists(f"{self.folders[folder][0]}{name}") is not there
        }


def is_recent(time: int) -> bool:
    """Whether a time (ns) is so close to now that it says nothing about later changes."""
    import time as clock

    return time > clock.time_ns() - RECENT


def folder_time(folder: str) -> int:
    """When something was last added to or removed from a folder (ns); 0 if it is not there."""
    try:
        return os.stat(folder).st_mtime_ns
    except (OSError, ValueError):
        return 0


def content_of(entries: dict[str, Entry], states: dict[str, tuple[int, int, str]]) -> dict[str, Any]:
    """The index for entries; ``states`` has time, size and digest of every path whose content counts."""
    tables = _Tables(states)
    files = [
        [
            tables.path(path), entry.settings, entry.record, entry.findings, entry.fixes, entry.skipped,
            [tables.path(other) for other in entry.read], [tables.name(name, there) for name, there in entry.names],
        ]
        for path, entry in entries.items()
    ]  # fmt: skip
    return {"folders": tables.folders, "paths": tables.paths, "names": tables.names, "files": files}


class _Tables:
    """Numbers for folders, paths and names."""

    def __init__(self, states: dict[str, tuple[int, int, str]]) -> None:
        self.states = states
        self.folders: list[list[Any]] = []
        self.paths: list[list[Any]] = []
        self.names: list[list[Any]] = []
        self._folders: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        self._names: dict[str, int] = {}

    def path(self, path: str) -> int:
        number = self._paths.get(path)
        if number is None:
            number = self._paths[path] = len(self.paths)
            self.paths.append([*self._split(path), *self.states[path]])
        return number

    def name(self, path: str, there: bool) -> int:
        number = self._names.get(path)
        if number is None:
            number = self._names[path] = len(self.names)
            self.names.append([*self._split(path), there])
        return number

    def _split(self, path: str) -> tuple[int, str]:
        at = path.rfind(os.sep) + 1
        folder, name = path[:at], path[at:]
        number = self._folders.get(folder)
        if number is None:
            time = folder_time(folder)
            number = self._folders[folder] = len(self.folders)
            self.folders.append([folder, 0 if is_recent(time) else time])
        return number, name
