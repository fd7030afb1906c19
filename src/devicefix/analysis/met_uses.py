"""Tensors that nobody could create elsewhere: they can be moved where they meet others, or go into a module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.global_tensors import written_into
from devicefix.analysis.references import Reference, references
from devicefix.analysis.tree_index import root_name

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.values import Origin, Scope

LEAVES = frozenset({"parameter", "buffer", "requires_grad"})


def uses_where_met(facts: FileFacts, mixes: list[Mix]) -> list[tuple[ast.expr, str]]:
    """The expressions for a tensor that bring it to another device, each with a name of that device.

    None if one of them has no way, or if they stand in several functions: then it is better made on the device once.
    """
    return _moves(facts, [(mix, _site(facts, mix)) for mix in mixes])


def uses_as_tensor(facts: FileFacts, mixes: list[Mix]) -> list[tuple[ast.expr, str]]:
    """The same for an attribute that is not always a tensor: each use calls a method that only tensors have."""
    uses = [mix.culprit_node for mix in mixes]
    if not all(use is not None and facts.here(use) and _is_receiver(facts, use) for use in uses):
        return []
    return _moves(facts, [(mix, (use, mix.scope)) for mix, use in zip(mixes, uses, strict=True) if use is not None])


def _is_receiver(facts: FileFacts, use: ast.expr) -> bool:
    method = facts.parents.get(use)
    if not isinstance(use, ast.Attribute) or not isinstance(method, ast.Attribute):
        return False
    call = facts.parents.get(method)
    shared = any(hasattr(kind, method.attr) for kind in (float, str, list, dict, set))
    return (
        isinstance(call, ast.Call) and call.func is method and not shared and torch_api.method(method.attr) is not None
    )


def _moves(facts: FileFacts, sites: list[tuple[Mix, tuple[ast.expr, Scope] | None]]) -> list[tuple[ast.expr, str]]:
    found: dict[ast.expr, list[Reference]] = {}
    for mix, site in sites:
        if site is None or mix.manner == "in_place" or mix.culprit.flags & LEAVES:
            return []
        use, scope = site
        if written_into(facts, use):
            return []  # the moved copy would be changed, and dropped
        named = [r for r in references(scope, mix.partner.device, partners=[mix.partner]) if not r.doubt]
        texts = {reference.device for reference in named}
        found[use] = [reference for reference in found.get(use, named) if reference.device in texts]
    if not all(found.values()) or len({facts.function(use) for use in found}) > 1:
        return []
    if len(found) > 1 and any(devices[0].kind == "module" for devices in found.values()):
        return []  # `next(model.parameters()).device` again and again is no way to write it
    ordered = sorted(found.items(), key=lambda item: (item[0].lineno, item[0].col_offset))
    return [(use, devices[0].device) for use, devices in ordered]


def _site(facts: FileFacts, mix: Mix) -> tuple[ast.expr, Scope] | None:
    """The expression for the tensor outside of modules, which leave it to their callers where their inputs are."""
    use = mix.culprit_node
    for scope in mix.scope.chain():
        if not isinstance(use, ast.expr) or not root_name(use) or not facts.here(use):
            return None
        owner = scope.self_object
        if owner is None or not owner.is_module:
            return use, scope
        use = _given(scope, root_name(use))
        if use is None or scope.caller is None or not _holds(scope.caller, use.id, mix.culprit.origins):
            return None
    return None


def _given(scope: Scope, parameter: str) -> ast.Name | None:
    """The name that a caller hands over for a parameter, where it does so without stars."""
    call, function = scope.call, scope.function
    if not isinstance(call, ast.Call) or function is None or any(k.arg is None for k in call.keywords):
        return None
    value = function.argument(call, parameter, 0 if function.is_static else 1)
    return value if isinstance(value, ast.Name) else None


def _holds(scope: Scope, name: str, origins: tuple[Origin, ...]) -> bool:
    value = scope.names.get(name)
    return value is not None and value.is_tensor and not {*map(id, value.origins)}.isdisjoint(map(id, origins))
