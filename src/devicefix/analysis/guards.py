"""Conditions on an accelerator that protect code, and code that is for a card alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of, torch_path

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: words that make a condition one about the accelerator
GUARD_WORDS = ("cuda", "gpu", "is_available", "accelerator", "device", "mps", "backend")


def guard_of(facts: FileFacts, node: ast.AST, called: bool = False) -> tuple[ast.AST | None, str]:
    """The condition on an accelerator that protects a node, and the flag it tests, if it is just that.

    ``called``: the node is the call of a function of the file, and what it protects is what is in there.
    """
    child: ast.AST = node
    current = facts.parents.get(node)
    while current is not None:
        if (
            isinstance(current, (ast.If, ast.IfExp, ast.While))
            and child is not current.test
            and mentions_guard(current.test)
        ):
            positive = child in current.body if isinstance(current.body, list) else child is current.body
            return current, (path_of(current.test) or "") if positive else ""
        if (
            isinstance(current, (ast.If, ast.IfExp))
            and child is not current.test
            and _flag_defined_by_guard(facts, current.test)
        ):
            return current, path_of(current.test) or ""
        if isinstance(current, ast.Try) and child in current.body and current.handlers and not called:
            return current, ""
        if isinstance(current, ast.BoolOp) and any(mentions_guard(v) for v in current.values if v is not child):
            return current, ""
        if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            skipped = next((d for d in current.decorator_list if _skips(d)), None)
            if skipped is not None:
                return skipped, ""
        if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            leaver = _early_leave(current.body, child)
            if leaver is not None:
                return leaver, ""
            guard = _guard_of_calls(facts, current) if not called else None
            if guard is not None:
                return guard, ""
        child, current = current, facts.parents.get(current)
    return None, ""


def _guard_of_calls(facts: FileFacts, function: ast.AST) -> ast.AST | None:
    """The condition around a call of a function that the file only calls where there is an accelerator."""
    if isinstance(function, ast.Module) or not isinstance(facts.parents.get(function), ast.Module):
        return None
    name = getattr(function, "name", "")
    guard = None
    for use in facts.module.index.names(name):
        call = facts.parents.get(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return None
        guard, _ = guard_of(facts, call, called=True)
        if guard is None:
            return None
    return guard


def _skips(decorator: ast.expr) -> bool:
    """``@unittest.skipIf(not torch.cuda.is_available(), …)``, ``@requires_cuda``."""
    text = ast.unparse(decorator).lower()
    return ("skip" in text or "requir" in text) and mentions_guard(decorator)


def mentions_guard(test: ast.AST) -> bool:
    """Whether an expression speaks of the accelerator."""
    for node in ast.walk(test):
        word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        if word and any(w in word.lower() for w in GUARD_WORDS):
            return True
    return False


def _flag_defined_by_guard(facts: FileFacts, test: ast.expr) -> bool:
    """``if flag:`` where ``flag = torch.cuda.is_available()``."""
    if not isinstance(test, ast.Name):
        return False
    return any(
        isinstance(s, ast.Assign) and mentions_guard(s.value) and "is_available" in ast.unparse(s.value)
        for s in facts.module.bindings.get(test.id, ())
    )


def _early_leave(body: list[ast.stmt], child: ast.AST) -> ast.stmt | None:
    """``if not torch.cuda.is_available(): return`` (or raise, exit, an assertion) above a statement of the same
    body."""
    for statement in body:
        if statement is child:
            return None
        if isinstance(statement, ast.Assert) and mentions_guard(statement.test):
            return statement
        if isinstance(statement, ast.If) and mentions_guard(statement.test) and statement.body:
            last = statement.body[-1]
            if isinstance(last, (ast.Return, ast.Raise)):
                return statement
            if (
                isinstance(last, ast.Expr)
                and isinstance(last.value, ast.Call)
                and path_of(last.value.func) in ("sys.exit", "exit", "quit", "os._exit", "pytest.skip", "self.skipTest")
            ):
                return statement
    return None


def uses_streams(facts: FileFacts, node: ast.AST) -> bool:
    """Whether the function around a node works with the streams of a card, whatever machine it runs on."""
    if "tream" not in facts.source.text:
        return False
    function = facts.function(node)
    for found in facts.nodes(ast.Attribute):
        if found.attr in STREAMS and facts.function(found) is function:
            if torch_path(facts.module, found.value) == "torch.cuda" and guard_of(facts, found)[0] is None:
                return True
    return False


#: what `torch.cuda` offers that has no counterpart on the CPU
STREAMS = frozenset({"Stream", "stream", "current_stream", "default_stream", "set_stream"})
