"""What can be done with ``nn.ModuleList``, ``nn.ModuleDict`` and their sisters, and what only with a list or a dict."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from devicefix.analysis.container_keys import bad_key

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: methods that mean the same for the plain container and for the registering one
METHODS: Final = {
    "ModuleList": frozenset({"append", "extend", "insert"}),
    "ParameterList": frozenset({"append", "extend"}),
    "ModuleDict": frozenset({"items", "keys", "values", "update", "pop", "clear"}),
    "ParameterDict": frozenset({"items", "keys", "values", "update", "pop", "clear", "get"}),
}

#: functions that only iterate over what they are given, or ask for its length
READERS: Final = frozenset(
    {"len", "enumerate", "zip", "reversed", "iter", "list", "tuple", "map", "any", "all", "sum", "dict", "print",
     "sorted", "filter", "chain", "bool", "set"}
)  # fmt: skip


def trouble_in_use(facts: FileFacts, node: ast.Attribute, replacement: str) -> str:
    """Why ``node``, a use of the container, would not work with ``nn.<replacement>``; ``""`` if it would."""
    parent = facts.parents.get(node)
    line = f"line {node.lineno}"
    mapping = replacement.endswith("Dict")
    plain = "dict" if mapping else "list"
    if isinstance(parent, ast.Attribute):
        if parent.attr in METHODS[replacement]:
            return ""
        return f"{line} uses `.{parent.attr}`, which `nn.{replacement}` does not have in this form"
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _subscript(facts, parent, replacement, line)
    if isinstance(parent, ast.Call) and node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        if name in READERS or name == replacement:
            return ""
        return f"{line} hands it to `{name}`, which may want a plain {plain}"
    if isinstance(parent, ast.AugAssign) and parent.target is node:
        return "" if isinstance(parent.op, ast.Add) and not mapping else f"{line} changes it with an operator"
    if isinstance(parent, ast.Compare):
        allowed = (ast.Is, ast.IsNot, ast.In, ast.NotIn) if mapping else (ast.Is, ast.IsNot)
        return "" if all(isinstance(op, allowed) for op in parent.ops) else f"{line} compares it"
    iterated = isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node
    tested = isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and parent.test is node
    spread = isinstance(parent, ast.Starred) or (isinstance(parent, ast.keyword) and parent.arg is None)
    negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Tuple, ast.List))
    if iterated or tested or spread or negated or unpacked:
        return ""
    return f"{line} uses it where a plain {plain} may be wanted"


def _subscript(facts: FileFacts, node: ast.Subscript, replacement: str, line: str) -> str:
    if replacement.endswith("Dict"):
        if isinstance(node.ctx, ast.Load):
            constant = isinstance(node.slice, ast.Constant) and not isinstance(node.slice.value, str)
            return f"{line} looks up a key that is no string" if constant else ""
        return bad_key(facts, node.slice, replacement, _stored(facts, node))
    if isinstance(node.slice, ast.Slice) and not isinstance(node.ctx, ast.Load):
        return f"{line} assigns to a slice of it"
    if isinstance(node.ctx, ast.Del) and replacement == "ParameterList":
        return f"{line} deletes from it"
    return ""


def _stored(facts: FileFacts, node: ast.Subscript) -> ast.expr | None:
    """What is stored under a key."""
    parent = facts.parents.get(node)
    return parent.value if isinstance(parent, ast.Assign) else None


def keys_stored(facts: FileFacts, node: ast.Attribute) -> ast.expr | None:
    """The key under which a use of a dict stores something, if it does."""
    parent = facts.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Store):
        return parent.slice
    return None
