"""Methods by which a class brings its attributes to a device itself, whatever the methods are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.tree_index import last_name
from devicefix.torch_api import DTYPES, MOVE_METHODS

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.model import ClassInfo


def moved_by_a_method(facts: FileFacts, cls: ClassInfo, name: str) -> bool:
    """Whether a method (or a function that sets attributes by computed names) moves the attribute of an instance.

    Whoever made an instance that was not seen may have called it.
    """
    relatives = family(facts, cls)
    for node in facts.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        parent = facts.parents.get(node)
        inside = isinstance(parent, ast.ClassDef)
        if node.name == "__init__" or (inside and parent not in relatives):
            continue
        nodes = list(ast.walk(node))
        if any(_moves(inner, name, nodes, attributes=inside) for inner in nodes):
            return True
    return False


def family(facts: FileFacts, cls: ClassInfo) -> list[ast.ClassDef]:
    """A class with its ancestors and descendants in the file."""
    definitions = list(facts.nodes(ast.ClassDef))
    found = [cls.node]
    for upwards in (True, False):
        pending = [cls.node]
        while pending:
            current = pending.pop()
            for node in definitions:
                derived, base = (current, node) if upwards else (node, current)
                if node not in found and base.name in map(last_name, derived.bases):
                    found.append(node)
                    pending.append(node)
    return found


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
