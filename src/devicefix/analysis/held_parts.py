"""The fields of a batch that is a named tuple: they cannot be assigned, but each use of one can carry a move."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.batch_uses import ends_on_host, stays
from devicefix.analysis.batches import Batch, Part, binding, loads, structure
from devicefix.analysis.loaders import AttributeKey
from devicefix.analysis.records import field_names, is_record
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: a field that is used more often should be moved once
MOST_USES = 2


def is_named(facts: FileFacts, batch: Batch, parts: list[Part]) -> bool:
    """Whether the names of a batch stand for named tuples."""
    return bool(parts) and all(_is_named(structure(facts, batch.place, part.prefix)) for part in parts)


def _is_named(value: Value) -> bool:
    if value.kind is not Kind.OBJECT or value.data.cls is None:
        return is_record(value)
    bases = value.data.cls.node.bases
    return any((b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "")) == "NamedTuple" for b in bases)


def field_uses(facts: FileFacts, batch: Batch, parts: list[Part]) -> list[ast.expr]:
    """The uses of the fields to move; none if these are not all the ways to them."""
    found: list[ast.expr] = []
    for part in parts:
        uses = _uses(facts, batch, part)
        if not uses:
            return []
        found.extend(uses)
    return found


def fields(facts: FileFacts, batch: Batch, part: Part) -> list[str]:
    """The names of the fields that have to be moved; none if it is not fields that have to be."""
    names = field_names(structure(facts, batch.place, part.prefix))
    found: list[str] = []
    for rest in part.rests:
        key = rest[0] if len(rest) == 1 else None
        if isinstance(key, AttributeKey):
            found.append(key.name)
        elif isinstance(key, int) and key < len(names):
            found.append(names[key])
        else:
            return []
    return found


def _uses(facts: FileFacts, batch: Batch, part: Part) -> list[ast.expr]:
    names = set(fields(facts, batch, part))
    bound = binding(facts, batch.place)
    if not names or bound is None or stays(facts, batch, part):
        return []
    found: list[ast.expr] = []
    seen: list[str] = []
    for use in loads(part.name, bound[2] if part.anchor is None else [facts.parents[part.anchor]]):
        field = facts.parents.get(use)
        if not isinstance(field, ast.Attribute):
            return []  # the whole tuple goes somewhere
        if field.attr in names and not ends_on_host(facts, field):
            found.append(field)
            seen.append(field.attr)
    return found if set(seen) == names and all(seen.count(name) <= MOST_USES for name in names) else []
