"""Writing attributes of instances."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis import distributions
from devicefix.analysis.classes import ancestry, find_method, has_unseen_base, is_record_class
from devicefix.analysis.facts import AttributeWrite
from devicefix.analysis.joins import any_element, join
from devicefix.analysis.module_moves import escape
from devicefix.analysis.nested_values import map_members
from devicefix.analysis.ownership import modules_inside
from devicefix.analysis.values import FILLED_LATER, Kind, Obj, Origin, Value, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


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
    if value.is_tensor and obj.cls is not None and find_method(it, obj.cls, "__setattr__") is not None:
        value = value.replace(device=None, origins=())  # it may be moved as it is kept
    it.records.writes.append(AttributeWrite(obj, name, value, statement, frame.scope()))
    if old is not None and value.kind is Kind.UNKNOWN and value.origins and _held_tensors(old):
        value = value.replace(flags=value.flags | {"likely_tensor"})  # what a file holds takes the place of tensors
    if old is not None and old.has("buffer") and value.is_tensor:
        value = _new_buffer(frame, obj, value.replace(flags=value.flags | (old.flags & FILLED_LATER)))
    elif old is None and value.is_tensor and value.origins and _registered_unseen(it, frame, obj, name):
        value = _new_buffer(frame, obj, value)
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
            and not _kept_here(frame, value, obj, name)
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
    elif obj.is_module and statement is not None and _is_new_record(value, statement) and _is_being_built(frame, obj):
        _mark_fields(frame, obj, name, statement, value.data)
    if frame.conditions and old is not None and old is not value and obj is not frame.self_object:
        value = join(old, value)
    obj.attrs[name] = value
    obj.version += 1
    it.heap_version += 1
    if obj.external and obj.origins:
        from devicefix.analysis.parameter_data import replaced

        replaced(it, obj, name, value, old)


def _registered_unseen(it: Interpreter, frame: Frame, obj: Obj, name: str) -> bool:
    """Whether the class of another object registers a buffer of that name, in code that was not followed."""
    if obj is frame.self_object or not obj.is_module or obj.cls is None:
        return False
    return any(registers(node, name) for cls in ancestry(it, obj.cls)[0] for node in cls.walk())


def registers(node: ast.AST, name: str) -> bool:
    """``self.register_buffer("name", …)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    first = node.args[0]
    return node.func.attr == "register_buffer" and isinstance(first, ast.Constant) and first.value == name


def _held_tensors(old: Value) -> bool:
    return old.is_tensor or (old.kind in (Kind.SEQUENCE, Kind.MAPPING) and any_element(old).is_tensor)


def _new_buffer(frame: Frame, obj: Obj, value: Value) -> Value:
    """What takes the place of a buffer: it is where it was made until the module is moved again."""
    value = value.replace(flags=value.flags | {"buffer"})
    if obj.device is None:
        return value
    made_on_host = value.device is not None and value.device.host
    if not made_on_host:
        return value
    if not value.origins:
        return value.replace(device=obj.device)
    settled = not obj.device.host and obj is frame.self_object and not obj.assumed
    return value.replace(flags=value.flags | {"strayed"}) if settled else value


def _kept_here(frame: Frame, value: Value, obj: Obj, name: str) -> bool:
    """Whether a value is already known as an attribute: this very one (``self.m = self.m * 2``), or, once the object is
    built, another one. That is the one to register, and what is computed from it then follows."""
    if not all(o.kind == "attribute" and o.owner is obj for o in value.origins):
        return False
    return all(o.attribute == name for o in value.origins) or not _is_being_built(frame, obj)


def _is_being_built(frame: Frame, obj: Obj) -> bool:
    current: Frame | None = frame
    while current is not None:
        if current.self_object is obj and current.function is not None and current.function.name == "__init__":
            return True
        current = current.parent
    return False


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
            return map_members(inner, mark)
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

    return mark(value) if value.kind is Kind.OBJECT else map_members(value, mark)


def _is_new_record(value: Value, statement: ast.stmt) -> bool:
    """``self.prior = Moments(torch.zeros(3), torch.ones(3))``: an instance of a data class that has no other name."""
    if value.kind is not Kind.OBJECT or value.data.is_module or value.data.cls is None:
        return False
    made_here = isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(statement.value, ast.Call)
    return made_here and "to" not in value.data.cls.methods and is_record_class(value.data.cls)


def _mark_fields(frame: Frame, obj: Obj, name: str, statement: ast.stmt, held: Obj) -> None:
    """Tensors in the fields of such an instance are as far out of reach as those in a tuple."""
    for field, inner in held.attrs.items():
        if inner.is_tensor and inner.device is not None and inner.device.host and not inner.has("buffer"):
            if inner.origins and all(origin.kind == "factory" for origin in inner.origins):
                origin = _attribute_origin(frame, obj, name, statement, inner.origins, "collection")
                held.attrs[field] = inner.replace(origins=(origin,))


def _nobody_moved(obj: Obj) -> bool:
    """A module inside another one that is as it was built."""
    return bool(obj.origins) and all(origin.kind == "module" for origin in obj.origins)
