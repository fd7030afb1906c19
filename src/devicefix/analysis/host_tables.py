"""Tables that are on the host because only what is looked up in them is moved."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api

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


def is_host_table(facts: FileFacts, mixes: list[Mix]) -> bool:
    """Whether a new tensor that has a name serves as a table on the host: it is only indexed, and the results move."""
    return all(moved_result(facts, mix) is not None and not isinstance(mix.culprit_node, ast.Call) for mix in mixes)
