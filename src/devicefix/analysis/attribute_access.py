"""``base.name`` for every kind of value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import loaders, records, tensor_attributes
from devicefix.analysis.attribute_reads import read_attribute
from devicefix.analysis.class_attributes import class_attribute
from devicefix.analysis.devices import symbol
from devicefix.analysis.evidence import path_of
from devicefix.analysis.imports import global_value
from devicefix.analysis.names import guess
from devicefix.analysis.tensor_attributes import external_attribute
from devicefix.analysis.values import NUMBER, STRING, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def load_attribute(it: Interpreter, frame: Frame, node: ast.Attribute) -> Value:
    """``base.name`` as an expression."""
    base = it.evaluate(frame, node.value)
    if node.attr in torch_api.MOVE_METHODS and (base.is_tensor or base.is_module):
        it.records.values[node].append(base)
    value = attribute(it, frame, base, node.attr, node)
    if value.kind is Kind.UNKNOWN and frame.function is not None:
        path = path_of(node)
        if path is not None:
            return guess(frame, value, path)
    return value


#: what objects that hold settings are called; their ``device`` is a choice, not the place of a tensor
SETTINGS = frozenset(
    {
        "args",
        "arguments",
        "opt",
        "opts",
        "cfg",
        "config",
        "conf",
        "hparams",
        "params",
        "flags",
        "FLAGS",
        "settings",
        "options",
    }
)


def _is_settings(node: ast.expr) -> bool:
    """``cfg``, ``self.config``, and what is inside: ``cfg.train``."""
    while isinstance(node, ast.Attribute):
        if node.attr.lstrip("_") in SETTINGS:
            return True
        node = node.value
    return isinstance(node, ast.Name) and node.id.lstrip("_") in SETTINGS


def attribute(it: Interpreter, frame: Frame, base: Value, name: str, node: ast.Attribute | None = None) -> Value:
    """``base.name``."""
    kind = base.kind
    if kind is Kind.TENSOR:
        return tensor_attributes.attribute(base, name)
    if kind is Kind.OBJECT:
        return read_attribute(it, frame, base, name, node)
    if kind is Kind.CLASS:
        return class_attribute(it, frame, base.data, name)
    if kind is Kind.SEQUENCE:
        return records.attribute(base, name) or Value(Kind.METHOD, data=(base, name))
    if kind is Kind.EXTERNAL:
        if records.is_record_type(base):
            return Value(Kind.METHOD, data=(base, name))
        if base.items is not None:  # a module of the project
            value = global_value(it, base.items, name)
            if value is not None:
                return value
            below = it.project.resolve(base.items, f"{base.data}.{name}")
            return Value(Kind.EXTERNAL, data=f"{base.data}.{name}", items=below)
        return external_attribute(f"{base.data}.{name}")
    if kind is Kind.MODULE:
        if name == "device":
            return Value(Kind.DEVICE, device=base.device)
        return Value(Kind.METHOD, data=(base, name), device=base.device)
    if kind is Kind.UNKNOWN:
        if name == "device":
            key = ("attr", base.ident, name)
            if base.ident is not None and node is not None and _is_settings(node.value):
                return Value(Kind.DEVICE, device=symbol(key), ident=key)
            return Value(Kind.DEVICE, device=base.device or symbol(("device", base.ident)), ident=key)
        if name in ("shape", "ndim"):
            return Value(Kind.SIZE, sources=(base,))
        if name == "dtype":
            return Value(Kind.DTYPE)
        return loaders.attribute(base, name)
    if kind is Kind.DEVICE:
        return STRING if name == "type" else NUMBER
    if kind is Kind.SIZE:
        return Value(Kind.METHOD, data=(base, name))
    return Value(Kind.METHOD, data=(base, name))
