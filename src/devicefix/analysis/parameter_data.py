"""Modules that get to a device tensor by tensor: ``p.data = p.data.to(d)``, ``loss.weight = loss.weight.to(d)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.attribute_reads import PARAMETERS
from devicefix.analysis.attribute_writes import write_attribute
from devicefix.analysis.classes import ancestry
from devicefix.analysis.devices import symbol
from devicefix.analysis.joins import any_element, join_all
from devicefix.analysis.module_moves import settle
from devicefix.analysis.values import UNKNOWN, Kind, Obj, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo


def write_data(it: Interpreter, frame: Frame, target: ast.Attribute, value: Value) -> None:
    """``x.data = value``: a parameter, or the module whose parameters are looped over, is then where ``value`` is."""
    base = it.evaluate(frame, target.value)
    if not base.is_tensor:
        write_attribute(it, frame, base, target.attr, value)
        return
    if _on_host(value):
        return  # it stays where it was made
    place = target.value
    if isinstance(place, ast.Attribute):
        owner = it.evaluate(frame, place.value)
        if owner.kind is Kind.OBJECT:
            stored = owner.data.attrs.get(place.attr)
            if stored is not None and stored.is_tensor:
                owner.data.attrs[place.attr] = stored.replace(device=value.device, origins=())
            if owner.data.is_module and (stored is None or owner.data.external):
                _settle_if_complete(it, owner.data, value.device)
            it.heap_version += 1
        return
    if value.device is None and base.device is None and not _is_move(value):
        return  # what an optimizer holds is scaled, clipped, averaged
    for origin in base.origins:
        if origin.kind == "module" and origin.owner is not None:
            settle(it, origin.owner, value.device)
            it.heap_version += 1


def replaced(it: Interpreter, obj: Obj, name: str, value: Value, old: Value | None) -> None:
    """``loss.weight = …``, ``bn.register_buffer("running_mean", …)``: a tensor of a module of torch was replaced."""
    if not (obj.external and obj.is_module and obj.origins and value.is_tensor) or _on_host(value):
        return
    known = old is not None and old.is_tensor
    if known or (value.device is not None and (name in PARAMETERS or value.has("parameter"))):
        _settle_if_complete(it, obj, value.device)


def replaced_by_computed_name(it: Interpreter, module: Value, value: Value) -> None:
    """``setattr(m, name, tensor.to(d))`` in a loop: the tensors of ``m`` are brought to the device one by one."""
    if module.kind is not Kind.OBJECT or not module.data.is_module or not module.data.origins or _on_host(value):
        return
    obj: Obj = module.data
    elsewhere = value.device is not None or value.has("moved")
    if elsewhere and (obj.external or _is_own(value.ident, obj)):
        settle(it, obj, value.device)
        it.heap_version += 1


def _settle_if_complete(it: Interpreter, obj: Obj, device: Device | None) -> None:
    """Believe that a module is on the device of the tensor that it was given, unless another one was left behind."""
    if obj.origins and not any(v.has("buffer") and v.is_tensor and _on_host(v) for v in obj.attrs.values()):
        settle(it, obj, device)
        it.heap_version += 1


def _on_host(value: Value) -> bool:
    return value.device is not None and value.device.host


def _is_move(value: Value) -> bool:
    return isinstance(value.ident, tuple) and value.ident[0] == "moved"


def _is_own(ident: object, obj: Obj) -> bool:
    """Whether a value was moved or viewed from one of the tensors that a module yields."""
    while isinstance(ident, tuple) and len(ident) > 1:
        if ident[:2] == ("parameters", id(obj)):
            return True
        ident = ident[1]
    return False


# -- what an optimizer holds -------------------------------------------------------------------------------------------


def is_optimizer(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether a class of the project is an optimizer."""
    names = map(torch_api.canonical, ancestry(it, cls)[1])
    return any(name == "torch.optim.Optimizer" or torch_api.optimizer_class(name) is not None for name in names)


def own_optimizer(optimizer: Obj, name: str) -> Value | None:
    """``self.param_groups`` and ``self.state`` in an optimizer of the project."""
    if name == "state":
        per_parameter = Value(Kind.MAPPING, items={}, element=UNKNOWN)
        return Value(Kind.MAPPING, element=per_parameter)
    if not optimizer.assumed or optimizer.cls is None:
        return groups_of(optimizer)
    root = symbol(("root", optimizer.cls.node))  # wherever the model is whose parameters somebody hands over
    held = Value(Kind.TENSOR, device=root, flags=frozenset({"parameter"}), ident=("parameters", id(optimizer)))
    return _groups(Value(Kind.SEQUENCE, element=held, data="list"))


def held_device(optimizer: Obj) -> Device | None:
    """Where the parameters of an optimizer of the project are."""
    groups = own_optimizer(optimizer, "param_groups")
    if groups is None:
        return None
    return any_element(any_element(groups).items["params"]).device


def groups_of(optimizer: Obj) -> Value | None:
    """``optimizer.param_groups``; ``None`` where nothing is known of the parameters."""
    if optimizer.arguments is None:
        return None
    positional, keywords = optimizer.arguments
    given = positional[0] if positional else keywords.get("params")
    held = [_as_held(value) for value in _parameters(given)] if given is not None else []
    if not held:
        return None
    return _groups(Value(Kind.SEQUENCE, element=join_all(held), data="list"))


def _groups(parameters: Value) -> Value:
    group = Value(Kind.MAPPING, items={"params": parameters})
    return Value(Kind.SEQUENCE, element=group, data="list")


def _parameters(given: Value, depth: int = 4) -> Iterator[Value]:
    """The parameters in what an optimizer is given: tensors, groups of them, pairs of name and tensor."""
    if given.is_tensor:
        yield given
    elif depth > 0 and given.kind is Kind.MAPPING and isinstance(given.items, dict) and "params" in given.items:
        yield from _parameters(given.items["params"], depth - 1)
    elif depth > 0 and given.kind is Kind.SEQUENCE:
        for member in (*elements(given), *([given.element] if given.element is not None else ())):
            yield from _parameters(member, depth - 1)


def _as_held(parameter: Value) -> Value:
    """A parameter as the optimizer sees it later: wherever its module is by then, which only the module tells
    that was not moved so far."""
    still = tuple(o for o in parameter.origins if o.kind == "module" and o.owner is not None and o.owner.origins)
    device = None if parameter.device is None or parameter.device.host else parameter.device
    return parameter.replace(device=device, origins=still, flags=parameter.flags | {"parameter"})
