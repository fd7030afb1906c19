"""Modules, classes and functions as written, before anything is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from devicefix.analysis.bindings import OutlineBindings, bindings_of
from devicefix.analysis.evidence import Evidence, collect_evidence, layers_of
from devicefix.analysis.methods import NO_METHODS, SETTERS, MethodsInParts
from devicefix.analysis.own_names import FunctionNode, OwnNames, defaults_of
from devicefix.analysis.statements import statement_names, statements, top_level
from devicefix.analysis.tree_index import TreeIndex, walk
from devicefix.source.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from devicefix.analysis.devices import Device
    from devicefix.analysis.project import Project
    from devicefix.analysis.values import Value
    from devicefix.source.class_outline import ClassOutline
    from devicefix.source.outline import Outline
    from devicefix.source.text import SourceText
    from devicefix.torch_api import ModuleClass

#: methods that move what they are called on, or register something with it
PLACING = frozenset(
    {
        "to",
        "cuda",
        "_apply",
        "add_module",
        "register_module",
        "register_parameter",
        "ModuleList",
        "ModuleDict",
        "ParameterList",
    }
)


class FunctionInfo:
    """One ``def`` or ``lambda``."""

    def __init__(
        self, node: FunctionNode, module: ModuleInfo, cls: ClassInfo | None = None, parent: FunctionInfo | None = None
    ) -> None:
        self.node = node
        self.module = module
        self.cls = cls
        self.parent = parent
        self.name = getattr(node, "name", "<lambda>")

    @cached_property
    def decorators(self) -> frozenset[str]:
        """The last names of the decorators: ``property``, ``staticmethod``, ``no_grad``, ``setter`` …"""
        names = set()
        for decorator in getattr(self.node, "decorator_list", ()):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(target, ast.Attribute):
                names.add(target.attr)
            elif isinstance(target, ast.Name):
                names.add(target.id)
        return frozenset(names)

    @property
    def is_property(self) -> bool:
        """Whether reading the attribute calls it."""
        return bool(self.decorators & {"property", "cached_property"})

    @cached_property
    def is_static(self) -> bool:
        """Whether it gets no instance."""
        return "staticmethod" in self.decorators

    @cached_property
    def is_class_method(self) -> bool:
        """Whether it gets the class in place of an instance."""
        return "classmethod" in self.decorators or self.name in ("__new__", "__init_subclass__")

    @cached_property
    def parameters(self) -> tuple[ast.arg, ...]:
        """Positional parameters, then keyword-only ones; without ``*args`` and ``**kwargs``."""
        a = self.node.args
        return (*a.posonlyargs, *a.args, *a.kwonlyargs)

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        """The defaults of the parameters that have one."""
        return {parameter.arg: default for parameter, default in defaults_of(self.node.args)}

    def argument(self, call: ast.AST | None, name: str, skip: int) -> ast.expr | None:
        """What a call gives to a parameter; None where it does not show, as with ``*args``.

        ``skip``: how many parameters the call does not give, as the instance of a method.
        """
        names = [parameter.arg for parameter in self.parameters[skip:]]
        if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args) or name not in names:
            return None
        named = next((k.value for k in call.keywords if k.arg == name), None)
        position = names.index(name)
        return named or (call.args[position] if position < len(call.args) else None)

    @cached_property
    def _own(self) -> OwnNames:
        """What one walk over the function's own nodes finds."""
        return OwnNames(self.node)

    @property
    def locals(self) -> frozenset[str]:
        """Every name that the function itself binds."""
        return self._own.bound

    @property
    def outer_names(self) -> frozenset[str]:
        """Names declared ``global`` or ``nonlocal``."""
        return self._own.outer

    @property
    def enclosing_names(self) -> frozenset[str]:
        """Names declared ``nonlocal``."""
        return self._own.enclosing

    @property
    def is_generator(self) -> bool:
        """Whether it yields."""
        return self._own.generator

    @cached_property
    def places(self) -> bool:
        """Whether it moves or registers anything."""
        return any(isinstance(node, ast.Attribute) and node.attr in PLACING for node in walk(self.node))

    @cached_property
    def makes_or_moves(self) -> bool:
        """Whether it does more than hand on what it is given."""
        from devicefix.analysis.outside import makes_or_moves

        return makes_or_moves(self)

    @cached_property
    def evidence(self) -> Evidence:
        """How the names in this function are used."""
        if self.cls is None:
            return collect_evidence(self.node, self.module)
        return collect_evidence(self.node, self.module, self.cls.layers)

    def __repr__(self) -> str:  # pragma: no cover - for debugging
        return f"<function {self.name}>"


class ClassInfo:
    """One ``class`` statement."""

    def __init__(self, node: ast.ClassDef, module: ModuleInfo) -> None:
        self.node = node  #: in another file than the one that is checked, it may be without methods; see `walk`
        self.module = module
        self.name = node.name
        self.methods: Mapping[str, FunctionInfo] = {}
        self.setters: set[str] = set()
        self.assignments: dict[str, ast.stmt] = {}
        self.annotations: dict[str, ast.expr] = {}
        #: names of the function that the class statement stands in, once that function was interpreted
        self.outer: dict[str, Value] | None = None
        methods: dict[str, FunctionInfo] = {}
        self._collect(node.body, methods)
        outline = module.members(node)
        if outline is None:
            self.methods = methods
        else:
            self.methods = MethodsInParts(self, outline, methods)
            self.setters.update(self.methods.setters)

    def _collect(self, body: list[ast.stmt], methods: dict[str, FunctionInfo]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                info = self.module.function(statement, self)
                if info.decorators & SETTERS:
                    self.setters.add(statement.name)
                elif info.decorators.isdisjoint(NO_METHODS):
                    methods[statement.name] = info
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.assignments[target.id] = statement
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.annotations[statement.target.id] = statement.annotation
                if statement.value is not None:
                    self.assignments[statement.target.id] = statement
            elif isinstance(statement, (ast.If, ast.Try)):
                self._collect(statement.body, methods)
                self._collect(statement.orelse, methods)

    def walk(self) -> Iterator[ast.AST]:
        """Every node in the class."""
        yield from walk(self.node)
        if self.module.members(self.node) is not None:
            for info in self.methods.values():
                yield from walk(info.node)

    @cached_property
    def layers(self) -> Mapping[str, ModuleClass]:
        """Attributes that are layers of torch."""
        return layers_of(self)

    def __repr__(self) -> str:  # pragma: no cover - for debugging
        return f"<class {self.name}>"


class ModuleInfo:
    """One source file."""

    def __init__(
        self,
        path: Path,
        source: SourceText,
        project: Project,
        package: tuple[str, ...] = (),
        outline: Outline | None = None,
    ) -> None:
        self.path = path
        self.folder = path.parent
        self.source = source
        self.project = project
        self.package = package  #: dotted package that relative imports start from
        self._outline = outline  #: of a file that is read for its definitions only
        self.devices: dict[str, Device] = {}  #: global device variables, once the body of the file was looked at
        if outline is None:
            self.tree  # noqa: B018  # raises now what it has to raise
        self._functions: dict[ast.AST, FunctionInfo] = {}
        self._classes: dict[ast.AST, ClassInfo] = {}

    @cached_property
    def tree(self) -> ast.Module:
        """The whole syntax tree. Raises `SourceError`."""
        return self.source.tree()

    @property
    def in_parts(self) -> bool:
        """Whether only some definitions have been parsed."""
        return self._outline is not None and "tree" not in self.__dict__

    @property
    def parsed(self) -> int:
        """How many characters have been parsed."""
        return self._outline.parsed if self._outline is not None and self.in_parts else len(self.source.text)

    def size(self, name: str) -> int:
        """How many characters define a global name, in a file that is read for its definitions only."""
        return self._outline.size(name) if self._outline is not None else 0

    def members(self, node: ast.ClassDef) -> ClassOutline | None:
        """The methods of a class that was parsed without them."""
        return self._outline.members(node) if self._outline is not None else None

    def function(
        self, node: FunctionNode, cls: ClassInfo | None = None, parent: FunctionInfo | None = None
    ) -> FunctionInfo:
        """The one ``FunctionInfo`` of a node."""
        info = self._functions.get(node)
        if info is None:
            info = self._functions[node] = FunctionInfo(node, self, cls, parent)
        return info

    def class_(self, node: ast.ClassDef) -> ClassInfo:
        """The one ``ClassInfo`` of a node."""
        info = self._classes.get(node)
        if info is None:
            info = self._classes[node] = ClassInfo(node, self)
        return info

    @cached_property
    def index(self) -> TreeIndex:
        """Parents and nodes by type."""
        return TreeIndex(self.tree)

    @cached_property
    def torch_names(self) -> dict[str, str]:
        """What each name that an import of torch binds stands for, wherever in the file it is imported."""
        table: dict[str, str] = {}
        nodes = list(statements(self._with_imports()))
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.partition(".")[0] == "torch":
                        table[alias.asname or "torch"] = alias.name if alias.asname else "torch"
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                source = node.module or ""
                if not node.level and source.partition(".")[0] == "torch":
                    table.update(
                        (alias.asname or alias.name, f"{source}.{alias.name}")
                        for alias in node.names
                        if alias.name != "*"
                    )
        return table

    def _with_imports(self) -> list[ast.stmt]:
        """The statements among which are all imports of torch."""
        if self._outline is None:
            return self.tree.body
        try:
            return [*self._outline.rest, *self._outline.with_torch()]
        except SourceError:
            return self._outline.rest

    def release(self) -> None:
        """Let go of the tree, at once: what an analysis leaves behind goes round in circles and still refers to parts of
        it. The module, its functions and its classes are of no use afterwards.
        """
        nodes = (*self._functions, *self._classes)
        for info in (*self._functions.values(), *self._classes.values()):
            info.__dict__.clear()
        for node in nodes:
            node.__dict__.clear()
        self.__dict__.clear()

    def shrink(self) -> None:
        """Drop what only the rules want to know, and what is quickly found out again."""
        self.__dict__.pop("index", None)

    @cached_property
    def bindings(self) -> Mapping[str, list[ast.stmt]]:
        """Which top-level statements bind each global name, in order (``if`` and ``try`` bodies included)."""
        if self._outline is None:
            return bindings_of(self.tree.body)
        return OutlineBindings(self._outline, lambda: bindings_of(self.tree.body))

    @cached_property
    def variables(self) -> frozenset[str]:
        """Global names that are assigned something other than a constant."""
        body = self.tree.body if self._outline is None else self._outline.rest
        return frozenset(
            name
            for statement in top_level(body)
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and not isinstance(statement.value, ast.Constant)
            for name in statement_names(statement)
        )

    @cached_property
    def star_imports(self) -> tuple[ast.ImportFrom, ...]:
        """The top-level ``from … import *`` statements."""
        return tuple(
            s
            for s in top_level(self.tree.body if self._outline is None else self._outline.rest)
            if isinstance(s, ast.ImportFrom) and any(alias.name == "*" for alias in s.names)
        )

    def __repr__(self) -> str:  # pragma: no cover - for debugging
        return f"<module {self.path}>"
