"""Methods called ``to`` of the project's own classes: some move what the object holds, others mean another thing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.values import Kind
from devicefix.torch_api import MOVE_METHODS

if TYPE_CHECKING:
    from devicefix.analysis.model import ClassInfo, FunctionInfo
    from devicefix.analysis.values import Value

#: what the parameter is called that takes a device
DEVICE_NAMES = ("dev", "cuda", "gpu", "place", "where", "target")


def is_something_else(value: Value) -> bool:
    """Whether ``value.to("cuda")`` has nothing to do with devices."""
    if value.kind in (Kind.NDARRAY, Kind.STRING, Kind.NUMBER):
        return True
    if value.kind is not Kind.OBJECT or value.data.is_module or value.data.cls is None:
        return False
    cls: ClassInfo = value.data.cls
    method = _method(cls, set())  # one that is inherited from elsewhere is taken for what its name says
    return method is not None and not _takes_device(method)


def _method(cls: ClassInfo, seen: set[ClassInfo]) -> FunctionInfo | None:
    """``to`` of a class or of its bases in the same file."""
    if cls in seen:
        return None
    seen.add(cls)
    found = cls.methods.get("to")
    for base in cls.node.bases if found is None else ():
        for statement in cls.module.bindings.get(base.id, ()) if isinstance(base, ast.Name) else ():
            if isinstance(statement, ast.ClassDef):
                found = found or _method(cls.module.class_(statement), seen)
    return found


def _takes_device(method: FunctionInfo) -> bool:
    """Whether the first argument is meant as a device: by its name, or because it is handed on to a move."""
    arguments = method.node.args
    parameters = [*arguments.posonlyargs, *arguments.args][1:]
    if arguments.vararg is not None or arguments.kwarg is not None or not parameters:
        return True  # handed on to something else, most likely
    name = parameters[0].arg
    if name == "d" or any(word in name.lower() for word in DEVICE_NAMES):
        return True
    return any(_hands_on(node, name) for node in ast.walk(method.node))


def _hands_on(node: ast.AST, name: str) -> bool:
    """``x.to(name)``, ``f(x, device=name)``, ``torch.device(name)``, ``move(x, name)``, ``self.device = name``."""
    if isinstance(node, ast.Assign) and _is_name(node.value, name):
        return any(isinstance(t, (ast.Name, ast.Attribute)) and "dev" in _word(t) for t in node.targets)
    if not isinstance(node, ast.Call):
        return False
    if any(_is_name(k.value, name) and (k.arg is None or k.arg == "device") for k in node.keywords):
        return True
    if not any(_is_name(a, name) or (isinstance(a, ast.Starred) and _is_name(a.value, name)) for a in node.args):
        return False
    word = _word(node.func)
    return word in MOVE_METHODS or any(part in word for part in ("device", "move", "send", "to_", "_to", "cuda"))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
