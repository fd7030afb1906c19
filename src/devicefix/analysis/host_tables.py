"""Tables that are on the host because only what is looked up in them is moved, or because it is read there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.host_uses import read_on_host

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix


def moved_result(facts: FileFacts, mix: Mix) -> ast.Call | None:
    """The ``.to(d)`` of ``table[index].to(d)``."""
    if mix.manner != "index" or not isinstance(mix.node, ast.Subscript) or not isinstance(mix.node.ctx, ast.Load):
        return None
    attribute = facts.parents.get(mix.node)
    call = facts.parents.get(attribute) if attribute is not None else None
    if not isinstance(attribute, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not attribute:
        return None
    return call if attribute.attr in torch_api.MOVE_METHODS - {"cpu"} else None


def handed_in(facts: FileFacts, mix: Mix) -> bool:
    """Whether a table is a parameter, and what is looked up in it is only read on the host: the index comes back."""
    if mix.manner != "index" or not isinstance(mix.node, ast.Subscript) or not isinstance(mix.node.ctx, ast.Load):
        return False
    function = facts.function(mix.node)
    if function is None or not isinstance(mix.culprit_node, ast.Name) or not facts.here(mix.node):
        return False
    name = mix.culprit_node.id
    given = any(parameter.arg == name for parameter in function.parameters)
    names = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name]
    bound = any(not isinstance(n.ctx, ast.Load) for n in names)
    return given and not bound and read_on_host(facts, mix.node)


def is_host_table(facts: FileFacts, mixes: list[Mix]) -> bool:
    """Whether a new tensor is a table on the host: it is only indexed, and the results move or are read there."""
    return all(
        handed_in(facts, mix) or (moved_result(facts, mix) is not None and not isinstance(mix.culprit_node, ast.Call))
        for mix in mixes
    )


def is_moved_when_complete(facts: FileFacts, mixes: list[Mix]) -> bool:
    """Whether a plain object collects on the host what it moves to a device when it is asked for it: ``self.total`` with
    a ``return self.total.to(self.device)`` in another method. What it is given by callers unseen is believed to fit."""
    kept = [origin for mix in mixes for origin in mix.culprit.origins if origin.kind == "attribute"]
    if not kept or not all(mix.assumed for mix in mixes):
        return False
    return all(
        origin.owner is not None
        and origin.owner.cls is not None
        and not origin.owner.is_module
        and any(
            _moves_out(info.node, origin.attribute)
            for info in origin.owner.cls.methods.values()
            if info is not origin.scope.function and info.name != "__init__"
        )
        for origin in kept
    )


def _moves_out(method: ast.AST, attribute: str) -> bool:
    """Whether a method moves what it has made of an attribute, and leaves the attribute where it is."""
    names: set[str] = set()

    def is_made_of_it(node: ast.AST) -> bool:
        return any(
            (isinstance(n, ast.Attribute) and n.attr == attribute) or (isinstance(n, ast.Name) and n.id in names)
            for n in ast.walk(node)
        )

    statements = [n for n in ast.walk(method) if isinstance(n, ast.Assign)]
    if any(isinstance(t, ast.Attribute) and t.attr == attribute for s in statements for t in s.targets):
        return False
    for statement in sorted(statements, key=lambda s: s.lineno):
        if is_made_of_it(statement.value):
            names.update(t.id for t in statement.targets if isinstance(t, ast.Name))
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in torch_api.MOVE_METHODS - {"cpu"}
        and "device" in ast.unparse(node)
        and is_made_of_it(node.func.value)
        for node in ast.walk(method)
    )
