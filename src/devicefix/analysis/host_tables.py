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
