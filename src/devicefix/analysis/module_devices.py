"""How to name the device of a module, and which device expressions hold in every way a place was reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.analysis.devices import same
from devicefix.analysis.evidence import path_of
from devicefix.analysis.references import _weight_of as weight_of
from devicefix.analysis.references import references, self_name
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import Mix
    from devicefix.analysis.values import Obj, Scope

#: libraries whose modules have a ``device`` attribute
WITH_DEVICE = ("transformers.", "diffusers.", "peft.")


@dataclass(frozen=True, slots=True)
class Named:
    """An expression for a device."""

    text: str
    kind: str  #: ``variable`` (``device``, ``self.device``), ``module`` (read off a module), ``tensor``
    rank: int


def named_devices(occasions: list[tuple[Scope, list[Mix]]]) -> list[Named]:
    """Expressions that name the wanted device in each of some scopes, best first.

    An occasion is a scope with the mixing points that were reached from it.
    """
    lists: list[dict[str, Named]] = []
    for scope, mixes in occasions:
        found: dict[str, Named] = {}
        for named in _in_scope(scope, mixes):
            found.setdefault(named.text, named)
        lists.append(found)
    if not lists:
        return []
    common = [n for n in lists[0].values() if all(n.text in other for other in lists[1:])]
    return sorted(common, key=lambda n: n.rank)


def _in_scope(scope: Scope, mixes: list[Mix]) -> Iterator[Named]:
    device = mixes[0].partner.device
    for reference in references(scope, device):
        if reference.kind == "variable" and not reference.doubt:
            yield Named(reference.device, "variable", reference.rank)
    for position, (path, value) in enumerate(_modules(scope, mixes)):
        if same(_device_of(value), device):
            yield Named(device_of_module(path, value), "module", 2000 + position)
    for reference in references(scope, device):
        if reference.kind == "tensor" and not reference.doubt:
            yield Named(reference.device, "tensor", 3000 + reference.rank)


def device_of_module(path: str, value: Value) -> str:
    """An expression for the device that the parameters of the module called ``path`` are on."""
    if value.kind is Kind.OBJECT:
        obj: Obj = value.data
        if obj.external.startswith(WITH_DEVICE):
            return f"{path}.device"
        if obj.cls is not None and ("device" in obj.cls.methods and obj.cls.methods["device"].is_property):
            return f"{path}.device"
    return f"next({path}.parameters()).device"


def _device_of(value: Value, depth: int = 6) -> Device | None:
    """Where the parameters of a module are."""
    if value.kind is not Kind.OBJECT:
        return value.device
    obj: Obj = value.data
    if obj.device is not None or depth == 0:
        return obj.device
    inner = (v for v in (*obj.attrs.values(), *obj.children) if v.is_module)
    return next((d for v in inner if (d := _device_of(v, depth - 1)) is not None), None)


def _modules(scope: Scope, mixes: list[Mix]) -> Iterator[tuple[str, Value]]:
    """Modules that are known by name in a scope: those that were called on the way to the mixing points come first."""
    for mix in mixes:
        for expression in _called(scope, mix):
            path = path_of(expression)
            value = lookup(scope, path) if path is not None else None
            if path is not None and value is not None and value.is_module:
                yield path, value
            elif (
                path is not None
                and expression is mix.partner_node
                and mix.partner.has("module_state")
                and isinstance(expression, ast.Name)
            ):
                # a global: not in the snapshot, but that is what was called
                known = (
                    Value(Kind.OBJECT, data=mix.partner.data)
                    if mix.partner.data is not None
                    else Value(Kind.MODULE, device=mix.partner.device)
                )
                yield path, known
    for name, value in scope.names.items():
        if value.is_module and not value.flags & {"maybe_none", "maybe_unbound"} and name != self_name(scope):
            yield name, value
    receiver = self_name(scope)
    if receiver and scope.self_object is not None:
        if scope.self_object.is_module:
            yield receiver, Value(Kind.OBJECT, data=scope.self_object)
        for attribute, value in scope.self_object.attrs.items():
            if value.is_module and not value.has("maybe_none"):
                yield f"{receiver}.{attribute}", value


def _called(scope: Scope, mix: Mix) -> Iterator[ast.expr]:
    """Expressions in the function of ``scope`` through whose call the mixing point was reached."""
    current: Scope | None = mix.scope
    call: ast.AST | None = mix.node
    while current is not None and current.function is not scope.function:
        call, current = current.call, current.caller
    if current is None:
        return
    if current is mix.scope and mix.partner_node is not None:
        yield mix.partner_node
    if isinstance(call, ast.Call):
        if isinstance(call.func, ast.Attribute):
            yield call.func.value
        yield call.func


def lookup(scope: Scope, path: str) -> Value | None:
    """What a dotted name stands for in a scope."""
    head, *rest = path.split(".")
    value = scope.names.get(head)
    for attribute in rest:
        if value is None or value.kind is not Kind.OBJECT:
            return None
        value = value.data.attrs.get(attribute)
    return value


__all__ = ["Named", "device_of_module", "lookup", "named_devices", "weight_of"]
