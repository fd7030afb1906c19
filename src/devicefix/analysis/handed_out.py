"""Objects and helpers that hand out several tensors at once, from the CPU: who asks for them can move them.

A replay memory is the common case: what it keeps stays in host memory, and each sample goes to the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of
from devicefix.analysis.own_names import own_nodes
from devicefix.analysis.references import references
from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import Kind, Obj, Origin, Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.model import FunctionInfo
    from devicefix.analysis.placement import NewTensor

Place = ast.Assign | ast.For


@dataclass(frozen=True, slots=True)
class Site:
    """A name of a tuple that a call gives, at which a tensor arrives that later meets another device."""

    place: Place  #: ``x, y = memory.sample(n)``, ``x, y = data[i]`` or ``for x, y in memory.batches(n):``
    name: str
    devices: tuple[str, ...]  #: what the other device is called there, best first
    kept: bool  #: the tensor was there before the call


@dataclass(frozen=True, slots=True)
class HandedOut:
    """Names of one place, with the device that all of them are wanted on."""

    place: Place
    names: tuple[str, ...]
    device: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The moves as statements."""
        moves = ", ".join(f"{name}.to({self.device})" for name in self.names)
        return (f"{', '.join(self.names)} = {moves}",)


def handed_out(facts: FileFacts, new: NewTensor, *, kept: bool) -> list[HandedOut]:
    """The places at which a new tensor arrives; none if it also gets to a device in other ways.

    ``kept``: only if it was held by an object in between.
    """
    places: dict[Place, None] = {}
    for mix, origin in zip(new.mixes, new.origins, strict=True):
        site = facts.handed_out.get((mix, origin))
        if site is None or (kept and not site.kept):
            return []
        places.setdefault(site.place)
    found = [_together(facts, place) for place in places]
    return [way for way in found if way is not None] if all(found) else []


def _together(facts: FileFacts, place: Place) -> HandedOut | None:
    """Everything that has to be moved at a place."""
    sites = [site for site in facts.handed_out.values() if site is not None and site.place is place]
    device = next((d for d in sites[0].devices if all(d in site.devices for site in sites)), None)
    names = {site.name for site in sites}
    ordered = tuple(target.id for target in _targets(place) if target.id in names)
    return HandedOut(place, ordered, device) if device is not None else None


def sites(facts: FileFacts) -> dict[tuple[Mix, Origin], Site | None]:
    """Where each new tensor that meets another device arrives under a name of its own."""
    places = _places(facts)
    found: dict[tuple[Mix, Origin], Site | None] = {}
    for mix in facts.mixes:
        for origin in mix.culprit.origins:
            if origin.kind in ("factory", "legacy"):
                found[mix, origin] = _site(facts, places, mix, origin) if places else None
    return found


def _places(facts: FileFacts) -> dict[ast.AST, list[Place]]:
    """Statements that bind the names of a tuple to what a call gives, or to a tuple with a name, by function."""
    found: dict[ast.AST, list[Place]] = {}
    for place in facts.nodes(ast.Assign, ast.For):
        kinds = (ast.Call, ast.Subscript, ast.Name) if isinstance(place, ast.Assign) else (ast.Call, ast.Subscript)
        if not isinstance(_call(place), kinds) or not _targets(place):
            continue
        function = facts.function(place)
        if function is not None:
            found.setdefault(function.node, []).append(place)
    return found


def _call(place: Place) -> ast.expr:
    return place.value if isinstance(place, ast.Assign) else place.iter


def _targets(place: Place) -> list[ast.Name]:
    target = place.target if isinstance(place, ast.For) else place.targets[0] if len(place.targets) == 1 else None
    if not isinstance(target, ast.Tuple) or not all(isinstance(name, ast.Name) for name in target.elts):
        return []
    return [name for name in target.elts if isinstance(name, ast.Name)]


def _site(facts: FileFacts, places: dict[ast.AST, list[Place]], mix: Mix, origin: Origin) -> Site | None:
    """The innermost place around a meeting at which one tensor arrives that was made elsewhere."""
    calls = {scope.call for scope in origin.scope.chain()}
    for scope in mix.scope.chain():
        for place in places.get(scope.function.node, ()) if scope.function is not None else ():
            call, asker = _source(facts, scope, _call(place))
            inside = call in calls
            if not inside and not _of_plain_object(asker, call):
                continue
            names = [target.id for target in _targets(place) if _holds(scope.names.get(target.id), origin)]
            devices = tuple(_devices(scope, place, mix))
            if len(names) == 1 and devices:
                return Site(place, names[0], devices, not inside)
    return None


def _source(facts: FileFacts, scope: Scope, node: ast.expr) -> tuple[ast.expr, Scope]:
    """The call that gives a tuple, and where it stands: behind a name that is bound once, or behind a parameter."""
    function = scope.function
    if not isinstance(node, ast.Name) or function is None:
        return node, scope
    if node.id in {p.arg for p in function.parameters}:
        skip = 1 if function.cls is not None and not function.is_static else 0
        given = function.argument(scope.call, node.id, skip)
        alike = (function.argument(call, node.id, skip) for call in facts.nodes(ast.Call) if _enters(call, function))
        if given is None or scope.caller is None or not all(_same_method(given, other) for other in alike):
            return node, scope  # other calls may give other things than tensors
        return given, scope.caller
    bound = [s for s in own_nodes(function.node) if isinstance(s, ast.Assign) and node.id in map(path_of, s.targets)]
    return (bound[0].value if len(bound) == 1 else node), scope


def _enters(call: ast.Call, function: FunctionInfo) -> bool:
    return last_name(call.func) == function.name


def _same_method(one: ast.expr, other: ast.expr | None) -> bool:
    """Whether two arguments are calls of a method of one name."""
    return (
        isinstance(one, ast.Call) and isinstance(other, ast.Call) and last_name(one.func) == last_name(other.func)
    )  # fmt: skip


def _holds(value: Value | None, origin: Origin) -> bool:
    return value is not None and value.is_tensor and any(held is origin for held in value.origins)


def _of_plain_object(scope: Scope, call: ast.expr) -> bool:
    """Whether a call is one of a method of the project, of an object that is no module; or ``data[i]`` is."""
    if isinstance(call, ast.Subscript):
        holder, method = call.value, "__getitem__"
    elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        holder, method = call.func.value, call.func.attr
    else:
        return False
    obj = _object(scope, holder)
    return obj is not None and obj.cls is not None and not obj.is_module and method in obj.cls.methods


def _object(scope: Scope, node: ast.expr) -> Obj | None:
    """The instance that ``name``, ``self.name`` … stand for."""
    value: Value | None = None
    if isinstance(node, ast.Name):
        value = scope.names.get(node.id)
    elif isinstance(node, ast.Attribute):
        owner = _object(scope, node.value)
        value = owner.attrs.get(node.attr) if owner is not None else None
    return value.data if value is not None and value.kind is Kind.OBJECT else None


def _devices(scope: Scope, place: Place, mix: Mix) -> Iterator[str]:
    """What the device that the tensor meets is called where the tensor arrives."""
    for reference in references(scope, mix.partner.device, partners=[mix.partner]):
        head = reference.device.partition("(")[2] or reference.device
        name = head.partition(".")[0].partition(",")[0].strip(")")
        function = scope.function
        here = function is not None and name in function.locals
        parameter = function is not None and name in {p.arg for p in function.parameters}
        if reference.doubt or reference.kind == "tensor" or (here and not parameter):
            continue  # what the function binds itself may be bound later
        yield reference.device
