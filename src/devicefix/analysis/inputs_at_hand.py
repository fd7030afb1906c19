"""Tensors among the parameters of a function, from which code in it can take the device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.crossings import device_met
from devicefix.analysis.evidence import path_of
from devicefix.analysis.references import seen_as_tensor, self_name, weights
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.model import FunctionInfo
    from devicefix.analysis.values import Scope


def device_at_hand(facts: FileFacts, function: FunctionInfo, node: ast.Call) -> str:
    """``x.device`` for the first parameter of a method that surely is a tensor when ``node`` runs; "" if none is."""
    scopes = [move.scope for move in facts.records.moves if move.call is node]
    scopes = scopes or facts.records.scopes.get(node, [])
    stored = rebound(function.node, node)
    for argument in function.parameters[1:]:
        name = argument.arg
        known = [scope for scope in scopes if name in scope.names]
        if name in stored:
            continue
        if known and (_given_tensors(name, known) or all(_is_tensor(function, name, s, node) for s in known)):
            return f"{name}.device"
        if not known and name in function.evidence.likely_tensors:
            return f"{name}.device"
    return device_met(facts, node)


def own_weight(facts: FileFacts, function: FunctionInfo, node: ast.Call) -> str:
    """``self.fc.weight.device`` in a method of a module that runs only once the module is built; "" if not known."""
    scopes = [move.scope for move in facts.records.moves if move.call is node]
    scopes = scopes or facts.records.scopes.get(node, [])
    objects = facts.records.classes.get(function.cls, []) if function.cls is not None else []
    name = self_name(scopes[0]) if scopes else ""
    if not name or any(_while_building(scope) for scope in scopes):
        return ""
    common: list[str] | None = None
    for obj in objects:
        paths = [path for path, _, _ in sorted(weights(obj, obj.device, name), key=lambda found: found[2])]
        common = paths if common is None else [path for path in common if path in paths]
    return f"{common[0]}.device" if common else ""


def _while_building(scope: Scope | None) -> bool:
    while scope is not None:
        if scope.function is not None and scope.function.name == "__init__":
            return True
        scope = scope.caller
    return False


def _given_tensors(name: str, scopes: list[Scope]) -> bool:
    """Whether the method was seen to be called, and with a tensor whenever it was."""
    seen = [scope.names[name] for scope in scopes if scope.caller is not None]
    guessed = [scope.names[name] for scope in scopes if scope.caller is None]
    return (
        bool(seen)
        and all(value.is_tensor and not value.has("maybe_none") for value in seen)
        and all(value.kind in (Kind.UNKNOWN, Kind.TENSOR) and not value.has("maybe_none") for value in guessed)
    )


def _is_tensor(function: FunctionInfo, name: str, scope: Scope, node: ast.Call) -> bool:
    value = seen_as_tensor(function, name, scope.names[name])
    if value.kind is Kind.UNKNOWN and not value.has("maybe_none"):
        return value.has("likely_tensor") and (
            _is_fed_to_a_layer(function, name, scope) or _is_sliced(function, name) or _meets(function, name, node)
        )
    return value.is_tensor and not value.has("maybe_none")


def _is_sliced(function: FunctionInfo, name: str) -> bool:
    """``t[:, None]``, ``x[..., 0]``: no list or dict can be subscripted like that."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Subscript) and path_of(node.value) == name:
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
            if any(isinstance(p, ast.Slice) or _is_new_axis(p) for p in parts) or _is_new_axis(node.slice):
                return True
    return False


def _is_new_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis)


def _meets(function: FunctionInfo, name: str, made: ast.Call) -> bool:
    """``x + noise``, where ``x`` is the input of a module and ``noise`` the tensor whose place is in question."""
    if len(function.parameters) < 2 or function.parameters[1].arg != name or function.node.args.defaults:
        return False
    if any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(made)):
        return False  # a size
    names = {
        target.id
        for statement in ast.walk(function.node)
        if isinstance(statement, ast.Assign) and any(inner is made for inner in ast.walk(statement.value))
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function.node):
        if isinstance(node, ast.BinOp):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if path_of(one) == name and (other is made or path_of(other) in names):
                    return True
    return False


def _is_fed_to_a_layer(function: FunctionInfo, name: str, scope: Scope) -> bool:
    """``self.layer(x)``, where the layer is one of torch."""
    owner = scope.self_object
    for node in ast.walk(function.node) if owner is not None else ():
        if not isinstance(node, ast.Call) or not node.args or path_of(node.args[0]) != name:
            continue
        head, _, attribute = (path_of(node.func) or "").rpartition(".")
        layer = owner.attrs.get(attribute) if owner is not None and head == "self" else None
        if layer is not None and layer.kind is Kind.OBJECT and layer.data.external.startswith("torch.nn."):
            return True
    return False


def rebound(function: ast.AST, before: ast.AST) -> set[str]:
    """Names that a function assigns above a node."""
    line = getattr(before, "lineno", 0)
    return {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.lineno <= line
    }
