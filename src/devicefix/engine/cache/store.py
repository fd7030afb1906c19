"""The cache of one run: asked for every file before it is checked, told of every file that was."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devicefix.engine.cache import files
from devicefix.engine.cache.fingerprint import digest, digest_of, of_settings, program
from devicefix.engine.cache.index import Entry, Index, content_of, is_recent
from devicefix.engine.cache.places import prepare
from devicefix.engine.cache.records import as_data, outcome_of
from devicefix.engine.outcome import Outcome, Used
from devicefix.settings import Settings
from devicefix.source.stamps import stamp_of

#: folders of other versions are removed when nobody has written to them for so long (seconds)
KEPT = 60 * 24 * 3600

#: what comes of content that another program wrote
_ODD = (ValueError, TypeError, LookupError, AttributeError, OverflowError, OSError)


class Cache:
    """Results by file. ``roots`` are the folders that absolute imports are resolved from."""

    def __init__(self, folder: Path, roots: Sequence[str], settings: Settings) -> None:
        absolute = [os.path.abspath(root) for root in roots if os.path.isdir(root)]
        self.folder = folder
        self.here = folder / program()[:16]
        name = digest_of([*absolute, of_settings(settings)] if absolute else [os.getcwd(), of_settings(settings)])[:16]
        self._index_file = self.here / f"{name}.index"
        self._records_file = self.here / f"{name}.findings"
        self._records: dict[str, Any] | None = None
        self._new: dict[str, tuple[Entry, Used, list[Any] | None]] = {}
        self._gone: set[str] = set()
        self._settings: dict[int, tuple[Settings, str]] = {}
        try:
            content = files.read(self._index_file)
            self._index = None if content is None else Index(content)
        except _ODD:
            self._index = None

    # -- asking ------------------------------------------------------------------------------------------------------

    def find(
        self, path: Path | str, settings: Settings, *, fixing: bool = False, edits: bool = False
    ) -> Outcome | None:
        """The outcome of checking a file, if it is known and nothing has changed.

        With ``fixing`` only if it has no fix, with ``edits`` only if the edits of its fixes are known.
        """
        if self._index is None:
            return None
        try:
            row = self._index.find(os.path.abspath(path))
            if row is None:
                return None
            _, key, record, findings, fixes, skipped, _, _ = row
            if key != self._key(settings) or (fixing and fixes):
                return None
            if not findings:
                return Outcome(str(path), [], [], [], skipped=bool(skipped), cached=True)
            outcome = outcome_of(self._known_records()[record], path)
            if edits and outcome.edits is None:
                return None
            outcome.edits = outcome.edits if edits else None
        except _ODD:
            return None
        outcome.cached = True
        return outcome

    def _key(self, settings: Settings) -> str:
        """The name of settings; there are few of them, and many files."""
        known = self._settings.get(id(settings))
        if known is None:
            known = self._settings[id(settings)] = (settings, of_settings(settings))
        return known[1]

    def _known_records(self) -> dict[str, Any]:
        if self._records is None:
            content = files.read(self._records_file)
            self._records = content if isinstance(content, dict) else {}
        return self._records

    # -- telling -----------------------------------------------------------------------------------------------------

    def add(self, path: Path | str, settings: Settings, outcome: Outcome) -> None:
        """Remember the outcome of a check."""
        absolute = os.path.abspath(path)
        used = outcome.used
        if used is None or outcome.errors or outcome.new_raw is not None or outcome.applied:
            self._gone.add(absolute)
            return
        names = (*((name, True) for name in used.present), *((name, False) for name in used.absent))
        fixes = sum(finding.fix is not None for finding in outcome.findings)
        read = tuple(other for other, *_ in used.read)
        entry = Entry(self._key(settings), "", len(outcome.findings), fixes, outcome.skipped, read, names)
        self._new[absolute] = entry, used, as_data(outcome) if outcome.findings else None

    def save(self) -> None:
        """Write what is new. A cache that cannot be written is no error."""
        restamped = self._index is not None and self._index.restamped
        if self._new or restamped or (self._gone and self._index is not None):
            try:
                self._save()
            except OSError:
                pass
            except _ODD:
                self._index = None
                with contextlib.suppress(OSError, ValueError):
                    self._save()

    def _save(self) -> None:
        entries = self._index.entries() if self._index is not None else {}
        states = self._index.states() if self._index is not None else {}
        records = self._known_records() if entries else {}
        for path in (*self._gone, *self._new):
            entries.pop(path, None)
        kept = {entry.record: records[entry.record] for entry in entries.values() if entry.record in records}
        for path, (_, used, _) in self._new.items():
            if stamp_of(path) == used.stamp:
                states[path] = (*_lasting(used.stamp), used.digest)
        still = _Still(states)
        for path, (entry, used, data) in self._new.items():
            if path not in states or not still.holds(used, entry):
                continue
            if data is not None:
                record = digest(json.dumps(data).encode("utf-8", "surrogatepass"))
                kept[record] = data
                entry = Entry(
                    entry.settings, record, entry.findings, entry.fixes, entry.skipped, entry.read, entry.names
                )
            entries[path] = entry
        self._prepare()
        files.write(self._records_file, kept)
        files.write(self._index_file, content_of(entries, states))

    def _prepare(self) -> None:
        prepare(self.folder)
        if not self.here.exists():
            self.here.mkdir()
            self._remove_old()

    def _remove_old(self) -> None:
        """Other versions of the program left folders behind that nobody reads any more."""
        import shutil

        for other in self.folder.iterdir():
            if other.is_dir() and other != self.here and other.stat().st_mtime < time.time() - KEPT:
                shutil.rmtree(other, ignore_errors=True)


class _Still:
    """Whether what results came from is still so. ``states`` is filled with the states of the files that they read."""

    def __init__(self, states: dict[str, tuple[int, int, str]]) -> None:
        self.states = states
        self._stamps: dict[str, tuple[int, int]] = {}
        self._there: dict[str, bool] = {}

    def holds(self, used: Used, entry: Entry) -> bool:
        """Whether a result may be kept: nothing that it came from has changed since it was looked at."""
        return all(self._same(path, (mtime, size)) for path, mtime, size in used.read) and all(
            self._is_there(path) is there for path, there in entry.names
        )

    def _same(self, path: str, stamp: tuple[int, int]) -> bool:
        if path not in self._stamps:
            self._stamps[path] = stamp_of(path)
        if self._stamps[path] != stamp:
            return False
        if path not in self.states:
            try:
                self.states[path] = (*_lasting(stamp), digest(Path(path).read_bytes()))
            except OSError:
                return False
        return True

    def _is_there(self, path: str) -> bool:
        if path not in self._there:
            self._there[path] = os.path.lexists(path)
        return self._there[path]


def _lasting(stamp: tuple[int, int]) -> tuple[int, int]:
    """A stamp for the index: without a time where a later change might not show in it."""
    return (0 if is_recent(stamp[0]) else stamp[0]), stamp[1]
