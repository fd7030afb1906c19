"""Instances as containers: loops over them, and ``instance[key]``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.classes import find_method, is_named_tuple
from devicefix.analysis.joins import any_element, join, join_all
from devicefix.analysis.values import UNKNOWN, Closure, Kind, Obj, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def iterate(it: Interpreter, frame: Frame, value: Value, place: ast.AST) -> Value:
    """What ``for x in instance`` binds."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments
    from devicefix.analysis.iteration import iterate as iterate_value

    obj: Obj = value.data
    if obj.children:
        return join_all(obj.children)
    if obj.cls is not None:
        method = find_method(it, obj.cls, "__iter__")
        if method is not None:
            inner = call_closure(it, frame, Closure(method), Arguments(), value)
            if inner.kind is not Kind.OBJECT:
                return iterate_value(it, frame, inner, ast.Constant(None), place)
        if is_named_tuple(it, obj.cls):
            return join_all(obj.attrs.values())
        getter = find_method(it, obj.cls, "__getitem__")
        if getter is not None:
            return call_closure(it, frame, Closure(getter), Arguments([UNKNOWN], nodes=[ast.Constant(None)]), value)
    return UNKNOWN


def item(it: Interpreter, frame: Frame, base: Value, key: object, index: Value, node: ast.Subscript) -> Value:
    """``instance[key]``."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments

    obj: Obj = base.data
    contents = obj.attrs.get("<items>")
    if contents is not None:
        if isinstance(contents.items, dict) and key in contents.items:
            found: Value = contents.items[key]
            return found
        return any_element(contents)
    if obj.children:
        if isinstance(key, int) and -len(obj.children) <= key < len(obj.children):
            return obj.children[key]
        return join_all(obj.children)
    if obj.cls is not None:
        method = find_method(it, obj.cls, "__getitem__")
        if method is not None:
            return call_closure(it, frame, Closure(method), Arguments([index], nodes=[node.slice]), base)
        data = obj.attrs.get("data")
        if data is not None and data.kind is Kind.MAPPING:
            return data.items[key] if isinstance(data.items, dict) and key in data.items else any_element(data)
    return Value(Kind.UNKNOWN, device=obj.device, ident=("item", id(obj), key))


def store_item(it: Interpreter, frame: Frame, base: Value, key: object, value: Value) -> None:
    """``instance[key] = value`` for a container of modules or a dict-like."""
    obj: Obj = base.data
    if obj.is_module:
        from devicefix.analysis.module_methods import as_member

        value = as_member(obj, value)
        obj.children.append(value)
    contents = obj.attrs.get("<items>")
    if contents is not None:
        items = dict(contents.items) if isinstance(contents.items, dict) else None
        if key is not None and items is not None:
            items[key] = value
            obj.attrs["<items>"] = contents.replace(items=items)
        else:
            # self[k] = v in a loop over the own items: all of them become like v
            replaced = value if frame.loops else join(any_element(contents), value)
            keys = dict.fromkeys(items, value) if items and frame.loops else items
            obj.attrs["<items>"] = contents.replace(items=keys, element=replaced)
        it.heap_version += 1
        obj.version += 1
