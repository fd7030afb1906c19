"""The abstract interpreter: runs functions over abstract values, in program order, and records what it sees.

Branches are joined, loops run until nothing changes (twice at most), and calls of functions of the same project are
followed with the values of the arguments. Nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from devicefix.analysis import alternatives, narrowing
from devicefix.analysis.facts import Records
from devicefix.analysis.outside import any_of_interest
from devicefix.analysis.statement_handlers import STATEMENT_HANDLERS
from devicefix.analysis.states import State, joined
from devicefix.analysis.values import Closure, Kind, Value

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


#: text (characters) of other files' definitions that is read for one file; a registry names all models of a library,
#: while 99 of 100 files get by with half of this
TEXT_BUDGET = 600_000


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
        self.text_budget = TEXT_BUDGET
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
        #: functions that call themselves; what they then do is not followed
        self.recursive: dict[FunctionInfo, Closure] = {}

    def limit(self, lines: int) -> None:
        """Give a file as many statements as its length allows."""
        self.budget = min(STATEMENT_BUDGET, LEAST_BUDGET + BUDGET_PER_LINE * lines)
        self.reserve = min(lines, self.budget // 3)

    def close(self) -> None:
        """Let go of everything but the records: it goes round in circles, which only the collector could free."""
        for names in self.globals.values():
            names.clear()
        self.__dict__.clear()

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
        around = self.host_only
        alive = True
        for statement in body:
            self.budget -= 1
            if self.budget < 0:
                break
            frame.statement = statement
            handler = STATEMENT_HANDLERS.get(type(statement))
            if handler is not None and handler(self, frame, statement) is False:
                alive = False
                break
            if type(statement) is ast.If and narrowing.ends_with_card(statement):
                self.host_only += 1
        self.host_only = around
        return alive

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
            from devicefix.analysis.attribute_writes import write_attribute

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
            from devicefix.analysis.iteration import member

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
