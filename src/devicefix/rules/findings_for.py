"""Making findings and fixes; what every rule would otherwise repeat."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.findings import Applicability, Finding, Fix, Related

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.codemods.changes import Change


def finding(
    facts: FileFacts,
    code: str,
    name: str,
    node: ast.AST,
    message: str,
    *,
    fix: Fix | None = None,
    note: str = "",
    related: tuple[tuple[ast.AST, str], ...] = (),
) -> Finding:
    """A finding at a node of the file."""
    return Finding(
        code,
        name,
        message,
        facts.source.name,
        facts.source.span(node),
        fix,
        tuple(Related(facts.source.name, facts.source.span(n), text) for n, text in related if facts.here(n)),
        note if fix is None else "",
    )


def fix(title: str, *changes: Change, unsafe: str = "", group: str = "") -> Fix:
    """A fix; ``unsafe`` says what could not be shown, and makes it one."""
    return Fix(title, Applicability.UNSAFE if unsafe else Applicability.SAFE, changes, unsafe, group)
