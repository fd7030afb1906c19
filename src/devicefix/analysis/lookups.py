"""Tables on the CPU that are indexed by tensors on another device.

PyTorch allows an index on the CPU for a table on a card, but not the reverse. Most such tables are made on the wrong
device or are attributes that should move with a module; those have rules of their own. What remains are tables that are
on the CPU on purpose, and tables of classes that nobody can move.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.attributes import TensorAttribute, attributes_met
from devicefix.analysis.devices import CPU, same
from devicefix.analysis.host_tables import is_host_table, moved_result
from devicefix.analysis.host_uses import read_on_host

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.values import Value


@dataclass(slots=True)
class Lookup:
    """One ``table[index]`` with the table on the CPU and the index elsewhere."""

    node: ast.Subscript
    mix: Mix
    moved: ast.Call | None = None  #: ``table[index].to(d)``: the result is moved at once
    same_device: bool = False  #: and that is where the index is
    host_use: bool = False  #: the result is read on the host
    stored: list[ast.expr] = field(default_factory=list)  #: values on a device that are stored there
    keeps_table: bool = False  #: the table is on the CPU on purpose and stays there


def is_lookup_table(attribute: TensorAttribute) -> bool:
    """Whether the attribute of a class that is no module is only ever indexed where it meets another device."""
    return not attribute.is_module and all(mix.manner == "index" for mix in attribute.mixes)


def lookups(facts: FileFacts) -> Iterator[Lookup]:
    """Lookups that no other rule repairs, in source order."""
    tables = {id(mix) for a in attributes_met(facts) if is_lookup_table(a) for mix in a.mixes}
    by_factory: dict[ast.AST, list[Mix]] = {}
    for mix in facts.mixes:
        for origin in mix.culprit.origins:
            if origin.kind in ("factory", "legacy"):
                by_factory.setdefault(origin.node, []).append(mix)
    found: dict[ast.AST, Lookup] = {}
    for mix in facts.mixes:
        if (
            mix.manner != "index"
            or not isinstance(mix.node, ast.Subscript)
            or not facts.here(mix.node)
            or mix.node in found
        ):
            continue
        if mix.partner_node is None or facts.is_stale(mix) or (mix.assumed and mix.partner.device in facts.host_roots):
            continue
        origins = mix.culprit.origins
        moved = moved_result(facts, mix)
        on_purpose = not origins and mix.culprit.device == CPU and _shown(facts, mix)
        local = bool(origins) and all(
            o.kind in ("factory", "legacy") and is_host_table(facts, by_factory[o.node]) for o in origins
        )
        if not on_purpose and not local and not (id(mix) in tables and moved is not None):
            continue
        lookup = Lookup(mix.node, mix, moved, keeps_table=on_purpose)
        lookup.same_device = moved is not None and any(
            same(m.device, mix.partner.device) for m in facts.records.moves if m.call is moved
        )
        lookup.host_use = _read_on_host(facts, mix)
        lookup.stored = [
            m.partner_node
            for m in facts.mixes
            if m.node is mix.node and m.operation == "index_put_" and m.partner_node is not None
        ]
        found[mix.node] = lookup
    yield from sorted(found.values(), key=lambda x: (x.node.lineno, x.node.col_offset))


def _shown(facts: FileFacts, mix: Mix) -> bool:
    """Whether the index is shown to be on a device; a parameter that nobody passed is so only in a module's methods."""
    if not mix.assumed:
        return True
    if mix.scope.self_object is not None and mix.scope.self_object.is_module:
        return True
    return same(_moved_from(facts, mix.culprit), mix.partner.device)


def _moved_from(facts: FileFacts, value: Value) -> Device | None:
    ident = value.ident
    if isinstance(ident, tuple) and len(ident) == 3 and ident[0] == "moved":
        return next((m.receiver.device for m in facts.records.moves if m.call is ident[2]), None)
    return None


def _read_on_host(facts: FileFacts, mix: Mix) -> bool:
    if isinstance(mix.node, ast.expr) and read_on_host(facts, mix.node):
        return True
    result = ("item", mix.culprit.ident, id(mix.node))
    read = any(read.value.ident == result for read in facts.records.host_reads)
    return read and not any(other.culprit.ident == result for other in facts.mixes)
