"""Inputs of a module on one card that come from another: the place to copy them is the call of the module.

The module itself follows its inputs wherever they are, and serves for other cards as well.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of
from devicefix.analysis.module_devices import lookup
from devicefix.analysis.own_names import own_nodes
from devicefix.analysis.values import Kind, Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import Mix
    from devicefix.analysis.model import FunctionInfo
    from devicefix.analysis.values import Obj


def at_the_call(mix: Mix) -> Mix:
    """The call of the outermost module whose input meets what is on the card of the module; the meeting itself if there
    is no such call."""
    for value, node, partner in (
        (mix.culprit, mix.culprit_node, mix.partner),
        (mix.partner, mix.partner_node, mix.culprit),
    ):
        found, scope, operand = mix, mix.scope, node
        while operand is not None and (entered := _entered(scope, operand, value, partner)) is not None:
            call, operand, owner, caller = entered
            state = Value(
                Kind.TENSOR, device=owner.device, data=owner, flags=frozenset({"module_state"}),
                ident=("module", id(owner)),
            )  # fmt: skip
            found = replace(
                mix, node=call, culprit=value, partner=state, scope=caller, manner="module", culprit_node=operand,
                partner_node=call.func, operation=_name(owner),
            )  # fmt: skip
            scope = caller
        if found is not mix:
            return found
    return mix


def _entered(
    scope: Scope, operand: ast.expr, value: Value, partner: Value
) -> tuple[ast.Call, ast.expr, Obj, Scope] | None:
    """The call that handed a value to the ``forward`` of a module on the card of its partner, and what it handed over."""
    function, owner, call, caller = scope.function, scope.self_object, scope.call, scope.caller
    if function is None or function.name != "forward" or owner is None or caller is None or caller is scope:
        return None
    if not isinstance(operand, ast.Name) or not isinstance(call, ast.Call) or owner.device != partner.device:
        return None
    given = function.argument(call, operand.id, 1)
    path = path_of(call.func)
    called = lookup(caller, path) if path is not None else None
    if given is None or called is None or called.kind is not Kind.OBJECT or called.data is not owner:
        return None
    held = scope.names.get(operand.id)
    if held is None or held.ident != value.ident or held.device != value.device or _rebound(function, operand.id):
        return None
    return call, given, owner, caller


def _rebound(function: FunctionInfo, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in own_nodes(function.node)
    )


def _name(owner: Obj) -> str:
    return owner.cls.name if owner.cls is not None else owner.external.rpartition(".")[2]
