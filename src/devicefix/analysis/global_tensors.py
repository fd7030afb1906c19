"""Tensors that are moved where they are used: those made when a module is imported, before any device is chosen, and
those that a data set holds as well."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.references import references
from devicefix.analysis.tree_index import root_name

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.placement import NewTensor


def uses_moved(facts: FileFacts, new: NewTensor) -> list[tuple[ast.expr, str]]:
    """The uses of a global constant that meet another device, each with its name there; none if one has no way."""
    name = _name(facts, new.call)
    if not name or _changes(facts, name):
        return []
    return _at_uses(facts, new, name)


def data_moved(facts: FileFacts, new: NewTensor) -> list[tuple[ast.expr, str]]:
    """The same for what a data set holds, and hands out on the CPU."""
    return _at_uses(facts, new)


def _at_uses(facts: FileFacts, new: NewTensor, name: str = "") -> list[tuple[ast.expr, str]]:
    found: dict[ast.expr, list[str]] = {}
    for mix in new.mixes:
        use = mix.culprit_node
        if mix.manner == "in_place" or not isinstance(use, ast.expr) or not facts.here(use):
            return []
        if isinstance(use, ast.Starred) or (name and root_name(use) != name) or written_into(facts, use):
            return []
        named = [r.device for r in references(mix.scope, mix.partner.device, partners=[mix.partner]) if not r.doubt]
        found[use] = [device for device in found.get(use, named) if device in named]
    if not all(found.values()) or (name and len({facts.function(use) for use in found}) > 1):
        return []  # wanted in several functions: better made on the device once
    ordered = sorted(found.items(), key=lambda item: (item[0].lineno, item[0].col_offset))
    return [(use, devices[0]) for use, devices in ordered]


def _name(facts: FileFacts, call: ast.Call) -> str:
    """The global name that the value of an import-time call is bound to, once."""
    statement = facts.statement(call)
    if not isinstance(statement, ast.Assign) or facts.parents.get(statement) is not facts.tree:
        return ""
    target = statement.targets[0] if len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name) or len(facts.module.bindings.get(target.id, ())) != 1:
        return ""
    return target.id


def _changes(facts: FileFacts, name: str) -> bool:
    """Whether code changes the tensor, or what the name stands for."""
    for node in facts.nodes(ast.Name):
        if node.id == name and written_into(facts, node):
            return True
    return any(name in node.names for node in facts.nodes(ast.Global))


def written_into(facts: FileFacts, use: ast.expr) -> bool:
    """Whether a use of a tensor writes into it, as `table[i] = 1` and `table.view(-1).fill_(0)`: a moved copy would be
    written instead, and dropped."""
    node: ast.AST = use
    parent = facts.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.AugAssign):
            return parent.target is node
        if isinstance(parent, (ast.Subscript, ast.Attribute)) and parent.value is node:
            if not isinstance(parent.ctx, ast.Load):
                return True
            if isinstance(parent, ast.Attribute) and parent.attr.endswith("_") and not parent.attr.endswith("__"):
                return True
        elif not (isinstance(parent, ast.Call) and parent.func is node):
            return False
        node, parent = parent, facts.parents.get(parent)
    return False
