"""Rewrites that somebody asks for where nothing is wrong (yet)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devicefix.analysis.attributes import TensorAttribute, writes_of
from devicefix.analysis.buffers import registrable, registration
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import AttributeWrite, FileFacts
    from devicefix.codemods.changes import Change
    from devicefix.lsp.checker import Checked

ONE_DEVICE = "DVF401"  #: the rule whose fixes give a file one device variable


def attributes_at(checked: Checked, start: int, end: int) -> list[str]:
    """Names of the tensor attributes of modules whose assignment the stretch touches and that can become buffers."""
    facts = checked.facts
    if facts is None:
        return []
    return list(dict.fromkeys(w.name for w in _writes_at(facts, start, end) if buffer_changes(facts, w)))


def buffer_at(checked: Checked, start: int, end: int, name: str) -> tuple[Change, ...]:
    """The changes that register the attribute as a buffer; empty when it cannot be."""
    facts = checked.facts
    if facts is None:
        return ()
    return next((c for w in _writes_at(facts, start, end) if w.name == name and (c := buffer_changes(facts, w))), ())


def _writes_at(facts: FileFacts, start: int, end: int) -> list[AttributeWrite]:
    found = []
    for write in facts.records.writes:
        statement = write.statement
        if statement is None or not write.owner.is_module or not facts.here(statement):
            continue
        if facts.source.start_of(statement) <= end and start <= facts.source.end_of(statement):
            found.append(write)
    return found


def buffer_changes(facts: FileFacts, write: AttributeWrite) -> tuple[Change, ...]:
    """The changes that turn the attribute that is written into a buffer."""
    function = write.scope.function
    if function is None or function.cls is None or write.value.kind is not Kind.TENSOR:
        return ()
    if any(write.value.has(flag) for flag in ("parameter", "buffer", "requires_grad", "graph")):
        return ()
    attribute = TensorAttribute(function.cls, write.name, True)
    attribute.writes = writes_of(facts, function.cls, write.name)
    statements, note = registrable(facts, attribute)
    return () if note else tuple(registration(facts, attribute, statements))


def names_devices(checked: Checked, start: int, end: int) -> bool:
    """Whether the stretch touches a place that names an accelerator and could use a variable instead."""
    return any(
        placed.finding.code == ONE_DEVICE and placed.finding.fix and placed.start <= end and start <= placed.end
        for placed in checked.placed
    )
