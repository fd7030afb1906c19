"""SARIF 2.1.0, for code scanning services and editors: findings, rules with their help, and fixes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from devicefix import __version__
from devicefix.engine.check import known_rules
from devicefix.engine.outcome import Outcome
from devicefix.findings import Applicability, Finding, Span, TextEdit
from devicefix.report.places import Fingerprints, in_cell, place_of, relative, with_edits
from devicefix.report.rule_page import page, sentence
from devicefix.report.style import Style
from devicefix.report.words import remedy
from devicefix.source.lines import LineIndex

if TYPE_CHECKING:
    from devicefix.rules.base import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """One log with one run. Columns count code points."""
    del style
    seen = list(outcomes)
    rules = list(known_rules())
    index = {rule.code: number for number, rule in enumerate(rules)}
    prints = Fingerprints()
    results = [
        _result(finding, edits, outcome, index, prints) for outcome in seen for finding, edits in with_edits(outcome)
    ]
    errors = [
        {"level": "error", "message": {"text": str(error)}, "locations": [{"physicalLocation": _artifact(error.path)}]}
        for outcome in seen
        for error in outcome.errors
    ]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "devicefix",
                "semanticVersion": __version__,
                "version": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder in which devicefix ran."}}},
        "invocations": [{"executionSuccessful": not errors, "toolExecutionNotifications": errors}],
        "results": results,
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    text = page(rule)
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": sentence(rule.summary)},
        "fullDescription": {"text": rule.explanation.strip() or sentence(rule.summary)},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"enabled": rule.default, "level": "warning"},
        "properties": {"tags": ["pytorch", "device"]},
    }


def _result(
    finding: Finding, edits: list[TextEdit], outcome: Outcome, index: dict[str, int], prints: Fingerprints
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": "warning",
        "message": {"text": f"{finding.message}{in_cell(finding)}"},
        "locations": [_location(finding.path, finding.span)],
        "partialFingerprints": {"devicefix/v1": prints.of(finding, outcome)},
        "properties": {"applicability": finding.applicability.value, "remedy": remedy(finding)},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(r.path, r.span), "message": {"text": r.message}}
            for number, r in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and edits and not outcome.notebook:
        result["fixes"] = [_fix(finding, edits, LineIndex(outcome.text or ""))]
    return result


def _fix(finding: Finding, edits: list[TextEdit], lines: LineIndex) -> dict[str, Any]:
    assert finding.fix is not None
    unsafe = finding.fix.applicability is Applicability.UNSAFE
    title = finding.fix.title + (f" (unsafe: {finding.fix.reason})" if unsafe and finding.fix.reason else "")
    replacements = [
        {
            "deletedRegion": {**_region(Span(place_of(edit.start, lines), place_of(edit.end, lines)))},
            "insertedContent": {"text": edit.replacement},
        }
        for edit in edits
    ]
    change = {**_artifact(finding.path), "replacements": replacements}
    return {"description": {"text": title}, "artifactChanges": [change]}


def _location(path: str, span: Span) -> dict[str, Any]:
    return {"physicalLocation": {**_artifact(path), "region": _region(span)}}


def _artifact(path: str) -> dict[str, Any]:
    shown = relative(path)
    location: dict[str, Any] = {"uri": quote(shown.encode("utf-8", "surrogateescape"))}
    if not shown.startswith("/") and ":" not in shown[:3]:
        location["uriBaseId"] = "%SRCROOT%"
    return {"artifactLocation": location}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.start.line,
        "startColumn": span.start.column,
        "endLine": span.end.line,
        "endColumn": span.end.column,
    }
