"""Tensors deep inside a batch: fields of an object or a named tuple, entries of a dict in a dict.

No statement at the head of the loop can put them elsewhere without building the whole anew, so each is moved where it is
used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.batch_uses import ends_on_host
from devicefix.analysis.batches import Batch, Part, Path, binding, loads, structure
from devicefix.analysis.loaders import AttributeKey
from devicefix.analysis.records import field_names
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts


def field_uses(facts: FileFacts, batch: Batch, part: Part) -> list[ast.expr] | None:
    """The expressions for the unmoved tensors of a part; ``None`` where what holds them goes elsewhere as a whole."""
    bound = binding(facts, batch.place)
    if bound is None or part.anchor is not None or () in part.rests:
        return None
    whole = structure(facts, batch.place, part.prefix)
    if whole.kind is Kind.OBJECT and (whole.data.cls is None or "to" in whole.data.cls.methods):
        return None  # it can be moved as a whole, and says itself how
    if not all(structure(facts, batch.place, (*part.prefix, *rest)).is_tensor for rest in part.rests):
        return None
    walk = _Accesses(facts, batch, part, bound[2])
    found: list[ast.expr] = []
    reached: set[Path] = set()
    for use in loads(part.name, bound[2]):
        for path, node in walk.follow(use, ()):
            if path in part.rests:
                reached.add(path)
                if not ends_on_host(facts, node):
                    found.append(node)
            elif any(rest[: len(path)] == path for rest in part.rests):
                return None
    return found if found and reached == set(part.rests) else None


class _Accesses:
    """Follows ``batch.inputs["x"]`` from the name of the batch, also through ``inputs = batch.inputs``."""

    def __init__(self, facts: FileFacts, batch: Batch, part: Part, region: list[ast.AST]) -> None:
        self.facts = facts
        self.batch = batch
        self.part = part
        self.region = region
        self.aliases: set[str] = set()

    def follow(self, node: ast.expr, path: Path) -> Iterator[tuple[Path, ast.expr]]:
        """The longest expressions that begin with ``node``, each with the part of the batch that it stands for."""
        value = structure(self.facts, self.batch.place, (*self.part.prefix, *path))
        parent = self.facts.parents.get(node)
        if value.kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.OBJECT) and parent is not None:
            key = _key(parent, node, value)
            if key is not None and isinstance(parent, ast.expr):
                yield from self.follow(parent, (*path, key))
                return
            alias = self._alias(parent, node)
            if alias:
                for use in loads(alias, self.region):
                    yield from self.follow(use, path)
                return
        yield path, node

    def _alias(self, parent: ast.AST, node: ast.expr) -> str:
        """Another name for a part, if nothing else is bound to it."""
        if not isinstance(parent, ast.Assign) or parent.value is not node or len(parent.targets) != 1:
            return ""
        target = parent.targets[0]
        if not isinstance(target, ast.Name) or target.id in self.aliases or parent not in self.region:
            return ""
        function = self.facts.function(node)
        around = function.node if function is not None else self.facts.tree
        stores = [n for n in ast.walk(around) if isinstance(n, ast.Name) and n.id == target.id]
        if sum(isinstance(n.ctx, ast.Store) for n in stores) != 1:
            return ""
        self.aliases.add(target.id)
        return target.id


def _key(parent: ast.AST, node: ast.expr, value: Value) -> object:
    """What ``node[…]`` or ``node.name`` takes out of a value; ``None`` for other uses, and for methods."""
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
        return parent.slice.value if isinstance(parent.slice, ast.Constant) else None
    if isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load):
        names = field_names(value)
        if parent.attr in names:
            return names.index(parent.attr)
        if value.kind is Kind.OBJECT and parent.attr in value.data.attrs:
            return AttributeKey(parent.attr)
    return None
