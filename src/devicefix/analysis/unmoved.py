"""Modules that stay where they were built while their inputs are somewhere else, and how they could be moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.moments import placed_earlier
from devicefix.analysis.ownership import Ownership
from devicefix.analysis.references import Reference, references
from devicefix.analysis.values import Obj, Origin, Scope, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix

FORWARD = frozenset({"forward", "__call__", "training_step", "validation_step", "test_step", "predict_step"})


@dataclass(slots=True)
class Building:
    """A call that gives a module which nobody moved, with the scopes in which it was evaluated."""

    call: ast.Call
    scopes: list[Scope]


@dataclass(slots=True)
class Unmoved:
    """The outermost module of those that meet tensors on another device."""

    origin: Origin
    obj: Obj
    mixes: list[Mix] = field(default_factory=list)
    places: list[Building] = field(default_factory=list)  #: where it could be moved, best first
    made_in_forward: bool = False
    joined_late: bool = False  #: it became part of a module that had been moved before

    def add(self, places: list[Building]) -> None:
        """Other evaluations of the same calls."""
        for place in places:
            known = next((p for p in self.places if p.call is place.call), None)
            if known is None:
                self.places.append(place)
            else:
                known.scopes.extend(s for s in place.scopes if all(s is not k for k in known.scopes))

    @property
    def call(self) -> ast.Call:
        """The call that the finding points to."""
        return self.places[0].call


@dataclass(slots=True)
class Target:
    """An expression for the move of a module: ``.to(device)``, ``.cuda()``."""

    call: ast.Call
    suffix: str
    doubt: str = ""


def unmoved_modules(facts: FileFacts, ownership: Ownership) -> Iterator[Unmoved]:
    """Modules on the CPU whose inputs are not, each once, in the order of the text."""
    found: dict[ast.AST, Unmoved] = {}
    for mix in facts.mixes:
        for origin in mix.culprit.origins:
            if origin.kind != "module":
                continue
            # what a call of a module builds comes too late for the moves of that module
            late = _made_in_forward(origin)
            joined = not late and _joined_late(ownership, origin)
            among = _made_in_forward if late else _Unplaced(origin) if joined else None
            outermost = ownership.outermost(origin, among)
            if outermost is None:
                continue
            built, obj = outermost
            inside = _made_in_forward(built)
            if mix.assumed and not _made_beside(built, mix, obj, inside):
                continue
            places = _places(facts, built, obj)
            if not places:
                continue
            entry = found.setdefault(places[0].call, Unmoved(built, obj, made_in_forward=inside, joined_late=joined))
            entry.mixes.append(mix)
            entry.add(places)
    yield from sorted(found.values(), key=lambda unmoved: (unmoved.call.lineno, unmoved.call.col_offset))


@dataclass(frozen=True, slots=True)
class _Unplaced:
    """Says of modules whether they were still where they were built when another one was built."""

    origin: Origin

    def __call__(self, built: Origin) -> bool:
        return built.owner is None or not placed_earlier(built.owner, self.origin.scope, self.origin.node)


def _joined_late(ownership: Ownership, origin: Origin) -> bool:
    """Whether a module was built for one that had been moved before."""
    if origin.owner is None:
        return False
    around = (obj for obj in ownership.ancestors(origin.owner) if obj is not origin.owner)
    return any(placed_earlier(obj, origin.scope, origin.node) for obj in around)


def _made_in_forward(origin: Origin) -> bool:
    """Whether a module is built anew whenever another one is called."""
    for scope in origin.scope.chain():
        owner = scope.self_object
        if scope.function is not None and scope.function.name in FORWARD and owner is not None and owner.is_module:
            return True
    return False


def _made_beside(origin: Origin, mix: Mix, obj: Obj, in_forward: bool) -> bool:
    """Whether a module is built in the very call whose inputs are only assumed to be on a device.

    What a function builds and feeds may be meant for the CPU together with its inputs. What ``forward`` builds has to
    follow its inputs, and so has a loss.
    """
    fact = torch_api.module_class(obj.external) if obj.external else None
    if not in_forward and (fact is None or not fact.loss):
        return False
    device = mix.partner.device
    root = device.key[1] if device is not None and isinstance(device.key, tuple) else None
    for scope in origin.scope.chain():
        function = scope.function
        if function is None or function.name == "__init__":
            continue
        if function.node is root or (function.cls is not None and function.cls.node is root):
            return True
    return False


def _places(facts: FileFacts, origin: Origin, obj: Obj) -> list[Building]:
    """Calls of this file whose value is the module, from the one that builds it outwards."""
    places: list[Building] = []
    if isinstance(origin.node, ast.Call):
        places.append(Building(origin.node, [origin.scope]))
    for scope in origin.scope.chain():
        call = scope.call
        if not isinstance(call, ast.Call) or scope.caller is None:
            break
        results = facts.records.values.get(call, ())
        if not any(member.data is obj for value in results for member in module_objects(value)):
            break
        places.append(Building(call, [scope.caller]))
    places = [place for place in places if facts.here(place.call)]
    if len(places) > 1 and _built_for_others(facts, origin, obj):
        places.reverse()
    return places


def _built_for_others(facts: FileFacts, origin: Origin, obj: Obj) -> bool:
    """Whether the same line also builds modules for other callers."""
    calls = [scope.call for scope in origin.scope.chain()]
    return any(
        other.node is origin.node and other.owner is not obj and [s.call for s in other.scope.chain()] != calls
        for other in facts.records.built
    )


def move_target(facts: FileFacts, unmoved: Unmoved) -> Target | None:
    """Where and how to move the module; ``None`` if no device can be named where it is built."""
    best: Target | None = None
    for place in unmoved.places:
        for reference in _common(unmoved, place):
            target = Target(place.call, f".to({reference.device})", reference.doubt)
            if reference.kind == "variable" and not reference.doubt:
                return target
            best = best or target
    return best or _by_name(facts, unmoved)


def _common(unmoved: Unmoved, place: Building) -> list[Reference]:
    """References that hold at all evaluations of a call, device variables first."""
    mix = unmoved.mixes[0]
    partners = [m.partner for m in unmoved.mixes]
    lists = [references(scope, mix.partner.device, partners=partners) for scope in place.scopes]
    common = lists[0]
    for other in lists[1:]:
        texts = {reference.device for reference in other}
        common = [reference for reference in common if reference.device in texts]
    order = {"variable": 0, "tensor": 1, "member": 2, "weight": 3}
    return sorted(common, key=lambda reference: (order.get(reference.kind, 4), reference.rank))


def _by_name(facts: FileFacts, unmoved: Unmoved) -> Target | None:
    """The inputs went to a device that the source calls by its name."""
    mix = unmoved.mixes[0]
    device = mix.partner.device
    if device is None or device.kind != "cuda":
        return None
    name = device.key if isinstance(device.key, str) else "cuda"
    if device.index is not None:
        suffix = f'.to("{name}:{device.index}")'
    else:
        suffix = ".cuda()" if name == "cuda" else f'.to("{name}")'
    call = unmoved.places[-1].call
    doubt = "the inputs may be moved only under a condition" if _under_condition(facts, mix.node, call) else ""
    return Target(call, suffix, doubt)


def _under_condition(facts: FileFacts, node: ast.AST, call: ast.Call) -> bool:
    """Whether ``node`` stands in an ``if`` that ``call`` is not in."""
    around: set[ast.AST] = set()
    current: ast.AST | None = call
    while current is not None:
        around.add(current)
        current = facts.parents.get(current)
    current = node
    while current is not None:
        if isinstance(current, (ast.If, ast.IfExp)) and current not in around:
            return True
        current = facts.parents.get(current)
    return False
