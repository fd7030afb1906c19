"""Reading attributes of instances."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import distributions, tokenizers
from devicefix.analysis.class_attributes import class_value
from devicefix.analysis.classes import ancestry, find_method
from devicefix.analysis.devices import Device
from devicefix.analysis.facts import Step
from devicefix.analysis.values import UNKNOWN, Closure, DType, Kind, Obj, Value

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
        if name in ("state", "param_groups"):
            from devicefix.analysis.parameter_data import is_optimizer, own_optimizer

            held = own_optimizer(obj, name) if is_optimizer(it, obj.cls) else None
            if held is not None:
                return held
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
    contents = obj.attrs.get("<items>")
    if contents is not None and obj.cls is not None and isinstance(contents.items, dict) and name in contents.items:
        if find_method(it, obj.cls, "__getattr__") is not None:
            found: Value = contents.items[name]  # a dict whose entries are read like attributes
            return found
    if name == "__class__" and obj.cls is not None:
        return Value(Kind.CLASS, data=obj.cls)
    if name == "training":
        return UNKNOWN
    if obj.is_module and name in MODULE_METHODS:
        return Value(Kind.METHOD, data=(base, name))
    if obj.is_module and obj.cls is not None and name in PARAMETERS and _inherits_parameters(it, obj.cls):
        return _parameter_of(obj, name)
    return Value(Kind.METHOD, data=(base, name), ident=("attr", id(obj), name))


def _inherits_parameters(it: Interpreter, cls: ClassInfo) -> bool:
    """Whether a class of the project derives from a layer of torch, ``nn.Linear`` say, that has a weight."""
    found = (torch_api.module_class(name) for name in ancestry(it, cls)[1])
    return any(fact is not None and fact.weight for fact in found)


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
        if obj.device is not None and not value.has("strayed"):
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
    entry = tokenizers.entry(contents, name) if contents is not None else None
    if entry is not None:
        return entry  # encoding.input_ids
    if distributions.is_distribution(base):
        return distributions.attribute(base, name) or Value(Kind.METHOD, data=(base, name))
    fact = torch_api.module_class(obj.external)
    if fact is not None and (name in PARAMETERS or name.startswith(("weight_", "bias_"))):
        return _parameter_of(obj, name)
    if name in MODULE_METHODS or obj.is_module:
        if name not in MODULE_METHODS and fact is None:
            return Value(Kind.UNKNOWN, device=obj.device, ident=("attr", id(obj), name), sources=(base,), data=name)
        return Value(Kind.METHOD, data=(base, name))
    if name == "data" and obj.arguments:
        return Value(Kind.UNKNOWN, device=obj.device, ident=("attr", id(obj), name))
    return Value(Kind.METHOD, data=(base, name), ident=("attr", id(obj), name), device=obj.device)


def _parameter_of(obj: Obj, name: str) -> Value:
    """``weight`` and its like of a layer of torch, or of one that derives from it."""
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
