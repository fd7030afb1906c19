"""What imports bind: classes and functions of the same project, or dotted names of other libraries."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.device_arguments import either
from devicefix.analysis.values import UNKNOWN, Closure, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ModuleInfo


def external(name: str) -> Value:
    """Something of another library."""
    return Value(Kind.EXTERNAL, data=name)


def imported(
    it: Interpreter, module: ModuleInfo, node: ast.Import | ast.ImportFrom, only: str = ""
) -> dict[str, Value]:
    """The names that an import statement binds; with ``only`` no more than that one, so that fewer files are read."""
    names: dict[str, Value] = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            whole = alias.asname is not None
            target = alias.name if whole else alias.name.partition(".")[0]
            if not only or (alias.asname or target) == only:
                names[alias.asname or target] = _module_value(it, module, target, 0)
        return names
    for alias in node.names:
        if alias.name == "*" or (only and (alias.asname or alias.name) != only):
            continue
        names[alias.asname or alias.name] = _member(it, module, node, alias.name)
    return names


def _module_value(it: Interpreter, module: ModuleInfo, name: str, level: int) -> Value:
    if not level and name.partition(".")[0] in KNOWN_LIBRARIES:
        return external(name)
    found = it.project.resolve(module, name, level)
    if found is not None:
        return Value(Kind.EXTERNAL, data=name, items=found)
    return external(name)


#: libraries that are looked up in tables even when their sources lie in the project's reach
KNOWN_LIBRARIES = frozenset({"torch", "numpy", "os", "sys", "math", "typing", "collections", "functools", "argparse"})


def _member(it: Interpreter, module: ModuleInfo, node: ast.ImportFrom, name: str) -> Value:
    source = node.module or ""
    if not node.level and source.partition(".")[0] in KNOWN_LIBRARIES:
        return external(f"{source}.{name}")
    found = it.project.resolve(module, source, node.level)
    if found is None:
        # "from . import name" may name a module
        return external(f"{source}.{name}" if source else name)
    # a file of that name is nearer than what dozens of ``import *`` may bring in
    steps = (_below, _global) if name not in found.bindings and found.star_imports else (_global, _below)
    for step in steps:
        value = step(it, module, node, found, name)
        if value is not None:
            return value
    return external(f"{source}.{name}" if source else name)


def _global(it: Interpreter, module: ModuleInfo, node: ast.ImportFrom, found: ModuleInfo, name: str) -> Value | None:
    return global_value(it, found, name)


def _below(it: Interpreter, module: ModuleInfo, node: ast.ImportFrom, found: ModuleInfo, name: str) -> Value | None:
    source = node.module or ""
    below = it.project.resolve(module, f"{source}.{name}" if source else name, node.level)
    return Value(Kind.EXTERNAL, data=f"{source}.{name}", items=below) if below is not None else None


def global_value(it: Interpreter, module: ModuleInfo, name: str) -> Value | None:
    """The value of a global name of a module, without running the module; ``None`` if it has no such name."""
    running = it.globals.get(module)
    if running is not None and name in running:
        return running[name]
    key = (module, name)
    if key in it.static_names:
        return it.static_names[key]
    if key in it.resolving:
        return UNKNOWN
    if name not in module.bindings and (not module.star_imports or key in it.missing_names):
        return None
    it.resolving.add(key)
    try:
        value = _static(it, module, name)
    finally:
        it.resolving.discard(key)
    if value is not None:
        it.static_names[key] = value
    else:
        it.missing_names.add(key)
    return value


def _static(it: Interpreter, module: ModuleInfo, name: str) -> Value | None:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.joins import join

    if module is not it.home:
        it.text_budget -= module.size(name)
        if it.text_budget < 0:
            return UNKNOWN
    result: Value | None = None
    for statement in module.bindings.get(name, ()):
        value: Value
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            value = Value(Kind.FUNCTION, data=Closure(module.function(statement), None, module))
        elif isinstance(statement, ast.ClassDef):
            value = Value(Kind.CLASS, data=module.class_(statement))
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            value = imported(it, module, statement, name).get(name, UNKNOWN)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            frame = Frame(module, None, {}, assumed=True)
            frame.statement = statement
            evaluated = it.evaluate(frame, statement.value)
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    it.assign(frame, target, evaluated, statement.value)
            else:
                it.assign(frame, statement.target, evaluated, statement.value)
            value = frame.names.get(name, UNKNOWN)
        else:
            value = UNKNOWN
        result = value if result is None else either(result, value) or join(result, value)
    if result is None:
        for star in module.star_imports:
            result = _through_star(it, module, star, name)
            if result is not None:
                break
    return result


def _through_star(it: Interpreter, module: ModuleInfo, star: ast.ImportFrom, name: str) -> Value | None:
    source = star.module or ""
    if name.startswith("_"):
        return None
    if not star.level and source.partition(".")[0] in KNOWN_LIBRARIES:
        return external(f"{source}.{name}") if _known(f"{source}.{name}") else None
    if it.star_budget <= 0:
        return None
    it.star_budget -= 1
    if not it.project.may_bind(module, source, star.level, name):
        return None
    found = it.project.resolve(module, source, star.level)
    return None if found is None else global_value(it, found, name)


def _known(name: str) -> bool:
    """Whether torch has this name, so far as the tables say (enough for ``from torch import *``)."""
    return (
        torch_api.function(name) is not None
        or torch_api.module_class(name) is not None
        or name
        in ("torch.nn", "torch.optim", "torch.device", "torch.Tensor", "torch.nn.functional", "torch.nn.Parameter")
    )
