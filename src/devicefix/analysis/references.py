"""How to name a device at a certain place: by a tensor that is there already, a parameter of the module, a variable."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.device_arguments import as_device
from devicefix.analysis.devices import Device, parse_device, same
from devicefix.analysis.evidence import Evidence
from devicefix.analysis.joins import any_element
from devicefix.analysis.moments import placed_later, set_later
from devicefix.analysis.ownership import holds_parameters
from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import FILLED_LATER, DType, Kind, Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.model import FunctionInfo
    from devicefix.analysis.values import Obj

DEVICE_NAMES = ("device", "dev", "DEVICE", "gpu", "geraet")
DOUBTS = frozenset({"maybe_none", "maybe_unbound", "mixed"})


@dataclass(frozen=True, slots=True)
class Reference:
    """An expression for a device, and what kind of thing it reads it from."""

    device: str  #: ``x.device``, ``self.device``, ``device``
    owner: str  #: ``x``; "" for a device variable
    kind: str  #: ``tensor``, ``member``, ``weight``, ``variable``
    floating: bool | None = None  #: None: not known
    rank: int = 0  #: lower is better
    doubt: str = ""  #: why it may fail
    met: bool = False  #: it is a tensor that the new one meets

    @property
    def dtype(self) -> str:
        """An expression for the dtype of the owner."""
        return f"{self.owner}.dtype" if self.owner else ""


def references(
    scope: Scope,
    device: Device | None,
    *,
    sized_by: Iterable[Value] = (),
    partners: Iterable[Value] = (),
    beside: str = "",
    want_floating: bool = False,
) -> list[Reference]:
    """Expressions that name ``device`` in ``scope``, best first.

    ``sized_by``: tensors whose shape the new tensor takes; ``partners``: tensors that it will meet; ``beside``: the
    name that stands next to it in the operation where they meet.
    """
    if device is None:
        return []
    sizes = {v.ident for v in sized_by if v.ident is not None}
    meets = {v.ident for v in partners if v.ident is not None}
    sources = {
        v.data[1] for v in partners if isinstance(v.data, tuple) and len(v.data) == 2 and v.data[0] == "device of"
    }
    found: list[Reference] = []
    order = [p.arg for p in scope.function.parameters] if scope.function is not None else []
    for position, (name, raw) in enumerate(scope.names.items()):
        value = seen_as_tensor(scope.function, name, raw)
        index = order.index(name) if name in order else 50 + position
        if (
            value.is_tensor
            and same(value.device, device)
            and not (value.flags & DOUBTS)
            and not value.has("was_parameter")
        ):
            rank = 400 + index
            if name == beside:
                rank = -1  # no guess: what two parameters hold need not be in one place
            elif value.ident in sizes:
                rank = index
            elif value.ident in sources:
                rank = 100 + index
            elif value.ident in meets:
                rank = 200 + index
            floating = is_floating(value)
            if want_floating and floating and rank < 300:
                rank -= 1000
            found.append(Reference(f"{name}.device", name, "tensor", floating, rank, met=value.ident in meets))
        elif raw.kind in (Kind.SEQUENCE, Kind.MAPPING) and not (raw.flags & DOUBTS):
            found.extend(_members(name, raw, device, index))
        elif raw.kind in (Kind.DEVICE, Kind.STRING, Kind.UNKNOWN, Kind.NUMBER) and not (raw.flags & DOUBTS):
            if _names_device(name, raw) and as_device(raw) == device and raw.kind is not Kind.NUMBER:
                found.append(Reference(name, "", "variable", None, 300 + min(index, 49)))  # before args.device
            elif raw.kind is Kind.UNKNOWN and as_device(raw) == device and name.strip("_"):
                found.append(Reference(name, "", "variable", None, 990))  # was used as one, whatever it is called
            elif raw.kind is Kind.UNKNOWN and scope.function is not None:
                found.extend(_attributes(name, raw, device, scope))
        elif raw.kind is Kind.OBJECT and raw.data.is_module and name != self_name(scope) and not (raw.flags & DOUBTS):
            if same(raw.data.device, device) and holds_parameters(raw.data) and not placed_later(raw.data, scope):
                found.append(Reference(f"next({name}.parameters()).device", "", "module", None, 950 + index))
        elif raw.kind is Kind.OBJECT and name != self_name(scope) and not (raw.flags & DOUBTS):
            found.extend(_settings(name, raw.data, device))
    found.extend(_of_self(scope, device, meets))
    found.extend(_global_variables(scope, device))
    found.sort(key=lambda r: r.rank)
    return found


def is_floating(value: Value) -> bool | None:
    """Whether a tensor is of a floating dtype; ``None`` if nothing says so."""
    return None if value.dtype is DType.UNKNOWN else value.dtype is DType.FLOAT


def seen_as_tensor(function: FunctionInfo | None, name: str, value: Value) -> Value:
    """An unknown value, taken for a tensor if the uses of its name say so."""
    if value.kind is not Kind.UNKNOWN or function is None or "mixed" in value.flags:
        return value
    evidence: Evidence = function.evidence
    if name in evidence.tensors or (name in evidence.likely_tensors and value.has("likely_tensor")):
        dtype = DType.FLOAT if name in evidence.floating else DType.UNKNOWN
        return Value(Kind.TENSOR, device=value.device, dtype=dtype, ident=value.ident, flags=value.flags & DOUBTS)
    return value


def _names_device(name: str, value: Value) -> bool:
    return value.kind is Kind.DEVICE or any(word in name.lower() for word in ("device", "dev", "gpu", "geraet", "cuda"))


def _members(name: str, value: Value, device: Device, index: int) -> Iterator[Reference]:
    """``tensors[0].device`` for a list of tensors: right unless the list is empty."""
    if isinstance(value.items, dict):
        for key, item in value.items.items():
            if isinstance(key, str) and item.is_tensor and same(item.device, device) and not (item.flags & DOUBTS):
                owner = f'{name}["{key}"]' if '"' not in key else f"{name}[{key!r}]"
                yield Reference(f"{owner}.device", owner, "member", is_floating(item), 600 + index)
                return
        return
    if value.kind is not Kind.SEQUENCE or value.data in ("generator", "range", "parameters", "set"):
        return
    first = value.items[0] if isinstance(value.items, tuple) and value.items else any_element(value)
    if first.kind is Kind.UNKNOWN and first.device is not None and first.device.assumed and first.device == device:
        yield Reference(
            f"{name}[0].device", f"{name}[0]", "member", None, 700 + index, f"what `{name}` holds is not known"
        )
    elif first.is_tensor and same(first.device, device) and not (first.flags & DOUBTS):
        doubt = "" if isinstance(value.items, tuple) and value.items else f"`{name}` may be empty"
        yield Reference(f"{name}[0].device", f"{name}[0]", "member", is_floating(first), 700 + index, doubt)


def _attributes(name: str, value: Value, device: Device, scope: Scope) -> Iterator[Reference]:
    """``args.device``, ``cfg.train.device``: an attribute of a name that is used as a device."""
    path: list[str] = []
    key = device.key if device.kind == "symbol" else None
    while isinstance(key, tuple) and len(key) == 3 and key[0] == "attr" and isinstance(key[2], str):
        path.insert(0, key[2])
        key = key[1]
        if key == value.ident and "device" in path[-1].lower():
            yield Reference(".".join((name, *path)), "", "variable", None, 350)
            return


def _settings(name: str, obj: Obj, device: Device) -> Iterator[Reference]:
    """``cfg.device`` of an instance that is no module."""
    for attribute, value in obj.attrs.items():
        if value.flags & DOUBTS or value.kind not in (Kind.DEVICE, Kind.STRING, Kind.UNKNOWN):
            continue
        if attribute.isidentifier() and _names_device(attribute, value) and as_device(value) == device:
            yield Reference(f"{name}.{attribute}", "", "variable", None, 350)


def self_name(scope: Scope) -> str:
    """What the instance is called in a method; "" outside methods."""
    function = scope.function
    if scope.self_object is None or function is None or function.is_static or function.is_class_method:
        return ""
    return function.parameters[0].arg if function.parameters else ""


def _of_self(scope: Scope, device: Device, meets: set[Hashable]) -> Iterator[Reference]:
    name = self_name(scope)
    obj = scope.self_object
    if not name or obj is None:
        return
    for attribute, value in obj.attrs.items():
        if value.flags & DOUBTS:
            continue
        if value.kind not in (Kind.DEVICE, Kind.STRING, Kind.UNKNOWN) or as_device(value) != device:
            continue
        if set_later(attribute, scope):
            continue
        if _names_device(attribute, value):
            yield Reference(f"{name}.{attribute}", "", "variable", None, 320)
        elif value.kind is Kind.UNKNOWN and attribute.isidentifier():
            yield Reference(f"{name}.{attribute}", "", "variable", None, 991)  # was used as one, whatever its name
    building = obj.device is not None and _is_being_built(scope)
    if obj.is_module and not building and not placed_later(obj, scope):
        for owner, floating, rank in weights(obj, device, name, scope=scope):
            if set_later(owner.split(".")[1], scope):
                continue
            own = obj.attrs.get(owner.partition(".")[2])
            nearest = own is not None and own.ident in meets
            yield Reference(f"{owner}.device", owner, "weight", floating, rank - nearest)
    if obj.cls is not None and not obj.is_module and not building and any(map(_is_optimizer, obj.cls.node.bases)):
        from devicefix.analysis.parameter_data import held_device

        if same(held_device(obj), device) and not _is_being_built(scope):
            first = f'{name}.param_groups[0]["params"][0]'
            yield Reference(f"{first}.device", first, "weight", None, 850)


def _is_optimizer(base: ast.expr) -> bool:
    name = last_name(base)
    return name == "Optimizer" or torch_api.optimizer_class(f"torch.optim.{name}") is not None


def _is_being_built(scope: Scope) -> bool:
    """Whether the instance is still being built: its weights are not yet where the whole is moved later."""
    current: Scope | None = scope
    while current is not None and current.self_object is scope.self_object:
        if current.function is not None and current.function.name == "__init__":
            return True
        current = current.caller
    return False


def weights(
    obj: Obj, device: Device | None, path: str, depth: int = 2, scope: Scope | None = None
) -> Iterator[tuple[str, bool, int]]:
    """Paths of parameters and buffers of a module that live on ``device``, in ``scope`` already.

    Each with whether it is floating, and its rank.
    """
    for attribute, value in obj.attrs.items():
        if attribute.startswith("<") or value.flags & (DOUBTS | FILLED_LATER):
            continue
        here = f"{path}.{attribute}"
        if value.is_tensor and (value.has("parameter") or value.has("buffer")):
            on = obj.device if obj.device is not None else value.device
            if same(on, device):
                yield here, value.dtype is DType.FLOAT, 800
        elif value.kind is Kind.OBJECT and value.data.is_module:
            inner: Obj = value.data
            if scope is not None and placed_later(inner, scope):
                continue
            if inner.external and same(inner.device, device):
                weight = _weight_of(inner)
                if weight:
                    yield f"{here}.{weight}", True, 810
            elif depth > 0 and inner.cls is not None:
                yield from ((p, f, r + 10) for p, f, r in weights(inner, device, here, depth - 1, scope))


def _weight_of(obj: Obj) -> str:
    fact = torch_api.module_class(obj.external)
    if fact is None or not fact.weight or not fact.stateful:
        return ""
    given = obj.arguments[1] if obj.arguments else {}
    for need in fact.weight_needs:
        value = given.get(need)
        if value is not None and value.data is not True:
            return ""
    return fact.weight


def _global_variables(scope: Scope, device: Device) -> Iterator[Reference]:
    if scope.function is None:
        return
    local = scope.function.locals
    # a module follows its inputs and weights; elsewhere only an argument is nearer
    rank = 900 if scope.self_object is not None and scope.self_object.is_module else 449
    named: set[str] = set()
    for name, known in scope.module.devices.items():
        root = name.partition(".")[0]
        if known == device and root not in local and root not in scope.names:
            named.add(name)
            yield Reference(name, "", "variable", None, rank)
    for name, statements in scope.module.bindings.items():
        if name in local or name in scope.names or name in named or len(statements) != 1:
            continue
        statement = statements[0]
        if isinstance(statement, ast.Assign) and _is_definition(statement.value, device):
            yield Reference(name, "", "variable", None, rank)


def _is_definition(value: ast.expr, device: Device) -> bool:
    if device.kind == "symbol":
        return _defines(value, device)
    if isinstance(value, ast.Call) and len(value.args) == 1 and ast.unparse(value.func) in ("torch.device", "device"):
        value = value.args[0]  # torch.device("cuda:1")
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and parse_device(value.value) == device


def _defines(value: ast.expr, device: Device) -> bool:
    """Whether a global's definition is the expression that a device symbol stands for."""
    key = device.key
    return isinstance(key, tuple) and len(key) >= 2 and any(node is key[1] for node in ast.walk(value))


__all__ = ["Reference", "references", "seen_as_tensor", "self_name", "weights"]
