"""From a source to its findings."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from devicefix.engine import suppress
from devicefix.engine.errors import FileError
from devicefix.engine.results import CheckResult
from devicefix.engine.selection import adjusted, ignored_for, selected_rules
from devicefix.settings import Settings
from devicefix.source.errors import SourceError
from devicefix.source.text import SourceText

if TYPE_CHECKING:
    from devicefix.analysis.project import Project
    from devicefix.analysis.relevance import Relevance
    from devicefix.findings import Finding
    from devicefix.rules.base import Rule

Analyse = Callable[..., Any]  #: (source, *, project, settings) -> FileFacts


def known_rules(rules: Sequence[Rule] | None = None) -> tuple[Rule, ...]:
    """All rules, with those that belong to the engine itself."""
    if rules is None:
        from devicefix.rules import all_rules

        rules = all_rules()
    return (*rules, suppress.UNUSED)


def check_source(
    source: SourceText,
    *,
    project: Project | Callable[[], Project | None] | None = None,
    settings: Settings | None = None,
    rules: Sequence[Rule] | None = None,
    analyse: Analyse | None = None,
) -> CheckResult:
    """Find what is wrong in one source. Never raises for what the source holds: errors are in the result.

    ``project`` may be a function that makes it, for it takes time to load and many files need none.
    ``rules`` and ``analyse`` default to the built-in ones. Raises `UnknownRule` for settings that name no rule.
    """
    settings = settings or Settings()
    result = CheckResult(source)
    collecting = gc.isenabled()
    gc.disable()  # a syntax tree has no cycles, and the collector would walk it again and again while it grows
    try:
        if project is not None and not callable(project):
            project.share_tree(source)
        source.tree()
        later = suppress.only_for_others(source)
        found = [] if later else suppress.directives(source)
        if suppress.ignores_file(found):
            return result
        nothing, relevance = _glance(source) if analyse is None else (False, None)
        if nothing and not found and rules is None and not settings.selectors:
            if project is not None and not callable(project):
                project.add(source.path, source)  # others may import it
            return result
        known = known_rules(rules)
        active = _active(source, settings, known)
        made = project() if callable(project) else project
        findings = _run_rules(source, made, settings, active, analyse, relevance, result)
        if later and findings:
            found = suppress.directives(source)
    except SourceError as error:
        result.errors.append(FileError.of(error))
        return result
    finally:
        if collecting:
            gc.enable()
    findings = suppress.without_suppressed(source, findings, found)
    if found and any(rule.code == suppress.UNUSED.code for rule in active):
        findings += suppress.unused(source, found, active, known)
    result.findings = [_checked(adjusted(f, settings, known), source) for f in _in_order(findings)]
    return result


def _glance(source: SourceText) -> tuple[bool, Relevance | None]:
    """Whether the tree shows that nothing can be found, and what was seen of it. Raises `SourceError`."""
    from devicefix.analysis.prefilter import glance

    try:
        return glance(source)
    except SourceError:
        raise
    except Exception:  # the analysis meets it again, and reports it
        return False, None


def _active(source: SourceText, settings: Settings, known: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules that run on a file."""
    active = selected_rules(settings, known)
    if settings.per_file_ignores:
        off = ignored_for(source.path, settings, known)
        active = tuple(rule for rule in active if rule.code not in off)
    return active


def _run_rules(
    source: SourceText,
    project: Project | None,
    settings: Settings,
    active: Sequence[Rule],
    analyse: Analyse | None,
    relevance: Relevance | None,
    result: CheckResult,
) -> list[Finding]:
    if analyse is None:
        from functools import partial

        from devicefix.analysis import analyse as built_in

        analyse = partial(built_in, relevance=relevance)
    if project is None:
        project = _project_of(source)
    try:
        facts = analyse(source, project=project, settings=settings)
    except SourceError:
        raise
    except Exception as error:  # a fault of ours in one file must not stop the others
        result.errors.append(_internal(source, "the analysis", error))
        return []
    findings: list[Finding] = []
    if getattr(facts, "silent", False):
        return findings
    for rule in active:
        try:
            findings.extend(rule.check(facts))
        except Exception as error:
            result.errors.append(_internal(source, f"{rule.code} {rule.name}", error))
    return findings


def _project_of(source: SourceText) -> Any:
    try:
        from devicefix.analysis.project import Project
    except ImportError:
        return None
    return Project([source.path.parent], None)


def _internal(source: SourceText, what: str, error: Exception) -> FileError:
    kind = type(error).__name__
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" at {at.tb_frame.f_code.co_name}:{at.tb_lineno}" if at else ""
    return FileError(source.name, f"internal error in {what}: {kind}: {error}{where}".replace("\n", " "))


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.span.cell, f.span.start, f.code, f.span.end, f.message))


def _checked(finding: Finding, source: SourceText) -> Finding:
    """A fix that is known to be impossible becomes a note at once, without loading the rewriting machinery."""
    if finding.fix is None:
        return finding
    from devicefix.codemods.precheck import why_not

    reason = why_not(source, finding.fix.changes)
    return withdrawn(finding, reason) if reason else finding


def withdrawn(finding: Finding, reason: str) -> Finding:
    """The finding as a report, with the reason why there is no fix."""
    from dataclasses import replace

    return replace(finding, fix=None, note=f"not rewritten: {reason}")
