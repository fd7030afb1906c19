"""Checks what is open, and keeps what the next check can use. Everything here runs in the worker's thread."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devicefix.config.errors import ConfigError
from devicefix.engine.check import check_source
from devicefix.engine.errors import UnknownRule
from devicefix.engine.results import CheckResult
from devicefix.lsp.client_settings import ClientSettings
from devicefix.lsp.project import EditorProject
from devicefix.lsp.sources import source_of
from devicefix.lsp.text_edits import common_prefix, common_suffix
from devicefix.settings import Settings
from devicefix.source.discover import SKIPPED_FOLDERS
from devicefix.source.errors import SourceError
from devicefix.source.ignore import Patterns
from devicefix.source.text import SourceText

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.findings import Finding
    from devicefix.lsp.documents import Snapshot
    from devicefix.lsp.worker import Stop
    from devicefix.rules.base import Rule

_numbers = itertools.count(1)
KEEP_FACTS = 4  #: for how many documents everything that the analysis found out is kept


@dataclass(frozen=True)
class Placed:
    """A finding and its offsets in the text of its source."""

    finding: Finding
    start: int
    end: int


@dataclass(eq=False)
class Checked:
    """What came out of a check."""

    snapshot: Snapshot
    settings: Settings = field(default_factory=Settings)
    result: CheckResult | None = None  #: None when there is nothing that could be fixed
    placed: tuple[Placed, ...] = ()
    stale: bool = False  #: the findings are those from before the file stopped being valid Python
    uses: frozenset[Path] = frozenset()  #: other files that it depends on
    complaint: str = ""  #: a mistake in the settings, for the user
    faults: tuple[str, ...] = ()  #: faults of ours, for the log
    facts: FileFacts | None = None  #: of the last few checks only; they are large
    outdated: bool = False  #: a file that it depends on has changed since
    number: int = field(default_factory=lambda: next(_numbers))  #: names the result to the editor

    def take_number_of(self, other: Checked | None) -> None:
        """Go by the number of an earlier result of the same text that found the same."""
        if other is not None and other.snapshot.revision == self.snapshot.revision and other._shown == self._shown:
            self.number = other.number

    @property
    def _shown(self) -> object:
        def fix(finding: Finding) -> object:
            return finding.fix and (finding.fix.title, finding.fix.applicability, finding.fix.reason, finding.fix.group)

        found = [
            (p.start, p.end, p.finding.code, p.finding.message, p.finding.note, fix(p.finding)) for p in self.placed
        ]
        return self.stale, found


@dataclass(frozen=True)
class _Good:
    """The last findings of a file that could be parsed."""

    text: str
    placed: tuple[Placed, ...]


class Checker:
    """Checks snapshots; keeps one project per folder of the workspace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._edits: dict[Path, str | None] = {}
        self._disk: set[Path] | None = set()  #: changed files; None: look at all
        self._folders: tuple[Path, ...] = ()
        self._projects: dict[Path | None, EditorProject] = {}
        self._open: dict[Path, str] = {}
        self._good: dict[str, _Good] = {}
        self._with_facts: deque[Checked] = deque()

    # -- called from the event loop ----------------------------------------------------------------------------------

    def set_folders(self, folders: Sequence[Path]) -> None:
        """The folders of the workspace; what is known is dropped."""
        with self._lock:
            self._folders = tuple(sorted(set(folders), key=lambda folder: len(folder.parts), reverse=True))
            self._projects = {}

    def note_edit(self, path: Path, text: str | None) -> None:
        """A buffer has a new text, or was closed (None)."""
        with self._lock:
            self._edits[path] = text

    def note_disk(self, paths: Iterable[Path] | None) -> None:
        """Files have changed on disk; None: nobody knows which."""
        with self._lock:
            if paths is None or self._disk is None:
                self._disk = None
            else:
                self._disk.update(paths)

    # -- called in the worker's thread -------------------------------------------------------------------------------

    def forget(self, key: str) -> None:
        """Drop what is kept for a closed document."""
        self._good.pop(key, None)
        self._with_facts = deque(c for c in self._with_facts if c.snapshot.key != key)

    def changed_files(self) -> set[Path]:
        """Files around the open ones that were changed on disk since they were read."""
        self.project_for(Path())
        return {path for project in list(self._projects.values()) for path in project.changed_on_disk()}

    def project_for(self, path: Path) -> EditorProject:
        """The up-to-date project of a file."""
        with self._lock:
            edits, self._edits = self._edits, {}
            disk, self._disk = self._disk, set()
            root = next((folder for folder in self._folders if path.is_relative_to(folder)), None)
            for edited, text in edits.items():
                if text is None:
                    self._open.pop(edited, None)
                else:
                    self._open[edited] = text
            if root not in self._projects:
                self._projects[root] = made = EditorProject([root] if root is not None else [])
                made.overlay.update(self._open)
            projects = list(self._projects.values())
        for project in projects:
            for edited, text in edits.items():
                project.edited(edited, text)
            if disk is None or disk:
                project.changed_on_disk(disk)
        return self._projects[root]

    def check(self, snapshot: Snapshot, client: ClientSettings, settings_of: SettingsOf, stop: Stop) -> Checked:
        """Check a snapshot. Never raises for what it holds; raises `Stopped`."""
        stop.check()
        project = self.project_for(snapshot.path)
        if not client.enable or not snapshot.parts:
            return self._keep(Checked(snapshot))
        try:
            settings = settings_of(snapshot.path)
            if _is_left_out(snapshot.path, settings, self._folders):
                return self._keep(Checked(snapshot, settings))
            return self._keep(self._check(snapshot, settings, project, stop))
        except (ConfigError, UnknownRule) as error:
            return Checked(snapshot, complaint=str(error))

    def _check(self, snapshot: Snapshot, settings: Settings, project: EditorProject, stop: Stop) -> Checked:
        try:
            source = source_of(snapshot)
        except SourceError as error:
            return Checked(snapshot, settings, faults=(str(error),))
        if not _worth_parsing(source.raw):
            return Checked(snapshot, settings)
        kept: list[FileFacts] = []

        def analyse(source: SourceText, *, project: Any, settings: Settings) -> FileFacts:
            from devicefix.analysis import analyse as built_in

            stop.check()
            facts = built_in(source, project=project, settings=settings)
            kept.append(facts)
            return facts

        path = snapshot.path.absolute()
        project.pause = stop.check
        project.dependencies.pop(path, None)
        try:
            result = check_source(
                source, project=project, settings=settings, rules=stoppable_rules(stop), analyse=analyse
            )
        finally:
            project.pause = lambda: None
        faults = tuple(str(error) for error in result.errors)
        if not _is_valid(source):
            return Checked(snapshot, settings, placed=self._from_before(snapshot.key, source.text), stale=True)
        return Checked(
            snapshot,
            settings,
            result,
            tuple(_placed(source, finding) for finding in result.findings),
            uses=project.uses_of(path),
            faults=faults,
            facts=kept[0] if kept else None,
        )

    def _keep(self, checked: Checked) -> Checked:
        if checked.facts is not None:
            older = [c for c in self._with_facts if c.snapshot.key == checked.snapshot.key]
            self._with_facts.append(checked)
            for other in older or ([self._with_facts[0]] if len(self._with_facts) > KEEP_FACTS else []):
                other.facts = None
                self._with_facts.remove(other)
        if not checked.stale:
            text = checked.result.source.text if checked.result is not None else ""
            self._good[checked.snapshot.key] = _Good(text, checked.placed)
        return checked

    def _from_before(self, key: str, text: str) -> tuple[Placed, ...]:
        """The last good findings outside the text that changed since, where they are now."""
        good = self._good.get(key)
        if good is None:
            return ()
        head = common_prefix(good.text, text)
        tail = common_suffix(good.text, text, head)
        moved = len(text) - len(good.text)
        kept = []
        for placed in good.placed:
            if placed.end <= head:
                kept.append(placed)
            elif placed.start >= len(good.text) - tail:
                kept.append(replace(placed, start=placed.start + moved, end=placed.end + moved))
        return tuple(kept)


SettingsOf = Callable[[Path], Settings]


def _placed(source: SourceText, finding: Finding) -> Placed:
    span = finding.span
    return Placed(finding, source.offset_at(span.start, span.cell), source.offset_at(span.end, span.cell))


def _is_valid(source: SourceText) -> bool:
    try:
        source.tree()
    except SourceError:
        return False
    return True


def _worth_parsing(raw: bytes) -> bool:
    from devicefix.analysis.prefilter import may_have_findings

    # A suppression that hides nothing is a finding as well.
    return may_have_findings(raw) or b"devicefix" in raw or b"DVF" in raw


def _is_left_out(path: Path, settings: Settings, folders: Sequence[Path]) -> bool:
    """Whether a run over the workspace would pass over this file."""
    root = next((folder for folder in folders if path.is_relative_to(folder)), None)
    inside = path.relative_to(root).parts[:-1] if root is not None else ()
    if any(name in SKIPPED_FOLDERS or name.startswith(".") for name in inside):
        return True
    if root is None and {"site-packages", "dist-packages"} & set(path.parts):
        return True
    if not settings.exclude:
        return False
    excluded = Patterns(settings.exclude, Path(settings.root or root or path.parent))
    return any(excluded.match(place, is_dir=place != path) for place in (path, *path.parents))


@cache
def _all_rules() -> tuple[Rule, ...]:
    from devicefix.rules import all_rules

    return all_rules()


def stoppable_rules(stop: Stop) -> list[Rule]:
    """The rules, each an opportunity to stop."""

    def stoppable(rule: Rule) -> Rule:
        def check(facts: FileFacts) -> Iterator[Finding]:
            stop.check()
            return rule.check(facts)

        return replace(rule, check=check)

    return [stoppable(rule) for rule in _all_rules()]
