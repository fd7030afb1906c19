"""One walk over a syntax tree for everybody: parents, and the nodes of each type in source order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)
Other = TypeVar("Other", bound=ast.AST)

#: fields that hold no nodes, or nodes that nobody asks about
_SKIPPED = frozenset({"ctx", "id", "attr", "arg", "kind", "type_comment", "lineno", "op", "ops", "s", "n"})
_FIELDS: dict[type, tuple[str, ...]] = {}


def child_fields(cls: type) -> tuple[str, ...]:
    """The fields of a node class that may hold nodes."""
    fields = _FIELDS.get(cls)
    if fields is None:
        keep: tuple[str, ...] = tuple(f for f in cls._fields if f not in _SKIPPED)  # type: ignore[attr-defined]
        if cls is ast.arguments:
            keep = cls._fields
        elif cls is ast.Constant or cls is ast.MatchSingleton:
            keep = ()
        fields = _FIELDS[cls] = keep
    return fields


def push_children(node: ast.AST, stack: list[Any]) -> None:
    """Append the child nodes of a node to a list."""
    fields = _FIELDS.get(node.__class__)
    if fields is None:
        fields = child_fields(node.__class__)
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            stack += [item for item in value if item is not None and item.__class__ is not str]
        elif value is not None and value.__class__ is not str and value.__class__ is not int:
            stack.append(value)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Like ``ast.walk``, in no particular order and twice as fast."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        push_children(current, stack)


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name, ``c`` of ``a.b.c``; empty for what is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def root_name(node: ast.expr) -> str:
    """``NAME`` of ``NAME``, ``NAME[0]``, ``NAME.view(1, 3)``."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return ""
    return node.id


class TreeIndex:
    """Parents and nodes by type."""

    __slots__ = ("_named", "by_type", "parents")

    def __init__(self, tree: ast.AST) -> None:
        parents: dict[ast.AST, ast.AST] = {}
        by_type: dict[type, list[Any]] = {}
        fields_of = _FIELDS
        stack: list[Any] = [tree]
        pop, push = stack.pop, stack.append
        while stack:
            node = pop()
            cls = node.__class__
            members = by_type.get(cls)
            if members is None:
                by_type[cls] = [node]
            else:
                members.append(node)
            fields = fields_of.get(cls)
            if fields is None:
                fields = child_fields(cls)
            if not fields:
                continue
            mark = len(stack)
            for name in fields:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    for item in value:
                        if item.__class__ is not str and item is not None:
                            parents[item] = node
                            push(item)
                elif value is not None and isinstance(value, ast.AST):
                    parents[value] = node
                    push(value)
            stack[mark:] = stack[mark:][::-1]
        self.parents = parents
        self.by_type = by_type
        self._named: dict[str, list[ast.Name]] | None = None

    def nodes(self, *types: type[Node]) -> Iterator[Node]:
        """All nodes of some types; in source order within a type."""
        for cls in types:
            yield from self.by_type.get(cls, ())

    def names(self, name: str) -> list[ast.Name]:
        """Every mention of a name, in source order."""
        if self._named is None:
            self._named = {}
            for node in self.nodes(ast.Name):
                self._named.setdefault(node.id, []).append(node)
        return self._named.get(name, [])
