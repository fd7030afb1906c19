"""Which findings of a run are of interest: not those that were known before, only those on new lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from devicefix.engine.outcome import Outcome
from devicefix.engine.results import CheckResult
from devicefix.engine.scopes import scopes_of
from devicefix.findings import Finding


@dataclass(frozen=True)
class Seen:
    """The findings of one file with what a filter goes by: the text of their lines and the names of their scopes."""

    path: str
    notebook: bool
    findings: Sequence[Finding]
    lines: Sequence[str]
    scopes: Sequence[str]


class Filter(Protocol):
    """Decides for each finding of a file whether it is hidden."""

    def hidden(self, seen: Seen) -> list[bool]:
        """One answer per finding."""
        ...


def seen_in(result: CheckResult) -> Seen:
    """The findings of a check, for a filter."""
    source, findings = result.source, result.findings
    lines = [source.line_text(finding.span) for finding in findings]
    return Seen(source.name, source.is_notebook, findings, lines, scopes_of(source, findings))


def seen_of(outcome: Outcome) -> Seen:
    """The findings of an outcome, for a filter."""
    lines = [(outcome.lines or {}).get((f.span.cell, f.span.start.line), "") for f in outcome.findings]
    scopes = outcome.scopes or [""] * len(outcome.findings)
    return Seen(outcome.path, outcome.notebook, outcome.findings, lines, scopes)


def hidden_by(filters: Sequence[Filter], seen: Seen) -> list[bool]:
    """Whether any filter hides each finding."""
    answers = [one.hidden(seen) for one in filters]
    return [any(own) for own in zip(*answers, strict=True)] if answers else [False] * len(seen.findings)


def apply(filters: Sequence[Filter], outcome: Outcome) -> Outcome:
    """Take the hidden findings out of the outcome of a check."""
    if not filters or not outcome.findings:
        return outcome
    keep = [not gone for gone in hidden_by(filters, seen_of(outcome))]
    outcome.hidden += keep.count(False)
    outcome.findings = [f for f, kept in zip(outcome.findings, keep, strict=True) if kept]
    if outcome.scopes is not None:
        outcome.scopes = [s for s, kept in zip(outcome.scopes, keep, strict=True) if kept]
    if outcome.edits is not None:
        outcome.edits = [e for e, kept in zip(outcome.edits, keep, strict=True) if kept]
    return outcome
