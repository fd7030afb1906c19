"""Decorators: what is really called under the name of a decorated function, method or class.

A decorator of the project is followed: what it returns is called in place of the function. One that cannot be seen may
do anything with the arguments and the result, so nothing is known of either, unless it is known to change neither
device: the list below.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.frames import Arguments, Frame
from devicefix.analysis.tree_index import walk
from devicefix.analysis.values import UNKNOWN, Closure, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo, FunctionInfo

#: decorators, by their last name, that hand arguments and results on as they are
HARMLESS = frozenset(
    {
        "asynccontextmanager", "attrs", "autocast", "beartype", "capture", "classmethod", "command", "compile",
        "configurable", "contextmanager", "coroutine", "custom_bwd", "custom_fwd", "dataclass", "define", "deleter",
        "disable", "experimental", "export", "final", "frozen", "getter", "group", "ignore", "inference_mode", "jaxtyped",
        "main", "mutable", "no_type_check", "njit", "once_differentiable", "overload", "s", "setter", "staticmethod",
        "typechecked", "unique", "unused", "wraps",
    }
)  # fmt: skip

#: parts of names that say as much: registries, documentation, deprecation, caches, compilers, timing …
HARMLESS_WORDS = (
    "abstract", "argument", "cache", "checkable", "deprecat", "doc", "fp16", "fp32", "grad", "jit", "log", "mark", "option",
    "ordering", "overrid", "profil", "property", "rank_zero", "register", "retry", "script", "timeit", "timer",
)  # fmt: skip

#: bases whose instances decorate a function by running it inside a ``with`` block
CONTEXTS = frozenset({"ContextDecorator", "AsyncContextDecorator", "_DecoratorContextManager"})


def stand_in(it: Interpreter, closure: Closure, receiver: Value | None) -> Value | None:
    """What is called in place of a function; ``None``: the function itself, as it is written."""
    info = closure.function
    if closure.bare:
        return None
    if info.cls is not None and info.name != "__init__":
        classes = {info.cls}
        if receiver is not None and receiver.kind is Kind.OBJECT and receiver.data.cls is not None:
            classes.add(receiver.data.cls)
        if any(_replaced(it, cls, info) for cls in classes):
            return UNKNOWN
    decorators = getattr(info.node, "decorator_list", None)
    if not decorators:
        return None
    key = (info, id(closure.names))
    if key not in it.stand_ins:
        it.stand_ins[key] = None  # a decorator that leads back to the function sees it as it is written
        it.stand_ins[key] = _decorated(it, closure, decorators)
    return it.stand_ins[key]


def call_instead(
    it: Interpreter, frame: Frame, function: Value, args: Arguments, receiver: Value | None, node: ast.AST | None
) -> Value:
    """Call what a decorator put in the place of a function."""
    from devicefix.analysis.calls import apply, call_closure
    from devicefix.analysis.module_moves import escape

    if function.kind is Kind.FUNCTION:
        return call_closure(it, frame, function.data, args, receiver, node=node)
    if function.kind is Kind.OBJECT and isinstance(node, ast.Call):
        return apply(it, frame, node, function, args)
    escape(it, [*args.every(), *([receiver] if receiver is not None else ())])
    return Value(Kind.UNKNOWN, ident=("call", node))


def receiver_apart(info: FunctionInfo, args: Arguments) -> tuple[Value | None, Arguments]:
    """The instance that a wrapper hands to a method, and the other arguments."""
    given = args.positional
    if info.is_static or not given or given[0].kind is not Kind.OBJECT or (args.splat and len(given) == 1):
        return None, args
    rest = Arguments(
        given[1:], args.keywords, args.nodes[1:], args.keyword_nodes, splat=args.splat, keyword_splat=args.keyword_splat
    )
    return given[0], rest


def _decorated(it: Interpreter, closure: Closure, decorators: list[ast.expr]) -> Value | None:
    plain = Value(Kind.FUNCTION, data=Closure(closure.function, closure.names, closure.module, bare=True))
    value = plain
    frame = Frame(closure.function.module, None, _class_names(closure.function, decorators), outer=closure.names)
    for decorator in reversed(decorators):
        value = _apply(it, frame, decorator, value)
        if value.kind is not Kind.FUNCTION:
            break
    if value.kind is Kind.OBJECT and closure.function.cls is not None:
        return UNKNOWN  # an object that is called in place of a method is not given the instance
    if value.kind not in (Kind.FUNCTION, Kind.OBJECT):
        return UNKNOWN
    if value.kind is Kind.FUNCTION and value.data is plain.data:
        return None
    if value.kind is Kind.FUNCTION and it.matters(closure.function.node):
        it.followed.add(value.data.function.node)
    return value


def _class_names(info: FunctionInfo, decorators: list[ast.expr]) -> dict[str, Value]:
    """Functions of a class body that its decorators use."""
    if info.cls is None:
        return {}
    methods = info.cls.methods
    used = {n.id for decorator in decorators for n in walk(decorator) if isinstance(n, ast.Name) and n.id in methods}
    return {
        name: Value(Kind.FUNCTION, data=Closure(methods[name], bare=True)) for name in used
        if methods[name] is not info
    }  # fmt: skip


def _apply(it: Interpreter, frame: Frame, decorator: ast.expr, value: Value) -> Value:
    """The value under one decorator."""
    from devicefix.analysis.calls import apply

    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    if isinstance(target, ast.Attribute) and name in ("setter", "getter", "deleter"):
        return value
    found = it.evaluate(frame, target)
    if found.kind in (Kind.EXTERNAL, Kind.UNKNOWN) or not _of_project(found):
        return value if _is_harmless(name) else UNKNOWN
    if found.kind is Kind.FUNCTION and found.data.function.decorators & {"contextmanager", "asynccontextmanager"}:
        return value
    if found.kind is Kind.CLASS and _is_context(it, found.data):
        return value
    if isinstance(decorator, ast.Call):
        if found.kind is Kind.FUNCTION:
            it.followed.add(found.data.function.node)
        found = it.evaluate(frame, decorator)
        if found.kind is Kind.OBJECT and found.data.cls is not None and _is_context(it, found.data.cls):
            return value
    if found.kind is Kind.FUNCTION:
        it.followed.add(found.data.function.node)
    # a node of its own: the call of the decorator stands nowhere in the text
    node = ast.copy_location(ast.Call(func=decorator, args=[target], keywords=[]), decorator)
    return apply(it, frame, node, found, Arguments([value], nodes=[target]))


def _of_project(value: Value) -> bool:
    if value.kind is Kind.METHOD:
        return len(value.data) == 3
    if value.kind is Kind.OBJECT:
        return value.data.cls is not None
    return value.kind in (Kind.FUNCTION, Kind.CLASS)


def _is_harmless(name: str) -> bool:
    lowered = name.lower()
    return name in HARMLESS or any(word in lowered for word in HARMLESS_WORDS)


def _is_context(it: Interpreter, cls: ClassInfo) -> bool:
    from devicefix.analysis.classes import ancestry

    return any(name.rpartition(".")[2] in CONTEXTS for name in ancestry(it, cls)[1])


# -- classes -----------------------------------------------------------------------------------------------------------


def _replaced(it: Interpreter, cls: ClassInfo, info: FunctionInfo) -> bool:
    """Whether something else than the method may stand under its name: the class was decorated or patched."""
    name = info.name
    written = it.static_names.get((cls, f"={name}"))
    if written is not None and not (written.kind is Kind.FUNCTION and written.data.function is info):
        return True
    if info.cls is cls and name in cls.assignments and _rebinds(it, cls.assignments[name], info):
        return True
    if not cls.node.decorator_list:
        return False
    key = (cls, 0)
    if key not in it.stand_ins:
        it.stand_ins[key] = None
        it.stand_ins[key] = _altered(it, cls)
    if it.stand_ins[key] is not None:
        return True
    return (cls, f"={name}") in it.static_names


def _rebinds(it: Interpreter, statement: ast.stmt, info: FunctionInfo) -> bool:
    """``step = wrapped(step)`` in the body of a class, below the method."""
    value = getattr(statement, "value", None)
    if statement.lineno < info.node.lineno or not isinstance(value, ast.Call):
        return False
    frame = Frame(
        info.module,
        None,
        {**_class_names(info, [value.func]), info.name: (plain := Value(Kind.FUNCTION, data=Closure(info, bare=True)))},
    )
    call = ast.copy_location(ast.Call(func=value.func, args=[], keywords=[]), value)
    return _apply(it, frame, call.func, plain) is not plain


def _altered(it: Interpreter, cls: ClassInfo) -> Value | None:
    """``UNKNOWN`` if the decorators of a class may have changed any of its methods."""
    plain = Value(Kind.CLASS, data=cls)
    value = plain
    frame = Frame(cls.module, None, dict(cls.outer or {}))
    for decorator in reversed(cls.node.decorator_list):
        value = _apply(it, frame, decorator, value)
        if value.kind is not Kind.CLASS or value.data is not cls:
            return UNKNOWN
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        found = it.evaluate(frame, target)
        if found.kind is Kind.FUNCTION and _sets_any(found.data.function.node):
            return UNKNOWN
    return None


def _sets_any(function: ast.AST) -> bool:
    """Whether a function sets attributes whose names are computed."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr"
        and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)
        for node in ast.walk(function)
    )  # fmt: skip
