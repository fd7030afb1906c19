"""JUnit XML: a test case per finding that fails, and one that passes for each clean file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from devicefix.engine.outcome import Outcome
from devicefix.findings import Finding
from devicefix.report.places import in_cell, relative
from devicefix.report.style import Style
from devicefix.report.words import place, remedy

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """One suite per file."""
    del style
    suites: list[str] = []
    tests = failures = broken = 0
    for outcome in outcomes:
        cases = [_failed(finding) for finding in outcome.findings]
        cases += [_error(outcome, str(error)) for error in outcome.errors]
        failures += len(outcome.findings)
        broken += len(outcome.errors)
        count = max(len(cases), 1)
        tests += count
        name = _attribute(relative(outcome.path))
        cases = cases or [f'    <testcase name={name} classname={name} time="0"/>\n']
        counts = f'tests="{count}" failures="{len(outcome.findings)}" errors="{len(outcome.errors)}" skipped="0"'
        suites.append(f'  <testsuite name={name} {counts} time="0">\n{"".join(cases)}  </testsuite>\n')
    head = f'<testsuites name="devicefix" tests="{tests}" failures="{failures}" errors="{broken}" time="0">\n'
    yield f'<?xml version="1.0" encoding="utf-8"?>\n{head}{"".join(suites)}</testsuites>\n'


def _failed(finding: Finding) -> str:
    where = place(relative(finding.path), finding.span)
    name = _attribute(f"{finding.code} {where}")
    message = _attribute(f"{finding.message}{in_cell(finding)}")
    text = _text(f"{where}: {finding.code} {finding.message}\n{remedy(finding)}")
    return (
        f'    <testcase name={name} classname={_attribute(relative(finding.path))} line="{finding.span.start.line}" '
        f'time="0">\n      <failure message={message} type={_attribute(finding.code)}>{text}</failure>\n'
        "    </testcase>\n"
    )


def _error(outcome: Outcome, message: str) -> str:
    name = _attribute(relative(outcome.path))
    return (
        f'    <testcase name={name} classname={name} time="0">\n'
        f'      <error message={_attribute(message)} type="error"/>\n    </testcase>\n'
    )


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
