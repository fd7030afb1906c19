"""Batches and encodings that meet a module on a device without having been moved there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.joins import any_element, join_all
from devicefix.analysis.loaders import AttributeKey
from devicefix.analysis.values import Kind, Origin, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.values import Scope

Path = tuple[object, ...]


@dataclass(slots=True)
class Batch:
    """What one loop over a loader binds (or ``next(iter(loader))`` or a tokenizer returns), where it meets a device."""

    place: ast.AST  #: the loop, the comprehension or the call
    kind: str  #: ``batch`` or ``encoding``
    mixes: list[Mix] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)  #: one per mix

    @property
    def paths(self) -> list[Path]:
        """The parts of the batch that have to be moved, each once."""
        return list(dict.fromkeys(origin.path for origin in self.origins))

    @property
    def device(self) -> Device | None:
        """The device that all of it is wanted on; ``None`` if there are several."""
        wanted = {mix.partner.device for mix in self.mixes}
        return wanted.pop() if len(wanted) == 1 else None

    def by_scope(self) -> list[tuple[Origin, list[Mix]]]:
        """The mixing points per evaluation of the place."""
        found: dict[int, tuple[Origin, list[Mix]]] = {}
        for origin, mix in zip(self.origins, self.mixes, strict=False):
            found.setdefault(id(origin.scope), (origin, []))[1].append(mix)
        return list(found.values())


def unmoved(facts: FileFacts, kind: str) -> Iterator[Batch]:
    """Batches (or encodings) of this file that meet another device, in source order."""
    found: dict[ast.AST, Batch] = {}
    for mix in facts.mixes:
        if facts.is_stale(mix):
            continue
        for origin in _origins(mix.culprit, kind):
            if not facts.here(origin.node):
                continue
            batch = found.setdefault(origin.node, Batch(origin.node, kind))
            if mix.assumed and any(not m.assumed for m in batch.mixes):
                continue  # a caller that was seen says more than one that was guessed
            batch.mixes.append(mix)
            batch.origins.append(origin)
    for mix in facts.records.companions:  # what has a reason to be moved takes along what the loss compares with it
        for origin in _origins(mix.culprit, kind):
            known = found.get(origin.node)
            if known is not None and origin.path not in known.paths and _is_loss(facts, mix.node):
                known.mixes.append(mix)
                known.origins.append(origin)
    for batch in sorted(found.values(), key=lambda b: position(b.place)):
        if not _changed_unseen(facts, batch):
            yield batch


def _is_loss(facts: FileFacts, call: ast.AST) -> bool:
    """Whether ``backward()`` is called on what a call gives."""
    parent = facts.parents.get(call)
    if isinstance(parent, ast.Attribute):
        return parent.attr == "backward"
    function = facts.function(call)
    if not isinstance(parent, ast.Assign) or function is None or len(parent.targets) != 1:
        return False
    target = ast.dump(parent.targets[0]).replace("Store()", "Load()")
    return any(
        isinstance(node, ast.Attribute) and node.attr == "backward" and ast.dump(node.value) == target
        for node in ast.walk(function.node)
    )


def _changed_unseen(facts: FileFacts, batch: Batch) -> bool:
    """Whether a container of unknown kind may be moved in place: by a method, by a function, item by item."""
    bound = binding(facts, batch.place)
    if bound is not None and structure(facts, batch.place, ()).kind is Kind.UNKNOWN:
        if _items_written(facts, batch.place, _attributes_bound(bound)):
            return True
    for part in parts(facts, batch) or ():
        if bound is None or part.is_tensor or structure(facts, batch.place, part.prefix).kind is not Kind.UNKNOWN:
            continue
        meeting = {parent for mix in batch.mixes for parent in _calls_around(facts, mix)}
        if any(_changes(n, part.name) and n not in meeting for root in bound[2] for n in ast.walk(root)):
            return True
    return False


def _attributes_bound(bound: tuple[ast.expr, ast.stmt | None, list[ast.AST]]) -> set[str]:
    """The attributes that hold a batch: ``for self.batch in loader:``, ``self.batch = batch``."""
    target, _, region = bound
    if isinstance(target, ast.Attribute):
        return {ast.unparse(target)}
    return {
        ast.unparse(kept)
        for root in region
        for node in ast.walk(root)
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign) and _is_name(node.value, target.id)
        for kept in node.targets
        if isinstance(kept, ast.Attribute)
    }


def _items_written(facts: FileFacts, place: ast.AST, attributes: set[str]) -> bool:
    """Whether some method of the class around a place puts other things into one of these attributes."""
    function = facts.function(place)
    if not attributes or function is None or function.cls is None:
        return False
    return any(
        isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) in attributes
        for node in ast.walk(function.cls.node)
    )


def _calls_around(facts: FileFacts, mix: Mix) -> Iterator[ast.AST]:
    """The calls of modules by which a mixing point was reached: they look at what they are given."""
    scope: Scope | None = mix.scope
    while scope is not None:
        method = scope.function.name if scope.function is not None else ""
        if scope.call is not None and scope.self_object is not None and scope.self_object.is_module:
            if method in ("forward", "__call__"):
                yield scope.call
        scope = scope.caller


def _changes(node: ast.AST, name: str) -> bool:
    """``name[…] = …``, ``name = …``, ``name.to(…)`` as a statement, ``f(name)``."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and _is_name(node.value, name)
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return _is_name(node.value.func.value, name)
    return isinstance(node, ast.Call) and any(_is_name(argument, name) for argument in node.args)


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _origins(value: Value, kind: str) -> Iterator[Origin]:
    for origin in value.origins:
        if origin.kind == kind:
            yield origin
        elif origin.kind == "attribute":  # kept on the object for a moment: self.input = batch
            yield from (under for under in origin.under if under.kind == kind)


def position(place: ast.AST) -> tuple[int, int]:
    """Line and column of a loop, comprehension or call."""
    node = place.target if isinstance(place, ast.comprehension) else place
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def structure(facts: FileFacts, place: ast.AST, path: Path) -> Value:
    """The abstract value of one part of a batch."""
    value = join_all(facts.records.values.get(place, ()))
    for key in path:
        if value.kind is Kind.OBJECT and "<items>" in value.data.attrs:
            value = value.data.attrs["<items>"]
        if value.kind is Kind.OBJECT and isinstance(key, AttributeKey):
            value = value.data.attrs.get(key.name) or Value(Kind.UNKNOWN)
            continue
        if value.kind not in (Kind.SEQUENCE, Kind.MAPPING):
            return Value(Kind.UNKNOWN)
        if isinstance(value.items, dict):
            value = value.items[key] if key in value.items else any_element(value)
        elif isinstance(value.items, tuple) and isinstance(key, int) and key < len(value.items):
            value = value.items[key]
        else:
            value = any_element(value)
    return value


def leaves(value: Value) -> list[Value]:
    """The members of a container, or the value itself."""
    return [*elements(value), *([value.element] if value.element is not None else [])]


# -- which names carry the parts -------------------------------------------------------------------------


@dataclass(slots=True)
class Part:
    """A name that holds (some of) what has to be moved, from a certain statement on."""

    name: str
    prefix: Path  #: where in the batch the name's value is
    rests: list[Path]  #: what of it has to be moved; ``()`` is the name's own tensor
    anchor: ast.stmt | None  #: statement that binds the name; ``None``: the loop or comprehension itself

    @property
    def is_tensor(self) -> bool:
        """Whether the name stands for one tensor, which has to be moved."""
        return self.rests == [()]


def parts(facts: FileFacts, batch: Batch) -> list[Part] | None:
    """The names that the unmoved parts go by; ``None`` if they cannot be told apart."""
    bound = binding(facts, batch.place)
    if bound is None:
        return None
    target, anchor, region = bound
    found: dict[tuple[str, int], Part] = {}
    for path in batch.paths:
        part = _part(facts, target, path, (), anchor, region)
        if part is None:
            return None
        known = found.setdefault((part.name, id(part.anchor)), part)
        if known is not part:
            known.rests.extend(r for r in part.rests if r not in known.rests)
    return sorted(found.values(), key=lambda part: _place_in(target, part))


def _place_in(target: ast.expr, part: Part) -> tuple[int, int]:
    """Where the statement that binds a name mentions it."""
    where: list[ast.expr] = part.anchor.targets if isinstance(part.anchor, ast.Assign) else [target]
    names = (n for t in where for n in ast.walk(t) if isinstance(n, ast.Name) and n.id == part.name)
    return min(((n.lineno, n.col_offset) for n in names), default=(0, 0))


def binding(facts: FileFacts, place: ast.AST) -> tuple[ast.expr, ast.stmt | None, list[ast.AST]] | None:
    """What a place binds, by which statement, and the code in which the names are used."""
    if isinstance(place, (ast.For, ast.AsyncFor)):
        return place.target, None, list(place.body)
    if isinstance(place, ast.comprehension):
        parent = facts.parents[place]
        later = getattr(parent, "generators", [])
        inner: list[ast.AST] = [n for n in ast.iter_child_nodes(parent) if isinstance(n, ast.expr)]
        inner += place.ifs
        inner += [g for g in later if later.index(g) > later.index(place)]
        return place.target, None, inner
    statement = facts.statement(place)
    if isinstance(statement, ast.Assign) and statement.value is place and len(statement.targets) == 1:
        return statement.targets[0], statement, following(facts, statement)
    return None


def following(facts: FileFacts, statement: ast.stmt) -> list[ast.AST]:
    """The statements after one in its block."""
    parent = facts.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return list(block[block.index(statement) + 1 :])
    return []


def _part(
    facts: FileFacts, target: ast.expr, path: Path, prefix: Path, anchor: ast.stmt | None, region: list[ast.AST]
) -> Part | None:
    while isinstance(target, (ast.Tuple, ast.List)):
        if not path or not isinstance(path[0], int) or not 0 <= path[0] < len(target.elts):
            return None
        if any(isinstance(e, ast.Starred) for e in target.elts):
            return None
        prefix, target, path = (*prefix, path[0]), target.elts[path[0]], path[1:]
    if not isinstance(target, ast.Name):
        return None
    if path:
        unpacking = _unpacking(facts, target.id, region)
        if unpacking is not None:
            return _part(facts, unpacking.targets[0], path, prefix, unpacking, following(facts, unpacking))
    return Part(target.id, prefix, [path], anchor)


def _unpacking(facts: FileFacts, name: str, region: list[ast.AST]) -> ast.Assign | None:
    """``x, y = batch`` as a statement of the block, if it is the only use of ``batch``."""
    uses = loads(name, region)
    if len(uses) != 1:
        return None
    statement = facts.parents.get(uses[0])
    if isinstance(statement, ast.Assign) and statement.value is uses[0] and statement in region:
        if len(statement.targets) == 1 and isinstance(statement.targets[0], (ast.Tuple, ast.List)):
            return statement
    return None


def loads(name: str, region: list[ast.AST]) -> list[ast.Name]:
    """Every reading use of a name in some code."""
    return [
        node
        for root in region
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


__all__ = [
    "Batch",
    "Part",
    "Path",
    "binding",
    "following",
    "leaves",
    "loads",
    "parts",
    "position",
    "structure",
    "unmoved",
]
