"""Whether the result of a move can be assigned to what was moved."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis import records
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import Move
    from devicefix.analysis.values import Scope, Value

#: why the target of a dropped move cannot be assigned
UNASSIGNABLE = {
    "outer": "it belongs to an outer scope; an assignment would make it local and unbound here",
    "property": "it is a property without a setter",
    "tuple": "a field of a named tuple cannot be assigned",
    "registered": "it is a registered parameter or buffer; move the module instead",
    "leaf": "it is a leaf that requires grad; the moved copy would not be the one that an optimizer holds",
    "parameter": "the function does not use it afterwards, and its caller keeps the old tensor",
    "data": "`.data` takes no tensor of another device",
}


def attribute_problem(node: ast.Attribute, moves: list[Move]) -> str:
    """Why an attribute cannot be assigned, as a key of `UNASSIGNABLE`; "" if it can."""
    for move in moves:
        value = _value_of(node.value, move.scope)
        if value is not None and records.is_record(value):
            return "tuple"
        owner = value.data if value is not None and value.kind is Kind.OBJECT else None
        if owner is None or owner.cls is None:
            continue
        method = owner.cls.methods.get(node.attr)
        if method is not None and method.is_property and node.attr not in owner.cls.setters:
            return "property"
        if any(
            ast.unparse(b.func if isinstance(b, ast.Call) else b).lower().endswith("namedtuple")
            for b in owner.cls.node.bases
        ):
            return "tuple"
        if any("frozen=True" in ast.unparse(d) for d in owner.cls.node.decorator_list):
            return "tuple"
    return ""


def _value_of(node: ast.expr, scope: Scope) -> Value | None:
    """What a name or an attribute of a named object stands for."""
    if isinstance(node, ast.Name):
        return scope.names.get(node.id)
    base = _value_of(node.value, scope) if isinstance(node, ast.Attribute) else None
    if base is None or not isinstance(node, ast.Attribute):
        return None
    if base.kind is Kind.OBJECT:
        held: Value | None = base.data.attrs.get(node.attr)
        return held
    return records.attribute(base, node.attr)
