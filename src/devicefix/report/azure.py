"""Logging commands that Azure Pipelines shows as issues of a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devicefix.engine.outcome import Outcome
from devicefix.findings import Finding
from devicefix.report.places import all_findings, in_cell, relative
from devicefix.report.style import Style
from devicefix.report.words import remedy


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """One ``task.logissue`` command per finding."""
    del style
    for _, finding in all_findings(outcomes):
        yield _line(finding)


def _line(finding: Finding) -> str:
    start = finding.span.start
    path = _escaped(relative(finding.path), in_property=True)
    place = f"sourcepath={path};linenumber={start.line};columnnumber={start.column};code={finding.code};"
    message = _escaped(f"{finding.message}{in_cell(finding)} ({remedy(finding)})")
    return f"##vso[task.logissue type=warning;{place}]{message}\n"


def _escaped(text: str, *, in_property: bool = False) -> str:
    text = text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(";", "%3B").replace("]", "%5D") if in_property else text
