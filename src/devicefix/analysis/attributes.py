"""Plain tensor attributes of modules: where they are set, and whether they can become buffers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.attribute_moves import moved_by_a_method
from devicefix.analysis.placement import constructs
from devicefix.analysis.values import Kind, Origin

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import AttributeWrite, FileFacts, Mix
    from devicefix.analysis.model import ClassInfo
    from devicefix.analysis.values import Obj


@dataclass(slots=True)
class TensorAttribute:
    """An attribute that holds a tensor on the CPU and meets one on the module's device."""

    cls: ClassInfo
    name: str
    is_module: bool
    mixes: list[Mix] = field(default_factory=list)
    writes: list[AttributeWrite] = field(default_factory=list)


def attributes_met(facts: FileFacts, kind: str = "attribute") -> Iterator[TensorAttribute]:
    """Attributes of classes in this file that meet another device, by origin kind, in source order."""
    found: dict[tuple[ClassInfo, str], TensorAttribute] = {}
    for mix in facts.mixes:
        for origin in mix.culprit.origins:
            if origin.kind != kind or origin.owner is None or origin.owner.cls is None:
                continue
            cls = declaring_class(facts, origin)
            if cls is None or (origin.owner.assumed and moved_by_a_method(facts, cls, origin.attribute)):
                continue
            if origin.owner.assumed and _placed_alike(facts, origin.owner, mix.culprit.device):
                continue
            entry = found.setdefault(
                (cls, origin.attribute), TensorAttribute(cls, origin.attribute, origin.owner.is_module)
            )
            entry.mixes.append(mix)
    for entry in found.values():
        writes = writes_of(facts, entry.cls, entry.name)
        # what another branch registers is right
        entry.writes = [w for w in writes if not (w.value.is_tensor and w.value.has("parameter"))] or writes
    yield from sorted(found.values(), key=lambda a: (a.cls.node.lineno, _first_line(a)))


def _placed_alike(facts: FileFacts, owner: Obj, device: Device | None) -> bool:
    """Whether the constructor takes the whole module to the card, ``self.cuda()``, that a tensor of it is made on."""
    if device is None or device.kind != "cuda":
        return False
    return any(
        move.device == device
        and move.receiver.kind is Kind.OBJECT
        and move.receiver.data is owner
        and move.scope.function is not None
        and move.scope.function.name == "__init__"
        for move in facts.records.moves
    )


def _first_line(attribute: TensorAttribute) -> int:
    lines = [w.statement.lineno for w in attribute.writes if w.statement is not None]
    return min(lines, default=0)


def declaring_class(facts: FileFacts, origin: Origin) -> ClassInfo | None:
    """The class of this file in whose code the attribute is written."""
    function = origin.scope.function
    cls = (
        function.cls
        if function is not None and function.cls is not None
        else origin.owner.cls
        if origin.owner
        else None
    )
    if cls is None or cls.module is not facts.module or not facts.here(origin.node):
        return None
    return cls


def writes_of(facts: FileFacts, cls: ClassInfo, name: str) -> list[AttributeWrite]:
    """Every statement that writes an attribute of instances of a class, once each, in the order of the text."""
    found: dict[ast.stmt, AttributeWrite] = {}
    for write in facts.records.writes:
        owner = write.owner.cls
        if write.name != name or owner is None or write.statement is None or not facts.here(write.statement):
            continue
        if owner is cls or any(m.cls is cls for m in (write.scope.function,) if m is not None):
            known = found.get(write.statement)
            if known is None or (known.value.kind is Kind.UNKNOWN and write.value.kind is not Kind.UNKNOWN):
                found[write.statement] = write
    return sorted(found.values(), key=lambda w: w.statement.lineno if w.statement is not None else 0)


def holds_batches(attribute: TensorAttribute) -> bool:
    """Whether what the attribute holds where it meets another device came from a loader: the batch has to move."""
    kept = [o for m in attribute.mixes for o in m.culprit.origins if o.attribute == attribute.name]
    return bool(kept) and all(origin.under and all(u.kind == "batch" for u in origin.under) for origin in kept)


def built_in_constructor(facts: FileFacts, attribute: TensorAttribute) -> list[AttributeWrite]:
    """The writes that happen while the object is built."""
    by_statement: set[ast.stmt] = set()
    for write in facts.records.writes:
        if write.name == attribute.name and write.statement is not None and write.owner.cls is not None:
            origin = Origin("", write.statement, write.scope)
            if constructs(origin):
                by_statement.add(write.statement)
    return [w for w in attribute.writes if w.statement in by_statement]


def first_on_each_path(facts: FileFacts, writes: list[AttributeWrite]) -> list[AttributeWrite]:
    """Of several writes, those that no other one precedes: the first, and its counterparts in other branches."""
    chosen: list[AttributeWrite] = []
    for write in writes:
        if all(exclusive(facts, write.statement, other.statement) for other in chosen):
            chosen.append(write)
    return chosen


def exclusive(facts: FileFacts, a: ast.stmt | None, b: ast.stmt | None) -> bool:
    """Whether two statements stand in different arms of one ``if``."""
    arms: dict[ast.AST, str] = {}
    for statement, store in ((a, True), (b, False)):
        child: ast.AST | None = statement
        parent = facts.parents.get(child) if child is not None else None
        while parent is not None and not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(parent, ast.If):
                arm = (
                    "body"
                    if any(child is s for s in parent.body)
                    else "orelse"
                    if any(child is s for s in parent.orelse)
                    else "test"
                )
                if store:
                    arms[parent] = arm
                elif parent in arms and arms[parent] != arm:
                    return True
            parent, child = facts.parents.get(parent), parent
    return False


def after_super_init(facts: FileFacts, statement: ast.stmt) -> bool:
    """Whether ``super().__init__()`` has run when a statement of ``__init__`` runs (helpers run after it too, or
    fail)."""
    function = facts.function(statement)
    if function is None or function.name != "__init__":
        return True
    calls = [n for n in ast.walk(function.node) if isinstance(n, ast.Call) and _is_super_init(n)]
    return any((call.lineno, call.col_offset) < (statement.lineno, statement.col_offset) for call in calls)


def _is_super_init(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and function.attr == "__init__"


def used_names(cls: ClassInfo, name: str) -> Iterator[ast.Attribute]:
    """Every ``self.name`` in a class that reads the attribute."""
    for node in cls.walk():
        if (
            isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name) and node.value.id == "self"
        ):  # fmt: skip
            yield node
