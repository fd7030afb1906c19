"""Phrases that several formats share."""

from __future__ import annotations

from devicefix.findings import Applicability, Finding, Span


def place(path: str, span: Span) -> str:
    """``file:line:column``, in a notebook ``file:cell 3:line:column``."""
    cell = f":cell {span.cell}" if span.cell else ""
    return f"{path}{cell}:{span.start.line}:{span.start.column}"


def remedy(finding: Finding) -> str:
    """What can be done, in words: a safe fix, an unsafe one and why, or none and why."""
    if finding.fix is None:
        return f"no fix: {finding.note}" if finding.note else "no fix"
    if finding.fix.applicability is Applicability.SAFE:
        return f"safe fix: {finding.fix.title}"
    reason = f" (unsafe: {finding.fix.reason})" if finding.fix.reason else ""
    return f"unsafe fix: {finding.fix.title}{reason}"


def plural(count: int, noun: str) -> str:
    """``1 finding``, ``2 findings``."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}es" if noun.endswith("x") else f"{count} {noun}s"
