"""Outcomes as plain data and back. Paths are left out: the file is the one that was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from devicefix.engine.outcome import Outcome
from devicefix.findings import Applicability, Finding, Fix, Position, Related, Span, TextEdit


def as_data(outcome: Outcome) -> list[Any]:
    """The findings of a checked file, without syntax trees."""
    edits = None if outcome.edits is None else [[[e.start, e.end, e.replacement] for e in own] for own in outcome.edits]
    return [
        [_finding(finding, outcome.path) for finding in outcome.findings],
        [[cell, line, text] for (cell, line), text in (outcome.lines or {}).items()],
        edits,
        outcome.notebook,
        outcome.scopes,
    ]


def outcome_of(data: list[Any], path: Path | str) -> Outcome:
    """The inverse of `as_data`, for the file as it is called in this run. Raises for data that it did not make."""
    findings, lines, edits, notebook, scopes = data
    name = str(path)
    return Outcome(
        name,
        [_read_finding(row, name) for row in findings],
        [],
        [],
        lines={(cell, line): text for cell, line, text in lines},
        edits=None if edits is None else [[TextEdit(*edit) for edit in own] for own in edits],
        notebook=notebook,
        scopes=scopes,
    )


def _finding(finding: Finding, path: str) -> list[Any]:
    fix = finding.fix
    return [
        finding.code,
        finding.name,
        finding.message,
        _span(finding.span),
        [fix.title, fix.applicability.value, fix.reason, fix.group] if fix is not None else None,
        [["" if r.path == path else r.path, _span(r.span), r.message] for r in finding.related],
        finding.note,
    ]


def _read_finding(row: list[Any], path: str) -> Finding:
    code, name, message, span, fix, related, note = row
    made = None
    if fix is not None:
        title, level, reason, group = fix
        made = Fix(title, Applicability(level), (), reason, group)
    others = tuple(Related(where or path, _read_span(place), text) for where, place, text in related)
    return Finding(code, name, message, path, _read_span(span), made, others, note)


def _span(span: Span) -> list[int]:
    return [span.start.line, span.start.column, span.end.line, span.end.column, span.cell]


def _read_span(row: list[int]) -> Span:
    line, column, end_line, end_column, cell = row
    return Span(Position(line, column), Position(end_line, end_column), cell)
