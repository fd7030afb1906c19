"""The function or class that a finding stands in, by name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devicefix.findings import Finding
from devicefix.source.text import SourceText

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def scopes_of(source: SourceText, findings: Sequence[Finding]) -> list[str]:
    """For each finding the dotted name of what is around it; empty at the level of the module.

    Raises `SourceError` for a source that cannot be parsed.
    """
    if not findings:
        return []
    stretches = list(_stretches(source.tree().body, ""))
    found = []
    for finding in findings:
        line = source.lines.line_of(source.offset_at(finding.span.start, finding.span.cell))
        # the innermost one is the last that begins before the line and has not ended
        found.append(next((name for first, last, name in reversed(stretches) if first <= line <= last), ""))
    return found


def _stretches(body: Sequence[ast.stmt], outer: str) -> list[tuple[int, int, str]]:
    """First line, last line and name of every function and class, in source order, outer ones first."""
    found: list[tuple[int, int, str]] = []
    for statement in body:
        name = outer
        if isinstance(statement, _NAMED):
            name = f"{outer}.{statement.name}" if outer else statement.name
            found.append((statement.lineno, statement.end_lineno or statement.lineno, name))
        for field in ("body", "orelse", "finalbody"):
            found += _stretches(getattr(statement, field, ()), name)
        for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            found += _stretches(handler.body, name)
    return found
