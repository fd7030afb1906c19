"""ATen's operator schemas: parameters, results and device checks."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torchgen
from torchgen.api.python import signature
from torchgen.gen import ParsedYaml, parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey, NativeFunction, SchemaKind

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad")
INTEGER_FIELDS = ("indices", "index", "counts", "pivots", "info")


def folder() -> Path:
    """Where the wheel keeps ``native_functions.yaml``."""
    return Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"


@cache
def parsed() -> ParsedYaml:
    """The schemas and kernels of ATen."""
    return parse_native_yaml(str(folder() / "native_functions.yaml"), str(folder() / "tags.yaml"))


@cache
def native() -> dict[str, list[NativeFunction]]:
    """All operators by base name (``add_`` and ``add`` are two), overloads in the order of the file."""
    found: dict[str, list[NativeFunction]] = {}
    for function in parsed().native_functions:
        found.setdefault(str(function.func.name.name), []).append(function)
    return found


@cache
def tensor_iterator() -> frozenset[str]:
    """Operators whose kernels are built on TensorIterator, which lets 0-dim CPU tensors join."""
    found, name = set(), ""
    for line in (folder() / "native_functions.yaml").read_text(encoding="utf-8").splitlines():
        if line.startswith("- func: "):
            name = line[8:].split("(", 1)[0].split(".")[0].strip()
        elif "device_check: NoCheck" in line and "TensorIterator" in line:
            found.add(name)
    return frozenset(found)


def checks_devices(function: NativeFunction) -> bool:
    """Whether the dispatcher compares the devices of all arguments before the CUDA kernel, with no exception."""
    if function.device_check is not DeviceCheckType.ExactSame or function.func.kind() is SchemaKind.out:
        return False
    return function.structured_delegate is not None or parsed().backend_indices[DispatchKey.CUDA].has_kernel(function)


def tagged(base: str, tag: str) -> bool:
    """Whether an overload of the operator carries that tag of ``tags.yaml``."""
    return any(tag in function.tags for function in native().get(base, ()))


@dataclass
class Row:
    """One line of the table, before it is written down."""

    positional: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    tensors: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    variadic: str = ""
    returns: str = "unknown"
    outputs: str = ""
    flags: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters."""
        return (*self.positional, *self.keywords)

    def tensor_count(self, method: bool) -> int:
        """How many tensors meet at least: a list counts as two, the receiver of a method as one."""
        return len((self.tensors | self.lists) - {"out"}) + len(self.lists) + method

    def text(self) -> str:
        """The notation of ``_generated.py``."""
        parts = [self._mark(name) for name in self.positional]
        if self.keywords:
            parts += ["*", *(self._mark(name) for name in self.keywords)]
        return " ".join([f"({', '.join(parts)}) {self.returns}", *self.flags])

    def _mark(self, name: str) -> str:
        kind = ":t*" if name in self.lists else ":t" if name in self.tensors else ""
        return ("*" if name == self.variadic else "") + name + kind


def parse_row(text: str) -> Row:
    """A row from the notation."""
    row, keyword = Row(), False
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        if part == "*":
            keyword = True
            continue
        name, _, kind = part.partition(":")
        if name.startswith("*"):
            name = row.variadic = name[1:]
        (row.keywords if keyword else row.positional).append(name)
        if kind:
            (row.lists if kind == "t*" else row.tensors).add(name)
    return row


def row_from_schemas(functions: list[NativeFunction], method: bool) -> Row:
    """Merge the overloads of an operator: the longest positional list wins, what only others have becomes a keyword."""
    row = Row()
    alternatives: list[list[str]] = []
    for function in functions:
        if function.func.kind() is SchemaKind.out and len(functions) > 1:
            continue
        python = signature(function, method=method)
        names = []
        for argument in (*python.input_args, *python.input_kwargs):
            if argument.name == "self" and method:
                continue
            name = "input" if argument.name == "self" else argument.name
            if argument.type.is_tensor_like():
                (row.lists if argument.type.is_list_like() else row.tensors).add(name)
            if argument in python.input_args:
                names.append(name)
            elif name not in row.keywords:
                row.keywords.append(name)
        alternatives.append(names)
        if python.tensor_options_args:
            row.keywords += [option for option in OPTIONS if option not in row.keywords]
    row.positional = max(alternatives, key=len, default=[])
    for names in alternatives:
        row.keywords[:0] = [name for name in names if name not in row.positional and name not in row.keywords]
    row.keywords = [name for name in row.keywords if name not in row.positional]
    row.tensors -= row.lists
    if not method and any(function.func.kind() is SchemaKind.out for function in functions) and "out" not in row.names:
        row.keywords.append("out")
        row.tensors.add("out")
    row.returns, row.outputs = returned(functions)
    if any(r.annotation and not r.annotation.is_write for r in functions[0].func.returns):
        row.flags.append("view")
    if any("nondeterministic_seeded" in function.tags for function in functions):
        row.flags.append("random")
    return row


def returned(functions: list[NativeFunction]) -> tuple[str, str]:
    """What an operator gives back, and the members of a tuple of tensors."""
    schema = next((f for f in functions if f.func.kind() is not SchemaKind.out), functions[0]).func
    if schema.kind() is SchemaKind.inplace:
        return "self", ""
    if schema.kind() is SchemaKind.out:
        return "tensor", ""
    if not schema.returns:
        return "none", ""
    if len(schema.returns) > 1:
        names = [result.name or f"output{i}" for i, result in enumerate(schema.returns)]
        return "tensors", "/".join(f"{n}:{'int' if any(w in n for w in INTEGER_FIELDS) else 'input'}" for n in names)
    kind = str(schema.returns[0].type)
    if kind.startswith("Tensor["):
        return "tensors", ""
    if kind.endswith("[]"):
        return "size", ""
    words = {
        "Tensor": "tensor",
        "bool": "bool",
        "int": "int",
        "SymInt": "int",
        "float": "number",
        "Scalar": "number",
        "ScalarType": "dtype",
    }
    return words.get(kind, "unknown"), ""


def row_from_python(function: Callable[..., Any], receiver: bool, tensor_names: frozenset[str]) -> Row:
    """A row from a Python signature; annotations, else names, tell which parameters take tensors."""
    row = Row()
    found = inspect.signature(inspect.unwrap(function))
    parameters = list(found.parameters.values())
    for parameter in parameters[1:] if receiver else parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            row.variadic = parameter.name
        (row.keywords if parameter.kind is parameter.KEYWORD_ONLY else row.positional).append(parameter.name)
        bare = parameter.annotation is parameter.empty
        note = parameter.annotation if isinstance(parameter.annotation, str) else repr(parameter.annotation)
        if ("Tensor" in note and "Callable" not in note) or (bare and parameter.name in tensor_names):
            listed = any(
                word in note.lower() for word in ("list[", "sequence[", "iterable[", "tuple[", "_tensor_or_tensors")
            )
            (row.lists if listed or parameter.name in ("tensors", "sequences") else row.tensors).add(parameter.name)
    row.returns = _annotated_return(found.return_annotation)
    return row


def _annotated_return(annotation: Any) -> str:
    words = {"Tensor": "tensor", "torch.Tensor": "tensor", "None": "none", "NoneType": "none", "bool": "bool",
    "int": "int",
             "float": "number", "str": "str"}  # fmt: skip
    note = (
        annotation
        if isinstance(annotation, str)
        else "Tensor"
        if annotation is torch.Tensor
        else getattr(annotation, "__name__", repr(annotation))
    )
    return words.get(note, "tensors" if "Tensor" in repr(annotation) and "[" in repr(annotation) else "unknown")
