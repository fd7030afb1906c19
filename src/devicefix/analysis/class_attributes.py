"""Attributes of classes: what a class body assigns, and what the program puts in its place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.autograd_functions import is_autograd_function
from devicefix.analysis.classes import find_method
from devicefix.analysis.devices import symbol
from devicefix.analysis.values import UNKNOWN, Closure, Kind, Origin, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo


def class_value(it: Interpreter, cls: ClassInfo, name: str) -> Value | None:
    """The value of an assignment in a class body, or what an annotation there promises."""
    from devicefix.analysis.classes import ancestry, is_module_class
    from devicefix.analysis.frames import Frame

    for candidate in ancestry(it, cls)[0]:
        statement = candidate.assignments.get(name)
        if statement is not None:
            key = (candidate, name)
            if key in it.static_names:
                return it.static_names[key]
            frame = Frame(candidate.module, None, {}, assumed=True)
            frame.statement = statement
            names = frame.names
            for other, earlier in candidate.assignments.items():
                if other == name:
                    break
                if (
                    earlier.lineno < statement.lineno
                    and isinstance(earlier, ast.Assign)
                    and len(earlier.targets) == 1
                    and isinstance(earlier.targets[0], ast.Name)
                ):
                    names[other] = it.evaluate(frame, earlier.value)
            value = (
                it.evaluate(frame, statement.value)
                if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value
                else UNKNOWN
            )
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Tuple, ast.List)):
                it.assign(frame, statement.targets[0], value, statement.value)
                value = names.get(name, UNKNOWN)
            if value.is_tensor and value.device is not None and value.device.host and is_module_class(it, candidate):
                origin = Origin("class", statement, frame.scope(), attribute=name, under=value.origins)
                value = value.replace(origins=(origin,))
            it.static_names[key] = value
            return value
    return None


def class_attribute(it: Interpreter, frame: Frame, cls: ClassInfo, name: str) -> Value:
    """``Class.name``."""
    written = it.static_names.get((cls, f"={name}"))
    if written is not None:
        return written
    method = find_method(it, cls, name)
    if method is not None:
        if method.is_class_method:
            return Value(Kind.METHOD, data=(Value(Kind.CLASS, data=cls), name, method))
        return Value(Kind.FUNCTION, data=Closure(method))
    if name == "apply" and is_autograd_function(it, cls):
        return Value(Kind.METHOD, data=(Value(Kind.CLASS, data=cls), name))
    value = class_value(it, cls, name)
    if value is not None:
        if value.kind is Kind.STRING:  # a default that the program is free to change
            return Value(
                Kind.STRING,
                ident=("class attr", id(cls), name),
                device=symbol(("class attr", id(cls), name)) if name == "device" else None,
            )
        return value
    return Value(Kind.UNKNOWN, ident=("class attr", id(cls), name))
