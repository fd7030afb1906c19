"""Find nodes in small programs and make changes with the full self-check."""

from __future__ import annotations

import ast
from collections.abc import Callable

from devicefix.codemods.changes import Change
from devicefix.engine.selfcheck import rewrite
from devicefix.source.text import SourceText


def call(tree: ast.AST, name: str) -> ast.Call:
    """The first call whose callee's last name is ``name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if last == name:
                return node
    raise AssertionError(f"no call of {name}")


def name(tree: ast.AST, wanted: str) -> ast.Name:
    """The first name ``wanted``."""
    return next(n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == wanted)


def statement(source: SourceText, start: str) -> ast.stmt:
    """The innermost statement whose text starts with ``start``."""
    found = [n for n in ast.walk(source.tree()) if isinstance(n, ast.stmt) and source.segment(n).startswith(start)]
    return min(found, key=lambda n: len(source.segment(n)))


def changed(code: str, make: Callable[[SourceText], list[Change]]) -> str:
    """``code`` after the changes, proven by the self-check."""
    source = SourceText.from_text(code, "t.py")
    new, _ = rewrite(source, make(source))
    return new.text
