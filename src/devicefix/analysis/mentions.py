"""What each function of a file mentions, read in one walk over its tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from devicefix.analysis.conditional_moves import arms
from devicefix.analysis.factory_calls import FactoryCalls
from devicefix.analysis.keeping import Keeping, is_product
from devicefix.analysis.telling import FROM_NUMBERS, NAMING_A_TYPE, TELLING, batch_word, counts
from devicefix.analysis.tree_index import child_fields, last_name, walk
from devicefix.torch_api import DTYPE_METHODS, MOVE_METHODS

#: calls whose arguments end up registered with the module, wherever they were made
REGISTERING = frozenset({"register_buffer", "Parameter", "Buffer", "register_parameter", "UninitializedParameter"})

#: expressions whose value may be a module that was built elsewhere
RESULTS = (ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.ListComp, ast.IfExp)

#: stands for the statements of a class body
CLASS_LEVEL = "<class>"


@dataclass(slots=True)
class Mentions:
    """What one function mentions."""

    node: ast.AST
    cls: str = ""
    name: str = ""
    matters: bool = False
    names: set[str] = field(default_factory=set)
    makes: list[tuple[str, ...]] = field(default_factory=list)  #: names of what may be factories, see `FactoryCalls`
    #: ``builds`` objects, ``moves`` things, ``collects`` on self, ``optimizes``, ``registers`` buffers, ``hands over``
    does: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)  #: local names that stand for what a call gave, or a part of it
    shares: set[str] = field(default_factory=set)  #: names that it declares ``global``
    keeps: Keeping | None = None  #: what a function stores in attributes
    stored: set[str] | None = None  #: the attributes that other methods have to mention to matter; None: they all do

    def combined(self) -> bool:
        """Whether two things come together that matter only as a pair: a module and a move, a module and a list …"""
        if {"registers", "hands over"} <= self.does:  # an object that is given a buffer keeps the old one
            return True
        if "builds" in self.does and not self.does.isdisjoint({"moves", "collects"}):
            return True
        return {"moves", "optimizes"} <= self.does


class Reader:
    """Walks a file once, noting for each function what it mentions."""

    def __init__(self, tree: ast.Module) -> None:
        self.all: list[Mentions] = []
        self.globals: set[str] = set()  #: names of the module that may stand for tensors and modules made here
        self.bases: dict[str, set[str]] = {}  #: of each class, by their last names
        self.unpacked: set[str] = set()  #: attributes that are looped over or subscripted
        self.called: set[str] = set()  #: last names of everything that is called
        self.module = Mentions(tree, name="<module>")
        self.calls = FactoryCalls()
        self.module_classes: set[str] = set()
        self.generators = False  #: whether there are random generators that are not given by a caller
        self.dropped: ast.expr | None = None  #: the expression that is a statement, whose value nobody keeps
        self.handlers: dict[type, Callable[[Any, Mentions, str], None]] = {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Constant: self._constant,
            ast.Compare: self._compare,
            ast.Call: self._call,
            ast.For: self._loop,
            ast.AsyncFor: self._loop,
            ast.comprehension: self._loop,
            ast.Assign: self._assignment,
            ast.AnnAssign: self._assignment,
            ast.AugAssign: self._assignment,
            ast.Expr: self._expression,
            ast.Raise: self._raise,
            ast.Subscript: self._subscript,
            ast.Starred: self._subscript,
            ast.Return: self._return,
            ast.Import: self._import,
            ast.ImportFrom: self._import,
            ast.Global: self._global,
        }
        self._block(tree.body, self.module, "")
        if self.generators:
            for facts in (*self.all, self.module):
                facts.matters = facts.matters or "draws" in facts.does
        self.handlers.clear()  # they refer to this reader: a circle that only the collector could free

    def _block(self, body: list[ast.stmt], facts: Mentions, cls: str) -> None:
        handlers = self.handlers
        for statement in body:
            handler = handlers.get(statement.__class__)
            if handler is not None:
                handler(statement, facts, cls)
            else:
                self._inside(statement, facts, cls)

    def _visit(self, node: ast.AST, facts: Mentions, cls: str) -> None:
        handler = self.handlers.get(node.__class__)
        if handler is not None:
            handler(node, facts, cls)
        else:
            self._inside(node, facts, cls)

    def _inside(self, node: ast.AST, facts: Mentions, cls: str) -> None:
        """Visit the children of a node."""
        handlers = self.handlers
        for name in child_fields(node.__class__):
            value = getattr(node, name, None)
            if value.__class__ is list:
                for item in value:
                    handler = handlers.get(item.__class__)
                    if handler is not None:
                        handler(item, facts, cls)
                    elif isinstance(item, ast.AST):
                        self._inside(item, facts, cls)
            elif value is not None:
                handler = handlers.get(value.__class__)
                if handler is not None:
                    handler(value, facts, cls)
                elif isinstance(value, ast.AST):
                    self._inside(value, facts, cls)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, facts: Mentions, cls: str) -> None:
        own = Mentions(node, cls, node.name, keeps=Keeping(node.args))
        self.all.append(own)
        for expression in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if expression is not None:
                self._visit(expression, facts, "")
        self._block(node.body, own, "")
        if cls and "super" in own.names:
            own.names.update(map(inherited, self.bases.get(cls, ())))
        if (facts.name != "<module>" or cls == "") and facts is not self.module:
            # a function inside a function is part of what surrounds it
            facts.matters = facts.matters or own.matters
            facts.names |= own.names
            facts.makes += own.makes
            facts.does |= own.does
            facts.shares |= own.shares
            if facts.keeps is not None and own.keeps is not None:
                facts.keeps.add(own.keeps)

    def _class(self, node: ast.ClassDef, facts: Mentions, cls: str) -> None:
        level = Mentions(node, node.name, CLASS_LEVEL)
        if any(map(self._is_module, node.bases)):
            self.module_classes.add(node.name)
        self.bases[node.name] = {last_name(base) for base in node.bases}
        for statement in node.body:
            defines = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            self._visit(statement, facts if defines else level, node.name)
        self.all.append(level)
        facts.names |= level.names
        facts.makes += level.makes
        facts.matters = facts.matters or level.matters
        for base in node.bases:
            self._visit(base, facts, cls)

    def _global(self, node: ast.Global, facts: Mentions, cls: str) -> None:
        facts.shares.update(node.names)

    def _is_module(self, base: ast.expr) -> bool:
        """Whether a base class is ``nn.Module`` or one of this file that derives from it."""
        if isinstance(base, ast.Attribute):
            return base.attr == "Module"
        return isinstance(base, ast.Name) and (
            base.id in self.module_classes or (base.id == "Module" and base.id in self.calls.roots)
        )

    def _name(self, node: ast.Name, facts: Mentions, cls: str) -> None:
        facts.names.add(node.id)
        if node.id in TELLING:
            self._tells(node.id, facts)

    def _attribute(self, node: ast.Attribute, facts: Mentions, cls: str) -> None:
        name = node.attr
        facts.names.add(name)
        if name in TELLING or name == "cuda":
            self._tells(name, facts)
        elif name == "to":
            facts.does.add("moves")
        elif name == "parameters":
            facts.does.add("optimizes")
        elif name in self.calls.names and name != "Tensor":
            facts.makes.append((*self.calls.path(node.value), name))
        self._visit(node.value, facts, cls)

    def _tells(self, name: str, facts: Mentions) -> None:
        facts.matters = True
        if name == "Generator":
            self.generators = True

    def _constant(self, node: ast.Constant, facts: Mentions, cls: str) -> None:
        value = node.value
        if isinstance(value, str) and value[:4] == "cuda":
            facts.matters = True

    def _compare(self, node: ast.Compare, facts: Mentions, cls: str) -> None:
        for part in (node.left, *node.comparators):
            if part.__class__ is not ast.Constant:  # what a device is compared with goes nowhere
                self._visit(part, facts, cls)

    def _call(self, node: ast.Call, facts: Mentions, cls: str) -> None:
        function = node.func
        is_method = isinstance(function, ast.Attribute)
        name = last_name(function)
        if name:
            self.called.add(name)
        for keyword in node.keywords:
            if keyword.arg in ("return_tensors", "weight", "pos_weight"):
                facts.matters = True
            elif keyword.arg == "generator":
                self._draw(keyword.value, facts)
        if name[:1].isupper() and is_product(name) and node is not self.dropped:
            facts.does.add("builds")
            facts.matters = facts.matters or name in FROM_NUMBERS
            if any(isinstance(a, ast.Attribute) for a in node.args):
                facts.does.add("hands over")
            if facts.name == "forward" and is_method:
                facts.matters = True  # a layer that is built at every call
        elif name in ("append", "extend", "insert") and facts.keeps is not None and isinstance(function, ast.Attribute):
            facts.keeps.appended(function.value, node.args)
        if name in REGISTERING:
            if name == "register_buffer":
                facts.does.add("registers")
            inner = Mentions(node)
            self._inside(node, inner, cls)
            facts.names |= inner.names
            if name == "Parameter" and facts.cls and facts.cls not in self.module_classes:
                facts.makes += inner.makes  # nobody may register it
            return
        self.calls.excuse(node)
        if name in self.calls.names and name not in TELLING:
            if self.calls.is_placed(node):
                facts.does.add("moves")  # something is on a device
            else:
                self._visit(function, facts, cls)
                if name == "Tensor" and isinstance(function, ast.Attribute):
                    facts.makes.append((*self.calls.path(function.value), name))
                elif name == "Tensor":
                    facts.makes.append((name,))
        else:
            self._visit(function, facts, cls)
            if function.__class__ is ast.Call or (name in facts.results and function.__class__ is ast.Name):
                facts.does.add("builds")  # what some function gave is called: a module, most likely
        tests_class = name in ("isinstance", "issubclass", "cast")
        names_type = name in NAMING_A_TYPE
        for argument in node.args:
            if not tests_class and last_name(argument) == "Tensor":
                facts.makes.append(("torch", "Tensor"))
            if not (names_type and argument.__class__ is ast.Constant):
                self._visit(argument, facts, cls)
        for keyword in node.keywords:
            if keyword.arg != "device_type":
                self._visit(keyword.value, facts, cls)

    def _draw(self, generator: ast.expr, facts: Mentions) -> None:
        """A call is given a generator. One that is a parameter matters only if there are others in the file."""
        while isinstance(generator, ast.Subscript):
            generator = generator.value
        if isinstance(generator, ast.Constant):
            return
        given = facts.keeps.parameters if facts.keeps is not None else set()
        if isinstance(generator, ast.Name) and generator.id in given:
            facts.does.add("draws")
        else:
            facts.matters = self.generators = True

    def _loop(self, node: ast.For | ast.AsyncFor | ast.comprehension, facts: Mentions, cls: str) -> None:
        if self._reads_batches(node.iter):
            facts.matters = True
        if facts.keeps is not None:
            facts.keeps.looped(node.target, node.iter)
        if isinstance(node.iter, ast.Name) and node.iter.id in facts.results and isinstance(node.target, ast.Name):
            facts.results.add(node.target.id)
        self._inside(node, facts, cls)

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, facts: Mentions, cls: str) -> None:
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            self._visit(target, facts, cls)
        if node.value is not None:
            self.calls.assigned(targets, node.value)
            before = len(facts.makes)
            mattered, facts.matters = facts.matters, False
            if node.value.__class__ in RESULTS:
                facts.results.update(n.id for target in targets for n in walk(target) if isinstance(n, ast.Name))
            self._visit(node.value, facts, cls)
            if facts is self.module and (facts.matters or len(facts.makes) > before or "builds" in facts.does):
                self.globals.update(n.id for target in targets for n in walk(target) if isinstance(n, ast.Name))
            facts.matters = facts.matters or mattered
            if facts.keeps is not None:
                facts.keeps.assigned(targets, node.value, len(facts.makes) > before)

    def _expression(self, node: ast.Expr, facts: Mentions, cls: str) -> None:
        if node.value.__class__ is ast.Constant:
            return
        if _drops_move(node.value):
            facts.matters = True
        self.dropped = node.value
        self._visit(node.value, facts, cls)

    def _subscript(self, node: ast.Subscript | ast.Starred, facts: Mentions, cls: str) -> None:
        if isinstance(node.value, ast.Attribute):
            self.unpacked.add(node.value.attr)
        self._inside(node, facts, cls)

    def _reads_batches(self, node: ast.expr) -> bool:
        """Whether a loop seems to run over a data loader."""
        found = False
        numbers = counts(node)
        for child in walk(node):
            if isinstance(child, ast.Name):
                name = child.id
            elif isinstance(child, ast.Attribute):
                name = child.attr
                self.unpacked.add(name)
            else:
                continue
            found = found or batch_word(name)
        return found and not numbers

    def _raise(self, node: ast.Raise, facts: Mentions, cls: str) -> None:
        """What an error is given goes nowhere."""

    def _return(self, node: ast.Return, facts: Mentions, cls: str) -> None:
        value = node.value
        if isinstance(value, ast.Call) and last_name(value.func).endswith("Output"):  # a record of results
            built = "builds" in facts.does
            self._visit(value, facts, cls)
            if not built:
                facts.does.discard("builds")
        elif value is not None:
            self._visit(value, facts, cls)

    def _import(self, node: ast.Import | ast.ImportFrom, facts: Mentions, cls: str) -> None:
        self.calls.imported(node)


def inherited(cls: str) -> str:
    """What stands among the names of a function for ``super()`` of a class."""
    return f"super of {cls}"


def _drops_move(node: ast.expr) -> bool:
    """A statement that calls a move and does nothing with the result."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_drops_move(e) for e in node.elts)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return _drops_move(node.elt)
    if isinstance(node, (ast.IfExp, ast.BoolOp)):
        return any(map(_drops_move, arms(node)))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in MOVE_METHODS or node.func.attr in DTYPE_METHODS or node.func.attr == "type":
        return True
    return node.func.attr.endswith("_") and _drops_move(node.func.value)
