"""Which functions of a file can lead to a finding, so that the others need not be interpreted.

A function matters when it holds something that a rule may report (a factory call, a move whose result is dropped, a data
loader …), or when it calls, by name, a function or class that matters. Everything else is passed over; the values it
returns are then unknown, which never makes a finding.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache

from devicefix.analysis.tree_index import TreeIndex
from devicefix.torch_api import DTYPE_METHODS, LEGACY_CONSTRUCTORS, MOVE_METHODS

#: calls whose arguments end up registered with the module, wherever they were made
REGISTERING = frozenset({"register_buffer", "Parameter", "Buffer", "register_parameter", "UninitializedParameter"})

#: names that make a function interesting wherever they stand in it
TELLING = frozenset(
    {"Generator", "DataLoader", "load", "load_url", "load_state_dict_from_url", "numpy", "asarray", "optim", "from_pretrained",
     "deepcopy", "set_default_device", "set_default_tensor_type", "DataParallel", "DistributedDataParallel", "item", "tolist",
     "RandomSampler", "random_split"}
)  # fmt: skip
WEAK = frozenset({"item", "tolist", "load", "numpy", "asarray", "deepcopy", "from_pretrained", "optim"})


@cache
def factory_names() -> frozenset[str]:
    """Last names of every function of torch that makes a tensor without being given one."""
    from devicefix.torch_api._generated import FUNCTIONS

    made = {name.rpartition(".")[2] for name, row in FUNCTIONS.items() if " creates" in row}
    return frozenset(made | {name.rpartition(".")[2] for name in LEGACY_CONSTRUCTORS} | {"new"}) - {"Tensor"} | {"Tensor"}


@dataclass(slots=True)
class _Facts:
    """What one function mentions."""

    node: ast.AST
    cls: str = ""
    name: str = ""
    matters: bool = False
    names: set[str] = field(default_factory=set)
    lines: int = 0
    does: set[str] = field(default_factory=set)  #: ``builds`` objects, ``moves`` things, ``collects`` on self, ``optimizes``

    def combined(self) -> bool:
        """Whether two things come together that matter only as a pair: a module and a move, a module and a list …"""
        if {"registers", "hands over"} <= self.does:  # an object that is given a buffer keeps the old one
            return True
        return "builds" in self.does and not self.does.isdisjoint({"moves", "collects"}) or {"moves", "optimizes"} <= self.does


class Relevance:
    """The functions of one file that matter."""

    def __init__(self, tree: ast.Module, index: TreeIndex) -> None:
        self.aliases = _aliases(index)
        self.all: list[_Facts] = []
        self.module = _Facts(tree, name="<module>")
        _Reader(self).block(tree.body, self.module, "")
        self.functions = self._close()

    def __contains__(self, node: ast.AST) -> bool:
        return node in self.functions

    def _close(self) -> set[ast.AST]:
        """Functions that matter and those that mention them, in any number of steps."""
        wanted: set[str] = set()
        pending = [f for f in (*self.all, self.module) if f.matters]
        chosen = {f.node for f in pending}
        constructors = {f.cls: f for f in self.all if f.name == "__init__" and f.cls}
        by_class: dict[str, list[_Facts]] = {}
        for f in self.all:
            by_class.setdefault(f.cls, []).append(f)
        rest = [f for f in (*self.all, self.module) if not f.matters]
        for f in pending:
            if f.cls and f.name in ("__init__", CLASS_LEVEL):  # what it keeps is used in the other methods
                chosen.update(other.node for other in by_class[f.cls])
        while pending:
            for f in pending:
                if f.cls:
                    wanted.add(f.cls)
                    builder = constructors.get(f.cls)
                    if builder is not None:
                        chosen.add(builder.node)
                if f.name and not f.name.startswith("__") and f.name not in COMMON:
                    wanted.add(f.name)
            pending = [f for f in rest if f.node not in chosen and not wanted.isdisjoint(f.names)]
            chosen.update(f.node for f in pending)
            rest = [f for f in rest if f.node not in chosen]
        return chosen


#: stands for the statements of a class body
CLASS_LEVEL = "<class>"

#: method names that say nothing about whose method is called
COMMON = frozenset({"forward", "step", "update", "get", "reset", "run", "main", "build", "train", "eval", "to", "call", "<module>", "<class>"})


def _aliases(index: TreeIndex) -> frozenset[str]:
    """Other names under which factories, and what is in ``torch.cuda``, are known in this file."""
    factories = factory_names()
    found = set()
    for imported in index.nodes(ast.Import):
        found.update(a.asname for a in imported.names if a.asname and a.name == "torch.cuda")
    for node in index.nodes(ast.ImportFrom):
        for alias in node.names:
            if node.module == "torch.cuda":
                found.add(alias.asname or alias.name)
            if alias.asname and alias.name in factories:
                found.add(alias.asname)
    for assignment in index.nodes(ast.Assign):
        if isinstance(assignment.value, ast.Attribute) and assignment.value.attr in factories:
            found.update(t.id for t in assignment.targets if isinstance(t, ast.Name))
    return frozenset(found)


class _Reader:
    """Walks a file once, noting for each function what it mentions."""

    def __init__(self, owner: Relevance) -> None:
        self.owner = owner
        self.factories = factory_names() | owner.aliases

    def block(self, body: list[ast.stmt], facts: _Facts, cls: str) -> None:
        for statement in body:
            self.visit(statement, facts, cls)

    def visit(self, node: ast.AST, facts: _Facts, cls: str) -> None:
        kind = type(node)
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            own = _Facts(node, cls, node.name)  # type: ignore[attr-defined]
            own.lines = (node.end_lineno or 0) - node.lineno  # type: ignore[attr-defined]
            self.owner.all.append(own)
            for decorator in node.decorator_list:  # type: ignore[attr-defined]
                self.visit(decorator, facts, cls)
            self.visit(node.args, facts, "")  # type: ignore[attr-defined]
            self.block(node.body, own, "")  # type: ignore[attr-defined]
            own.matters = own.matters or own.combined()
            if facts.name != "<module>" or cls == "":
                # a function inside a function is part of what surrounds it
                if facts is not self.owner.module:
                    facts.matters = facts.matters or own.matters
                    facts.names |= own.names
            return
        if kind is ast.ClassDef:
            level = _Facts(node, node.name, CLASS_LEVEL)  # type: ignore[attr-defined]
            for statement in node.body:  # type: ignore[attr-defined]
                defines = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                self.visit(statement, facts if defines else level, node.name)  # type: ignore[attr-defined]
            self.owner.all.append(level)
            facts.names |= level.names
            facts.matters = facts.matters or level.matters
            for base in node.bases:  # type: ignore[attr-defined]
                self.visit(base, facts, cls)
            return
        if kind is ast.Name:
            name = node.id  # type: ignore[attr-defined]
            facts.names.add(name)
            if name in self.factories or name in TELLING:
                facts.matters = True
            return
        if kind is ast.Attribute:
            name = node.attr  # type: ignore[attr-defined]
            facts.names.add(name)
            if name in self.factories or name in TELLING or name == "cuda":
                facts.matters = True
            elif name == "to":
                facts.does.add("moves")
            elif name == "parameters":
                facts.does.add("optimizes")
            self.visit(node.value, facts, cls)  # type: ignore[attr-defined]
            return
        if kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            if isinstance(value, str) and value[:4] == "cuda":
                facts.matters = True
            return
        if kind is ast.Call:
            function = node.func  # type: ignore[attr-defined]
            name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
            if any(keyword.arg in ("return_tensors", "weight", "pos_weight") for keyword in node.keywords):  # type: ignore[attr-defined]
                facts.matters = True
            if name[:1].isupper():
                facts.does.add("builds")
                if any(isinstance(a, ast.Attribute) for a in node.args):  # type: ignore[attr-defined]
                    facts.does.add("hands over")
                if facts.name == "forward" and isinstance(function, ast.Attribute):
                    facts.matters = True  # a layer that is built at every call
            elif name in ("append", "extend", "insert") and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Attribute):
                facts.does.add("collects")
            if name == "register_buffer":
                facts.does.add("registers")
            if name in REGISTERING:
                inner = _Facts(node)
                for child in ast.iter_child_nodes(node):
                    self.visit(child, inner, cls)
                facts.names |= inner.names
                return
        elif kind is ast.For or kind is ast.comprehension or kind is ast.AsyncFor:
            if _reads_batches(node.iter):  # type: ignore[attr-defined]
                facts.matters = True
        elif kind is ast.Assign or kind is ast.AnnAssign or kind is ast.AugAssign:
            targets = node.targets if kind is ast.Assign else [node.target]  # type: ignore[attr-defined]
            if any(isinstance(t, ast.Attribute) or (isinstance(t, ast.Subscript) and isinstance(t.value, ast.Attribute)) for t in targets):
                if isinstance(node.value, CONTAINERS) or isinstance(targets[0], ast.Subscript):  # type: ignore[attr-defined]
                    facts.does.add("collects")
        elif kind is ast.Expr:
            if _drops_move(node.value):  # type: ignore[attr-defined]
                facts.matters = True
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self.visit(value, facts, cls)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item, facts, cls)


#: what a list or dict is written as
CONTAINERS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.Name)


def _reads_batches(node: ast.expr) -> bool:
    """Whether a loop seems to run over a data loader."""
    for child in ast.walk(node):
        name = child.id if isinstance(child, ast.Name) else child.attr if isinstance(child, ast.Attribute) else ""
        for word in name.lower().split("_"):
            if word.endswith(("loader", "dl", "iter", "bar")) or word.startswith(BATCH_WORDS) or word == "val":
                return True
    return False


BATCH_WORDS = ("load", "data", "batch", "train", "test", "valid", "tqdm")


def _drops_move(node: ast.expr) -> bool:
    """A statement that calls a move and does nothing with the result."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_drops_move(e) for e in node.elts)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return _drops_move(node.elt)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in MOVE_METHODS or node.func.attr in DTYPE_METHODS or node.func.attr == "type":
        return True
    return node.func.attr.endswith("_") and _drops_move(node.func.value)
