"""Methods by which a class brings its attributes to a device itself, whatever the methods are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.torch_api import DTYPES, MOVE_METHODS

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.model import ClassInfo


def moved_by_a_method(facts: FileFacts, cls: ClassInfo, name: str) -> bool:
    """Whether a method (or a function that sets attributes by computed names) moves the attribute of an instance.

    Whoever made an instance that was not seen may have called it.
    """
    family = _family(facts, cls)
    for node in facts.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        parent = facts.parents.get(node)
        inside = isinstance(parent, ast.ClassDef)
        if node.name == "__init__" or (inside and parent not in family):
            continue
        nodes = list(ast.walk(node))
        if any(_moves(inner, name, nodes, attributes=inside) for inner in nodes):
            return True
    return False


def _family(facts: FileFacts, cls: ClassInfo) -> set[ast.AST]:
    """A class with its ancestors and descendants in the file."""
    by_name = {node.name: node for node in facts.nodes(ast.ClassDef)}
    family: set[ast.AST] = {cls.node}
    pending = [cls.node]
    while pending:  # upwards
        for base in _bases(pending.pop()):
            found = by_name.get(base)
            if found is not None and found not in family:
                family.add(found)
                pending.append(found)
    names = {cls.name}
    grown = True
    while grown:  # downwards
        grown = False
        for node in by_name.values():
            if node.name not in names and not names.isdisjoint(_bases(node)):
                names.add(node.name)
                family.add(node)
                grown = True
    return family


def _bases(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        if isinstance(base, (ast.Name, ast.Attribute)):
            yield base.id if isinstance(base, ast.Name) else base.attr


def _moves(node: ast.AST, name: str, around: list[ast.AST], *, attributes: bool) -> bool:
    """``self.name = self.name.to(…)``, ``setattr(self, key, value.to(…))``, ``self.__dict__[key] = value.to(…)`` …"""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            if any(_is_dict_item(t, name) for t in targets) and _brings(node.value, None, around):
                return True
            if attributes and any(_is_attribute(t, name) for t in targets) and _brings(node.value, name, around):
                return True
        return False
    if not isinstance(node, ast.Call):
        return False
    word = (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )
    if word in ("setattr", "__setattr__") and len(node.args) >= 2:
        key, value = node.args[-2:]
        return (not isinstance(key, ast.Constant) or key.value == name) and _brings(value, None, around)
    if word == "update" and isinstance(node.func, ast.Attribute) and _is_dict(node.func.value):
        return any(_brings(value, None, around) for value in (*node.args, *(k.value for k in node.keywords)))
    return False


def _is_attribute(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


def _is_dict(node: ast.expr) -> bool:
    """``self.__dict__`` or ``vars(self)``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "vars"
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _is_dict_item(node: ast.expr, name: str) -> bool:
    if not isinstance(node, ast.Subscript) or not _is_dict(node.value):
        return False
    return not isinstance(node.slice, ast.Constant) or node.slice.value == name


def _brings(value: ast.expr, name: str | None, around: list[ast.AST]) -> bool:
    """Whether an expression moves something to a device; with ``name``, something that the attribute is part of.

    A plain name stands for what the function ``around`` it may have made of it.
    """
    nodes = around if isinstance(value, ast.Name) else list(ast.walk(value))
    if name is not None and not any(_is_attribute(node, name) for node in nodes):
        return False
    return any(_is_move(node) for node in nodes)


def _is_move(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(k.value for k in node.keywords)]
    if isinstance(node.func, ast.Attribute) and node.func.attr in MOVE_METHODS and node.func.attr != "cpu":
        return node.func.attr != "to" or not all(_is_dtype(value) for value in given)
    return any("dev" in (value.id if isinstance(value, ast.Name) else "") for value in given)  # move(self.x, device)


def _is_dtype(node: ast.expr) -> bool:
    word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return word == "dtype" or word in DTYPES or isinstance(node, ast.Constant)
