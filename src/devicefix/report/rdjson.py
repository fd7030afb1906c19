"""The JSON of reviewdog: findings with suggestions. Columns count UTF-8 bytes from 1."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from devicefix.engine.outcome import Outcome
from devicefix.findings import Applicability, Finding, Position, TextEdit
from devicefix.report.places import in_cell, place_of, relative, with_edits
from devicefix.report.style import Style
from devicefix.source.lines import LineIndex


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """One object with all diagnostics."""
    del style
    diagnostics = [
        _diagnostic(finding, edits, LineIndex(outcome.text or ""), outcome)
        for outcome in outcomes
        for finding, edits in with_edits(outcome)
    ]
    result = {"source": {"name": "devicefix"}, "severity": "WARNING", "diagnostics": diagnostics}
    yield json.dumps(result, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(finding: Finding, edits: list[TextEdit], lines: LineIndex, outcome: Outcome) -> dict[str, Any]:
    if outcome.notebook:  # lines are counted inside the cell, whose text is not at hand
        span = {
            "start": {"line": finding.span.start.line, "column": finding.span.start.column},
            "end": {"line": finding.span.end.line, "column": finding.span.end.column},
        }
    else:
        span = {"start": _place(finding.span.start, lines), "end": _place(finding.span.end, lines)}
    made: dict[str, Any] = {
        "message": f"{finding.message}{in_cell(finding)}",
        "location": {"path": relative(finding.path), "range": span},
        "severity": "WARNING",
        "code": {"value": finding.code},
    }
    # A suggestion is applied by one click, so only what is safe is suggested.
    if finding.applicability is Applicability.SAFE and not outcome.notebook:
        made["suggestions"] = [
            {
                "range": {"start": _at(edit.start, lines), "end": _at(edit.end, lines)},
                "text": edit.replacement,
            }
            for edit in edits
        ]
    return made


def _at(offset: int, lines: LineIndex) -> dict[str, int]:
    return _place(place_of(offset, lines), lines)


def _place(position: Position, lines: LineIndex) -> dict[str, int]:
    before = lines.content(position.line)[: position.column - 1]
    return {"line": position.line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
