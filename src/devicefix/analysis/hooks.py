"""Forward hooks: functions of the program that see, and may replace, what goes into a module and what comes out.

A hook of the project is followed at each call of its module. What one that cannot be followed does with the devices is
not known, so the inputs (or the output) are then nowhere in particular.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.analysis.frames import Arguments
from devicefix.analysis.ownership import modules_inside
from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import NONE, UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.values import Obj

#: methods of modules that register a hook, and whether it runs before ``forward``
REGISTERING = {"register_forward_pre_hook": True, "register_forward_hook": False}


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One registered hook."""

    function: Value
    before: bool
    keywords: bool = False  #: it is given the keyword arguments as well
    sure: bool = True  #: it is registered on every path


def register(it: Interpreter, frame: Frame, receiver: Value, name: str, args: Arguments) -> Value:
    """``module.register_forward_pre_hook(hook)``; of a module that may be several, all get it."""
    with_kwargs = args.keywords.get("with_kwargs")
    hook = Hook(
        args.get(0, "hook") or UNKNOWN,
        REGISTERING[name],
        with_kwargs is not None and with_kwargs.data is not False,
        not frame.conditions,
    )
    for obj in _objects(receiver):
        obj.hooks = (*obj.hooks, hook)
    it.heap_version += 1  # results of earlier calls hold no longer
    return UNKNOWN


def _objects(receiver: Value) -> list[Obj]:
    if receiver.kind is Kind.OBJECT:
        return [receiver.data]
    members = (v.data for v in receiver.items or () if v.kind is Kind.OBJECT)
    return list({id(obj): obj for member in members for obj in modules_inside(member)}.values())


def register_global(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``torch.nn.modules.module.register_module_forward_pre_hook(hook)`` and its sister: for every module there is."""
    name = last_name(node.func)
    before = "pre" in name or not name
    it.hooks = (*it.hooks, Hook(args.get(0, "hook") or UNKNOWN, before, True, False))
    it.heap_version += 1
    return UNKNOWN


def call(it: Interpreter, frame: Frame, node: ast.Call, function: Value, args: Arguments) -> Value:
    """Call a module that has hooks."""
    from devicefix.analysis.module_calls import call_without_hooks

    hooks = (*it.hooks, *function.data.hooks)
    for hook in hooks:
        if hook.before:
            args = _before(it, frame, node, function, hook, args)
    result = call_without_hooks(it, frame, node, function, args)
    for hook in hooks:
        if not hook.before:
            result = _after(it, frame, node, function, hook, args, result)
    return result


def _before(it: Interpreter, frame: Frame, node: ast.Call, module: Value, hook: Hook, args: Arguments) -> Arguments:
    """The arguments as a pre-hook leaves them."""
    given = args.positional
    inputs = Value(Kind.SEQUENCE, items=tuple(given), data="tuple")
    replaced: list[Value] | None = None
    if not hook.keywords and not args.splat:
        result = _run(it, frame, node, hook, [module, inputs])
        if result is NONE and all(map(_cannot_change, given)):
            return args
        if hook.sure and not result.has("maybe_none"):
            replaced = _inputs(result, len(given))
    if replaced is None:
        replaced = [nowhere(v) for v in given]
    keywords = {k: nowhere(v) for k, v in args.keywords.items()} if hook.keywords else args.keywords
    return Arguments(replaced, keywords, args.nodes, args.keyword_nodes, args.splat, args.keyword_splat)


def _inputs(result: Value, count: int) -> list[Value] | None:
    """What a pre-hook returns, as the positional arguments: a tuple of them, or the only one."""
    if result.kind is Kind.SEQUENCE:
        if isinstance(result.items, tuple):
            return list(result.items) if len(result.items) == count else None
        return [result.element] * count if result.element is not None else None
    return [result] if result.is_tensor and count == 1 else None


def _after(
    it: Interpreter, frame: Frame, node: ast.Call, module: Value, hook: Hook, args: Arguments, output: Value
) -> Value:
    """The output as a hook leaves it."""
    if hook.keywords:
        return nowhere(output)
    inputs = Value(Kind.SEQUENCE, items=tuple(args.positional), data="tuple")
    result = _run(it, frame, node, hook, [module, inputs, output])
    if result is NONE and _cannot_change(output):
        return output
    return result if hook.sure and result is not NONE and not result.has("maybe_none") else nowhere(output)


def _run(it: Interpreter, frame: Frame, node: ast.Call, hook: Hook, given: list[Value]) -> Value:
    from devicefix.analysis.calls import apply

    function = hook.function
    if function.kind is not Kind.FUNCTION and not (function.kind is Kind.METHOD and len(function.data) == 3):
        return UNKNOWN
    return apply(it, frame, node, function, Arguments(given, nodes=[node.func] * len(given)))


def _cannot_change(value: Value) -> bool:
    """Whether a function that is given a value can only look at it: it moves nothing in place."""
    return value.is_tensor or value.kind in (Kind.NUMBER, Kind.SIZE, Kind.STRING, Kind.NONE)


def nowhere(value: Value) -> Value:
    """A value of which it is not known any more where it is."""
    if value.is_tensor:
        return value.replace(device=None, origins=(), ident=None)
    if value.kind is Kind.SEQUENCE and (value.items is None or isinstance(value.items, tuple)):
        items = tuple(map(nowhere, value.items)) if value.items is not None else None
        return value.replace(items=items, element=nowhere(value.element) if value.element is not None else None)
    return value if value.kind in (Kind.NUMBER, Kind.SIZE, Kind.STRING, Kind.NONE) else UNKNOWN
