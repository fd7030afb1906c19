"""What a function stores in attributes: whether there may be lists of modules or tensors among it.

A name stands for what it was assigned from: other names, or ``MADE``, the result of a call. Whether there may be a module
in a list is asked at the end, when everything that was put into it is known.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set

from devicefix.analysis.tree_index import last_name, walk

#: calls that give numbers and text
PLAIN = frozenset(
    {"int", "float", "len", "max", "min", "str", "round", "range", "abs", "bool", "sum", "isinstance", "format", "join",
     "repr", "split", "strip", "lower", "upper", "replace", "startswith", "endswith", "item", "tolist", "hasattr", "type",
     "keys"}
)  # fmt: skip

#: calls that give what they are given
PASSING = frozenset({"dict", "list", "tuple", "set", "zip", "enumerate", "sorted", "reversed", "OrderedDict"})

#: methods that give what is in the object
CONTENTS = frozenset({"items", "values", "copy"})

#: the source of what a call gave, and of everything else that is not followed
MADE = ""

#: classes that are no modules, by the ends of their names
_NO_PRODUCTS = ("Error", "Exception", "Warning")


def is_product(name: str) -> bool:
    """Whether a call of this name may build a module."""
    return not name.endswith(_NO_PRODUCTS)


class Keeping:
    """The attributes and local names that one function binds."""

    __slots__ = ("built", "flows", "given", "holding", "lists", "locals", "made", "parameters")

    def __init__(self, arguments: ast.arguments) -> None:
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self.parameters = {a.arg for a in every if a is not None}
        #: those that may be lists of modules or tensors: not the ones that are said to be numbers or text
        self.given = {a.arg for a in every if a is not None and not (a.annotation and _is_plain(a.annotation))}
        self.locals: set[str] = set()  #: names that may stand for a list
        self.made: set[str] = set()  #: names that may stand for a tensor made here
        self.flows: dict[str, set[str]] = {}  #: the sources of what each name may stand for, or have in it
        #: attributes that may be lists: names of lists that they may be (``MADE`` for surely), sources of what is in them
        self.lists: dict[str, tuple[set[str], set[str]]] = {}
        self.holding: dict[str, set[str]] = {}  #: attributes that may hold a tensor that was made here, likewise
        self.built: set[str] = set()  #: attributes that hold what a class was called for

    def add(self, inner: Keeping) -> None:
        """A function inside this one."""
        self.locals |= inner.locals
        self.made |= inner.made
        self.built |= inner.built
        self.parameters |= inner.parameters
        self.given |= inner.given
        for mine, other in ((self.flows, inner.flows), (self.holding, inner.holding)):
            for name, sources in other.items():
                mine.setdefault(name, set()).update(sources)
        for name, (lists, contents) in inner.lists.items():
            self._listed(name, lists, contents)

    def _listed(self, attribute: str, lists: Set[str], contents: Set[str]) -> None:
        known = self.lists.setdefault(attribute, (set(), set()))
        known[0].update(lists)
        known[1].update(contents)

    def collections(self, unpacked: Set[str]) -> set[str]:
        """Attributes that may be lists of modules or tensors; ``unpacked`` ones may be lists that a caller gives."""
        listed = self.locals | {MADE}
        return {
            name for name, (lists, contents) in self.lists.items()
            if ((not lists.isdisjoint(listed) or (lists == {"append"} and name not in self.built))
                and self._holds(contents))
            or (name in unpacked and not lists.isdisjoint(self.given))
        }  # fmt: skip

    def _holds(self, sources: Set[str]) -> bool:
        """Whether a module or tensor that did not come from the caller may be among these."""
        seen: set[str] = set()
        pending = set(sources)
        while pending:
            name = pending.pop()
            if name == MADE:
                return True
            if name in seen:
                continue
            seen.add(name)
            if name in self.flows:
                pending |= self.flows[name]
            elif name not in self.parameters:
                return True  # a name of the module, or of a function around this one
        return False

    def tensors(self) -> set[str]:
        """Attributes that may hold a tensor that was made here, or something that was given one."""
        made = self.made | {""}
        return {name for name, sources in self.holding.items() if not sources.isdisjoint(made)}

    def looped(self, target: ast.expr, iterable: ast.expr) -> None:
        """Note ``for target in iterable``."""
        if self.made and any(isinstance(n, ast.Name) and n.id in self.made for n in walk(iterable)):
            self.made.update(n.id for n in walk(target) if isinstance(n, ast.Name))
        self._flow(target, sources_of(iterable))

    def appended(self, owner: ast.expr, values: Sequence[ast.expr]) -> None:
        """Note ``owner.append(value)``."""
        contents = sources_of(*values)
        if isinstance(owner, ast.Attribute):
            self._listed(owner.attr, {"append"}, contents)
        elif isinstance(owner, ast.Name):
            self.locals.add(owner.id)
            self._flow(owner, contents)
        elif isinstance(owner, ast.Subscript):
            self._sure(owner.value, contents)

    def assigned(self, targets: list[ast.expr], value: ast.expr, makes: bool) -> None:
        """Note an assignment. ``makes``: there is a factory call in the value."""
        if self.made and not makes:
            makes = any(isinstance(n, ast.Name) and n.id in self.made for n in walk(value))
        sources = sources_of(value)
        for target in targets:
            self._bind(target, value, makes)
            self._flow(target, sources)

    def _flow(self, target: ast.expr, sources: Set[str]) -> None:
        if isinstance(target, ast.Name):
            self.flows.setdefault(target.id, set()).update(sources)
            return
        for node in walk(target):
            if isinstance(node, ast.Name):  # also the list in ``names[0] = value``
                self.flows.setdefault(node.id, set()).update(sources)

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
                self._sure(target.value, {MADE} if value is None else sources_of(value))

    def _hold(self, attribute: str, value: ast.expr | None, makes: bool) -> None:
        if makes:
            self.holding.setdefault(attribute, set()).add("")
        elif isinstance(value, ast.Name):
            self.holding.setdefault(attribute, set()).add(value.id)

    def _sure(self, owner: ast.expr, contents: Set[str]) -> None:
        if isinstance(owner, ast.Attribute):
            self._listed(owner.attr, {MADE}, contents)

    def _store(self, attribute: str, value: ast.expr) -> None:
        if isinstance(value, ast.Name):
            self._listed(attribute, {value.id}, {value.id})
        elif isinstance(value, DISPLAYS):
            self._listed(attribute, {MADE}, sources_of(value))
        elif isinstance(value, ast.Call) and last_name(value.func)[:1].isupper():
            self.built.add(attribute)


DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)

#: expressions that are numbers or text
_NUMBERS = (ast.Constant, ast.JoinedStr, ast.Compare, ast.UnaryOp)


def sources_of(*values: ast.expr) -> set[str]:
    """What may be in the value of an expression: names, and ``MADE`` for what a call gives."""
    found: set[str] = set()
    inner: list[tuple[ast.expr, ast.expr]] = []  #: targets and iterables of comprehensions
    stack = list(values)
    while stack:
        node = stack.pop()
        if isinstance(node, _NUMBERS):
            continue
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            stack += node.elts
        elif isinstance(node, ast.Dict):
            stack += node.values
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            stack.append(node.value if isinstance(node, ast.DictComp) else node.elt)
            inner += [(g.target, g.iter) for g in node.generators]
        elif isinstance(node, (ast.Starred, ast.Subscript)):
            stack.append(node.value)
        elif isinstance(node, ast.IfExp):
            stack += [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            stack += node.values
        elif isinstance(node, ast.BinOp):
            stack += [node.left, node.right]
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in PASSING:
                stack += [*node.args, *(k.value for k in node.keywords)]
            elif name in CONTENTS and isinstance(node.func, ast.Attribute):
                stack.append(node.func.value)
            elif name not in PLAIN:
                found.add(MADE)
        else:  # an attribute, a lambda …
            found.add(MADE)
    while inner:
        target, iterable = inner.pop()
        names = {n.id for n in walk(target) if isinstance(n, ast.Name)}
        if not names.isdisjoint(found):
            found = (found - names) | sources_of(iterable)
    return found


#: names of which the annotations of numbers and text are made
_PLAIN_TYPES = frozenset(
    {"int", "float", "bool", "str", "bytes", "tuple", "Tuple", "list", "List", "Sequence", "Iterable", "Optional", "Union",
     "Literal", "None", "dict", "Dict", "Mapping", "typing", "t", "Final", "Annotated"}
)  # fmt: skip
_CONTAINERS = frozenset({"tuple", "Tuple", "list", "List", "Sequence", "Iterable", "dict", "Dict", "Mapping"})


def _is_plain(annotation: ast.expr) -> bool:
    """``int``, ``tuple[int, int] | None`` …: no modules and no tensors. A bare ``list`` may have any in it."""
    if isinstance(annotation, (ast.Name, ast.Attribute)):
        return last_name(annotation) in _PLAIN_TYPES - _CONTAINERS
    if any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in walk(annotation)):
        return isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Literal"
    names = {last_name(n) for n in walk(annotation) if isinstance(n, (ast.Name, ast.Attribute))}
    return names <= _PLAIN_TYPES and not names <= _CONTAINERS


def _may_be_list(value: ast.expr) -> bool:
    """Whether an expression may give a list, tuple or dict of modules."""
    if isinstance(value, (ast.List, ast.Tuple, ast.Dict, ast.Set)):
        return True
    if isinstance(value, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return True
    if isinstance(value, ast.Call):
        name = last_name(value.func)
        return name not in PLAIN and (not name[:1].isupper() or name.endswith("Dict"))
    if isinstance(value, ast.IfExp):
        return _may_be_list(value.body) or _may_be_list(value.orelse)
    if isinstance(value, ast.BoolOp):
        return any(map(_may_be_list, value.values))
    if isinstance(value, ast.BinOp):
        return _may_be_list(value.left) or _may_be_list(value.right)
    return False
