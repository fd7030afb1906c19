"""What kind of thing a class of the project is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import records
from devicefix.analysis.frames import Frame
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo, FunctionInfo

MODULE_KINDS = frozenset({"module", "framework_module", "metric", "wrapper"})

#: names under which the frameworks' base classes are known, also where a file brings its own stand-in
OWNED_MODULE_NAMES = frozenset({"LightningModule", "LightningLite", "LightningDataModule"})


def bases(it: Interpreter, cls: ClassInfo) -> tuple[Value, ...]:
    """The base classes, as class values or external names."""
    known = it.known_bases.get(cls)
    if known is not None:
        return known
    frame = Frame(cls.module, None, dict(cls.outer or {}))
    result = tuple(
        value
        for base in cls.node.bases
        if (value := it.evaluate(frame, base)).kind in (Kind.CLASS, Kind.EXTERNAL) and value.data is not cls
    )
    complete = len(result) == len(cls.node.bases)
    if complete or cls.module not in it.globals:
        it.known_bases[cls] = result
    return result


def ancestry(it: Interpreter, cls: ClassInfo) -> tuple[list[ClassInfo], list[str]]:
    """The class with its ancestors in this project, in the order of look-up, and the external ones."""
    known = it.ancestries.get(cls)
    if known is not None:
        return known
    own: list[ClassInfo] = []
    outside: list[str] = []
    queue = [cls]
    while queue and len(own) < 40:
        current = queue.pop(0)
        if current in own:
            continue
        own.append(current)
        for base in bases(it, current):
            if base.kind is Kind.CLASS:
                queue.append(base.data)
            else:
                outside.append(str(base.data))
    if all(c in it.known_bases for c in own):
        it.ancestries[cls] = (own, outside)
    return own, outside


def find_method(it: Interpreter, cls: ClassInfo, name: str, after: ClassInfo | None = None) -> FunctionInfo | None:
    """A method by the order of look-up; with ``after``, as ``super()`` in that class would find it."""
    own, _ = ancestry(it, cls)
    if after is not None and after in own:
        own = own[own.index(after) + 1 :]
    for candidate in own:
        if name in candidate.methods:
            return candidate.methods[name]
    return None


def is_module_class(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether the class is shown to derive from ``torch.nn.Module``."""
    own, outside = ancestry(it, cls)
    if any(is_external_module(name) for name in outside):
        return True
    return any(is_listed(name, it.settings.modules) for name in (*(c.name for c in own), *outside))


def is_listed(name: str, listed: tuple[str, ...]) -> bool:
    """Whether a class is one of those that the settings name: by the last part, and the first where both have one.

    ``mylib.layers.Block`` is also meant where the file says ``from mylib import Block``.
    """
    top, dot, _ = name.partition(".")
    last = name.rpartition(".")[2]
    return any(
        last == wanted.rpartition(".")[2] and (not dot or "." not in wanted or top == wanted.partition(".")[0])
        for wanted in listed
    )


def external_kind(it: Interpreter, name: str) -> str:
    """The sort of a class of another library, as the settings or the tables say; "" for an unknown one."""
    settings = it.settings
    for kind, listed in (
        ("module", settings.modules),
        ("in_place_container", settings.in_place_containers),
        ("copying_container", settings.copying_containers),
    ):
        if listed and is_listed(name, listed):
            return kind
    known = torch_api.external_class(name)
    return known.kind if known is not None else ""


def is_external_module(name: str) -> bool:
    """Whether a class of another library is known to be an ``nn.Module``."""
    if name == "torch.nn.Module" or torch_api.module_class(name) is not None:
        return True
    known = torch_api.external_class(name)
    return known is not None and known.kind in MODULE_KINDS


def is_host_class(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether the code of the class runs on the CPU by design: data sets, samplers, collators, transforms."""
    own, outside = ancestry(it, cls)
    if any(torch_api.host_class(name) for name in outside):
        return True
    return any(c.name.endswith(HOST_SUFFIXES) for c in own) or any(
        name.rpartition(".")[2].endswith(HOST_SUFFIXES) for name in outside
    )


def is_test_class(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether a class holds tests, which work on what they make themselves."""
    own, outside = ancestry(it, cls)
    names = [*(c.name for c in own), *(name.rpartition(".")[2] for name in outside)]
    return any(name.endswith("TestCase") for name in names)


HOST_SUFFIXES = (
    "Dataset",
    "DataModule",
    "Sampler",
    "Collator",
    "Collate",
    "DataLoader",
    "Transform",
    "Augmentation",
    "FeatureExtractor",
    "ImageProcessor",
    "VideoProcessor",
    "Tokenizer",
    "Loader",
)


def has_unseen_base(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether a class derives from something that is neither in the project nor known to do nothing with modules."""
    own, outside = ancestry(it, cls)
    if any(len(bases(it, c)) < len(c.node.bases) for c in own):
        return True
    return any(name.partition(".")[0] not in HARMLESS_BASES for name in outside)


#: libraries whose classes do not look at the attributes of their instances
HARMLESS_BASES = frozenset(
    {"builtins", "object", "abc", "typing", "typing_extensions", "collections", "enum", "dataclasses"}
)


def is_named_tuple(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether its fields are those of a named tuple."""
    _, outside = ancestry(it, cls)
    return any(name.rpartition(".")[2] == "NamedTuple" or name == records.TYPE for name in outside)


def is_dataclass(cls: ClassInfo) -> bool:
    """Whether a decorator makes it a data class."""
    for decorator in cls.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name in ("dataclass", "define", "attrs", "frozen", "mutable", "s"):
            return True
    return False


def is_record_class(cls: ClassInfo) -> bool:
    """Whether a class only names its fields: a data class or a named tuple, by the look of its definition."""
    names = (b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "") for b in cls.node.bases)
    return is_dataclass(cls) or "NamedTuple" in names
