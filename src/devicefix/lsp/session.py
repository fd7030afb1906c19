"""Which check belongs to which edit: shares checks, drops what is out of date, tells the editor.

Runs in the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from devicefix.config.load import FILE_NAMES
from devicefix.config.resolve import Configuration
from devicefix.lsp.checker import Checked, Checker
from devicefix.lsp.client_settings import ClientSettings
from devicefix.lsp.documents import Documents, NotOpen, Snapshot, path_of
from devicefix.lsp.worker import NOW, SOON, Job, Superseded, Worker
from devicefix.settings import Settings

LATER = 0.2  #: seconds until other files are checked again after an edit


class OutOfDate(Exception):
    """The document was edited while it was checked."""


@dataclass
class _Pending:
    snapshot: Snapshot
    job: Job[Checked]
    since: int
    waiters: int = 0


class Session:
    """The checks of everything that is open.

    ``publish`` is called with every result that must be sent to the editor, ``ask_again`` when an editor that asks
    for diagnostics itself should do so.
    """

    def __init__(self, publish: Callable[[Checked], None], ask_again: Callable[[], None]) -> None:
        self.documents = Documents()
        self.checker = Checker()
        self.worker = Worker()
        self.folders: tuple[Path, ...] = ()
        self.pushes: Callable[[str], bool] = lambda key: True
        self._publish = publish
        self._ask_again = ask_again
        self._settings: dict[Path | None, tuple[ClientSettings, Configuration]] = {}
        self._results: dict[str, Checked] = {}
        self._pending: dict[str, _Pending] = {}
        self._pushing: dict[str, asyncio.Task[None]] = {}
        self._clock = 0
        self._edited: dict[Path, int] = {}
        self._everything_changed = 0
        self._waiting: asyncio.TimerHandle | None = None
        self._seen_settings: dict[Path, float] = {}

    # -- settings ----------------------------------------------------------------------------------------------------

    def set_folders(self, folders: Iterable[Path]) -> None:
        """The folders of the workspace."""
        self.folders = tuple(sorted(set(folders), key=lambda folder: len(folder.parts), reverse=True))
        self.checker.set_folders(self.folders)

    def set_settings(self, settings: dict[Path | None, ClientSettings]) -> None:
        """The editor's settings for each folder of the workspace, and for files in none (None)."""
        self._settings = {folder: (client, client.configuration()) for folder, client in settings.items()}
        self._seen_settings = self._settings_stamps()
        self.everything_changed()

    def reread_settings(self) -> None:
        """A settings file has changed."""
        self.set_settings({folder: client for folder, (client, _) in self._settings.items()})

    def _settings_for(self, snapshot: Snapshot) -> tuple[ClientSettings, Callable[[Path], Settings]]:
        folder = next((f for f in self.folders if snapshot.path.is_relative_to(f)), None)
        nothing = ClientSettings()
        client, configuration = self._settings.get(folder, self._settings.get(None, (nothing, nothing.configuration())))
        # An unsaved buffer counts as a file in the workspace.
        home = self.folders[-1] if self.folders and not snapshot.key.startswith("file:") else None
        return client, lambda path: configuration.for_path(home / path.name if home else path)

    # -- checks ------------------------------------------------------------------------------------------------------

    def result(self, key: str) -> Checked | None:
        """The result for a document as it is now, if there is one."""
        known = self._results.get(key)
        return known if known is not None and self.documents.is_current(known.snapshot) else None

    async def checked(self, key: str, urgency: int = NOW) -> Checked:
        """Check a document as it is now. Raises `NotOpen`, and `OutOfDate` when it is edited meanwhile."""
        snapshot = self.documents.snapshot(key)
        known = self.result(key)
        if known is not None and not known.outdated:
            return known
        pending = self._pending.get(key)
        if pending is None or pending.snapshot.revision != snapshot.revision:
            pending = self._begin(snapshot, urgency)
        pending.waiters += 1
        try:
            checked = await asyncio.shield(asyncio.wrap_future(pending.job.future))
        except Superseded:
            raise OutOfDate(key) from None
        finally:
            pending.waiters -= 1
            if pending.waiters == 0:
                if not pending.job.future.done():
                    pending.job.cancel()  # everybody who wanted it has cancelled
                if self._pending.get(key) is pending:
                    del self._pending[key]
        if not self.documents.is_current(snapshot):
            raise OutOfDate(key)
        if self._results.get(key) is not checked:
            changed = max((self._edited.get(path, 0) for path in checked.uses), default=0)
            checked.outdated = max(changed, self._everything_changed) > pending.since
            checked.take_number_of(self._results.get(key))
            self._results[key] = checked
            if checked.outdated:
                self._check_later()
        return checked

    def _begin(self, snapshot: Snapshot, urgency: int) -> _Pending:
        older = self._pending.get(snapshot.key)
        if older is not None:
            older.job.stop.set()
        client, settings_of = self._settings_for(snapshot)
        job = self.worker.submit(lambda stop: self.checker.check(snapshot, client, settings_of, stop), urgency)
        pending = self._pending[snapshot.key] = _Pending(snapshot, job, self._clock)
        return pending

    # -- what happens ------------------------------------------------------------------------------------------------

    def edited(self, key: str) -> None:
        """A document was opened or edited, or its notebook's cells came and went."""
        parts = self.documents.snapshot(key).parts
        self._note(key, parts[0].text if parts else None)
        pending = self._pending.get(key)
        if pending is not None and not self.documents.is_current(pending.snapshot):
            pending.job.stop.set()
        if self.pushes(key):
            self.push(key)

    def closed(self, key: str) -> None:
        """A document is no longer open."""
        self._note(key, None)
        pending = self._pending.get(key)
        if pending is not None:
            pending.job.stop.set()
        self._results.pop(key, None)
        self.worker.submit(lambda stop: self.checker.forget(key), SOON)

    def _note(self, key: str, text: str | None) -> None:
        if not key.startswith("file:") or self.documents.is_notebook(key):
            return
        path = path_of(key)
        self.checker.note_edit(path, text)
        self._clock += 1
        self._edited[path] = self._clock
        for known in self._results.values():
            if path in known.uses:
                known.outdated = True
                self._check_later()

    def changed_on_disk(self, paths: Iterable[Path] | None) -> None:
        """Files were written, created or deleted by somebody else; None: nobody knows which."""
        self.checker.note_disk(paths)
        self.everything_changed()

    def look_at_disk(self) -> None:
        """Find out what changed on disk, for editors that do not watch files."""
        stamps = self._settings_stamps()
        if stamps != self._seen_settings:
            self._seen_settings = stamps
            self.reread_settings()
        job = self.worker.submit(lambda stop: self.checker.changed_files(), SOON)
        loop = asyncio.get_running_loop()
        job.future.add_done_callback(lambda done: loop.call_soon_threadsafe(self._found_changes, done))

    def _found_changes(self, done: Future[set[Path]]) -> None:
        if not done.cancelled() and done.exception() is None and done.result():
            self.everything_changed()

    def _settings_stamps(self) -> dict[Path, float]:
        """When each settings file that may matter was written."""
        inner = {path_of(key).parent for key in self.documents.open_keys()} | set(self.folders)
        stamps = {}
        for folder in inner.union(*(below.parents for below in inner)):
            for name in FILE_NAMES:
                with suppress(OSError):
                    stamps[folder / name] = (folder / name).stat().st_mtime
        return stamps

    def everything_changed(self) -> None:
        """Nothing that was found can be relied upon."""
        self._clock += 1
        self._everything_changed = self._clock
        for known in self._results.values():
            known.outdated = True
        self._check_later()

    def _check_later(self) -> None:
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().call_later(LATER, self._check_again)

    def _check_again(self) -> None:
        self._waiting = None
        asked = False
        for key in self.documents.open_keys():
            known = self._results.get(key)
            if known is not None and not known.outdated:
                continue
            if self.pushes(key):
                self.push(key, SOON)
            else:
                asked = True
        if asked:
            self._ask_again()

    # -- pushing -----------------------------------------------------------------------------------------------------

    def push(self, key: str, urgency: int = NOW) -> None:
        """See to it that the editor gets the newest result."""
        if key not in self._pushing:
            self._pushing[key] = asyncio.get_running_loop().create_task(self._push(key, urgency))

    async def _push(self, key: str, urgency: int) -> None:
        try:
            await self._push_until_current(key, urgency)
        finally:
            # At once, not when the task is reported to be done: an edit could come in between and be passed over.
            self._pushing.pop(key, None)

    async def _push_until_current(self, key: str, urgency: int) -> None:
        while True:
            try:
                checked = await self.checked(key, urgency)
            except OutOfDate:
                continue
            except NotOpen:
                return
            self._publish(checked)
            # Nothing is awaited after the last look, so no edit can slip in between.
            if self.documents.is_current(checked.snapshot) and not checked.outdated:
                return

    def close(self) -> None:
        """Stop working."""
        self.worker.close()
