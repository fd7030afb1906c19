"""Deep copies of instances: ``copy.deepcopy(model)`` has its own parameters, where those of the model then were."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from devicefix.analysis.facts import Step
from devicefix.analysis.values import UNKNOWN, Kind, Obj, Origin, Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def deep_copy(it: Interpreter, value: Value, node: ast.Call, scope: Scope) -> Value:
    """A copy of an instance and of every instance inside it; for modules that nobody moved, the copy is to blame."""
    return _value(it, value, node, scope, {})


def _value(it: Interpreter, value: Value, node: ast.Call, scope: Scope, known: dict[int, Obj]) -> Value:
    if value.kind is Kind.OBJECT:
        return value.replace(data=_object(it, value.data, node, scope, known))
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
        items: Any = value.items
        if isinstance(items, dict):
            items = {k: _value(it, v, node, scope, known) for k, v in items.items()}
        elif items is not None:
            items = tuple(_value(it, v, node, scope, known) for v in items)
        element = _value(it, value.element, node, scope, known) if value.element is not None else None
        return value.replace(items=items, element=element)
    return value


def _object(it: Interpreter, source: Obj, node: ast.Call, scope: Scope, known: dict[int, Obj]) -> Obj:
    if id(source) in known:
        return known[id(source)]
    copy = Obj(source.cls, source.external, device=source.device, arguments=source.arguments)
    copy.is_module, copy.assumed, copy.stateful = source.is_module, source.assumed, source.stateful
    known[id(source)] = copy
    if source.is_module and source.origins:
        name = source.cls.name if source.cls is not None else source.external.rpartition(".")[2]
        copy.origins = (Origin("module", node, scope, detail=name, owner=copy, under=source.origins),)
        it.records.built.append(copy.origins[0])
    else:
        copy.origins = source.origins
    copy.attrs = {name: _value(it, value, node, scope, known) for name, value in source.attrs.items()}
    copy.children = [_value(it, child, node, scope, known) for child in source.children]
    return copy


def _deep_copied(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    value = args.get(0) or UNKNOWN
    if value.kind is not Kind.OBJECT:
        return value
    result = deep_copy(it, value, node, frame.scope())
    it.records.steps.append(Step("copy", node, value, frame.scope(), result))
    return result


def _shallow_copy(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """A shallow copy of a module has the very same parameters; of anything else, the same values."""
    value = args.get(0) or UNKNOWN
    if value.kind is not Kind.OBJECT or value.data.is_module:
        return value
    source: Obj = value.data
    copy = Obj(
        source.cls,
        source.external,
        dict(source.attrs),
        source.device,
        source.origins,
        source.arguments,
        list(source.children),
    )
    return Value(Kind.OBJECT, data=copy)


def _averaged(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``AveragedModel(model)`` holds a deep copy, which it puts on ``device`` if it is given one."""
    given = args.get(1, "device")
    if (given is not None and given.kind is not Kind.NONE) or args.keyword_splat or args.splat:
        return UNKNOWN
    value = args.get(0, "model") or UNKNOWN
    return _deep_copied(it, frame, node, args) if value.is_module else UNKNOWN


HANDLERS = {
    "copy.deepcopy": _deep_copied,
    "copy.copy": _shallow_copy,
    "torch.optim.swa_utils.AveragedModel": _averaged,
}
