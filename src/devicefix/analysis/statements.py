"""Statements of a body of code, and the names that they bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def import_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The names that an import binds; ``*`` binds none that can be listed."""
    for alias in node.names:
        if alias.name != "*":
            yield alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run in the namespace of ``body``: those in ``if``, ``try``, ``with`` and loops too."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if inner and not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from top_level(inner)
        for handler in getattr(statement, "handlers", ()):
            yield from top_level(handler.body)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements in source order, those in functions and classes too."""
    for statement in body:
        yield statement
        if statement.__class__ in SIMPLE:
            continue
        for field in ("body", "handlers", "cases", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if inner and field in ("handlers", "cases"):
                for part in inner:
                    yield from statements(part.body)
            elif inner:
                yield from statements(inner)


#: statements that hold no others
SIMPLE = frozenset({ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Import,
    ast.ImportFrom, ast.Pass,
                    ast.Assert, ast.Delete, ast.Global, ast.Nonlocal, ast.Break, ast.Continue})  # fmt: skip


def statement_names(statement: ast.stmt) -> Iterator[str]:
    """Names that one top-level statement binds itself (not through statements inside it)."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from import_names(statement)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from target_names(target)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        yield from target_names(statement.target)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from target_names(statement.target)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield from target_names(item.optional_vars)


def target_names(target: ast.expr) -> Iterator[str]:
    """Names bound by an assignment target."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from target_names(element)
    elif isinstance(target, ast.Starred):
        yield from target_names(target.value)
