"""Code that says it also runs on the CPU: a choice between a card and the CPU, or ``"cpu"`` as the default."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.own_names import defaults_of
from devicefix.analysis.tree_index import walk

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def falls_back(facts: FileFacts, node: ast.AST) -> bool:
    """Whether the function, class or module-level code around a node chooses the CPU where there is no card."""
    inside = _places(facts, node)
    for choice in (*facts.nodes(ast.IfExp), *facts.nodes(ast.If)):
        if isinstance(choice, (ast.IfExp, ast.If)) and _chooses(choice) and _place(facts, choice) in inside:
            return True
    functions = [place for place in inside if isinstance(place, (ast.FunctionDef, ast.AsyncFunctionDef))]
    constructors = [
        member
        for place in inside
        if isinstance(place, ast.ClassDef)
        for member in place.body
        if isinstance(member, ast.FunctionDef) and member.name == "__init__"
    ]
    return any(_cpu_by_default(function) for function in (*functions, *constructors))


def _places(facts: FileFacts, node: ast.AST) -> set[ast.AST]:
    """The functions and classes around a node, and the file."""
    found: set[ast.AST] = {facts.tree}
    current = facts.parents.get(node)
    while current is not None:
        if isinstance(current, (*FUNCTIONS, ast.ClassDef)):
            found.add(current)
        current = facts.parents.get(current)
    return found


def _place(facts: FileFacts, node: ast.AST) -> ast.AST:
    """The function that a node belongs to; for a method its class; else the file."""
    current = facts.parents.get(node)
    while current is not None and not isinstance(current, (*FUNCTIONS, ast.ClassDef)):
        current = facts.parents.get(current)
    if current is None or _is_main(facts, node):
        return facts.tree
    around = facts.parents.get(current)
    return around if isinstance(around, ast.ClassDef) else current


def _is_main(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a node stands directly in the module body (also under ``if __name__ == "__main__"``)."""
    current = facts.parents.get(node)
    while current is not None:
        if isinstance(current, (*FUNCTIONS, ast.ClassDef)):
            return False
        current = facts.parents.get(current)
    return True


def _chooses(node: ast.IfExp | ast.If) -> bool:
    """``"cuda" if torch.cuda.is_available() else "cpu"``, as an expression or as a statement."""
    asks = ("is_available", "device_count")
    if not any(isinstance(n, ast.Attribute) and n.attr in asks for n in walk(node.test)):
        return False
    arms: list[ast.AST] = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*node.body, *node.orelse]
    texts = {n.value for arm in arms for n in ast.walk(arm) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return "cpu" in texts and any(text.startswith("cuda") for text in texts)


def _cpu_by_default(function: Function) -> bool:
    """A parameter for the device that is the CPU unless the caller says otherwise."""
    return any("dev" in arg.arg.lower() and _is_cpu(default) for arg, default in defaults_of(function.args))


def _is_cpu(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and len(node.args) == 1 and ast.unparse(node.func) in ("torch.device", "device"):
        node = node.args[0]
    return isinstance(node, ast.Constant) and node.value == "cpu"
