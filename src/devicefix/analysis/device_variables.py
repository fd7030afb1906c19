"""The device variable that a file already has, by scope, and where a new one would go."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from devicefix.analysis.cuda_sites import enclosing
from devicefix.analysis.evidence import annotation_kind, path_of, torch_path
from devicefix.analysis.own_names import defaults_of
from devicefix.analysis.statements import target_names, top_level

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

NAMES = ("device", "DEVICE", "dev", "torch_device", "compute_device")
AVAILABLE = "cuda.is_available"


@dataclass(frozen=True, slots=True)
class DeviceVariable:
    """An expression that holds the chosen device."""

    text: str
    scope: str  #: ``local``, ``self``, ``attribute``, ``global``


class DeviceVariables:
    """Device variables of one file."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts

    # -- what is used as a device ------------------------------------------------------------------------------------

    @cached_property
    def uses(self) -> set[str]:
        """Paths that stand where a device belongs: ``.to(p)``, ``device=p``, ``torch.device(p)``,
        ``map_location=p``."""
        found: set[str] = set()
        for node in self.facts.nodes(ast.Call):
            for value in _places(node):
                path = path_of(value)
                if (path is not None and not path.endswith((".device", ".dtype"))) or path in (
                    "self.device",
                    "args.device",
                ):
                    found.add(path or "")
                elif path is not None and path.endswith(".device") and _holder(path):
                    found.add(path)
        return found

    @cached_property
    def definitions(self) -> dict[str, list[ast.Assign | ast.AnnAssign]]:
        """Assignments of a device to a path, anywhere in the file."""
        found: dict[str, list[ast.Assign | ast.AnnAssign]] = {}
        for node in self.facts.nodes(ast.Assign, ast.AnnAssign):
            if node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    path = path_of(target)
                    if path is not None and self.is_device(node.value):
                        found.setdefault(path, []).append(node)
        return found

    def is_device(self, value: ast.expr) -> bool:
        """Whether an expression makes a device: ``torch.device(…)``, ``"cuda" if … else "cpu"``, a helper that does."""
        if isinstance(value, ast.IfExp):
            return self.is_device(value.body) or self.is_device(value.orelse)
        if isinstance(value, ast.Constant):
            return isinstance(value.value, str) and value.value.partition(":")[0] in ("cuda", "cpu", "mps", "xpu")
        if isinstance(value, ast.Call):
            path = torch_path(self.facts.module, value.func)
            if path in ("torch.device", "device") or path.endswith((".current_accelerator", "accelerator.device")):
                return True
            return path in self._helpers
        return isinstance(value, ast.Attribute) and value.attr == "device"

    @cached_property
    def _helpers(self) -> set[str]:
        """Functions of the file that return a device."""
        found = set()
        for node in self.facts.nodes(ast.FunctionDef):
            returns = [r.value for r in ast.walk(node) if isinstance(r, ast.Return) and r.value is not None]
            if returns and all(
                (isinstance(r, ast.Call) and path_of(r.func) in ("torch.device", "device"))
                or (isinstance(r, ast.IfExp) and "device" in ast.unparse(r))
                or (isinstance(r, ast.Constant) and r.value in ("cuda", "cpu", "mps"))
                for r in returns
            ):
                found.add(node.name)
        return found

    # -- looking one up ----------------------------------------------------------------------------------------------

    def at(self, node: ast.AST, *, own_definition: ast.AST | None = None) -> DeviceVariable | None:
        """The device variable that is in scope at a node; the nearest one wins."""
        shadowed: set[str] = set()
        for around in enclosing(self.facts, node):
            if isinstance(around, (ast.ClassDef, ast.Lambda)):
                continue
            assert isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef))
            info = self.facts.module.function(around)
            found = self._in_function(around, node, info.locals)
            if found is not None:
                return found
            cls = self.facts.parents.get(around)
            if isinstance(cls, ast.ClassDef):
                own = self._of_class(cls, around, node)
                if own is not None:
                    return own
            shadowed |= info.locals
        return self._global(node, shadowed)

    def _in_function(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, node: ast.AST, local: frozenset[str]
    ) -> DeviceVariable | None:
        parameters = {a.arg: a for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
        for name in (*NAMES, *sorted(local)):
            if name not in local:
                continue
            if name in parameters:
                parameter = parameters[name]
                if annotation_kind(parameter.annotation, self.facts.module).endswith("device") or (
                    name in NAMES and name in self.uses
                ):
                    if not _optional(function, name):
                        return DeviceVariable(name, "local")
                continue
            lines = [d.lineno for d in self.definitions.get(name, ()) if self._inside(d, function)]
            if lines and min(lines) < getattr(node, "lineno", 0):
                return DeviceVariable(name, "local")
        for path in sorted(self.uses):
            base, dot, rest = path.partition(".")
            if dot and base in local and base != "self" and rest in NAMES:
                bound = [
                    n.lineno
                    for n in ast.walk(function)
                    if isinstance(n, ast.Name) and n.id == base and isinstance(n.ctx, ast.Store)
                ]
                if base in parameters or (bound and min(bound) < getattr(node, "lineno", 0)):
                    return DeviceVariable(path, "attribute")
        return None

    def _of_class(
        self, cls: ast.ClassDef, function: ast.FunctionDef | ast.AsyncFunctionDef, node: ast.AST
    ) -> DeviceVariable | None:
        first = function.args.args[0].arg if function.args.args else ""
        if not first or any(getattr(d, "id", "") in ("staticmethod", "classmethod") for d in function.decorator_list):
            return None
        for name in NAMES:
            path = f"{first}.{name}"
            if function.name not in (name, "__init__") and self._says_where(cls, name):
                return DeviceVariable(path, "self")
            written = [
                n
                for n in ast.walk(cls)
                if isinstance(n, ast.Attribute) and path_of(n) == path and isinstance(n.ctx, ast.Store)
            ]
            if not written:
                if cls.bases and function.name not in (name, "__init__") and self._trusts(cls, path):
                    return DeviceVariable(path, "self")
                continue
            if function.name == "__init__" and min(w.lineno for w in written) >= getattr(node, "lineno", 0):
                continue
            if (
                path in self.uses
                or path in self.definitions
                or any(path_of(v) in self.uses for v in self._values(cls, path))
            ):
                return DeviceVariable(path, "self")
        for path in sorted(self.uses):
            parts = path.split(".")
            if len(parts) == 3 and parts[0] == first and parts[2] in NAMES:
                holder = f"{first}.{parts[1]}"
                stored = [
                    n
                    for n in ast.walk(cls)
                    if isinstance(n, ast.Attribute) and path_of(n) == holder and isinstance(n.ctx, ast.Store)
                ]
                if stored and (
                    function.name != "__init__" or min(s.lineno for s in stored) < getattr(node, "lineno", 0)
                ):
                    return DeviceVariable(path, "self")
        return None

    @staticmethod
    def _trusts(cls: ast.ClassDef, path: str) -> bool:
        """Whether a class moves something to an attribute, which it inherits then."""
        calls = (node for node in ast.walk(cls) if isinstance(node, ast.Call))
        return any(path_of(value) == path for call in calls for value in _places(call))

    def _says_where(self, cls: ast.ClassDef, name: str) -> bool:
        """Whether a class has a property of that name that returns where something is."""
        method = self.facts.module.class_(cls).methods.get(name)
        if method is None or not method.is_property or isinstance(method.node, ast.Lambda):
            return False
        last = method.node.body[-1]
        return isinstance(last, ast.Return) and isinstance(last.value, ast.Attribute) and last.value.attr == "device"

    def _values(self, cls: ast.ClassDef, path: str) -> list[ast.expr]:
        return [
            n.value for n in ast.walk(cls) if isinstance(n, ast.Assign) and any(path_of(t) == path for t in n.targets)
        ]

    def _global(self, node: ast.AST, shadowed: set[str]) -> DeviceVariable | None:
        inside = any(not isinstance(a, ast.ClassDef) for a in enclosing(self.facts, node))
        bindings = self.facts.module.bindings
        for name in (*NAMES, *sorted(self.definitions)):
            if "." in name or name in shadowed or name not in bindings:
                continue
            top = [d for d in self.definitions.get(name, ()) if d in bindings[name]]
            if not top or len(top) != len(bindings[name]):
                continue
            if inside or min(d.lineno for d in top) < getattr(node, "lineno", 0):
                return DeviceVariable(name, "global")
        for path in sorted(self.uses):
            base, dot, rest = path.partition(".")
            if dot and rest in NAMES and base in bindings and base not in shadowed and base != "self":
                first = min(getattr(s, "lineno", 0) for s in bindings[base])
                if inside or first < getattr(node, "lineno", 0):
                    return DeviceVariable(path, "attribute")
        return None

    def _inside(self, node: ast.AST, function: ast.AST) -> bool:
        return (
            next((a for a in enclosing(self.facts, node) if not isinstance(a, (ast.ClassDef, ast.Lambda))), None)
            is function
        )

    # -- a new one -----------------------------------------------------------------------------------------------------

    def free_name(self) -> str:
        """A name for a new variable that nothing in the file uses otherwise."""
        taken = {n.id for n in self.facts.nodes(ast.Name)}
        taken |= {a.arg for a in self.facts.nodes(ast.arg)}
        taken |= set(self.facts.module.bindings)
        return next(
            (
                name
                for name in ("device", "torch_device", "compute_device", "target_device", "main_device")
                if name not in taken
            ),
            "_device",
        )

    def anchor(self) -> tuple[ast.stmt | None, str]:
        """The statement that a new module-level definition goes after: the last import of the file's head."""
        last: ast.stmt | None = None
        for statement in self.facts.tree.body:
            if isinstance(statement, ast.Pass):  # a masked magic of a notebook
                continue
            if (
                isinstance(statement, (ast.Import, ast.ImportFrom))
                or _is_docstring(statement)
                or _is_import_block(statement)
            ):
                last = statement
                continue
            if last is not None and isinstance(statement, ast.Expr):
                continue
            break
        return last, "after"


def _places(call: ast.Call) -> list[ast.expr]:
    """What stands where a device belongs among the arguments of a call."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    values = [k.value for k in call.keywords if k.arg in ("device", "map_location")]
    return [*values, call.args[0]] if last in ("to", "device") and call.args else values


def _holder(path: str) -> bool:
    """Whether ``x.device`` reads a setting (``args.device``) and not where a tensor is."""
    return is_holder(path.partition(".")[0])


def is_holder(name: str) -> bool:
    """Whether a name is one that settings go by."""
    return name in (
        "args",
        "cfg",
        "config",
        "opt",
        "opts",
        "options",
        "hparams",
        "params",
        "settings",
        "conf",
        "flags",
        "FLAGS",
        "hp",
        "Config",
        "self",
    )


def _optional(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    default = next((default for parameter, default in defaults_of(function.args) if parameter.arg == name), None)
    return isinstance(default, ast.Constant) and default.value is None


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_import_block(statement: ast.stmt) -> bool:
    """``try: import …`` and ``if TYPE_CHECKING: import …``."""
    if not isinstance(statement, (ast.Try, ast.If)):
        return False
    inner = list(top_level(statement.body))
    return bool(inner) and any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in inner)


__all__ = ["AVAILABLE", "DeviceVariable", "DeviceVariables", "target_names"]
