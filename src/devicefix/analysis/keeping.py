"""What a function stores in attributes: whether there may be lists of modules or tensors among it."""

from __future__ import annotations

import ast
from collections.abc import Set

from devicefix.analysis.tree_index import walk

#: calls that give numbers and text
PLAIN = frozenset(
    {"int", "float", "len", "max", "min", "str", "round", "range", "abs", "bool", "sum", "isinstance", "format", "join",
     "repr"}
)  # fmt: skip

#: classes that are no modules, by the ends of their names
_NO_PRODUCTS = ("Error", "Exception", "Warning")


def is_product(name: str) -> bool:
    """Whether a call of this name may build a module."""
    return not name.endswith(_NO_PRODUCTS)


class Keeping:
    """The attributes and local names that one function binds."""

    __slots__ = ("built", "holding", "lists", "locals", "made", "parameters")

    def __init__(self, arguments: ast.arguments) -> None:
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self.parameters = {a.arg for a in every if a is not None}
        self.locals: set[str] = set()  #: names that may stand for a list
        self.made: set[str] = set()  #: names that may stand for a tensor made here
        #: attributes that may be lists of modules or tensors: if one of these names is such a list ("" for surely)
        self.lists: dict[str, set[str]] = {}
        self.holding: dict[str, set[str]] = {}  #: attributes that may hold a tensor that was made here, likewise
        self.built: set[str] = set()  #: attributes that hold what a class was called for

    def add(self, inner: Keeping) -> None:
        """A function inside this one."""
        self.locals |= inner.locals
        self.made |= inner.made
        self.built |= inner.built
        self.parameters |= inner.parameters
        for mine, other in ((self.lists, inner.lists), (self.holding, inner.holding)):
            for name, sources in other.items():
                mine.setdefault(name, set()).update(sources)

    def collections(self, unpacked: Set[str]) -> set[str]:
        """Attributes that may be lists of modules or tensors; ``unpacked`` ones may be lists that a caller gives."""
        listed = self.locals | {""}
        return {
            name for name, sources in self.lists.items()
            if not sources.isdisjoint(listed) or (name in unpacked and not sources.isdisjoint(self.parameters))
            or (sources == {"append"} and name not in self.built)
        }  # fmt: skip

    def tensors(self) -> set[str]:
        """Attributes that may hold a tensor that was made here, or something that was given one."""
        made = self.made | {""}
        return {name for name, sources in self.holding.items() if not sources.isdisjoint(made)}

    def looped(self, target: ast.expr, iterable: ast.expr) -> None:
        """Note ``for target in iterable``."""
        if self.made and any(isinstance(n, ast.Name) and n.id in self.made for n in walk(iterable)):
            self.made.update(n.id for n in walk(target) if isinstance(n, ast.Name))

    def appended(self, owner: ast.expr) -> None:
        """Note ``owner.append(…)``."""
        if isinstance(owner, ast.Attribute):
            self.lists.setdefault(owner.attr, set()).add("append")
        elif isinstance(owner, ast.Name):
            self.locals.add(owner.id)
        elif isinstance(owner, ast.Subscript):
            self._sure(owner.value)

    def assigned(self, targets: list[ast.expr], value: ast.expr, makes: bool) -> None:
        """Note an assignment. ``makes``: there is a factory call in the value."""
        if self.made and not makes:
            makes = any(isinstance(n, ast.Name) and n.id in self.made for n in walk(value))
        for target in targets:
            self._bind(target, value, makes)

    def _bind(self, target: ast.expr, value: ast.expr | None, makes: bool) -> None:
        if isinstance(target, ast.Name):
            if makes:
                self.made.add(target.id)
            if value is None or _may_be_list(value) or (isinstance(value, ast.Name) and value.id in self.locals):
                self.locals.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._bind(element, None, makes)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, makes)
        elif isinstance(target, ast.Attribute):
            self._hold(target.attr, value, makes)
            if value is not None:
                self._store(target.attr, value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
            self._hold(target.value.attr, value, makes)
            if not isinstance(value, (ast.Constant, ast.Compare, ast.JoinedStr)):
                self._sure(target.value)

    def _hold(self, attribute: str, value: ast.expr | None, makes: bool) -> None:
        if makes:
            self.holding.setdefault(attribute, set()).add("")
        elif isinstance(value, ast.Name):
            self.holding.setdefault(attribute, set()).add(value.id)

    def _sure(self, owner: ast.expr) -> None:
        if isinstance(owner, ast.Attribute):
            self.lists.setdefault(owner.attr, set()).add("")

    def _store(self, attribute: str, value: ast.expr) -> None:
        if isinstance(value, ast.Name):
            self.lists.setdefault(attribute, set()).add(value.id)
        elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            self._members(attribute, value.elts)
        elif isinstance(value, ast.Dict):
            self._members(attribute, value.values)
        elif isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            self._repeated(attribute, value.elt)
        elif isinstance(value, ast.DictComp):
            self._repeated(attribute, value.value)
        elif isinstance(value, ast.Call) and _called(value)[:1].isupper():
            self.built.add(attribute)

    def _members(self, attribute: str, elements: list[ast.expr]) -> None:
        sources = self.lists.setdefault(attribute, set())
        for element in elements:
            for node in walk(element):
                if isinstance(node, ast.Name):
                    sources.add(node.id)
                elif (isinstance(node, ast.Call) and _called(node) not in PLAIN) or isinstance(
                    node, (ast.Attribute, ast.Lambda)
                ):
                    sources.add("")
        if sources & self.locals:
            sources.add("")

    def _repeated(self, attribute: str, element: ast.expr) -> None:
        if isinstance(element, (ast.Constant, ast.BinOp, ast.Compare, ast.JoinedStr)):
            return
        if not (isinstance(element, ast.Call) and _called(element) in PLAIN):
            self.lists.setdefault(attribute, set()).add("")


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _may_be_list(value: ast.expr) -> bool:
    """Whether an expression may give a list, tuple or dict of modules."""
    if isinstance(value, (ast.List, ast.Tuple, ast.Dict, ast.Set)):
        return True
    if isinstance(value, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return True
    if isinstance(value, ast.Call):
        name = _called(value)
        return name not in PLAIN and (not name[:1].isupper() or name.endswith("Dict"))
    if isinstance(value, ast.IfExp):
        return _may_be_list(value.body) or _may_be_list(value.orelse)
    if isinstance(value, ast.BoolOp):
        return any(map(_may_be_list, value.values))
    if isinstance(value, ast.BinOp):
        return _may_be_list(value.left) or _may_be_list(value.right)
    return False
