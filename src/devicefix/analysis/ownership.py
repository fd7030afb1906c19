"""Which module is inside which, what a module holds, and whom an optimizer serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.values import Kind, Obj, Value, elements, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.values import Origin


class Ownership:
    """The tree of modules: who is registered in whom, and who is only kept in a plain list or dict."""

    def __init__(self, facts: FileFacts) -> None:
        self._owner: dict[int, Obj] = {}
        self._listed: set[int] = set()
        self._built: dict[int, Origin] = {}
        self._alive: list[Obj] = []  # keeps the ids above from being reused
        for origin in facts.records.built:
            if origin.owner is not None:
                self._built.setdefault(id(origin.owner), origin)
                self._children(origin.owner)
        for write in facts.records.writes:
            if write.owner.is_module:
                self._hold(write.owner, write.value)
        for instances in facts.records.classes.values():
            for obj in instances:
                self._children(obj)

    def _children(self, obj: Obj) -> None:
        for child in (*obj.children, *obj.attrs.values()):
            if obj.is_module:
                self._hold(obj, child)

    def _hold(self, owner: Obj, value: Value, listed: bool = False) -> None:
        if value.kind is Kind.MODULE:
            for member in module_objects(value):
                self._hold(owner, member, listed)
        elif value.kind is Kind.OBJECT and value.data.is_module and value.data is not owner:
            self._alive.append(value.data)
            if not listed:
                self._owner.setdefault(id(value.data), owner)
                self._listed.discard(id(value.data))
            elif id(value.data) not in self._owner:
                self._listed.add(id(value.data))
        elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            for inner in (*elements(value), *([value.element] if value.element is not None else ())):
                self._hold(owner, inner, listed=True)

    def ancestors(self, obj: Obj) -> Iterator[Obj]:
        """The module itself, then the ones it is registered in, from the inside out."""
        seen: set[int] = set()
        current: Obj | None = obj
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            yield current
            current = self._owner.get(id(current))

    def outermost(self, origin: Origin, among: Callable[[Origin], bool] | None = None) -> tuple[Origin, Obj] | None:
        """The building of the outermost module that holds the one built at ``origin``, and that module.

        ``among`` says which modules on the way outwards count; the first one that does not ends it.
        ``None`` when it is kept in a plain list of a module, which is another fault, or when its building was not seen.
        """
        if origin.owner is None:
            return None
        around = list(self.ancestors(origin.owner))
        if among is not None:
            built = (self._built.get(id(obj)) for obj in around)
            around = around[: max(1, len(list(takewhile(lambda o: o is not None and among(o), built))))]
        last = around[-1]
        if id(last) in self._listed or id(last) not in self._built:
            return None
        return self._built[id(last)], last


def optimized(given: Value) -> Iterator[Value]:
    """The modules whose parameters an optimizer is given: ``m.parameters()``, lists and groups of them."""
    seen: set[object] = set()
    for value in _optimized(given, 4):
        key = id(value.data) if value.kind is Kind.OBJECT else value.ident
        if key not in seen:
            seen.add(key)
            yield value


def _optimized(given: Value, depth: int) -> Iterator[Value]:
    modules = [source for source in given.sources if source.is_module]
    if modules:
        yield from modules
    elif given.kind in (Kind.SEQUENCE, Kind.MAPPING) and depth:
        for inner in (*elements(given), *([given.element] if given.element is not None else ())):
            yield from _optimized(inner, depth - 1)


def holds_parameters(obj: Obj) -> bool:
    """Whether a module has parameters; unknown ones count as such."""
    return any(_parameters(inner) for inner in modules_inside(obj))


def holds_saved_state(obj: Obj) -> bool:
    """Whether a module adds parameters or keys of ``state_dict`` to the one that registers it."""
    return any(_parameters(inner) or _saved_buffers(inner) for inner in modules_inside(obj))


def modules_inside(obj: Obj) -> Iterator[Obj]:
    """A module and all modules registered in it."""
    seen: set[int] = set()
    queue = [obj]
    while queue:
        current = queue.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        for value in (*current.attrs.values(), *current.children):
            queue.extend(member.data for member in module_objects(value))


def _parameters(obj: Obj) -> bool:
    if obj.external:
        fact = torch_api.module_class(obj.external)
        if fact is None:
            return True
        return fact.container.startswith("parameter") or (obj.stateful and not fact.loss and not fact.container)
    values = (*obj.attrs.values(), *obj.children)
    return obj.stateful or any(v.kind is Kind.MODULE or (v.is_tensor and v.has("parameter")) for v in values)


def _saved_buffers(obj: Obj) -> bool:
    if obj.external:
        return obj.stateful and (fact := torch_api.module_class(obj.external)) is not None and not fact.container
    return any(v.is_tensor and v.has("buffer") and not v.has("unsaved") for v in obj.attrs.values())
