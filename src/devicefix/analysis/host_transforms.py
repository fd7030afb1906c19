"""Modules and functions that work on samples in a data set, on the CPU, which only their uses tell."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import classes
from devicefix.analysis.evidence import path_of, torch_path
from devicefix.analysis.tree_index import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo, FunctionInfo, ModuleInfo

#: how classes that keep samples are called
DATA = (*classes.HOST_SUFFIXES, "Folder")
#: what follows the name of a class where it is called, derived from or imported under another name
USED = re.compile(r"\s*[(,):\[]|\s+as\b")
TRANSFORM = re.compile(r"transforms?\s*=[^=]")
#: how classes are called that do something else with transforms
NO_DATA = ("Trainer", "Model", "Module", "Net", "Learner", "Agent")
#: what makes one callable of several
COMBINING = frozenset(
    {"Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder", "OneOf", "SomeOf", "Sequential"}
)
GROWING = frozenset({"append", "insert", "extend"})
#: methods of modules that give the module back
SAME = frozenset({"eval", "train", "requires_grad_", "float", "double"})
CONTAINERS = (ast.List, ast.Tuple, ast.Dict, ast.Starred, ast.IfExp, ast.BoolOp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: where the name of a class builds no instance
NO_USE = frozenset({"isinstance", "issubclass", "super"})


def only_in_data_sets(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether the file builds instances of a module class, and gives all of them to data sets or collate functions."""
    text = cls.module.source.text
    if not _has_samples(text) or text.count(cls.name) < 2:
        return False
    return _Flow(it, cls.module).all_arrive(cls.node)


def function_only_in_data_sets(it: Interpreter, info: FunctionInfo) -> bool:
    """Whether a function is only called by, or as, a transform of a data set."""
    text = info.module.source.text
    if info.cls is not None or not _has_samples(text) or text.count(info.name) < 2:
        return False
    flow = _Flow(it, info.module)
    return flow.function_arrives(info.node) and flow.arrived


@lru_cache(maxsize=4)
def _has_samples(text: str) -> bool:
    """Whether there may be something in a file that takes samples; asked for each class of it."""
    if "__getitem__" in text or "collate" in text or "datasets." in text:
        return True
    if "transform" in text and TRANSFORM.search(text):
        return True
    for word in DATA:
        at = text.find(word)
        while at >= 0:
            if USED.match(text, at + len(word)):
                return True
            at = text.find(word, at + 1)
    return False


class _Flow:
    """Follows instances through one file, by the text."""

    def __init__(self, it: Interpreter, module: ModuleInfo) -> None:
        self.it = it
        self.module = module
        self.parents = module.index.parents
        self.arrived = False  #: the instance that is followed was seen to get into a data set
        self.followed: dict[tuple[ast.AST, str], bool] = {}  #: names and results, and whether what they stand for did
        self.classes: set[ast.AST] = set()  #: and functions, whose uses have been looked at
        self.functions = {n.name: n for n in module.tree.body if isinstance(n, FUNCTIONS)}

    def all_arrive(self, node: ast.ClassDef) -> bool:
        """Whether every instance of a class (and of those that derive from it) ends on the CPU, and there are some."""
        if node in self.classes:
            return True
        self.classes.add(node)
        if node.decorator_list or not isinstance(self.parents.get(node), ast.Module):
            return False
        uses = list(self._mentions(node.name))
        return all(map(self._use, uses)) and any(self._builds(use) for use in uses)

    def function_arrives(self, node: ast.AST) -> bool:
        """Whether a function is called in data sets (and by functions that are called there) and nowhere else."""
        if node in self.classes:
            return True
        self.classes.add(node)
        if isinstance(node, ast.Lambda):
            return self._value(node)
        if not isinstance(node, FUNCTIONS) or node.decorator_list or isinstance(self.parents.get(node), ast.ClassDef):
            return False
        around = self._function(node)
        uses = [use for use in self._loads(around, node.name) if self._binder(use) is around]
        return bool(uses) and all(map(self._function_use, uses))

    def _function_use(self, name: ast.Name) -> bool:
        parent = self.parents[name]
        if not (isinstance(parent, ast.Call) and parent.func is name):
            return self._value(name)
        if self._in_host_code(parent):
            self.arrived = True
            return True
        return self.function_arrives(self._function(parent))

    def _builds(self, name: ast.Name) -> bool:
        parent = self.parents[name]
        return (isinstance(parent, ast.Call) and parent.func is name) or isinstance(parent, ast.ClassDef)

    def _use(self, name: ast.Name) -> bool:
        """One mention of the class."""
        parent = self.parents[name]
        if isinstance(parent, ast.ClassDef) and name in parent.bases:
            return self.all_arrive(parent)
        if isinstance(parent, ast.Call) and parent.func is name:
            self.arrived = False
            return self._value(parent) and self.arrived
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in NO_USE
        return isinstance(parent, ast.arg) or (
            isinstance(parent, (*FUNCTIONS, ast.AnnAssign)) and name is not getattr(parent, "value", None)
        )

    # -- where a value goes --------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> bool:
        if self._in_host_code(node):
            self.arrived = True
            return True
        parent = self.parents[node]
        if node is getattr(parent, "test", None):
            return True  # only looked at
        joined = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)  # [ToTensor()] + [transform]
        if joined or isinstance(parent, CONTAINERS) or (isinstance(parent, ast.Subscript) and node is parent.value):
            return isinstance(parent, ast.expr) and self._value(parent)
        if isinstance(parent, ast.keyword):
            call = self.parents[parent]
            return isinstance(call, ast.Call) and self._argument(call, node, parent.arg or "")
        if isinstance(parent, ast.Call):
            return node is not parent.func and self._argument(parent, node, "")
        if isinstance(parent, ast.Assign):
            return all(isinstance(t, ast.Name) and self._name(parent, t.id) for t in parent.targets)
        if isinstance(parent, ast.Return):
            function = self._function(parent)
            return isinstance(function, FUNCTIONS) and self._results(function)
        if isinstance(parent, ast.Attribute) and parent.attr in SAME | GROWING:
            call = self.parents[parent]
            return isinstance(call, ast.Call) and (parent.attr in GROWING or self._value(call))
        return isinstance(parent, (ast.Expr, ast.Compare))

    def _argument(self, call: ast.Call, node: ast.expr, keyword: str) -> bool:
        """What becomes of an argument."""
        path = path_of(call.func) or ""
        name = path.rpartition(".")[2]
        own = self._class(call.func)
        if own is not None:
            if self._is_host(own):
                self.arrived = True
                return True
            return self._value(call)  # it may hold what it is given; it goes where its owner goes
        if name in COMBINING:
            return self._value(call)
        if isinstance(call.func, ast.Attribute) and name in GROWING and isinstance(call.func.value, ast.Name):
            return self._name(call, call.func.value.id)
        if isinstance(call.func, ast.Name) and name in self.functions:
            return self._parameter(self.functions[name], call, node, keyword)
        host = torch_api.host_class(torch_path(self.module, call.func))
        taken = "transform" in keyword and name[:1].isupper() and not name.endswith(NO_DATA)
        if host or taken or "collate" in keyword or ".datasets." in f".{path}" or name.endswith(DATA):
            self.arrived = True
            return True
        return False

    def _parameter(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, node: ast.expr, keyword: str
    ) -> bool:
        spec = function.args
        named = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        if keyword:
            return keyword in {*named, *(a.arg for a in spec.kwonlyargs)} and self._name(function.body[0], keyword)
        position = next((i for i, a in enumerate(call.args) if a is node), len(named))
        return position < len(named) and self._name(function.body[0], named[position])

    def _results(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """What a function of the file returns goes to all who call it."""
        if self.functions.get(function.name) is not function:
            return False
        return self._all((function, ""), [(self.parents[use], use) for use in self._mentions(function.name)])

    def _name(self, place: ast.AST, name: str) -> bool:
        """Every use of a variable of the function (or file) that ``place`` stands in."""
        around = self._function(place)
        uses = [use for use in self._loads(around, name) if self._binder(use) in (around, self.module.tree)]
        return self._all((around, name), [(use, None) for use in uses])

    def _all(self, key: tuple[ast.AST, str], uses: list[tuple[ast.AST, ast.Name | None]]) -> bool:
        """Whether everything that a name stands for (or a function returns: calls, with what they call) stays there."""
        if key in self.followed:
            self.arrived = self.arrived or self.followed[key]
            return True
        self.followed[key] = False
        for value, called in uses:
            if called is not None and not (isinstance(value, ast.Call) and value.func is called):
                return False
            if not isinstance(value, ast.expr) or not self._value(value):
                return False
        self.followed[key] = self.arrived
        return True

    # -- places --------------------------------------------------------------------------------------------------------

    def _loads(self, root: ast.AST, name: str) -> Iterator[ast.Name]:
        for node in self.module.index.names(name) if root is self.module.tree else walk(root):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                yield node

    def _mentions(self, name: str) -> Iterator[ast.Name]:
        """Uses of what the file itself calls by a name."""
        return (use for use in self._loads(self.module.tree, name) if self._binder(use) is self.module.tree)

    def _function(self, node: ast.AST) -> ast.AST:
        current = self.parents.get(node)
        while current is not None and not isinstance(current, (*FUNCTIONS, ast.Lambda)):
            current = self.parents.get(current)
        return current if current is not None else self.module.tree

    def _binder(self, name: ast.Name) -> ast.AST:
        """The function that binds a name where it is used; the file if none does."""
        around = self._function(name)
        while isinstance(around, (*FUNCTIONS, ast.Lambda)):
            if name.id in self.module.function(around).locals:
                return around
            around = self._function(around)
        return self.module.tree

    def _in_host_code(self, node: ast.AST) -> bool:
        """Whether a place is in a data set or in a collate function."""
        current = self.parents.get(node)
        while current is not None:
            if isinstance(current, FUNCTIONS) and "collate" in current.name:
                return True
            if isinstance(current, ast.ClassDef) and self._is_host(self.module.class_(current)):
                return True
            current = self.parents.get(current)
        return False

    def _class(self, function: ast.expr) -> ClassInfo | None:
        bound = self.module.bindings.get(function.id, []) if isinstance(function, ast.Name) else []
        found = [self.module.class_(s) for s in bound if isinstance(s, ast.ClassDef)]
        return found[0] if len(found) == len(bound) == 1 else None

    def _is_host(self, cls: ClassInfo) -> bool:
        if classes.is_module_class(self.it, cls):
            return False
        return classes.is_host_class(self.it, cls) or {"__getitem__", "__len__"} <= cls.methods.keys()
