"""What becomes of a file that ``torch.load`` reads, and where its tensors should go.

Without ``map_location`` every tensor returns to the device it was saved from. ``load_state_dict`` copies, so for it any
device will do; what is used directly has to be where its partners are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.evidence import path_of
from devicefix.analysis.own_names import own_nodes
from devicefix.analysis.workers import worker_functions, worker_of

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, LoadedMeeting
    from devicefix.analysis.values import Scope

#: where weights are published that were saved on the CPU
CPU_HOSTS = ("download.pytorch.org", "s3.amazonaws.com/pytorch", "data.lip6.fr/cadene")

#: entries of checkpoints that are no tensors, or that are read as numbers
BOOKKEEPING = re.compile(
    r"epoch|step|iter|best|\bacc|loss|score|metric|\barg|conf|cfg|hparam|hyper|sched|scaler|\bamp\b|seed|\barch|vocab|version|meta|"
    r"\bname|class|label|\blr\b|learning_rate|\bf1\b|history|date|time|opts?\b|tokenizer|kwargs",
    re.IGNORECASE,
)
#: entries that hold the state of a module or an optimizer
STATES = re.compile(r"model|net|state|weight|param|ema|generator|discriminator|encoder|decoder|optim", re.IGNORECASE)
#: receivers of ``load_state_dict`` whose state holds numbers only
WITHOUT_TENSORS = re.compile(r"scaler|sched", re.IGNORECASE)
#: states of random generators, which must be on the CPU
GENERATOR_STATES = re.compile(r"rng|random", re.IGNORECASE)

#: methods of dicts and modules through which the loaded thing is still the same or a part of it
PASSING = frozenset({"get", "items", "values", "pop", "copy", "state_dict", "setdefault", "float", "half"})
SILENT_METHODS = frozenset(
    {"keys", "update", "clear", "zero_grad", "parameters", "named_parameters", "modules", "named_modules", "children",
     "named_children"}
)  # fmt: skip
CHAINED = frozenset({"eval", "train", "requires_grad_"})  #: methods of modules that return the module
ON_HOST = frozenset({"numpy", "tolist", "__array__"})  #: methods that want their tensor on the CPU
HARMLESS_CALLS = frozenset(
    {"print", "len", "isinstance", "type", "list", "sorted", "set", "iter", "next", "hasattr", "str", "int", "float",
     "info", "debug"}
)  # fmt: skip


#: where a value is only looked at
LOOKS_ONLY = (ast.Compare, ast.Delete, ast.Expr, ast.If, ast.Assert, ast.JoinedStr, ast.FormattedValue)


@dataclass(slots=True)
class Load:
    """One ``torch.load`` without ``map_location``, with the uses of what it returns."""

    call: ast.Call
    name: str  #: canonical name of the function
    scopes: list[Scope] = field(default_factory=list)
    states: list[ast.Call] = field(default_factory=list)  #: calls of ``load_state_dict`` and ``copy_`` that it reaches
    meetings: list[LoadedMeeting] = field(default_factory=list)
    others: list[ast.AST] = field(default_factory=list)  #: uses of which nothing is known
    kept: list[tuple[str, str]] = field(default_factory=list)  #: attributes that hold (a part of) it, with the key
    generator_state: bool = False
    moved: bool = False  #: the loaded object itself is moved, as whole pickled modules are
    met: set[ast.AST] = field(default_factory=set)  #: operations in which it is known to meet a device
    on_host: bool = False  #: an array or a list of numbers is made of it
    misplaced: ast.Call | None = None  #: a ``load_state_dict`` that got the ``map_location``


# -- following the result through a function ---------------------------------------------------------------------------


def open_loads(facts: FileFacts) -> Iterator[Load]:
    """Loads of this file that leave the device to the file, with their uses, in source order."""
    found: dict[ast.Call, Load] = {}
    workers = worker_functions(facts)
    for step in facts.records.steps:
        if (
            step.kind != "load"
            or step.other is not None
            or not isinstance(step.node, ast.Call)
            or not facts.here(step.node)
        ):
            continue
        if step.subject.has("location_unknown") or worker_of(step.scope, workers) is not None:
            continue
        load = found.setdefault(step.node, Load(step.node, str(step.subject.data)))
        load.scopes.append(step.scope)
    for load in sorted(found.values(), key=lambda x: (x.call.lineno, x.call.col_offset)):
        follow(facts, load)
        seen_through = not (load.moved or load.others or load.kept)  # a whole module may be moved anywhere
        meetings = (m for m in facts.records.loaded_meetings if m.load is load.call)
        load.meetings = [m for m in meetings if seen_through or not m.called]
        yield load


def follow(facts: FileFacts, load: Load) -> None:
    """Find the uses of what a load returns in the function around it."""
    _Uses(facts, load).follow()


class _Uses:
    """Follows names in one function, by the text."""

    def __init__(self, facts: FileFacts, load: Load) -> None:
        self.facts = facts
        self.load = load
        function = facts.function(load.call)
        self.body = function.node if function is not None else facts.tree
        self.inside = set(ast.walk(load.call))  #: the arguments of the load are no uses of its result
        self.names: set[str] = set()
        self.queue: list[str] = []

    def follow(self) -> None:
        self.use(self.load.call)
        while self.queue:
            name = self.queue.pop()
            for node in own_nodes(self.body):
                if (
                    isinstance(node, (ast.Name, ast.Attribute))
                    and isinstance(node.ctx, ast.Load)
                    and path_of(node) == name
                ):
                    if node.lineno >= self.load.call.lineno and node not in self.inside:
                        self.use(node)

    def taint(self, target: ast.expr) -> None:
        path = path_of(target)
        if path is not None and path not in self.names:
            self.names.add(path)
            self.queue.append(path)

    def use(self, node: ast.expr) -> None:
        """Climb from an occurrence to what is done with it."""
        parents = self.facts.parents
        child: ast.AST = node
        key = ""
        while (parent := parents.get(child)) is not None:
            if parent in self.load.met:
                return
            climbed: ast.AST = parent
            if isinstance(parent, ast.Subscript) and child is parent.value:
                key = str(parent.slice.value) if isinstance(parent.slice, ast.Constant) else "state"
                if isinstance(parent.ctx, (ast.Store, ast.Del)):
                    return
            elif isinstance(parent, ast.Attribute):
                outcome = self.method(parent)
                if outcome is None:
                    return
                key = outcome or key
                climbed = parents[parent]  # the call of the method
            elif isinstance(parent, ast.Call):
                self.argument(parent, child, key)
                return
            elif isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
                self.bind(parent, key)
                return
            elif isinstance(parent, (ast.For, ast.AsyncFor)):
                if child is parent.iter:
                    self.loop(parent)
                return
            elif isinstance(parent, ast.comprehension):
                if child is not parent.iter:
                    return
                climbed = parents[parent]
            elif isinstance(parent, LOOKS_ONLY):
                return
            elif isinstance(parent, (ast.stmt, ast.Yield)):
                if not _is_number(key):
                    self.load.others.append(parent)
                return
            child = climbed

    def method(self, attribute: ast.Attribute) -> str | None:
        """An attribute of the loaded thing: a key that it stands for, "" to go on, ``None`` when that was all."""
        call = self.facts.parents.get(attribute)
        if attribute.attr in ("to", "cuda"):
            self.load.moved = True
            return None
        if attribute.attr in ON_HOST:
            self.load.on_host = True
        if attribute.attr in SILENT_METHODS | ON_HOST:
            return None
        if attribute.attr in CHAINED:
            return ""
        if isinstance(call, ast.Call) and call.func is attribute:
            if attribute.attr in PASSING:
                first = call.args[0] if call.args else None
                return str(first.value) if isinstance(first, ast.Constant) else "state"
            if torch_api.method(attribute.attr) is not None:
                return ""  # an entry that is reshaped, cast, cut
        self.load.others.append(attribute)
        return None

    def argument(self, call: ast.Call, child: ast.AST, key: str) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if child is call.func:
            return  # a whole module, which is called: what it gives is something else
        if name == "load_state_dict" and isinstance(call.func, ast.Attribute):
            if WITHOUT_TENSORS.search(ast.unparse(call.func.value)):
                return
            self.load.states.append(call)
            if self.keeps(call.func.value):
                self.load.others.append(call)
            if any(k.arg == "map_location" for k in call.keywords):
                self.load.misplaced = call
        elif name == "copy_":
            if not _is_number(key):
                self.load.states.append(call)  # wherever it comes from
        elif name in ("dict", "OrderedDict", "deepcopy", "copy", "zip", "get", "pop", "getattr"):
            self.use_from(call, key or "state")
        elif name in ("set_rng_state", "set_rng_state_all"):
            self.load.generator_state = True
        elif name not in HARMLESS_CALLS and not _is_number(key):
            self.load.others.append(call)

    def keeps(self, receiver: ast.expr) -> bool:
        """Whether the class has a ``load_state_dict`` of its own, which may keep the tensors instead of copying them."""
        function = self.facts.function(self.load.call)
        cls = function.cls if function is not None else None
        if (
            function is None
            or cls is None
            or not function.parameters
            or path_of(receiver) != function.parameters[0].arg
        ):
            return False
        own = cls.methods.get("load_state_dict")
        return own is not None and not any(
            isinstance(node, ast.Attribute) and node.attr == "load_state_dict" for node in ast.walk(own.node)
        )

    def use_from(self, call: ast.Call, key: str) -> None:
        parent = self.facts.parents.get(call)
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            self.bind(parent, key)
        elif parent is not None and not isinstance(parent, ast.Expr):
            self.use(call)

    def bind(self, statement: ast.Assign | ast.AnnAssign | ast.NamedExpr, key: str) -> None:
        if key and GENERATOR_STATES.search(key):
            self.load.generator_state = True
        if _is_number(key):
            return
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Subscript):
                self.taint(target.value)  # renamed[k] = v
            elif isinstance(target, (ast.Tuple, ast.List)):
                self.targets(target)
            else:
                if isinstance(target, ast.Attribute) and not STATES.search(key):
                    self.load.kept.append((target.attr, key))  # and used who knows where
                self.taint(target)

    def loop(self, statement: ast.For | ast.AsyncFor) -> None:
        """The values of ``for k, v in state.items()``; the keys are text."""
        method = statement.iter.func if isinstance(statement.iter, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr == "items" and isinstance(statement.target, ast.Tuple):
            self.targets(statement.target.elts[-1])
        elif isinstance(method, ast.Attribute) and method.attr == "values":
            self.targets(statement.target)

    def targets(self, target: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.taint(node)


def _is_number(key: str) -> bool:
    """Whether an entry of that name holds numbers, text or settings."""
    return bool(key) and BOOKKEEPING.search(key) is not None and not STATES.search(key)


# -- what speaks against a finding -------------------------------------------------------------------------------------


def is_settled(facts: FileFacts, load: Load) -> bool:
    """Whether the author took care of the device in another way, or the file cannot hold tensors of a card."""
    if _other_arm_maps(facts, load.call) or _saved_here(facts, load.call):
        return True
    if load.name != "torch.load":
        texts = [n.value for n in facts.nodes(ast.Constant) if isinstance(n.value, str)]
        return any(host in text for text in texts for host in CPU_HOSTS)
    return False


def _other_arm_maps(facts: FileFacts, call: ast.Call) -> bool:
    """``if use_cuda: load(f)``, ``else: load(f, map_location=…)``; alike ``try``; any test for the card around it."""
    child: ast.AST | None = call
    parent = facts.parents.get(call)
    while parent is not None and not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            if any(_maps(node) for node in ast.walk(parent)):
                return True
            if re.search(r"cuda|gpu|device|avail", ast.unparse(parent.test), re.IGNORECASE):
                return True
        if isinstance(parent, ast.Try) and any(
            _maps(node) for handler in parent.handlers for node in ast.walk(handler)
        ):
            return True
        parent, child = facts.parents.get(parent), parent
    return False


def _maps(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == "map_location"


def _saved_here(facts: FileFacts, call: ast.Call) -> bool:
    """Whether the same function saves to the file that it reads: written and read by one process."""
    if not call.args:
        return False
    function = facts.function(call)
    body = function.node if function is not None else facts.tree
    wanted = ast.unparse(call.args[0])
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and len(node.args) > 1 and getattr(node.func, "attr", "") == "save":
            if ast.unparse(node.args[1]) == wanted:
                return True
    return False
