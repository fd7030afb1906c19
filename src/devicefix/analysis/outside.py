"""Functions that cannot hold a finding: which of them are looked into for what they return."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from devicefix.analysis.factory_calls import factory_names
from devicefix.analysis.keeping import is_product
from devicefix.analysis.tree_index import last_name, walk
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.model import FunctionInfo

#: names of what moves things, registers them or says where they are
PLACES = frozenset({"to", "cuda", "cpu", "device", "register_buffer", "_apply", "type_as", "nn", "apply"})


def makes_or_moves(info: FunctionInfo) -> bool:
    """Whether a function mentions something that makes, builds or moves, or a variable of its module.

    All others only hand on what they are given.
    """
    factories, variables = factory_names(), info.module.variables
    for inner in walk(info.node):
        if isinstance(inner, ast.Attribute):
            name = inner.attr
        elif isinstance(inner, ast.Name):
            name = inner.id
            if name in variables:
                return True
        elif isinstance(inner, ast.Call):
            name = last_name(inner.func)
            if name[:1].isupper() and is_product(name):
                return True
            continue
        else:
            continue
        if name in PLACES or name in factories:
            return True
    return False


def any_of_interest(values: Iterable[Value]) -> bool:
    """Whether a function that is given these could return a tensor, a module or a device."""
    return any(map(_is_of_interest, values))


def _is_of_interest(value: Value) -> bool:
    kind = value.kind
    if kind is Kind.UNKNOWN:
        return value.device is not None or "likely_tensor" in value.flags
    if kind is Kind.SEQUENCE or kind is Kind.MAPPING:
        inner = value.items.values() if isinstance(value.items, dict) else value.items or ()
        return any(map(_is_of_interest, inner)) or (value.element is not None and _is_of_interest(value.element))
    return kind not in _OF_NO_INTEREST


_OF_NO_INTEREST = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.DTYPE, Kind.SIZE, Kind.EXTERNAL, Kind.CLASS})
