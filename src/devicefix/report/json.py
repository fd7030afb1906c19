"""All findings as one JSON array; its fields are a stable interface."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from devicefix.engine.outcome import Outcome
from devicefix.findings import Finding, Position, Span, TextEdit
from devicefix.report.places import place_of, with_edits
from devicefix.report.style import Style
from devicefix.source.lines import LineIndex


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """An array of objects, one per finding.

    Lines and columns from 1 in code points, offsets from 0; ``end`` is exclusive. In notebooks they count inside a cell.
    """
    del style
    found = [record(finding, edits, outcome) for outcome in outcomes for finding, edits in with_edits(outcome)]
    yield json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def record(finding: Finding, edits: list[TextEdit], outcome: Outcome) -> dict[str, Any]:
    """One finding as plain data."""
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "path": finding.path,
        **_span(finding.span),
        "applicability": finding.applicability.value,
        "fix": _fix(finding, edits, outcome),
        "note": finding.note or None,
        "related": [{"path": r.path, **_span(r.span), "message": r.message} for r in finding.related],
    }


def _fix(finding: Finding, edits: list[TextEdit], outcome: Outcome) -> dict[str, Any] | None:
    if finding.fix is None:
        return None
    return {
        "title": finding.fix.title,
        "applicability": finding.fix.applicability.value,
        "reason": finding.fix.reason or None,
        "edits": [_edit(edit, outcome) for edit in edits],
    }


def _edit(edit: TextEdit, outcome: Outcome) -> dict[str, Any]:
    """One edit; in a notebook with its cell, and places inside that cell."""
    text, cell, base = outcome.text or "", 0, 0
    if outcome.cells:
        at = bisect_right([start for _, start in outcome.cells], edit.start) - 1
        cell, base = outcome.cells[at]
        if at + 1 < len(outcome.cells):
            text = text[: outcome.cells[at + 1][1] - 1]  # a line end that is in no cell stands between them
        text = text[base:]
    lines = LineIndex(text)
    start, end = edit.start - base, min(edit.end - base, len(text))
    return {
        "cell": cell or None,
        "start": _position(place_of(start, lines)),
        "end": _position(place_of(end, lines)),
        "start_offset": start,
        "end_offset": end,
        "replacement": edit.replacement,
    }


def _span(span: Span) -> dict[str, Any]:
    return {"cell": span.cell or None, "start": _position(span.start), "end": _position(span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
