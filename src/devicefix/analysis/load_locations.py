"""Where the tensors should go that a file is read to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.device_arguments import as_device
from devicefix.analysis.evidence import torch_path
from devicefix.analysis.own_names import own_nodes
from devicefix.analysis.references import references, self_name
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.loads import Load
    from devicefix.analysis.values import Scope


def location(facts: FileFacts, load: Load) -> tuple[str, str, str]:
    """What to pass as ``map_location``: (expression or "", doubt, why there is none)."""
    wanted = {m.device for m in load.meetings}
    wanted |= {d for d in _receiver_devices(facts, load) if not d.host}
    doubt = ""
    if load.others or load.kept:
        doubt = "what else is done with the loaded object was not followed"
    if load.generator_state and not load.meetings:
        return '"cpu"', doubt, ""  # the states of generators have to be there
    expression = ""
    if len(wanted) == 1:
        device = wanted.pop()
        expression = device_named(load.scopes, device)
    elif not wanted:
        candidates = [_device_variables(scope) for scope in load.scopes]
        common = [name for name in candidates[0] if all(name in names for names in candidates)] if candidates else []
        expression = common[0] if len(common) == 1 else ""
    if expression:
        return expression, "", ""
    if load.meetings:
        return "", "", "its tensors are used beside others on a device that nothing names here"
    return _beside(facts, load.call) or '"cpu"', doubt, ""


def _beside(facts: FileFacts, call: ast.Call) -> str:
    """The parameter that another load in the function has for its ``map_location``; "" if there is none."""
    function = facts.function(call)
    if function is None:
        return ""
    nodes = list(own_nodes(function.node))
    given = {parameter.arg for parameter in function.parameters}
    given -= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, ast.Call) and torch_path(facts.module, node.func) == "torch.load":
            for keyword in node.keywords:
                if keyword.arg == "map_location" and isinstance(keyword.value, ast.Name) and keyword.value.id in given:
                    return keyword.value.id
    return ""


def _receiver_devices(facts: FileFacts, load: Load) -> Iterator[Device]:
    """Where the modules and optimizers are that take the state, as far as that is known."""
    receivers = [s.subject for s in facts.records.steps if s.kind == "load_state_dict" and s.node in load.states]
    for call in load.states:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name):
            named = [scope.names[owner.id] for scope in load.scopes if owner.id in scope.names]
            receivers.extend(value for value in named if value.has("moved"))
    for value in receivers:
        device = value.data.device if value.kind is Kind.OBJECT else value.device
        if device is not None:
            yield device


def device_named(scopes: list[Scope], device: Device) -> str:
    """What ``device`` is called in all of some scopes; "" if nothing names it."""
    found = [_named(scope, device) for scope in scopes]
    return found[0] if found and all(f == found[0] for f in found) else ""


def named_alike(scopes: list[Scope], wanted: set[Device]) -> str:
    """What each of some devices, of one call of the function or another, is called where that is; "" if not the same."""
    texts: set[str] = set()
    for device in wanted:
        texts |= {_named(scope, device) for scope in scopes} - {""} or {""}
    return texts.pop() if len(texts) == 1 else ""


def _named(scope: Scope, device: Device) -> str:
    """An expression for ``device`` that ``torch.load`` accepts: a variable, ``f"cuda:{rank}"`` for one that is a number,
    or where a tensor is."""
    known = [reference for reference in references(scope, device) if not reference.doubt]
    for reference in known:
        if reference.kind == "variable":
            return reference.device
    for path, value in _variables(scope):
        if value.kind is Kind.NUMBER and value.data is None and as_device(value) == device:
            return f'f"cuda:{{{path}}}"'
    return next((reference.device for reference in known if reference.kind == "tensor"), "")


def _device_variables(scope: Scope) -> list[str]:
    return [path for path, value in _variables(scope) if _is_chosen_device(value)]


def _is_chosen_device(value: Value) -> bool:
    device = value.device
    if value.kind is not Kind.DEVICE or device is None or value.flags & {"maybe_none", "maybe_unbound"}:
        return False
    return device.kind == "symbol" and not device.assumed


def _variables(scope: Scope) -> Iterator[tuple[str, Value]]:
    yield from scope.names.items()
    name = self_name(scope)
    if name and scope.self_object is not None:
        for attribute, value in scope.self_object.attrs.items():
            yield f"{name}.{attribute}", value
