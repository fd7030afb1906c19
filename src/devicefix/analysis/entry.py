"""Analyse one file: the module body first, then every function and class that it did not reach."""

from __future__ import annotations

import ast
import gc
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import classes, host_transforms
from devicefix.analysis.calls import annotated, run_body
from devicefix.analysis.depth import room_for_depth
from devicefix.analysis.device_arguments import global_devices
from devicefix.analysis.devices import Device, symbol
from devicefix.analysis.dtypes import DTYPE_CLASSES
from devicefix.analysis.evidence import annotation_kind
from devicefix.analysis.facts import FileFacts, Records
from devicefix.analysis.frames import Arguments, Frame
from devicefix.analysis.global_paths import named_by_moves
from devicefix.analysis.interpreter import Interpreter
from devicefix.analysis.mentions import Reader
from devicefix.analysis.module_moves import settle
from devicefix.analysis.relevance import STEPS, Relevance
from devicefix.analysis.telling import named_loader
from devicefix.analysis.values import MAYBE_NONE, NUMBER, UNKNOWN, Closure, Kind, Obj, Value

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from devicefix.analysis.model import ClassInfo, FunctionInfo, ModuleInfo
    from devicefix.analysis.project import Project
    from devicefix.settings import Settings
    from devicefix.source.text import SourceText

#: functions that run in the data loader's workers
HOST_FUNCTIONS = ("collate", "transform", "augment", "preprocess", "worker_init", "__getitem__")


#: methods that a trainer calls with the model first, which it has placed
TRAINER_STEPS = frozenset({"compute_loss", "training_step", "prediction_step", "evaluation_step"})


def analyse(
    source: SourceText,
    *,
    project: Project,
    settings: Settings,
    everything: bool = False,
    relevance: Relevance | None = None,
) -> FileFacts:
    """Everything that the rules want to know about one file.

    ``everything`` interprets functions that cannot hold a finding as well; the tests use it to show that this is so.
    ``relevance`` saves a second look at which functions can.
    Raises :class:`devicefix.source.SourceError` when the file cannot be parsed.
    """
    module = project.add(source.path, source)
    records = Records()
    it = Interpreter(project, settings, records)
    it.home = module
    it.limit(len(source.lines))
    frozen = gc.isenabled()
    gc.disable()
    try:
        with room_for_depth():
            it.relevance = None if everything else relevance or Relevance(module.tree)
            if it.relevance is not None and not it.relevance.functions:
                return FileFacts(module, records, settings, silent="cuda" not in source.text)
            _run_module(it, module)
            _run_unreached(it, module)
            for path, device in named_by_moves(module, it.records.moves):
                module.devices.setdefault(path, device)
    finally:
        it.close()
        if frozen:
            gc.enable()
    return FileFacts(module, records, settings)


def _run_module(it: Interpreter, module: ModuleInfo) -> None:
    names: dict[str, Value] = {}
    it.globals[module] = names
    frame = Frame(module, None, names)
    body = module.tree.body
    it.lazy_imports = True
    if not it.matters(module.tree):  # only what other code may refer to
        body = [
            s
            for s in body
            if isinstance(
                s,
                (
                    ast.Import,
                    ast.ImportFrom,
                    ast.FunctionDef,
                    ast.AsyncFunctionDef,
                    ast.ClassDef,
                    ast.Try,
                    ast.Assign,
                    ast.If,
                ),
            )
        ]
    it.run(frame, body)
    module.devices = dict(global_devices(names))


def _run_unreached(it: Interpreter, module: ModuleInfo) -> None:
    functions, found = _definitions(module)
    modules = [cls for cls in found if classes.is_module_class(it, cls)]
    runs = [_ClassRun(it, cls, module_class=True) for cls in modules]
    for run in runs:
        run.steps()
    for run in runs:
        run.other_methods()
    called = it.relevance.called if it.relevance is not None else _called_names(module)
    # callers first: what they call is then seen with real arguments
    for wanted in (False, True):
        for info in functions:
            if info.node not in it.interpreted and (info.name in called) is wanted and it.matters(info.node):
                run_function(it, info)
    for cls in found:
        if cls not in modules:  # a class inside a function is known for a module only once that function was run
            other = _ClassRun(it, cls, module_class=classes.is_module_class(it, cls))
            other.steps()
            other.other_methods()
    for info, names in list(it.pending):
        if _unreached(it, info.node):
            run_function(it, info, names)
    for info, closure in list(it.recursive.items()):
        # what a function gives to itself was not followed: a tensor in a dict in a list
        if info.cls is None and info.module is module and it.matters(info.node):
            run_function(it, info, closure.names)


def _unreached(it: Interpreter, node: ast.AST) -> bool:
    return node not in it.interpreted and it.matters(node)


def _definitions(module: ModuleInfo) -> tuple[list[FunctionInfo], list[ClassInfo]]:
    """Top-level functions and all classes, in order."""
    functions: list[FunctionInfo] = []
    found: list[ClassInfo] = []
    stack: list[ast.stmt] = list(reversed(module.tree.body))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append(module.function(node))
            stack.extend(s for s in reversed(node.body) if isinstance(s, ast.ClassDef))
        elif isinstance(node, ast.ClassDef):
            found.append(module.class_(node))
            stack.extend(s for s in reversed(node.body) if isinstance(s, ast.ClassDef))
        else:
            for field in ("body", "orelse", "finalbody"):
                stack.extend(reversed(getattr(node, field, None) or []))
            for handler in getattr(node, "handlers", ()):
                stack.extend(reversed(handler.body))
    return functions, found


def _called_names(module: ModuleInfo) -> set[str]:
    return Reader(module.tree).called


class _ClassRun:
    """Runs the methods of a class on an instance that nobody has made."""

    def __init__(self, it: Interpreter, cls: ClassInfo, *, module_class: bool) -> None:
        self.it = it
        self.cls = cls
        self.device = symbol(("root", cls.node))
        if module_class and host_transforms.only_in_data_sets(it, cls):
            module_class, host = False, True  # it meets what is on the CPU, as all in there
        else:
            host = classes.is_host_class(it, cls) or (not module_class and classes.is_test_class(it, cls))
        self.is_module = module_class
        self.host = host
        self.obj: Obj | None = None

    def steps(self) -> None:
        """What frameworks and modules call, and the constructor."""
        for name in STEPS:
            if name in self.cls.methods:
                self._run(name, always=self.is_module)
        builder = self.cls.methods.get("__init__")
        if self.obj is None and builder is not None and _unreached(self.it, builder.node):
            self._instance()

    def other_methods(self) -> None:
        """The rest, unless somebody was seen to call it: a constructor, perhaps, before anything is moved."""
        for name in self.cls.methods:
            if name not in STEPS and name != "__init__":
                self._run(name, always=False)

    def _run(self, name: str, *, always: bool) -> None:
        it, info = self.it, self.cls.methods[name]
        if not it.matters(info.node) or (info.node in it.interpreted and not always):
            return
        obj = self.obj or self._instance()
        if info.node in it.interpreted and not always:
            return  # the constructor calls it, and nobody else was seen to
        host = self.host or name in HOST_FUNCTIONS or name.startswith("test")
        _run_method(it, info, obj, None if host else self.device)

    def _instance(self) -> Obj:
        self.obj = _assumed_instance(self.it, self.cls, self.device if self.is_module else None)
        return self.obj


def _assumed_instance(it: Interpreter, cls: ClassInfo, root: Device | None) -> Obj:
    obj = Obj(cls, is_module=classes.is_module_class(it, cls), assumed=True)
    it.records.classes.setdefault(cls, []).append(obj)
    value = Value(Kind.OBJECT, data=obj)
    initialiser = classes.find_method(it, cls, "__init__")
    if initialiser is not None:
        frame = Frame(
            initialiser.module, initialiser, parameters(initialiser, None, value), self_object=obj, assumed=True
        )
        run_body(it, frame, initialiser)
    if root is not None:
        settle(it, obj, root)
    return obj


def _run_method(it: Interpreter, info: FunctionInfo, obj: Obj, device: Device | None) -> None:
    receiver = (
        None
        if info.is_static
        else Value(Kind.CLASS, data=obj.cls)
        if info.is_class_method
        else Value(Kind.OBJECT, data=obj)
    )
    in_trainer = info.name in TRAINER_STEPS and _is_trainer(it, obj.cls) and len(info.parameters) > 1
    if in_trainer:
        device = symbol(("trainer", obj.cls))  # where it puts its model and what the loader gives
    names = parameters(info, device, receiver, tensors=obj.is_module)
    if in_trainer:
        model = info.parameters[1].arg
        names[model] = Value(Kind.MODULE, device=device, ident=names[model].ident, flags=frozenset({"moved"}))
    frame = Frame(
        info.module,
        info,
        names,
        self_object=None if info.is_static else obj,
        assumed=True,
        outer=obj.cls.outer if obj.cls else None,
    )
    run_body(it, frame, info)


def _is_trainer(it: Interpreter, cls: ClassInfo | None) -> bool:
    known = (torch_api.external_class(name) for name in classes.ancestry(it, cls)[1]) if cls is not None else ()
    return any(found is not None and found.kind == "framework" for found in known)


def run_function(it: Interpreter, info: FunctionInfo, outer: MutableMapping[str, Value] | None = None) -> None:
    """Run a function that nobody was seen to call: its parameters are what their uses say."""
    host = any(word in info.name.lower() for word in HOST_FUNCTIONS) or info.name.startswith("test_")
    host = host or host_transforms.function_only_in_data_sets(it, info)
    device = None if host else symbol(("root", info.node))
    frame = Frame(info.module, info, parameters(info, device), outer=outer, assumed=True)
    run_body(it, frame, info)
    it.recursive.pop(info, None)  # seen with anything now


def parameters(
    info: FunctionInfo, device: Device | None, receiver: Value | None = None, *, tensors: bool = False
) -> dict[str, Value]:
    """Parameters of a function whose caller is not known."""
    spec = info.node.args
    names: dict[str, Value] = {}
    for i, parameter in enumerate(info.parameters):
        if i == 0 and receiver is not None:
            names[parameter.arg] = receiver
            continue
        names[parameter.arg] = _parameter(info, parameter, info.defaults.get(parameter.arg), device, tensors)
    for extra in (spec.vararg, spec.kwarg):
        if extra is not None:
            inner = Value(Kind.UNKNOWN, device=device, ident=("parameter", info.node, extra.arg))
            kind = Kind.SEQUENCE if extra is spec.vararg else Kind.MAPPING
            names[extra.arg] = Value(kind, element=inner, ident=("parameter", info.node, extra.arg))
    return names


def _parameter(
    info: FunctionInfo, parameter: ast.arg, default: ast.expr | None, device: Device | None, tensors: bool
) -> Value:
    flags = {"parameter"}
    if tensors:
        flags.add("likely_tensor")
    ident = ("parameter", info.node, parameter.arg)
    if isinstance(default, ast.Constant):
        if default.value is None:
            flags |= MAYBE_NONE
        elif isinstance(default.value, (int, float)):
            return Value(Kind.NUMBER, ident=ident, flags=frozenset({"parameter"}))
        elif isinstance(default.value, str):
            return Value(Kind.STRING, ident=ident, flags=frozenset({"parameter"}))
    elif isinstance(default, (ast.Tuple, ast.List)) and default.elts and all(map(_is_number, default.elts)):
        return Value(Kind.SEQUENCE, element=NUMBER, ident=ident, flags=frozenset({"parameter"}))
    elif isinstance(default, ast.Attribute) and default.attr in torch_api.DTYPES:
        asked = DTYPE_CLASSES[torch_api.DTYPES[default.attr]]
        return Value(Kind.DTYPE, dtype=asked, ident=ident, flags=frozenset({"parameter"}))
    value = Value(Kind.UNKNOWN, device=device, ident=ident, flags=frozenset(flags))
    kind = annotation_kind(parameter.annotation, info.module)
    if not kind and parameter.annotation is None and named_loader(parameter.arg):
        return Value(Kind.LOADER, element=UNKNOWN, ident=ident, flags=frozenset({"parameter", "guessed"}))
    return annotated(value, kind)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


__all__ = ["Arguments", "Closure", "analyse", "run_function"]
