"""The abstract interpreter: runs functions over abstract values, in program order, and records what it sees.

Branches are joined, loops run until nothing changes (twice at most), and calls of functions of the same project are
followed with the values of the arguments. Nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from devicefix import torch_api
from devicefix.analysis import alternatives, conditional_moves, narrowing, unrolling
from devicefix.analysis.facts import Records
from devicefix.analysis.outside import any_of_interest
from devicefix.analysis.statements import import_names
from devicefix.analysis.values import (
    MAYBE_NONE,
    NONE,
    UNKNOWN,
    Closure,
    Kind,
    Value,
    any_element,
    join,
)

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import DefaultDevice
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.hooks import Hook
    from devicefix.analysis.model import ClassInfo, FunctionInfo
    from devicefix.analysis.project import Project
    from devicefix.analysis.relevance import Relevance
    from devicefix.settings import Settings

#: statements interpreted for one file, at most; fewer for a short one
STATEMENT_BUDGET = 20_000
#: statements that any file may have, and those that it may have for each of its lines (1 for one in two files, 2
#: for 98 of 100)
LEAST_BUDGET, BUDGET_PER_LINE = 1_500, 3
#: statements interpreted in functions that cannot hold a finding themselves, for what they return
OUTSIDE_BUDGET = 2_000
#: only functions up to so many lines are looked into for what they return
SMALL = 30
MAXIMUM_DEPTH = 9
#: imports with ``*`` looked through for one file; an index of hundreds of modules is not searched for every name
STAR_BUDGET = 60

MAYBE_UNBOUND = frozenset({"maybe_unbound"})


class Interpreter:
    """Interprets the functions of one file (and, where calls lead there, of others)."""

    def __init__(self, project: Project, settings: Settings, records: Records | None = None) -> None:
        self.project = project
        self.settings = settings
        self.records = records or Records()
        self.budget = STATEMENT_BUDGET
        self.reserve = 0  #: what is left for functions that were not reached when calls are followed no longer
        self.outside_budget = OUTSIDE_BUDGET
        self.star_budget = STAR_BUDGET
        self.host_only = 0
        self.active: list[ast.AST] = []
        self.relevance: Relevance | None = None  #: of the file that is checked; None: everything matters
        self.home: Any = None  #: the file that is checked
        self.results: dict[Hashable, tuple[int, Value]] = {}
        self.heap_version = 0
        self.default_devices: list[Device | None] = []
        self.default_device: DefaultDevice | None = None  #: set for the whole program
        self.interpreted: set[ast.AST] = set()  #: functions whose body was run at least once
        self.globals: dict[Any, dict[str, Value]] = {}  #: names of modules whose body was or is being run
        self.resolving: set[tuple[Any, str]] = set()
        self.static_names: dict[tuple[Any, str], Value] = {}
        self.known_bases: dict[ClassInfo, tuple[Value, ...]] = {}
        self.missing_names: set[tuple[Any, str]] = set()  #: looked for through ``import *`` and not found
        #: what is called in place of decorated functions and classes; None: they themselves
        self.stand_ins: dict[Hashable, Value | None] = {}
        self.hooks: tuple[Hook, ...] = ()  #: forward hooks of every module there is
        self.followed: set[ast.AST] = set()  #: decorators, and what they put in place of a function that matters
        self.ancestries: dict[ClassInfo, tuple[list[ClassInfo], list[str]]] = {}
        self.lazy_imports = False  #: module-level imports of the checked file are followed when a name is used
        #: functions inside functions, with the names around them; run at the end if nobody called them
        self.pending: list[tuple[FunctionInfo, MutableMapping[str, Value]]] = []

    def limit(self, lines: int) -> None:
        """Give a file as many statements as its length allows."""
        self.budget = min(STATEMENT_BUDGET, LEAST_BUDGET + BUDGET_PER_LINE * lines)
        self.reserve = min(lines, self.budget // 3)

    def matters(self, node: ast.AST) -> bool:
        """Whether a function (or module body) of the checked file can lead to a finding."""
        return self.relevance is None or node in self.relevance

    def worth(self, closure: Closure, given: Sequence[Value]) -> bool:
        """Whether a call should be followed: into a function that may lead to a finding, or a small one that may
        return something of interest."""
        info = closure.function
        if self.relevance is None or (info.module is self.home and info.node in self.relevance):
            return True
        if isinstance(info.node, ast.Lambda) or info.node in self.followed:
            return True
        lines = (info.node.end_lineno or 0) - info.node.lineno + 1
        if lines > SMALL or self.outside_budget <= 0:
            return False
        if closure.names is None and not info.makes_or_moves and not any_of_interest(given):
            return False
        self.outside_budget -= lines
        return True

    # -- expressions, filled in by the modules that know them ------------------------------------------------------

    def evaluate(self, frame: Frame, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        from devicefix.analysis.expressions import evaluate

        self.evaluate = evaluate.__get__(self)  # type: ignore[method-assign]
        return evaluate(self, frame, node)

    # -- statements ------------------------------------------------------------------------------------------------

    def run(self, frame: Frame, body: list[ast.stmt]) -> bool:
        """Interpret statements. False when control never reaches the end of them."""
        for statement in body:
            self.budget -= 1
            if self.budget < 0:
                return True
            frame.statement = statement
            handler = _STATEMENTS.get(type(statement))
            if handler is not None and handler(self, frame, statement) is False:
                return False
        return True

    def branch(self, frame: Frame, bodies: list[Callable[[], bool]], choice: ast.If | ast.Match) -> bool:
        """Run the alternatives of a statement from one state and join what they leave behind."""
        before = State(frame)
        endings: list[State] = []
        frame.conditions += 1
        for body in bodies:
            if body():
                endings.append(State(frame))
            before.restore(frame)
        frame.conditions -= 1
        if not endings:
            return False
        merged = joined(endings)
        if len(endings) > 1:
            alternatives.keep_host(frame, merged, endings, choice)
        merged.restore(frame)
        return True

    def assign(self, frame: Frame, target: ast.expr, value: Value, node: ast.expr | None = None) -> None:
        """Bind a target; ``node`` is the expression that the value comes from, if there is one."""
        if isinstance(target, ast.Name):
            if value.ident is None and value.is_tensor:
                value = value.replace(ident=("name", target))
            if frame.function is not None and target.id in frame.function.outer_names:
                around = frame.outer if target.id in frame.function.enclosing_names else None
                (self.globals.setdefault(frame.module, {}) if around is None else around)[target.id] = value
                self.heap_version += 1  # results of calls that read it hold no longer
            frame.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(frame, target.elts, value, node)
        elif isinstance(target, ast.Starred):
            self.assign(frame, target.value, value)
        elif isinstance(target, ast.Attribute) and target.attr == "data":
            from devicefix.analysis.parameter_data import write_data

            write_data(self, frame, target, value)
        elif isinstance(target, ast.Attribute):
            from devicefix.analysis.heap import write_attribute

            write_attribute(self, frame, self.evaluate(frame, target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            from devicefix.analysis.subscripts import store

            store(self, frame, target, value, node)

    def _unpack(self, frame: Frame, targets: list[ast.expr], value: Value, node: ast.expr | None) -> None:
        nodes = node.elts if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == len(targets) else None
        starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if isinstance(value.items, tuple) and starred is not None and len(value.items) >= len(targets) - 1:
            after = len(targets) - starred - 1
            middle = value.items[starred : len(value.items) - after]
            rest = Value(Kind.SEQUENCE, items=tuple(middle))
            values = [*value.items[:starred], rest, *value.items[len(value.items) - after :]]
        elif isinstance(value.items, tuple) and len(value.items) == len(targets):
            values = list(value.items)
        else:
            from devicefix.analysis.expressions import member

            values = [
                Value(Kind.SEQUENCE, element=member(value, None)) if i == starred else member(value, i)
                for i in range(len(targets))
            ]
        for i, (target, item) in enumerate(zip(targets, values, strict=False)):
            self.assign(frame, target, item, nodes[i] if nodes else None)

    def loop(self, frame: Frame, once: Callable[[], bool]) -> None:
        """Run a loop body until the names settle, twice at most."""
        frame.conditions += 1
        frame.loops += 1
        for _ in range(2 if frame.loops < 3 else 1):
            before = State(frame)
            frame.leaves.append([])
            alive = once()
            endings = [before, *frame.leaves.pop()]
            if alive:
                endings.append(State(frame))
            merged = joined(endings, partial=False)
            settled = merged.same_as(before)
            merged.restore(frame)
            if settled:
                break
        frame.loops -= 1
        frame.conditions -= 1


class State:
    """What a path through a function leaves behind: its names, and the attributes of ``self``."""

    __slots__ = ("attrs", "names")

    def __init__(self, frame: Frame) -> None:
        self.names = dict(frame.names)
        self.attrs = dict(frame.self_object.attrs) if frame.self_object is not None else None

    def restore(self, frame: Frame) -> None:
        """Give a frame this state."""
        _restore(frame, dict(self.names))
        if frame.self_object is not None and self.attrs is not None:
            frame.self_object.attrs = dict(self.attrs)

    def same_as(self, other: State) -> bool:
        """Whether both hold the same values."""
        return _same(self.names, other.names) and _same(self.attrs or {}, other.attrs or {})


def _same(a: dict[str, Value], b: dict[str, Value]) -> bool:
    return len(a) == len(b) and all(a.get(k) is v for k, v in b.items())


def joined(states: list[State], partial: bool = True) -> State:
    """The join of several paths."""
    result = State.__new__(State)
    result.names = merge([s.names for s in states], partial)
    attrs = [s.attrs for s in states if s.attrs is not None]
    result.attrs = merge(attrs, partial=False) if attrs else None
    return result


def _restore(frame: Frame, names: dict[str, Value]) -> None:
    """Give a frame other names; the dict stays the same one, closures hold it."""
    if frame.names is not names:
        frame.names.clear()
        frame.names.update(names)


def merge(states: list[dict[str, Value]], partial: bool = True) -> dict[str, Value]:
    """Join the names of several paths. A name that some path lacks is kept, marked as perhaps unbound."""
    if len(states) == 1:
        return states[0]
    result = dict(states[0])
    for state in states[1:]:
        for name, value in state.items():
            known = result.get(name)
            if known is value:
                continue
            if known is None:
                result[name] = value.replace(flags=value.flags | MAYBE_UNBOUND) if partial else value
            else:
                result[name] = join(known, value)
        if partial:
            for name in result.keys() - state.keys():
                value = result[name]
                if "maybe_unbound" not in value.flags:
                    result[name] = value.replace(flags=value.flags | MAYBE_UNBOUND)
    return result


# -- one function per kind of statement ------------------------------------------------------------------------------


def _expression(it: Interpreter, frame: Frame, s: ast.Expr) -> None:
    value = it.evaluate(frame, s.value)
    if isinstance(s.value, ast.Call):
        _as_if_moved(it, frame, s.value, value)
    elif (
        isinstance(s.value, ast.ListComp) and isinstance(s.value.generators[0].iter, ast.Name) and _is_move(s.value.elt)
    ):
        name = s.value.generators[0].iter.id
        if name in frame.names and value.element is not None:
            frame.names[name] = value
    elif isinstance(s.value, (ast.IfExp, ast.BoolOp)):
        for arm in conditional_moves.arms(s.value):
            if isinstance(arm, ast.Call):
                _as_if_moved(it, frame, arm, value)
    elif isinstance(s.value, (ast.Tuple, ast.List)) and isinstance(value.items, tuple):
        for part, moved in zip(s.value.elts, value.items, strict=False):
            if isinstance(part, ast.Call):
                _as_if_moved(it, frame, part, moved)


def _is_move(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in torch_api.MOVE_METHODS
    )


def _as_if_moved(it: Interpreter, frame: Frame, call: ast.Call, value: Value) -> None:
    """After ``x.to(d)`` as a statement, go on as if ``x`` had moved: the dropped result is the one fault to report."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return
    receiver = function.value
    if isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute) and function.attr.endswith("_"):
        method = receiver.func.attr  # x.to(d).fill_(0)
        receiver = receiver.func.value
    else:
        method = function.attr
    if method not in torch_api.MOVE_METHODS or not (value.is_tensor or value.kind is Kind.OBJECT):
        return
    if value.kind is Kind.OBJECT and value.data.is_module:
        return
    if isinstance(receiver, ast.Name):
        for names in (frame.names, frame.outer, it.globals.get(frame.module)):
            if names is not None and receiver.id in names:
                names[receiver.id] = value
                break
        loop_variable_changed(frame, receiver.id, value)
    elif isinstance(receiver, ast.Attribute):
        owner = it.evaluate(frame, receiver.value)
        if owner.kind is Kind.OBJECT and receiver.attr in owner.data.attrs:
            owner.data.attrs[receiver.attr] = value
            it.heap_version += 1
    elif isinstance(receiver, ast.Subscript):
        base = it.evaluate(frame, receiver.value)
        if base.kind in (Kind.SEQUENCE, Kind.MAPPING):
            from devicefix.analysis.subscripts import rebind, with_all_items

            rebind(it, frame, receiver.value, with_all_items(base, value))
            if isinstance(receiver.value, ast.Name):
                loop_variable_changed(frame, receiver.value.id, frame.names.get(receiver.value.id, base))


def loop_variable_changed(frame: Frame, name: str, value: Value) -> None:
    """What happened to the variable of a loop happens to every element of what is looped over."""
    from devicefix.analysis.subscripts import with_all_items

    for loop in frame.for_loops:
        if isinstance(loop.target, ast.Name) and loop.target.id == name and isinstance(loop.iter, ast.Name):
            known = frame.names.get(loop.iter.id)
            if known is not None and known.kind is Kind.SEQUENCE:
                frame.names[loop.iter.id] = with_all_items(known, value)
        elif isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Call) and [*loop.iter.args, None]:
            source = (
                loop.iter.func.value
                if isinstance(loop.iter.func, ast.Attribute)
                else loop.iter.args[0]
                if loop.iter.args
                else None
            )
            last = loop.target.elts[-1]
            if isinstance(last, ast.Name) and last.id == name and isinstance(source, ast.Name):
                known = frame.names.get(source.id)
                if known is not None and known.kind in (Kind.SEQUENCE, Kind.MAPPING):
                    frame.names[source.id] = with_all_items(known, value)


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
    if s.exc is not None:
        it.evaluate(frame, s.exc)
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
    from devicefix.analysis.expressions import iterate

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


_STATEMENTS: dict[type[ast.stmt], Any] = {
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
    _STATEMENTS[ast.TryStar] = _try

__all__ = ["MAYBE_NONE", "Interpreter", "any_element", "merge"]
