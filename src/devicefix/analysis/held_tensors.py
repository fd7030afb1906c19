"""Tensors that a module holds where ``Module.to`` does not reach them and no buffer can take their place at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.attributes import declaring_class
from devicefix.analysis.distributions import is_distribution
from devicefix.analysis.placement import made_for_the_call
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.model import ClassInfo
    from devicefix.analysis.values import Origin

KINDS = ("collection", "class", "alias")


@dataclass(slots=True)
class HeldTensors:
    """One attribute that keeps tensors out of reach, with the operations where they meet the module's device."""

    kind: str  #: ``collection`` (list, tuple, dict), ``class`` (in the class body), ``alias`` (of a buffer)
    cls: ClassInfo
    name: str
    statement: ast.stmt
    container: str = ""  #: ``list``, ``tuple``, ``dict``, ``distribution`` where known
    mixes: list[Mix] = field(default_factory=list)


def held_tensors(facts: FileFacts) -> Iterator[HeldTensors]:
    """Collections, class attributes and buffer aliases that meet another device, in source order."""
    found: dict[tuple[ClassInfo, str], HeldTensors] = {}
    for mix in facts.mixes:
        for origin in mix.culprit.origins:
            if origin.kind not in KINDS or not isinstance(origin.node, ast.stmt) or not facts.here(origin.node):
                continue
            if origin.under and all(_is_empty(under) for under in origin.under):
                continue  # a placeholder until the first real value
            if origin.kind == "collection" and made_for_the_call(origin) and all(map(_is_factory, origin.under)):
                continue  # they can be made where they are needed
            cls = _class_of(facts, origin)
            if cls is None:
                continue
            key = (cls, origin.attribute)
            if key not in found:
                found[key] = HeldTensors(origin.kind, cls, origin.attribute, origin.node, _container(facts, origin))
            found[key].mixes.append(mix)
    yield from sorted(found.values(), key=lambda held: held.statement.lineno)


def _class_of(facts: FileFacts, origin: Origin) -> ClassInfo | None:
    if origin.kind != "class":
        return declaring_class(facts, origin)
    parent = facts.parents.get(origin.node)
    while parent is not None and not isinstance(parent, ast.ClassDef):
        parent = facts.parents.get(parent)
    return facts.module.class_(parent) if parent is not None else None


def _is_empty(origin: Origin) -> bool:
    """``torch.tensor([])``, ``torch.empty(0)``."""
    call = origin.node
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        return False
    given = call.args[0]
    if origin.detail.endswith("tensor"):
        return isinstance(given, (ast.List, ast.Tuple)) and not given.elts
    return isinstance(given, ast.Constant) and given.value == 0


def _is_factory(origin: Origin) -> bool:
    return origin.kind in ("factory", "legacy")


def _container(facts: FileFacts, origin: Origin) -> str:
    """What the attribute holds, in a word."""
    for write in facts.records.writes:
        if write.statement is origin.node and write.name == origin.attribute:
            if write.value.kind is Kind.MAPPING:
                return "dict"
            if write.value.kind is Kind.SEQUENCE:
                return write.value.data if write.value.data in ("list", "tuple", "set") else "list"
            if is_distribution(write.value):
                return "distribution"
    return ""
