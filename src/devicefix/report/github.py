"""Workflow commands that GitHub shows as annotations of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devicefix.engine.outcome import Outcome
from devicefix.findings import Finding
from devicefix.report.places import all_findings, in_cell, relative
from devicefix.report.style import Style
from devicefix.report.words import remedy


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """One ``::warning`` line per finding."""
    del style
    for _, finding in all_findings(outcomes):
        yield _line(finding)


def _line(finding: Finding) -> str:
    span = finding.span
    place = f"file={_escaped(relative(finding.path), in_property=True)},line={span.start.line},endLine={span.end.line}"
    if span.start.line == span.end.line:  # columns of annotations over several lines are refused
        place += f",col={span.start.column},endColumn={span.end.column}"
    message = _escaped(f"{finding.message}{in_cell(finding)} ({remedy(finding)})")
    return f"::warning title=devicefix ({finding.code}),{place}::{message}\n"


def _escaped(text: str, *, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
