"""Many files: find them, check or fix each, and hand the outcomes over in order."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from devicefix.engine.errors import FileError, UnknownRule
from devicefix.findings import Finding, TextEdit
from devicefix.settings import Settings
from devicefix.source.discover import discover
from devicefix.source.errors import DiscoveryError, SourceError
from devicefix.source.load import load_source, read_bytes

if TYPE_CHECKING:
    from devicefix.analysis.project import Project
    from devicefix.engine.check import Analyse
    from devicefix.rules.base import Rule
    from devicefix.source.text import SourceText

_SUPPRESSION = re.compile(rb"devicefix\s*:|DVF\d", re.IGNORECASE)

SettingsOf = Callable[["Path | str"], Settings]
Mode = Literal["check", "diff", "write", "ignore"]


@dataclass
class Outcome:
    """What became of one file. It holds no syntax trees, so that it can cross from one process to another."""

    path: str
    findings: list[Finding]  #: of the text as it is on disk after the run
    errors: list[FileError]
    applied: list[Finding]
    diff: str = ""
    lines: dict[tuple[int, int], str] | None = None  #: (cell, line) -> text of the lines that findings start on
    text: str | None = None  #: the text that ``edits`` refer to, when they were asked for
    edits: list[list[TextEdit]] | None = None  #: for each finding the edits of its fix, when they were asked for
    notebook: bool = False
    new_raw: bytes | None = None  #: the bytes after the fixes, if they differ
    ignored: int = 0  #: how many suppressions were written
    skipped: bool = False  #: whether a look at the bytes was enough
    more_unsafe: int = 0  #: how many findings only ``--unsafe-fixes`` would repair


@dataclass(frozen=True)
class Job:
    """How each file is treated. ``settings_of`` may give other settings for some files."""

    settings: Settings
    mode: Mode = "check"
    want_edits: bool = False
    rules: Sequence[Rule] | None = None
    analyse: Analyse | None = None
    roots: tuple[str, ...] = ()
    settings_of: SettingsOf | None = None


def run(
    paths: Iterable[Path | str],
    settings: Settings,
    mode: Mode = "check",
    *,
    want_edits: bool = False,
    rules: Sequence[Rule] | None = None,
    analyse: Analyse | None = None,
    settings_of: SettingsOf | None = None,
) -> Iterator[Outcome]:
    """The outcome of every file, in the order of discovery. One broken file never stops the rest.

    ``settings_of`` gives the settings for a path where they differ; they must not differ in rules that do not exist.

    ``write`` writes each file as soon as its fixes are proven. Raises `UnknownRule` before any file is read.
    """
    check_selectors(settings, rules)
    paths = list(paths)
    job = Job(settings, mode, want_edits, rules, analyse, tuple(str(path) for path in paths), settings_of)
    gc.freeze()  # what was imported stays; the collector need not look at it again
    found: list[Path | DiscoveryError] = []
    for path in paths:
        own = settings_of(path) if settings_of else settings
        check_selectors(own, rules)
        found += discover([path], own)
    found = _once(found)
    files = [item for item in found if isinstance(item, Path)]
    outcomes = outcomes_of(files, job)
    for item in found:
        yield _failed(item) if isinstance(item, DiscoveryError) else next(outcomes)


def check_selectors(settings: Settings, rules: Sequence[Rule] | None) -> None:
    """Raises `UnknownRule` for the first selector of any setting that fits no rule.

    Without selectors the rules are not even loaded: that takes longer than most runs.
    """
    if settings.selectors:
        from devicefix.engine.check import known_rules
        from devicefix.engine.selection import expand

        expand(settings.selectors, known_rules(rules))


def _once(found: list[Path | DiscoveryError]) -> list[Path | DiscoveryError]:
    """Files that two of the given paths lead to are treated once."""
    seen: set[str] = set()
    kept: list[Path | DiscoveryError] = []
    for item in found:
        real = os.path.realpath(item) if isinstance(item, Path) else str(item)
        if real not in seen:
            seen.add(real)
            kept.append(item)
    return kept


def _failed(error: DiscoveryError) -> Outcome:
    return Outcome(error.path, [], [FileError(error.path, error.message)], [])


def outcomes_of(files: Sequence[Path], job: Job) -> Iterator[Outcome]:
    """The outcomes of files, from this process or from workers."""
    from devicefix.engine.workers import parallel, worth_it

    jobs = worth_it(files, job)
    if jobs > 1:
        yield from parallel(files, job, jobs)
        return
    projects = Projects(job)
    for file in files:
        yield process(file, job, projects)


class Projects:
    """The project that resolves imports between the files of one run; made when the first file needs it."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._project: Project | None = None

    def get(self) -> Project | None:
        """The project; None when somebody else's analysis is used."""
        if self._job.analyse is not None:
            return None
        if self._project is None:
            from devicefix.analysis.project import Project

            self._project = Project([Path(root) for root in self._job.roots], None)
        return self._project


def process(path: Path, job: Job, projects: Projects | None = None) -> Outcome:
    """Read and treat one file."""
    try:
        raw = read_bytes(path)
    except SourceError as error:
        return Outcome(str(path), [], [FileError.of(error)], [])
    outcome = process_bytes(raw, path, job, projects)
    if job.mode in ("write", "ignore") and outcome.new_raw is not None:
        from devicefix.source.write import write_atomically

        try:
            write_atomically(path, outcome.new_raw, expected=raw)
        except SourceError as error:
            outcome.errors.append(FileError.of(error))
            outcome.applied = []
            outcome.ignored = 0
            outcome.new_raw = None
    return outcome


def process_bytes(raw: bytes, path: Path | str, job: Job, projects: Projects | None = None) -> Outcome:
    """Treat the bytes of one file, as read from disk or from standard input; nothing is written."""
    if job.analyse is None and not _may_have_findings(raw):
        return Outcome(str(path), [], [], [], skipped=True)
    try:
        source = load_source(raw, path)
    except SourceError as error:
        return Outcome(str(path), [], [FileError.of(error)], [])
    try:
        return treat(source, job, projects.get() if projects else None)
    except UnknownRule:
        raise
    except Exception as error:  # one broken file never stops the rest
        message = f"internal error: {type(error).__name__}: {error}".replace("\n", " ")
        return Outcome(str(path), [], [FileError(str(path), message)], [])


def _may_have_findings(raw: bytes) -> bool:
    from devicefix.analysis.prefilter import may_have_findings

    # A suppression that hides nothing is a finding as well.
    return may_have_findings(raw) or _SUPPRESSION.search(raw) is not None


def treat(source: SourceText, job: Job, project: Project | None = None) -> Outcome:
    """Check or fix one source; nothing is written. Raises `UnknownRule` for settings that name no rule."""
    from devicefix.engine.check import check_source
    from devicefix.findings import Applicability

    settings = job.settings_of(source.path) if job.settings_of else job.settings
    result = check_source(source, project=project, settings=settings, rules=job.rules, analyse=job.analyse)
    outcome = Outcome(source.name, result.findings, list(result.errors), [], notebook=source.is_notebook)
    shown = source
    if job.mode == "ignore" and result.findings:
        _ignore(source, outcome)
    elif job.mode in ("diff", "write") and any(finding.fix for finding in result.findings):
        from devicefix.engine.fix import fix_source

        fixed = fix_source(
            source,
            project=project,
            settings=settings,
            rules=job.rules,
            analyse=job.analyse,
            checked=result,
        )
        outcome.errors = list(fixed.errors)
        outcome.applied = [_without_changes(finding) for finding in fixed.applied]
        if fixed.changed:
            outcome.new_raw = fixed.source.raw
            if job.mode == "diff":
                from devicefix.engine.diff import unified_diff

                outcome.diff = unified_diff(source, fixed.source)
        outcome.findings = fixed.remaining
        shown = fixed.source
    if not settings.unsafe_fixes:
        outcome.more_unsafe = sum(f.applicability is Applicability.UNSAFE for f in outcome.findings)
    outcome.lines = {(f.span.cell, f.span.start.line): shown.line_text(f.span) for f in outcome.findings}
    if job.want_edits and outcome.findings:
        from devicefix.engine.results import CheckResult

        asked = CheckResult(shown, outcome.findings)
        outcome.edits = [asked.edits_for(finding) for finding in outcome.findings]
        outcome.text = shown.text
    outcome.findings = [_without_changes(finding) for finding in outcome.findings]
    return outcome


def _ignore(source: SourceText, outcome: Outcome) -> None:
    from devicefix.engine.add_ignore import with_ignores

    try:
        new, left = with_ignores(source, outcome.findings)
    except SourceError as error:
        outcome.errors.append(FileError.of(error))
        return
    outcome.ignored = len(outcome.findings) - len(left)
    outcome.findings = left
    if new.raw != source.raw:
        outcome.new_raw = new.raw


def _without_changes(finding: Finding) -> Finding:
    """Changes hold syntax trees, which nobody needs any more and which are large to send."""
    if finding.fix is None:
        return finding
    return replace(finding, fix=replace(finding.fix, changes=()))
