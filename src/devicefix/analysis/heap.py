"""Instances: their attributes, and what moving them moves."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from devicefix import torch_api
from devicefix.analysis import distributions
from devicefix.analysis.autograd_functions import is_autograd_function
from devicefix.analysis.classes import find_method, has_unseen_base, is_named_tuple
from devicefix.analysis.devices import Device, symbol
from devicefix.analysis.facts import AttributeWrite, Step
from devicefix.analysis.ownership import modules_inside
from devicefix.analysis.values import (
    NONE,
    UNKNOWN,
    Closure,
    DType,
    Kind,
    Obj,
    Origin,
    Value,
    any_element,
    elements,
    join,
    join_all,
    module_objects,
)

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo

#: attributes of torch's own modules that hold parameters or buffers
PARAMETERS = frozenset(
    {"weight", "bias", "running_mean", "running_var", "in_proj_weight", "in_proj_bias", "weight_ih", "weight_hh",
    "bias_ih",
     "bias_hh", "weight_g", "weight_v", "pos_weight"}
)  # fmt: skip


def device_symbol(key: Hashable) -> Device:
    """The device that an expression stands for."""
    return symbol(key)


# -- reading ---------------------------------------------------------------------------------------------------------


def read_attribute(it: Interpreter, frame: Frame, base: Value, name: str, node: ast.Attribute | None) -> Value:
    """``instance.name``."""
    obj: Obj = base.data
    if base.has("super"):
        return _through_class(it, frame, base, name, after=base.items) or Value(Kind.METHOD, data=(base, name))
    stored = obj.attrs.get(name)
    if stored is not None:
        return _as_read(obj, stored)
    if obj.cls is not None:
        value = _through_class(it, frame, base, name)
        if value is not None:
            return value
    computed = obj.attrs.get("<computed>")  # setattr(self, name, tensor): it may be this one
    if computed is not None and name not in MODULE_METHODS:
        return _as_read(obj, computed)
    if name == "device" and (obj.is_module or obj.cls is None):
        return Value(Kind.DEVICE, device=module_device(it, obj), ident=("module device", id(obj)))
    if obj.external:
        if name in ("state", "param_groups") and torch_api.optimizer_class(obj.external) is not None:
            if name == "param_groups":
                from devicefix.analysis.parameter_data import groups_of

                return groups_of(obj) or Value(Kind.METHOD, data=(base, name))
            if node is not None:
                it.records.steps.append(Step("optimizer_state", node, base, frame.scope()))
        return _external_attribute(it, base, obj, name)
    if name == "__class__" and obj.cls is not None:
        return Value(Kind.CLASS, data=obj.cls)
    if name == "training":
        return UNKNOWN
    if obj.is_module and name in MODULE_METHODS:
        return Value(Kind.METHOD, data=(base, name))
    if obj.cls is not None and obj.assumed:
        return Value(Kind.METHOD, data=(base, name), ident=("attr", id(obj), name))
    return Value(Kind.METHOD, data=(base, name), ident=("attr", id(obj), name))


MODULE_METHODS = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "parameters", "named_parameters", "buffers", "named_buffers",
    "state_dict", "apply",
     "load_state_dict", "children", "modules", "register_buffer", "register_parameter", "add_module",
     "register_module", "half",
     "float", "double", "bfloat16", "zero_grad", "requires_grad_", "to_empty", "share_memory", "named_children",
     "named_modules",
     "type", "get_submodule", "get_parameter", "get_buffer", "register_forward_hook", "extra_repr", "compile"}
)  # fmt: skip


def _as_read(obj: Obj, value: Value) -> Value:
    """A registered tensor is wherever its module is."""
    if value.is_tensor and (value.has("parameter") or value.has("buffer")):
        if obj.device is not None:
            return value.replace(device=obj.device, origins=())
        if obj.origins and (value.device is None or value.device.host):
            return value.replace(origins=obj.origins)  # it is the module that somebody has to move
    return value


def _through_class(
    it: Interpreter, frame: Frame, base: Value, name: str, after: ClassInfo | None = None
) -> Value | None:
    """What the class (or what comes after it) says about an attribute."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments

    cls: ClassInfo | None = base.data.cls
    if cls is None:
        return None
    method = find_method(it, cls, name, after)
    plain = base.replace(flags=frozenset(), items=None) if base.flags else base
    if method is not None:
        if method.is_property:
            return call_closure(it, frame, Closure(method), Arguments(), plain)
        if method.is_static:
            return Value(Kind.FUNCTION, data=Closure(method))
        if method.is_class_method:
            return Value(Kind.METHOD, data=(Value(Kind.CLASS, data=cls), name, method))
        return Value(Kind.METHOD, data=(plain, name, method))
    if after is None:
        return class_value(it, cls, name)
    return None


def class_value(it: Interpreter, cls: ClassInfo, name: str) -> Value | None:
    """The value of an assignment in a class body, or what an annotation there promises."""
    from devicefix.analysis.classes import ancestry, is_module_class
    from devicefix.analysis.frames import Frame

    for candidate in ancestry(it, cls)[0]:
        statement = candidate.assignments.get(name)
        if statement is not None:
            key = (candidate, name)
            if key in it.static_names:
                return it.static_names[key]
            frame = Frame(candidate.module, None, {}, assumed=True)
            frame.statement = statement
            names = frame.names
            for other, earlier in candidate.assignments.items():
                if other == name:
                    break
                if (
                    earlier.lineno < statement.lineno
                    and isinstance(earlier, ast.Assign)
                    and len(earlier.targets) == 1
                    and isinstance(earlier.targets[0], ast.Name)
                ):
                    names[other] = it.evaluate(frame, earlier.value)
            value = (
                it.evaluate(frame, statement.value)
                if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value
                else UNKNOWN
            )
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Tuple, ast.List)):
                it.assign(frame, statement.targets[0], value, statement.value)
                value = names.get(name, UNKNOWN)
            if value.is_tensor and value.device is not None and value.device.host and is_module_class(it, candidate):
                origin = Origin("class", statement, frame.scope(), attribute=name, under=value.origins)
                value = value.replace(origins=(origin,))
            it.static_names[key] = value
            return value
    return None


def class_attribute(it: Interpreter, frame: Frame, cls: ClassInfo, name: str) -> Value:
    """``Class.name``."""
    written = it.static_names.get((cls, f"={name}"))
    if written is not None:
        return written
    method = find_method(it, cls, name)
    if method is not None:
        if method.is_class_method:
            return Value(Kind.METHOD, data=(Value(Kind.CLASS, data=cls), name, method))
        return Value(Kind.FUNCTION, data=Closure(method))
    if name == "apply" and is_autograd_function(it, cls):
        return Value(Kind.METHOD, data=(Value(Kind.CLASS, data=cls), name))
    value = class_value(it, cls, name)
    if value is not None:
        if value.kind is Kind.STRING:  # a default that the program is free to change
            return Value(
                Kind.STRING,
                ident=("class attr", id(cls), name),
                device=symbol(("class attr", id(cls), name)) if name == "device" else None,
            )
        return value
    return Value(Kind.UNKNOWN, ident=("class attr", id(cls), name))


def module_device(it: Interpreter, obj: Obj) -> Device | None:
    """Where the parameters and buffers of a module are."""
    if obj.device is not None:
        return obj.device
    for value in (*obj.attrs.values(), *obj.children):
        if value.is_tensor and (value.has("parameter") or value.has("buffer")):
            return value.device
        if value.kind is Kind.OBJECT and value.data.is_module and value.data is not obj:
            inner = module_device(it, value.data)
            if inner is not None:
                return inner
    return None


def _external_attribute(it: Interpreter, base: Value, obj: Obj, name: str) -> Value:
    contents = obj.attrs.get("<items>")
    if contents is not None and isinstance(contents.items, dict) and name in contents.items:
        entry: Value = contents.items[name]  # encoding.input_ids
        return entry
    if distributions.is_distribution(base):
        return distributions.attribute(base, name) or Value(Kind.METHOD, data=(base, name))
    fact = torch_api.module_class(obj.external)
    if fact is not None and (name in PARAMETERS or name.startswith(("weight_", "bias_"))):
        flags = {"parameter", "leaf"}
        if not name.startswith("running_") and ".loss." not in obj.external and not obj.external.endswith("Loss"):
            flags.add("requires_grad")
        return Value(
            Kind.TENSOR,
            device=obj.device,
            dtype=DType.FLOAT,
            rank=-1,
            origins=obj.origins,
            flags=frozenset(flags),
            ident=("attr", id(obj), name),
        )
    if name in MODULE_METHODS or obj.is_module:
        if name not in MODULE_METHODS and fact is None:
            return Value(Kind.UNKNOWN, device=obj.device, ident=("attr", id(obj), name), sources=(base,), data=name)
        return Value(Kind.METHOD, data=(base, name))
    if name == "data" and obj.arguments:
        return Value(Kind.UNKNOWN, device=obj.device, ident=("attr", id(obj), name))
    return Value(Kind.METHOD, data=(base, name), ident=("attr", id(obj), name), device=obj.device)


# -- writing ---------------------------------------------------------------------------------------------------------


def write_attribute(it: Interpreter, frame: Frame, base: Value, name: str, value: Value) -> None:
    """``instance.name = value``."""
    if base.kind is Kind.CLASS:
        it.static_names[(base.data, f"={name}")] = (
            value if value.kind is not Kind.STRING else Value(Kind.STRING, ident=("class attr", id(base.data), name))
        )
        return
    if base.kind is not Kind.OBJECT:
        return
    obj: Obj = base.data
    statement = frame.statement
    old = obj.attrs.get(name)
    if value.is_module and not obj.is_module and obj.cls is not None and has_unseen_base(it, obj.cls):
        escape(it, [value])  # the base may be a module, or place what its instances hold
    it.records.writes.append(AttributeWrite(obj, name, value, statement, frame.scope()))
    if old is not None and old.has("buffer") and value.is_tensor:
        value = value.replace(flags=value.flags | {"buffer"})
        if obj.device is not None:
            value = value.replace(
                device=obj.device
                if value.device is not None and value.device.host and not value.origins
                else value.device
            )
    elif value.is_tensor and not obj.is_module and value.has("parameter") and not value.has("buffer"):
        value = value.replace(device=None, origins=())  # the same object wherever it is moved, by whoever owns it
    elif value.is_tensor and not obj.is_module and value.has("buffer") and statement is not None:
        # the owner replaces its buffer when it moves; this name keeps the old one
        alias = _attribute_origin(frame, obj, name, statement, value.origins, "alias")
        value = value.replace(origins=(alias,), flags=value.flags - {"buffer", "parameter"})
    elif value.is_tensor and not value.has("parameter") and not value.has("buffer"):
        if (
            value.device is not None
            and value.device.host
            and statement is not None
            and value.origins
            and not _kept_here(value, obj, name)
        ):
            value = value.replace(origins=(_attribute_origin(frame, obj, name, statement, value.origins, "attribute"),))
        elif obj.is_module and value.device is not None and value.device.kind == "cuda" and statement is not None:
            # ``self.m = t.cuda()``: fixed to a card by name, whatever device the module is moved to
            value = value.replace(origins=(_attribute_origin(frame, obj, name, statement, value.origins, "attribute"),))
        value = value.replace(ident=("attr", id(obj), name, it.heap_version))
    if obj.assumed and obj.cls is not None and distributions.is_distribution(value):
        if distributions.settled_by(obj.cls, name):
            value = distributions.moved(value, None)  # which methods ran before is not known
    if (
        (value.kind in (Kind.SEQUENCE, Kind.MAPPING) or distributions.is_distribution(value))
        and obj.is_module
        and statement is not None
    ):
        value = _collection(it, frame, obj, name, statement, value)
    if frame.conditions and old is not None and old is not value and obj is not frame.self_object:
        value = join(old, value)
    obj.attrs[name] = value
    obj.version += 1
    it.heap_version += 1
    if obj.external and obj.origins:
        from devicefix.analysis.parameter_data import replaced

        replaced(it, obj, name, value, old)


def _kept_here(value: Value, obj: Obj, name: str) -> bool:
    """Whether a value is already known as this very attribute (``self.m = self.m * 2``)."""
    return all(o.kind == "attribute" and o.owner is obj and o.attribute == name for o in value.origins)


def _attribute_origin(
    frame: Frame, obj: Obj, name: str, statement: ast.stmt, under: tuple[Origin, ...], kind: str
) -> Origin:
    return Origin(kind, statement, frame.scope(), attribute=name, owner=obj, under=under)


def _collection(it: Interpreter, frame: Frame, obj: Obj, name: str, statement: ast.stmt, value: Value) -> Value:
    """Tensors and modules in a plain list or dict are out of reach of ``Module.to``: mark them as such."""

    def mark(inner: Value) -> Value:
        if inner.is_tensor and inner.device is not None and inner.device.host and not inner.has("buffer"):
            if all(o.kind == "collection" for o in inner.origins) and inner.origins:
                return inner
            kind = "parameters" if inner.has("parameter") else "collection"
            return inner.replace(origins=(_attribute_origin(frame, obj, name, statement, inner.origins, kind),))
        if inner.kind is Kind.OBJECT and inner.data.is_module and not inner.has("kept"):
            unmoved = [m for m in modules_inside(inner.data) if m is inner.data or _nobody_moved(m)]
            for module in unmoved:
                module.origins = (_attribute_origin(frame, obj, name, statement, module.origins, "modules"),)
            return inner
        if inner.kind in (Kind.SEQUENCE, Kind.MAPPING):
            return _map(inner, mark)
        if inner.kind is Kind.MODULE:
            for alternative in module_objects(inner):
                mark(alternative)
        if distributions.is_distribution(inner):
            return distributions.mapped(inner, held)
        return inner

    def held(inner: Value) -> Value:
        if inner.has("parameter") or inner.has("buffer"):
            return inner.replace(device=None, origins=())  # whether it shares their memory is not known
        return inner if inner.flags >= distributions.FROM_NUMBER else mark(inner)

    return mark(value) if value.kind is Kind.OBJECT else _map(value, mark)


def _nobody_moved(obj: Obj) -> bool:
    """A module inside another one that is as it was built."""
    return bool(obj.origins) and all(origin.kind == "module" for origin in obj.origins)


def _map(value: Value, function: Any) -> Value:
    items: Any = value.items
    if isinstance(items, dict):
        items = {k: function(v) for k, v in items.items()}
    elif items is not None:
        items = tuple(function(v) for v in items)
    return value.replace(items=items, element=function(value.element) if value.element is not None else None)


# -- moving ----------------------------------------------------------------------------------------------------------


def move_object(it: Interpreter, frame: Frame, node: ast.AST, base: Value, device: Device | None) -> None:
    """``module.to(device)``: parameters, buffers and registered modules move, plain attributes stay."""
    it.records.steps.append(Step("move", node, base, frame.scope()))
    it.heap_version += 1
    _move(it, base.data, device, set())


def settle(it: Interpreter, obj: Obj, device: Device | None) -> None:
    """Believe that the parameters of a module are on a device, whoever brought them there."""
    _move(it, obj, device, set())


def _move(it: Interpreter, obj: Obj, device: Device | None, seen: set[int]) -> None:
    if id(obj) in seen:
        return
    seen.add(id(obj))
    obj.device = device
    obj.origins = ()
    obj.version += 1
    for name, value in obj.attrs.items():
        if value.kind is Kind.OBJECT and value.data.is_module and not value.has("unregistered"):
            _move(it, value.data, device, seen)
        elif value.kind is Kind.MODULE:
            obj.attrs[name] = value.replace(device=device)
            for alternative in module_objects(value):
                _move(it, alternative.data, device, seen)
        elif value.is_tensor and (value.has("parameter") or value.has("buffer")):
            obj.attrs[name] = value.replace(device=device, origins=())
    for child in obj.children:
        for member in module_objects(child):
            _move(it, member.data, device, seen)
    # the tensors of a ParameterList are parameters
    obj.children = [c.replace(device=device, origins=()) if c.is_tensor else c for c in obj.children]
    _move_shared_parameters(obj, device)
    own_moves = ("_apply", "to", "cuda") if obj.assumed else ("_apply",)
    if obj.cls is not None and any(find_method(it, obj.cls, name) is not None for name in own_moves):
        # the class moves the rest itself; believe it
        for name, value in obj.attrs.items():
            if value.is_tensor:
                obj.attrs[name] = value.replace(device=device, origins=())
            elif distributions.is_distribution(value):
                obj.attrs[name] = distributions.moved(value, device)
            elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
                _move_members(it, value, device, seen)
                obj.attrs[name] = _map(value, lambda v: v.replace(device=device, origins=()) if v.is_tensor else v)


def _move_members(it: Interpreter, value: Value, device: Device | None, seen: set[int]) -> None:
    """Move the modules in a list or dict."""
    for inner in (*elements(value), *([value.element] if value.element is not None else ())):
        if inner.is_module:
            for member in module_objects(inner):
                _move(it, member.data, device, seen)
        elif inner.kind in (Kind.SEQUENCE, Kind.MAPPING):
            _move_members(it, inner, device, seen)


def _move_shared_parameters(obj: Obj, device: Device | None) -> None:
    """A registered parameter stays the same object when it moves, so a list that holds it as well sees it moved."""
    shared = {
        v.ident
        for inner in modules_inside(obj)
        for v in (*inner.attrs.values(), *inner.children)
        if v.is_tensor and v.has("parameter")
    }
    if not shared:
        return

    def moved(value: Value) -> Value:
        if value.is_tensor and value.has("parameter"):
            if value.ident in shared:
                return value.replace(device=device, origins=())
            if None in shared:  # some that cannot be told apart are registered: this may be one of them
                return value.replace(device=None, origins=())
        return _map(value, moved) if value.kind in (Kind.SEQUENCE, Kind.MAPPING) else value

    for name, value in obj.attrs.items():
        if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            obj.attrs[name] = _map(value, moved)


def escape(it: Interpreter, values: Iterable[Value]) -> None:
    """Modules that are given to unseen code may be moved by it; of those that nobody moved so far, nothing is known
    then."""
    for value in values:
        if value.is_module:
            for member in module_objects(value):
                if member.data.origins:
                    _move(it, member.data, None, set())
                    it.heap_version += 1
        elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            escape(it, elements(value))


def moved_itself(it: Interpreter, obj: Obj, device: Device | None) -> None:
    """An object's own ``to`` ran: whatever it could not be followed into is believed to have moved."""
    for name, value in obj.attrs.items():
        if value.is_tensor and value.device is not None and value.device.host:
            obj.attrs[name] = value.replace(device=device, origins=())
        elif distributions.is_distribution(value):
            obj.attrs[name] = distributions.moved(value, device)
        elif value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            obj.attrs[name] = _map(
                value,
                lambda v: (
                    v.replace(device=device, origins=())
                    if v.is_tensor and v.device is not None and v.device.host
                    else v
                ),
            )
    obj.version += 1
    it.heap_version += 1


# -- containers of modules, and instances as containers ----------------------------------------------------------------


def iterate(it: Interpreter, frame: Frame, value: Value, place: ast.AST) -> Value:
    """What ``for x in instance`` binds."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.expressions import iterate as iterate_value
    from devicefix.analysis.frames import Arguments

    obj: Obj = value.data
    if obj.children:
        return join_all(obj.children)
    if obj.cls is not None:
        method = find_method(it, obj.cls, "__iter__")
        if method is not None:
            inner = call_closure(it, frame, Closure(method), Arguments(), value)
            if inner.kind is not Kind.OBJECT:
                return iterate_value(it, frame, inner, ast.Constant(None), place)
        if is_named_tuple(it, obj.cls):
            return join_all(obj.attrs.values())
        getter = find_method(it, obj.cls, "__getitem__")
        if getter is not None:
            return call_closure(it, frame, Closure(getter), Arguments([UNKNOWN], nodes=[ast.Constant(None)]), value)
    return UNKNOWN


def item(it: Interpreter, frame: Frame, base: Value, key: object, index: Value, node: ast.Subscript) -> Value:
    """``instance[key]``."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments

    obj: Obj = base.data
    contents = obj.attrs.get("<items>")
    if contents is not None:
        if isinstance(contents.items, dict) and key in contents.items:
            found: Value = contents.items[key]
            return found
        return any_element(contents)
    if obj.children:
        if isinstance(key, int) and -len(obj.children) <= key < len(obj.children):
            return obj.children[key]
        return join_all(obj.children)
    if obj.cls is not None:
        method = find_method(it, obj.cls, "__getitem__")
        if method is not None:
            return call_closure(it, frame, Closure(method), Arguments([index], nodes=[node.slice]), base)
        data = obj.attrs.get("data")
        if data is not None and data.kind is Kind.MAPPING:
            return data.items[key] if isinstance(data.items, dict) and key in data.items else any_element(data)
    return Value(Kind.UNKNOWN, device=obj.device, ident=("item", id(obj), key))


def store_item(it: Interpreter, frame: Frame, base: Value, key: object, value: Value) -> None:
    """``instance[key] = value`` for a container of modules or a dict-like."""
    obj: Obj = base.data
    if obj.is_module:
        obj.children.append(value)
    contents = obj.attrs.get("<items>")
    if contents is not None:
        items = dict(contents.items) if isinstance(contents.items, dict) else None
        if key is not None and items is not None:
            items[key] = value
            obj.attrs["<items>"] = contents.replace(items=items)
        else:
            # self[k] = v in a loop over the own items: all of them become like v
            replaced = value if frame.loops else join(any_element(contents), value)
            keys = dict.fromkeys(items, value) if items and frame.loops else items
            obj.attrs["<items>"] = contents.replace(items=keys, element=replaced)
        it.heap_version += 1
        obj.version += 1


__all__ = [
    "NONE",
    "class_attribute",
    "device_symbol",
    "elements",
    "item",
    "iterate",
    "move_object",
    "read_attribute",
    "store_item",
    "write_attribute",
]
