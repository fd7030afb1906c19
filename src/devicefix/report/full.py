"""Findings with their source lines, for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from devicefix.engine.outcome import Outcome
from devicefix.findings import Applicability, Finding
from devicefix.report.style import Style
from devicefix.report.words import place, remedy

_LOOKS = {Applicability.SAFE: "green", Applicability.UNSAFE: "yellow", Applicability.REPORT: "dim"}
MAX_WIDTH = 160  #: longer source lines are cut around the finding


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """One block of lines per finding."""
    for outcome in outcomes:
        for finding in outcome.findings:
            yield block(finding, outcome, style)


def block(finding: Finding, outcome: Outcome, style: Style) -> str:
    """One finding: its place and message, its line, what explains it, what can be done."""
    span = finding.span
    where = style.paint(place(finding.path, span), "bold")
    rows = [f"{where}: {style.paint(finding.code, 'red', 'bold')} {finding.message}"]
    line = (outcome.lines or {}).get((span.cell, span.start.line))
    gutter = " " * len(str(span.start.line))
    bar = style.paint("|", "blue")
    if line is not None and line.strip():
        end = span.end.column - 1 if span.end.line == span.start.line else len(line.rstrip())
        shown, start, end = _window(line, span.start.column - 1, end)
        carets = _indent_like(shown[:start]) + "^" * max(_width(shown[start:end]), 1)
        rows += [
            f"{gutter} {bar}",
            f"{style.paint(str(span.start.line), 'blue')} {bar} {shown}",
            f"{gutter} {bar} {style.paint(carets, 'red', 'bold')}",
        ]
    for related in finding.related:
        rows.append(f"{gutter} {style.paint('=', 'blue')} {place(related.path, related.span)}: {related.message}")
    what = style.paint(remedy(finding), _LOOKS[finding.applicability])
    rows.append(f"{gutter} {style.paint('=', 'blue')} {what}")
    return "\n".join(rows) + "\n\n"


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A printable stretch of the line, and where the finding lies in it."""
    line = "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    if len(line) <= MAX_WIDTH:
        return line, start, end
    left = max(start - MAX_WIDTH // 4, 0)
    piece = line[left : left + MAX_WIDTH]
    head, tail = ("…" if left else ""), ("…" if left + MAX_WIDTH < len(line) else "")
    start, end = start - left + len(head), min(end - left, MAX_WIDTH) + len(head)
    return head + piece + tail, start, end


def _indent_like(text: str) -> str:
    return "".join("\t" if c == "\t" else " " * _char_width(c) for c in text)


def _width(text: str) -> int:
    return sum(_char_width(c) for c in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
