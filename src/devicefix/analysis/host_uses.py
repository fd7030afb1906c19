"""Whether the result of an expression is only read on the host: it becomes a number, a list, a text or a list index."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

HOST_METHODS: Final = frozenset({"numpy", "tolist", "item", "cpu"})
HOST_FUNCTIONS: Final = frozenset({"int", "float", "bool", "len", "print", "str"})

#: methods whose result is where their tensor is, and that need no other tensor
SAME_PLACE: Final = frozenset(
    {"detach", "long", "int", "float", "flatten", "squeeze", "unsqueeze", "view", "reshape", "t", "contiguous", "clone",
     "unique"}
)  # fmt: skip

DEPTH: Final = 6


def read_on_host(facts: FileFacts, node: ast.expr, element: bool = False, depth: int = DEPTH) -> bool:
    """Whether ``node`` is read on the host and nothing else; ``element``: it is one number of a tensor."""
    parent = facts.parents.get(node)
    if depth == 0 or parent is None:
        return False
    if isinstance(parent, ast.Attribute):
        call = facts.parents.get(parent)
        if parent.attr in HOST_METHODS:
            return True
        same_place = parent.attr in SAME_PLACE and isinstance(call, ast.Call) and call.func is parent
        return same_place and isinstance(call, ast.Call) and read_on_host(facts, call, element, depth - 1)
    if isinstance(parent, ast.FormattedValue):
        return True
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return element and isinstance(parent.ctx, ast.Load)  # an index on the CPU is good for lists and for tensors
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
        return isinstance(parent.slice, ast.Constant) and read_on_host(facts, parent, element, depth - 1)
    if isinstance(parent, ast.Call):
        return _argument(facts, parent, node, depth)
    if isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
        return _bound(facts, parent, parent.target, element=True, depth=depth)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        return _bound(facts, parent, parent.targets[0], element, depth)
    return False


def _argument(facts: FileFacts, call: ast.Call, node: ast.expr, depth: int) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in HOST_FUNCTIONS:
        return True
    if name == "map" and len(call.args) == 2 and call.args[1] is node:
        return isinstance(call.args[0], ast.Name) and call.args[0].id in HOST_FUNCTIONS
    loop = facts.parents.get(call)
    if name in ("zip", "enumerate") and isinstance(loop, (ast.For, ast.comprehension)) and loop.iter is call:
        position = 1 if name == "enumerate" else call.args.index(node)
        if isinstance(loop.target, ast.Tuple) and position < len(loop.target.elts):
            return _bound(facts, loop, loop.target.elts[position], element=True, depth=depth)
    return False


def _bound(facts: FileFacts, binder: ast.AST, target: ast.expr, element: bool, depth: int) -> bool:
    """Whether every use of a name, bound once in its function, is a read on the host."""
    if not isinstance(target, ast.Name):
        return False
    around: ast.AST = facts.tree
    function = facts.function(target)
    if isinstance(binder, ast.comprehension):
        around = facts.parents[binder]
    elif function is not None:
        around = function.node
    names = [n for n in ast.walk(around) if isinstance(n, ast.Name) and n.id == target.id]
    loads = [n for n in names if isinstance(n.ctx, ast.Load)]
    if len(names) - len(loads) != 1 or not loads:
        return False
    return all(read_on_host(facts, load, element, depth - 1) for load in loads)
