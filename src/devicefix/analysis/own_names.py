"""The nodes and names that a function has to itself, without those of functions and classes in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devicefix.analysis.statements import import_names
from devicefix.analysis.tree_index import push_children

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """All nodes in the body of a function, but not those inside functions and classes in it; in no particular order."""
    body = getattr(function, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, INNER_SCOPES):
            push_children(node, stack)


def defaults_of(spec: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters that have a default, each with it."""
    positional = [*spec.posonlyargs, *spec.args]
    yield from zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)
    for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default


INNER_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class OwnNames:
    """The names of a function: what it binds, what it declares as somebody else's, and whether it yields."""

    __slots__ = ("bound", "enclosing", "generator", "outer")

    def __init__(self, function: FunctionNode) -> None:
        args = function.args
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        bound = {arg.arg for arg in every if arg is not None}
        outer: set[str] = set()
        enclosing: set[str] = set()
        self.generator = False
        stack: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
        while stack:
            node = stack.pop()
            cls = node.__class__
            if cls is ast.Attribute or cls is ast.Expr or cls is ast.Return:
                if node.value is not None:  # type: ignore[attr-defined]
                    stack.append(node.value)  # type: ignore[attr-defined]
                continue
            if cls is ast.Call:
                stack.append(node.func)  # type: ignore[attr-defined]
                stack += node.args  # type: ignore[attr-defined]
                stack += [k.value for k in node.keywords]  # type: ignore[attr-defined]
                continue
            if cls is ast.Name:
                if node.ctx.__class__ is not ast.Load:  # type: ignore[attr-defined]
                    bound.add(node.id)  # type: ignore[attr-defined]
                continue
            if cls is ast.Constant:
                continue
            if isinstance(node, INNER_SCOPES):
                if not isinstance(node, ast.Lambda):
                    bound.add(node.name)
                continue
            if cls is ast.Yield or cls is ast.YieldFrom:
                self.generator = True
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                bound.update(import_names(node))
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
                if node.name:
                    bound.add(node.name)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                outer.update(node.names)
                if isinstance(node, ast.Nonlocal):
                    enclosing.update(node.names)
                continue
            push_children(node, stack)
        self.bound = frozenset(bound - outer)
        self.outer = frozenset(outer)
        self.enclosing = frozenset(enclosing)
