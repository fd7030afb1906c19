"""GitLab's Code Quality report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from devicefix.engine.outcome import Outcome
from devicefix.report.places import Fingerprints, all_findings, in_cell, relative
from devicefix.report.style import Style


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """An array of issues with unique fingerprints."""
    del style
    prints = Fingerprints()
    issues = [
        {
            "description": f"{finding.code} {finding.message}{in_cell(finding)}",
            "check_name": finding.code,
            "fingerprint": prints.of(finding, outcome),
            "severity": "major",
            "location": {
                "path": relative(finding.path),
                "positions": {
                    "begin": {"line": finding.span.start.line, "column": finding.span.start.column},
                    "end": {"line": finding.span.end.line, "column": finding.span.end.column},
                },
            },
        }
        for outcome, finding in all_findings(outcomes)
    ]
    yield json.dumps(issues, indent=2, ensure_ascii=False) + "\n"
