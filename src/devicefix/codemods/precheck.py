"""Refusals that are cheap to see, so that a check need not promise a fix that will not come."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from devicefix.codemods import changes as c
from devicefix.codemods.errors import CannotChange

if TYPE_CHECKING:
    from devicefix.source.text import SourceText


def why_not(source: SourceText, changes: Sequence[c.Change]) -> str:
    """The reason why these changes cannot be made, or an empty string as far as can be told cheaply."""
    from devicefix.codemods.layout import Layout
    from devicefix.codemods.statements import require_own_line, require_room

    layout = Layout(source)
    try:
        for change in changes:
            for field in ("node", "call", "function", "statement", "anchor"):
                node = getattr(change, field, None)
                if isinstance(node, ast.AST):
                    layout.require_plain(node)
            if isinstance(change, c.InsertStatements):
                require_room(layout, change)
            elif isinstance(change, c.MoveStatement):
                require_own_line(layout, change.anchor)
    except CannotChange as refusal:
        return refusal.reason
    return ""
