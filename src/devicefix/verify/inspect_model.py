"""A table of everything in a model that has a device - also what ``.to()`` does not know about.

``.to()`` moves parameters and buffers of the module tree. It leaves behind plain tensor attributes, tensors and
parameters in lists and dicts, modules in lists and dicts, tensors of the class, and second names for a buffer. All of
these are listed.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devicefix.verify._torch import require_torch
from devicefix.verify.report import tool_version

_MAX_DEPTH = 6
_TREE = {"_parameters", "_buffers", "_modules"}
_RED, _GREEN, _DIM, _BOLD, _RESET = "\033[31m", "\033[32m", "\033[2m", "\033[1m", "\033[0m"


class BadTargetError(LookupError):
    """``module:factory`` does not lead to a model; the message is one line for the user."""


@dataclass(frozen=True)
class Entry:
    """One tensor of the model."""

    name: str  # "encoder.layers[0].weight"
    kind: str  # "parameter", "buffer", "attribute", "in a list", ...
    device: str
    dtype: str
    shape: tuple[int, ...]
    moves: bool | None  # whether .to() takes it along; None: cannot tell
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The entry as json shows it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "device": self.device,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "moves": self.moves,
            "note": self.note,
        }


@dataclass(frozen=True)
class Inventory:
    """What `inspect` found, in the order of the model."""

    model: str
    entries: tuple[Entry, ...]

    @property
    def left_behind(self) -> tuple[Entry, ...]:
        """The tensors that ``model.to(device)`` would leave where they are."""
        return tuple(entry for entry in self.entries if entry.moves is False)

    def as_json(self) -> str:
        """The inventory for programs."""
        return (
            json.dumps(
                {
                    "tool": "devicefix",
                    "version": tool_version(),
                    "model": self.model,
                    "entries": [entry.as_dict() for entry in self.entries],
                    "left_behind": [entry.name for entry in self.left_behind],
                },
                indent=2,
            )
            + "\n"
        )

    def as_text(self, color: bool = False) -> str:
        """The inventory as a table, coloured for a terminal on request."""
        head = ("name", "kind", "device", "dtype", "shape", ".to()")
        rows = [
            (e.name, e.kind, e.device, e.dtype, "x".join(map(str, e.shape)) or "scalar", _answer(e))
            for e in self.entries
        ]
        widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
        lines = [_paint(_row(head, widths), _BOLD, color)]
        for entry, row in zip(self.entries, rows, strict=False):
            style = _RED if entry.moves is False else _DIM if entry.moves is None else ""
            lines.append(
                _paint(_row(row, widths), style, color) + (_paint(f"  {entry.note}", _DIM, color) if entry.note else "")
            )
        left = len(self.left_behind)
        total = f"{len(self.entries)} tensor{'s' if len(self.entries) != 1 else ''} in {self.model}"
        verdict = f"{left} would be left behind by .to()" if left else "none would be left behind by .to()"
        lines.append(_paint(f"{total}, {verdict}", _RED if left else _GREEN, color))
        return "\n".join(lines) + "\n"


def _answer(entry: Entry) -> str:
    return {True: "moves", False: "left behind", None: "unknown"}[entry.moves]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()


def _paint(text: str, style: str, color: bool) -> str:
    return f"{style}{text}{_RESET}" if color and style else text


def inspect(model: Any) -> Inventory:
    """List every tensor that can be reached from a model."""
    torch = require_torch()
    if not isinstance(model, torch.nn.Module):
        raise BadTargetError(f"not a torch.nn.Module but a {type(model).__qualname__}")
    found = list(_Walk(torch, model).entries())
    if _moves_in_its_own_way(torch, model):
        found = _settle_by_trying(torch, model, found)
    return Inventory(type(model).__qualname__, tuple(found))


class _Walk:
    """One walk through a model; every tensor object is listed once per name in the tree, once in all outside of it."""

    def __init__(self, torch: Any, model: Any) -> None:
        self.torch, self.model = torch, model
        self.tree = {id(module) for module in model.modules()}
        self.parameters: dict[int, str] = {}
        self.buffers: dict[int, str] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            self.parameters.setdefault(id(parameter), name)
        for name, buffer in model.named_buffers(remove_duplicate=False):
            self.buffers.setdefault(id(buffer), name)
        self.seen: set[int] = set()

    def entries(self) -> Iterator[Entry]:
        for prefix, module in self.model.named_modules():
            yield from self._module(module, prefix, outside=False)

    def _module(self, module: Any, prefix: str, outside: bool) -> Iterator[Entry]:
        place = "of a module outside the tree" if outside else ""
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield self._entry(_join(prefix, name), f"parameter {place}".strip(), parameter, not outside)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                temporary = name in module._non_persistent_buffers_set
                yield self._entry(
                    _join(prefix, name),
                    f"buffer {place}".strip(),
                    buffer,
                    not outside,
                    "not in the state_dict" if temporary else "",
                )
        for name, value in vars(module).items():
            if name not in _TREE and not name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")):
                yield from self._value(_join(prefix, name), value, "attribute", 0)
        for name, value in self._class_attributes(type(module)):
            yield from self._value(_join(prefix, name), value, "class attribute", 0)

    def _class_attributes(self, cls: type) -> Iterator[tuple[str, Any]]:
        for base in cls.__mro__:
            if base.__module__.split(".")[0] == "torch" or base is object:
                continue
            for name, value in vars(base).items():
                if isinstance(value, (self.torch.Tensor, list, tuple, dict)) and not name.startswith("__"):
                    yield name, value

    def _value(self, name: str, value: Any, kind: str, depth: int) -> Iterator[Entry]:
        torch = self.torch
        if isinstance(value, torch.Tensor):
            if id(value) not in self.seen:
                self.seen.add(id(value))
                yield self._loose_tensor(name, value, kind)
        elif isinstance(value, torch.nn.Module):
            if id(value) in self.tree or id(value) in self.seen:
                return
            self.seen.add(id(value))
            for inner_name, module in value.named_modules():
                if id(module) not in self.tree:
                    yield from self._module(module, _join(name, inner_name), outside=True)
        elif depth >= _MAX_DEPTH or id(value) in self.seen:
            return
        elif isinstance(value, Mapping):
            self.seen.add(id(value))
            for key, item in value.items():
                yield from self._value(f"{name}[{key!r}]", item, "in a dict", depth + 1)
        elif isinstance(value, (list, tuple, set, frozenset)):
            self.seen.add(id(value))
            for index, item in enumerate(value):
                yield from self._value(f"{name}[{index}]", item, "in a list", depth + 1)
        elif _is_plain_object(value, torch):
            self.seen.add(id(value))
            for attribute, item in vars(value).items():
                yield from self._value(f"{name}.{attribute}", item, "in an object", depth + 1)

    def _loose_tensor(self, name: str, value: Any, kind: str) -> Entry:
        """A tensor that is not where ``.to()`` looks - though it may be the very object that is also registered."""
        registered = self.parameters.get(id(value))
        if registered is not None:
            return self._entry(name, kind, value, True, f"the same object as {registered}")
        buffer = self.buffers.get(id(value))
        if buffer is not None:
            return self._entry(name, kind, value, False, f"second name of the buffer {buffer}, which .to() replaces")
        if isinstance(value, self.torch.nn.Parameter):
            kind = f"parameter {kind}" if kind != "attribute" else kind
        return self._entry(name, kind, value, False)

    def _entry(self, name: str, kind: str, value: Any, moves: bool, note: str = "") -> Entry:
        uninitialised = isinstance(value, self.torch.nn.parameter.UninitializedTensorMixin)
        shape = () if uninitialised else tuple(value.shape)
        note = "not initialised yet" if uninitialised else note
        return Entry(name, kind, str(value.device), str(value.dtype).replace("torch.", ""), shape, moves, note)


def _is_plain_object(value: Any, torch: Any) -> bool:
    """An instance of a class of the user's, whose attributes are worth a look."""
    cls = type(value)
    if not hasattr(value, "__dict__") or isinstance(value, (type, type(torch), type(_join))):
        return False
    return cls.__module__.split(".")[0] not in (
        "torch",
        "builtins",
        "numpy",
        "logging",
        "threading",
        "functools",
        "pathlib",
        "re",
    )


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix and name else prefix or name


def _moves_in_its_own_way(torch: Any, model: Any) -> bool:
    """Whether some module has its own ``_apply`` or ``to``, which may move what torch's would not."""
    base = torch.nn.Module
    return any(
        getattr(type(module), method) is not getattr(base, method) and not type(module).__module__.startswith("torch.")
        for module in model.modules()
        for method in ("_apply", "to", "cuda")
    )


def _settle_by_trying(torch: Any, model: Any, entries: list[Entry]) -> list[Entry]:
    """Move a copy of the model to the meta device, which costs nothing, and look what came along."""
    try:
        moved = copy.deepcopy(model)
        moved = moved.to("meta") or moved
        devices = {entry.name: entry.device for entry in _Walk(torch, moved).entries()}
    except Exception:
        return [
            Entry(
                e.name,
                e.kind,
                e.device,
                e.dtype,
                e.shape,
                e.moves or None,
                "a module has its own .to(), which could not be tried",
            )
            for e in entries
        ]
    return [Entry(e.name, e.kind, e.device, e.dtype, e.shape, devices.get(e.name) == "meta", e.note) for e in entries]


def load_target(spec: str) -> Any:
    """``package.module:factory`` or ``path/to/file.py:factory``; a class or function is called, a module taken as it
    is."""
    where, separator, name = spec.rpartition(":")
    if not separator or not where or not name:
        raise BadTargetError(f"{spec!r} is not of the form module:factory")
    torch = require_torch()
    found: Any = _import(where)
    for part in name.split("."):
        if not hasattr(found, part):
            raise BadTargetError(f"{where} has no {name!r}")
        found = getattr(found, part)
    model = found if isinstance(found, torch.nn.Module) else found() if callable(found) else found
    if not isinstance(model, torch.nn.Module):
        raise BadTargetError(f"{spec} gives a {type(model).__qualname__}, not a torch.nn.Module")
    return model


def _import(where: str) -> Any:
    if not where.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(where)
        except ModuleNotFoundError as error:
            if error.name is None or not (where == error.name or where.startswith(error.name + ".")):
                raise
            raise BadTargetError(f"no module named {where!r}") from None
    path = Path(where)
    if not path.is_file():
        raise BadTargetError(f"no file {where}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
