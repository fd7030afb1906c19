"""What each kind of statement does to the state of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devicefix.analysis import conditional_moves, narrowing, unrolling
from devicefix.analysis.assumed_moves import go_on_as_if_moved, is_move
from devicefix.analysis.statements import import_names
from devicefix.analysis.states import State, joined
from devicefix.analysis.values import NONE, UNKNOWN, Closure, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def _expression(it: Interpreter, frame: Frame, s: ast.Expr) -> None:
    value = it.evaluate(frame, s.value)
    if isinstance(s.value, ast.Call):
        go_on_as_if_moved(it, frame, s.value, value)
    elif (
        isinstance(s.value, ast.ListComp) and isinstance(s.value.generators[0].iter, ast.Name) and is_move(s.value.elt)
    ):
        name = s.value.generators[0].iter.id
        if name in frame.names and value.element is not None:
            frame.names[name] = value
    elif isinstance(s.value, (ast.IfExp, ast.BoolOp)):
        for arm in conditional_moves.arms(s.value):
            if isinstance(arm, ast.Call):
                go_on_as_if_moved(it, frame, arm, value)
    elif isinstance(s.value, (ast.Tuple, ast.List)) and isinstance(value.items, tuple):
        for part, moved in zip(s.value.elts, value.items, strict=False):
            if isinstance(part, ast.Call):
                go_on_as_if_moved(it, frame, part, moved)


def _assign(it: Interpreter, frame: Frame, s: ast.Assign) -> None:
    value = it.evaluate(frame, s.value)
    frame.statement = s
    for target in s.targets:
        it.assign(frame, target, value, s.value)


def _annotated(it: Interpreter, frame: Frame, s: ast.AnnAssign) -> None:
    if s.value is not None:
        value = it.evaluate(frame, s.value)
        frame.statement = s
        it.assign(frame, s.target, value, s.value)


def _augmented(it: Interpreter, frame: Frame, s: ast.AugAssign) -> None:
    from devicefix.analysis.operators import in_place

    current = it.evaluate(frame, s.target)
    value = it.evaluate(frame, s.value)
    frame.statement = s
    result = in_place(it, frame, s, current, value)
    if not (isinstance(s.target, ast.Subscript) and current.is_tensor):
        it.assign(frame, s.target, result)


def _return(it: Interpreter, frame: Frame, s: ast.Return) -> bool:
    frame.returns.append(it.evaluate(frame, s.value) if s.value is not None else NONE)
    return False


def _raise(it: Interpreter, frame: Frame, s: ast.Raise) -> bool:
    del it, frame, s  # what an error is given goes nowhere
    return False


def _leave_loop(it: Interpreter, frame: Frame, s: ast.stmt) -> bool:
    del it, s
    if frame.leaves:
        frame.leaves[-1].append(State(frame))
    return False


def _if(it: Interpreter, frame: Frame, s: ast.If) -> bool:
    it.evaluate(frame, s.test)
    truth = narrowing.truth(it, frame, s.test)
    if truth is True:
        narrowing.narrow(it, frame, s.test, True)
        return it.run(frame, s.body)
    if truth is False:
        narrowing.narrow(it, frame, s.test, False)
        return it.run(frame, s.orelse)

    on_card = narrowing.accelerator_test(s.test)

    def then() -> bool:
        narrowing.narrow(it, frame, s.test, True)
        it.host_only += on_card is False  # code that runs only without an accelerator: nothing can mix there
        alive = it.run(frame, s.body)
        it.host_only -= on_card is False
        return alive

    def otherwise() -> bool:
        narrowing.narrow(it, frame, s.test, False)
        it.host_only += on_card is True
        alive = it.run(frame, s.orelse)
        it.host_only -= on_card is True
        return alive

    return it.branch(frame, [then, otherwise], s)


def _while(it: Interpreter, frame: Frame, s: ast.While) -> bool:
    def once() -> bool:
        it.evaluate(frame, s.test)
        narrowing.narrow(it, frame, s.test, True)
        return it.run(frame, s.body)

    it.loop(frame, once)
    it.run(frame, s.orelse)
    endless = isinstance(s.test, ast.Constant) and s.test.value
    return not endless or any(isinstance(node, ast.Break) for node in ast.walk(s))


def _for(it: Interpreter, frame: Frame, s: ast.For | ast.AsyncFor) -> bool:
    from devicefix.analysis.iteration import iterate

    iterable = it.evaluate(frame, s.iter)
    members = unrolling.turns(iterable) if unrolling.can_be_unrolled(s) else ()
    if members:
        return unrolling.run(it, frame, s, members) and it.run(frame, s.orelse)

    def once() -> bool:
        frame.statement = s
        it.records.scopes[s].append(frame.scope())
        it.assign(frame, s.target, iterate(it, frame, iterable, s.iter, s))
        return it.run(frame, s.body)

    frame.for_loops.append(s)
    it.loop(frame, once)
    frame.for_loops.pop()
    return it.run(frame, s.orelse)


def _with(it: Interpreter, frame: Frame, s: ast.With | ast.AsyncWith) -> bool:
    entered = 0
    for item in s.items:
        context = it.evaluate(frame, item.context_expr)
        if context.kind is Kind.DEVICE and not context.has("cuda_context"):
            it.default_devices.append(context.device)
            entered += 1
        elif context.has("opaque_device_context"):
            it.default_devices.append(None)
            entered += 1
        if item.optional_vars is not None:
            it.assign(frame, item.optional_vars, context)
    alive = it.run(frame, s.body)
    del it.default_devices[len(it.default_devices) - entered :]
    return alive


def _try(it: Interpreter, frame: Frame, s: ast.Try) -> bool:
    imports_only = all(isinstance(x, (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)) for x in s.body) and any(
        isinstance(x, (ast.Import, ast.ImportFrom)) for x in s.body
    )
    before = State(frame)
    frame.conditions += 1
    alive = it.run(frame, s.body) and it.run(frame, s.orelse)
    endings = [State(frame)] if alive else []
    reached = joined([before, State(frame)], partial=False)
    for handler in s.handlers:
        reached.restore(frame)
        if handler.name:
            frame.names[handler.name] = UNKNOWN
        if it.run(frame, handler.body):
            if imports_only and endings:
                # except ImportError: a substitute; what the import itself means comes first
                for name, value in frame.names.items():
                    endings[0].names.setdefault(name, value)
            else:
                endings.append(State(frame))
    frame.conditions -= 1
    if not endings:
        reached.restore(frame)
        it.run(frame, s.finalbody)
        return False
    joined(endings).restore(frame)
    return it.run(frame, s.finalbody)


def _match(it: Interpreter, frame: Frame, s: ast.Match) -> bool:
    it.evaluate(frame, s.subject)
    bodies: list[Callable[[], bool]] = []
    for case in s.cases:

        def body(case: ast.match_case = case) -> bool:
            for node in ast.walk(case.pattern):
                name = getattr(node, "name", None) or getattr(node, "rest", None)
                if isinstance(name, str):
                    frame.names[name] = UNKNOWN
            if case.guard is not None:
                it.evaluate(frame, case.guard)
            return it.run(frame, case.body)

        bodies.append(body)
    if not _matches_all(s.cases[-1]):
        bodies.append(lambda: True)
    return it.branch(frame, bodies, s)


def _matches_all(case: ast.match_case) -> bool:
    """``case _:``"""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _function(it: Interpreter, frame: Frame, s: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for default in (*s.args.defaults, *(d for d in s.args.kw_defaults if d is not None)):
        it.evaluate(frame, default)
    info = frame.module.function(s, None, frame.function)
    inner = frame.inside if frame.function is not None else None
    if inner is not None:
        it.pending.append((info, inner))
    frame.names[s.name] = Value(Kind.FUNCTION, data=Closure(info, inner, frame.module))


def _class(it: Interpreter, frame: Frame, s: ast.ClassDef) -> None:
    cls = frame.module.class_(s)
    if frame.function is not None:
        cls.outer = frame.names
        it.known_bases.pop(cls, None)
        it.ancestries.pop(cls, None)
    frame.names[s.name] = Value(Kind.CLASS, data=cls)


def _import(it: Interpreter, frame: Frame, s: ast.Import | ast.ImportFrom) -> None:
    from devicefix.analysis.imports import imported

    if it.lazy_imports and frame.function is None and frame.module is it.home:
        bindings = frame.module.bindings
        if all(len(bindings.get(name, ())) == 1 for name in import_names(s)):
            return  # a name that is bound once means the same whenever it is looked up
    frame.names.update(imported(it, frame.module, s))


def _delete(it: Interpreter, frame: Frame, s: ast.Delete) -> None:
    for target in s.targets:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)


def _assert(it: Interpreter, frame: Frame, s: ast.Assert) -> None:
    it.evaluate(frame, s.test)
    narrowing.narrow(it, frame, s.test, True)


STATEMENT_HANDLERS: dict[type[ast.stmt], Any] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Delete: _delete,
    ast.Assert: _assert,
}


if hasattr(ast, "TryStar"):
    STATEMENT_HANDLERS[ast.TryStar] = _try
