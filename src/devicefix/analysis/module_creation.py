"""Modules of torch and of other libraries, as they are made."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import opaque
from devicefix.analysis.attribute_reads import module_device
from devicefix.analysis.device_arguments import as_device
from devicefix.analysis.facts import Step
from devicefix.analysis.values import UNKNOWN, Kind, Obj, Origin, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.torch_api import ModuleClass


def create_module(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """``nn.Linear(…)`` and other modules of torch or of libraries whose classes are modules."""
    fact = torch_api.module_class(name)
    obj = Obj(
        None,
        external=fact.name if fact else name,
        is_module=True,
        arguments=(tuple(args.positional), dict(args.keywords)),
    )
    scope = frame.scope()
    obj.origins = (Origin("module", node, scope, detail=name.rpartition(".")[2], owner=obj),)
    it.records.built.append(obj.origins[0])
    if fact is not None:
        given = args.keywords.get("device")
        if given is not None:
            obj.device = as_device(given)
            obj.origins = ()
        elif args.keyword_splat:
            obj.origins = ()
        elif it.default_devices or it.records.default_device_changed:
            obj.device = it.default_devices[-1] if it.default_devices else None
            obj.origins = ()
        obj.stateful = _stateful(fact, args, obj)
        _children(fact, args, obj)
        if not obj.stateful and not obj.children:
            obj.origins = ()
    elif args.keyword_splat or not opaque.PLACING.isdisjoint(args.keywords):
        obj.origins = ()
    if name.rpartition(".")[2] in ("DataParallel", "DistributedDataParallel"):
        inner = args.get(0, "module")
        if inner is not None:
            obj.children.append(inner)
            obj.attrs["module"] = inner
            if inner.kind is Kind.OBJECT:
                obj.device, obj.origins = module_device(it, inner.data), ()
        it.records.steps.append(Step("wrap", node, inner or UNKNOWN, scope))
    return Value(Kind.OBJECT, data=obj)


def _stateful(fact: ModuleClass, args: Arguments, obj: Obj) -> bool:
    if fact.container in ("list", "dict", "sequential", "parameter_list", "parameter_dict"):
        return True
    state = fact.stateful
    for name in fact.state_arguments:
        position = fact.parameters.index(name) if name in fact.parameters else -1
        given = args.get(position, name)
        if given is None:
            continue
        if given.is_tensor:
            state = True
            obj.attrs[name] = given.replace(flags=given.flags | {"buffer"})
            if obj.device is None:
                obj.device = given.device
                if given.device is not None and not given.device.host:
                    obj.origins = ()
        elif given.kind is Kind.NUMBER and given.data is False:
            state = False
        elif given.kind is Kind.NUMBER and given.data is True:
            state = True
        elif given.kind is Kind.UNKNOWN:
            obj.device = given.device
            obj.origins = ()
    return state


def _children(fact: ModuleClass, args: Arguments, obj: Obj) -> None:
    if not fact.container:
        return
    for value in args.every():
        if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            obj.children.extend(elements(value))
            if value.element is not None:
                obj.children.append(value.element)
            obj.attrs["<items>"] = value if value.kind is Kind.MAPPING else obj.attrs.get("<items>", UNKNOWN)
            if value.kind is not Kind.MAPPING:
                obj.attrs.pop("<items>", None)
        else:
            obj.children.append(value)
    for child in obj.children:
        if child.kind is Kind.OBJECT:
            child.data.origins = tuple(o for o in child.data.origins if o.kind == "module")
