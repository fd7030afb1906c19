"""Many files: find them, check or fix each, and hand the outcomes over in order."""

from __future__ import annotations

import contextlib
import gc
import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from devicefix.engine.errors import FileError, UnknownRule
from devicefix.engine.outcome import Outcome, Used
from devicefix.engine.projects import Projects
from devicefix.findings import Finding
from devicefix.settings import Settings
from devicefix.source.discover import discover
from devicefix.source.errors import DiscoveryError, SourceError
from devicefix.source.load import load_source, read_bytes
from devicefix.source.stamps import NO_STAMP, Stamp, stamp_of

if TYPE_CHECKING:
    from devicefix.analysis.trace import Trace
    from devicefix.engine.cache import Cache
    from devicefix.engine.check import Analyse
    from devicefix.engine.filters import Filter
    from devicefix.engine.results import CheckResult
    from devicefix.rules.base import Rule
    from devicefix.source.text import SourceText

_SUPPRESSION = re.compile(rb"devicefix\s*:|DVF\d", re.IGNORECASE)

SettingsOf = Callable[["Path | str"], Settings]
Mode = Literal["check", "diff", "write", "ignore"]


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
    traced: bool = False  #: whether outcomes tell what they came from
    filters: tuple[Filter, ...] = ()  #: findings that they hide are neither reported nor repaired

    def settings_for(self, path: Path | str) -> Settings:
        """The settings that hold for a file."""
        return self.settings_of(path) if self.settings_of else self.settings


def run(
    paths: Iterable[Path | str],
    settings: Settings,
    mode: Mode = "check",
    *,
    want_edits: bool = False,
    rules: Sequence[Rule] | None = None,
    analyse: Analyse | None = None,
    settings_of: SettingsOf | None = None,
    cache: Callable[[], Path] | None = None,
    filters: Sequence[Filter] = (),
    on_total: Callable[[int], None] | None = None,
) -> Iterator[Outcome]:
    """The outcome of every file, in the order of discovery. One broken file never stops the rest.

    ``settings_of`` gives the settings for a path where they differ. ``cache`` tells the folder in which results are kept; None: nowhere. ``on_total`` is told the number of files.

    ``write`` writes each file as soon as its fixes are proven. Raises `UnknownRule` before any file is read, and so do
    the errors of ``settings_of`` come first.
    """
    check_selectors(settings, rules)
    paths = list(paths)
    traced = cache is not None and rules is None and analyse is None
    roots = tuple(str(path) for path in paths)
    job = Job(settings, mode, want_edits, rules, analyse, roots, settings_of, traced, tuple(filters))
    gc.freeze()  # what was imported stays; the collector need not look at it again
    found: list[Path | DiscoveryError] = []
    for path in paths:
        own = settings_of(path) if settings_of else settings
        check_selectors(own, rules)
        found += discover([path], own)
    found = _once(found)
    files = [item for item in found if isinstance(item, Path)]
    if settings_of:
        for folder in dict.fromkeys(file.parent for file in files):
            check_selectors(settings_of(folder), rules)
    if on_total is not None:
        on_total(len(found))
    failures = [item if isinstance(item, DiscoveryError) else None for item in found]
    outcomes = _through_cache(files, job, cache) if cache is not None and traced else outcomes_of(files, job)
    del found, files  # paths of many files take much room, which those that are done give back
    with contextlib.closing(outcomes):
        for failure in failures:
            yield _failed(failure) if failure is not None else _filtered(next(outcomes), job)


def _filtered(outcome: Outcome, job: Job) -> Outcome:
    """The outcome of a check without hidden findings; where something was changed, they were left out before."""
    if not job.filters or not (job.mode == "check" or outcome.cached):
        return outcome
    from devicefix.engine.filters import apply

    apply(job.filters, outcome)
    _count_unsafe(outcome, job.settings_for(outcome.path))
    return outcome


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


def outcomes_of(files: Sequence[Path], job: Job) -> Generator[Outcome, None, None]:
    """The outcomes of files, from this process or from workers."""
    from devicefix.engine.workers import parallel, worth_it

    jobs = worth_it(files, job)
    if jobs > 1:
        yield from parallel(files, job, jobs)
        return
    projects = Projects(job)
    waiting = deque(files)
    del files
    with collected_by_hand():
        while waiting:
            yield process(waiting.popleft(), job, projects)


@contextlib.contextmanager
def collected_by_hand() -> Iterator[None]:
    """Keep the collector from looking at all syntax trees again and again; `Projects` runs it now and then."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _through_cache(files: Sequence[Path], job: Job, folder: Callable[[], Path]) -> Generator[Outcome, None, None]:
    """The outcomes of files, as far as possible from the cache. What is new goes into it, even if the run is stopped."""
    if len(files) < CACHED_FROM:
        yield from outcomes_of(files, replace(job, traced=False))
        return
    from devicefix.engine.cache import Cache

    cache = Cache(folder(), job.roots, job.settings)
    known = {file: outcome for file in files if (outcome := _known(cache, file, job)) is not None}
    computed = outcomes_of([file for file in files if file not in known], job)
    try:
        for file in files:
            outcome = known.pop(file, None)
            if outcome is None:
                outcome = next(computed)
                cache.add(file, job.settings_for(file), outcome)
            yield outcome
    finally:
        computed.close()
        cache.save()


#: runs over fewer files are done before a cache has been read
CACHED_FROM = 2


def _known(cache: Cache, file: Path, job: Job) -> Outcome | None:
    settings = job.settings_for(file)
    outcome = cache.find(file, settings, fixing=job.mode in ("diff", "write"), edits=job.want_edits)
    if outcome is None or (job.mode == "ignore" and outcome.findings):
        return None
    if outcome.findings and job.want_edits:
        try:
            source = load_source(read_bytes(file), file)
        except SourceError:
            return None
        outcome.text, outcome.cells = source.text, source.cell_starts
    _count_unsafe(outcome, settings)
    return outcome


def _count_unsafe(outcome: Outcome, settings: Settings) -> None:
    from devicefix.findings import Applicability

    if not settings.unsafe_fixes:
        outcome.more_unsafe = sum(f.applicability is Applicability.UNSAFE for f in outcome.findings)


def process(path: Path, job: Job, projects: Projects | None = None) -> Outcome:
    """Read and treat one file."""
    stamp = stamp_of(path)
    try:
        raw = read_bytes(path)
    except SourceError as error:
        return Outcome(str(path), [], [FileError.of(error)], [])
    outcome = process_bytes(raw, path, job, projects, stamp)
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


def process_bytes(
    raw: bytes, path: Path | str, job: Job, projects: Projects | None = None, stamp: Stamp = NO_STAMP
) -> Outcome:
    """Treat the bytes of one file, as read from disk or from standard input; nothing is written."""
    if job.analyse is None and not _may_have_findings(raw):
        if str(path).endswith(".ipynb"):  # it may be damaged, which no search in its bytes tells
            try:
                load_source(raw, path)
            except SourceError as error:
                return Outcome(str(path), [], [FileError.of(error)], [])
        skipped = Outcome(str(path), [], [], [], skipped=True)
        if job.traced:
            skipped.used = _used(raw, stamp, None)
        return skipped
    try:
        source = load_source(raw, path)
    except SourceError as error:
        return Outcome(str(path), [], [FileError.of(error)], [])
    try:
        if projects is not None and stamp != NO_STAMP:
            projects.stamp(source.path, stamp)
        outcome = treat(source, job, projects)
        if job.traced and projects is not None and not outcome.hidden:
            outcome.used = _used(raw, stamp, projects.trace)
        if projects is not None:
            projects.done(source.path, len(raw))
        return outcome
    except UnknownRule:
        raise
    except Exception as error:  # one broken file never stops the rest
        message = f"internal error: {type(error).__name__}: {error}".replace("\n", " ")
        return Outcome(str(path), [], [FileError(str(path), message)], [])


def _used(raw: bytes, stamp: Stamp, trace: Trace | None) -> Used:
    from devicefix.engine.cache.fingerprint import digest

    if trace is None:
        return Used(stamp, digest(raw))
    return Used(
        stamp,
        digest(raw),
        tuple((path, *seen) for path, seen in trace.read.items()),
        tuple(trace.present),
        tuple(trace.absent),
    )


def _may_have_findings(raw: bytes) -> bool:
    from devicefix.analysis.prefilter import may_have_findings

    # A suppression that hides nothing is a finding as well.
    return may_have_findings(raw) or _SUPPRESSION.search(raw) is not None


def treat(source: SourceText, job: Job, projects: Projects | None = None) -> Outcome:
    """Check or fix one source; nothing is written. Raises `UnknownRule` for settings that name no rule."""
    from devicefix.engine.check import check_source

    settings = job.settings_for(source.path)
    ready = projects.ready if projects is not None else None
    result = check_source(source, project=ready, settings=settings, rules=job.rules, analyse=job.analyse)
    hidden = _hide(result, job)
    outcome = Outcome(source.name, result.findings, list(result.errors), [], notebook=source.is_notebook)
    outcome.hidden = len(hidden)
    if hidden:
        outcome.findings = [finding for finding in result.findings if finding not in hidden]
    shown = source
    if job.mode == "ignore" and outcome.findings:
        _ignore(source, outcome)
    elif job.mode in ("diff", "write") and any(finding.fix for finding in outcome.findings):
        from devicefix.engine.fix import fix_source

        project = projects.get() if projects is not None else None
        fixed = fix_source(
            source,
            project=project,
            settings=settings,
            rules=job.rules,
            analyse=job.analyse,
            checked=result,
            leave=hidden,
        )
        if project is not None:
            project.forget(source.path)  # it has seen texts that were tried
            if fixed.changed and job.mode == "diff":
                project.overlay[source.path.absolute()] = fixed.source.text  # what other files would see
        outcome.errors = list(fixed.errors)
        outcome.applied = [_without_changes(finding) for finding in fixed.applied]
        if fixed.changed:
            outcome.new_raw = fixed.source.raw
            if job.mode == "diff":
                from devicefix.engine.diff import unified_diff

                outcome.diff = unified_diff(source, fixed.source)
        outcome.findings = fixed.remaining
        shown = fixed.source
    _count_unsafe(outcome, settings)
    if outcome.findings:
        from devicefix.engine.scopes import scopes_of

        outcome.scopes = scopes_of(shown, outcome.findings)
    outcome.lines = {(f.span.cell, f.span.start.line): shown.line_text(f.span) for f in outcome.findings}
    if job.want_edits and outcome.findings:
        from devicefix.engine.results import CheckResult

        asked = CheckResult(shown, outcome.findings)
        outcome.edits = [asked.edits_for(finding) for finding in outcome.findings]
        outcome.text, outcome.cells = shown.text, shown.cell_starts
    outcome.findings = [_without_changes(finding) for finding in outcome.findings]
    return outcome


def _hide(result: CheckResult, job: Job) -> list[Finding]:
    """The findings that filters hide where something is to be changed; a mere check is filtered afterwards."""
    if not job.filters or job.mode == "check":
        return []
    from devicefix.engine.filters import hidden_by, seen_in

    answers = hidden_by(job.filters, seen_in(result))
    return [finding for finding, gone in zip(result.findings, answers, strict=True) if gone]


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
