"""Attributes that are set under a name which is computed: ``setattr(self, name, …)``, ``self.__dict__[name] = …``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devicefix.analysis import parameter_data
from devicefix.analysis.attribute_writes import write_attribute
from devicefix.analysis.nested_values import map_members
from devicefix.analysis.values import NONE, UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter

#: the attribute that holds all the others
DICT = "__dict__"
#: those that hold the registered tensors of a module, and how such tensors are marked
REGISTERED = {"_buffers": "buffer", "_parameters": "parameter"}


def attributes_of(value: Value | None) -> Value:
    """``vars(instance)``."""
    return Value(Kind.METHOD, data=(value, DICT)) if value is not None and value.kind is Kind.OBJECT else UNKNOWN


def is_attributes(value: Value) -> bool:
    """Whether a value is the dict of the attributes of an instance, or of its buffers or parameters."""
    if value.kind is not Kind.METHOD or value.data[0].kind is not Kind.OBJECT:
        return False
    return value.data[1] == DICT or (value.data[1] in REGISTERED and value.data[0].data.is_module)


def store(it: Interpreter, frame: Frame, attributes: Value, key: object, value: Value) -> None:
    """``instance.__dict__[key] = value``."""
    flag = REGISTERED.get(attributes.data[1])
    if flag is not None and value.is_tensor:
        value = value.replace(flags=value.flags | {flag})
    if isinstance(key, str):
        write_attribute(it, frame, attributes.data[0], key, value)
    else:
        may_be_any(it, attributes.data[0], value)


def update(it: Interpreter, frame: Frame, attributes: Value, args: Arguments) -> Value:
    """``instance.__dict__.update(…)``."""
    for name, value in args.keywords.items():
        store(it, frame, attributes, name, value)
    given = args.get(0)
    if given is not None and given.kind is Kind.MAPPING:
        for key, value in given.items.items() if isinstance(given.items, dict) else ():
            store(it, frame, attributes, key, value)
        if given.element is not None:
            may_be_any(it, attributes.data[0], given.element)
    elif given is not None:
        may_be_any(it, attributes.data[0], Value(Kind.UNKNOWN, flags=frozenset({"moved"})))
    return NONE


def may_be_any(it: Interpreter, instance: Value, value: Value) -> None:
    """Something moved was set under a name that is not known: any plain tensor of the instance may be it."""
    parameter_data.replaced_by_computed_name(it, instance, value)
    if instance.kind is not Kind.OBJECT or not _moved(value):
        return
    attrs = instance.data.attrs
    for name, old in attrs.items():
        attrs[name] = _nowhere(old)
    instance.data.version += 1
    it.heap_version += 1


def _moved(value: Value) -> bool:
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
        return value.element is not None and _moved(value.element)
    elsewhere = value.device is not None and not value.device.host
    return (value.is_tensor and elsewhere) or (value.kind is Kind.UNKNOWN and (elsewhere or value.has("moved")))


def _nowhere(value: Value) -> Value:
    if value.is_tensor and not (value.has("parameter") or value.has("buffer")):
        return value.replace(device=None, origins=())
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
        return map_members(value, _nowhere)
    return value
