"""Making a name available: is it imported already, and if not, where does the import go."""

from __future__ import annotations

import ast

from devicefix.codemods.changes import AddImport, InsertStatements
from devicefix.codemods.edits import Edit
from devicefix.codemods.layout import Layout
from devicefix.codemods.statements import insert_statements


def import_line(change: AddImport) -> str:
    """The statement that an `AddImport` stands for."""
    return f"from {change.module} import {change.name}" if change.name else f"import {change.module}"


def bound_name(tree: ast.Module, module: str, name: str | None = None) -> str | None:
    """How ``module`` (or ``name`` from it) is called at the top level of a file; None when it is not imported.

    ``import torch as th`` answers ``th``; ``import torch.nn`` makes ``torch`` available as ``torch``. Only plain
    top-level imports count: one in ``try`` or under a condition may not have happened.
    """
    for statement in tree.body:
        if isinstance(statement, ast.Import) and name is None:
            for alias in statement.names:
                if alias.name == module:
                    return alias.asname or module
                if alias.asname is None and alias.name.startswith(module + "."):
                    return module
        if isinstance(statement, ast.ImportFrom) and name is not None:
            if statement.module == module and statement.level == 0:
                for alias in statement.names:
                    if alias.name == name:
                        return alias.asname or name
    return None


def is_available(tree: ast.Module, change: AddImport) -> bool:
    """Whether the file can already use the name that the import would bind."""
    wanted = change.name or change.module
    return bound_name(tree, change.module, change.name) == wanted


def place_for_import(tree: ast.Module) -> ast.stmt | None:
    """The statement after which an import goes; None when it goes before the first statement.

    The last plain import of the leading ones, else a ``__future__`` import or the docstring.
    """
    place: ast.stmt | None = None
    for index, statement in enumerate(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            place = statement
        elif index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            place = statement
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While)):
            break
    return place


def as_insertion(tree: ast.Module, change: AddImport) -> InsertStatements | None:
    """The insertion that makes the import available; None when there is nothing to do or the file is empty."""
    if is_available(tree, change) or not tree.body:
        return None
    place = place_for_import(tree)
    line = import_line(change)
    if place is None:
        first = tree.body[0]
        return InsertStatements(first, (line,), "before", blank_after=1)
    if isinstance(place, ast.Expr):
        return InsertStatements(place, (line,), "after", blank_before=1, blank_after=1)
    return InsertStatements(place, (line,), "after")


def add_import(layout: Layout, change: AddImport) -> list[Edit]:
    """The edits of an `AddImport`; none when the name is there."""
    tree = layout.source.tree()
    insertion = as_insertion(tree, change)
    if insertion is not None:
        return insert_statements(layout, insertion)
    if is_available(tree, change):
        return []
    at = len(layout.text)
    glue = "" if not layout.text or layout.text.endswith(("\n", "\r")) else "\n"
    return [Edit(at, at, f"{glue}{import_line(change)}\n", lines=True)]
