"""Readers of the tables of PyTorch: a name in, a record out, each made once."""

from __future__ import annotations

from functools import cache

from devicefix.torch_api._generated import ATTRIBUTES, FUNCTIONS, METHODS, MODULES, OPTIMIZERS
from devicefix.torch_api.library_functions import FUNCTIONS as LIBRARY_FUNCTIONS
from devicefix.torch_api.model import Function, ModuleClass, OptimizerClass
from devicefix.torch_api.names import canonical

_METHOD_PREFIX = "torch.Tensor."


def _split(row: str) -> tuple[tuple[str, ...], str]:
    """The names between the parentheses of a row, and what follows them."""
    head, _, rest = row[1:].partition(")")
    return tuple(head.split(", ")) if head else (), rest.lstrip()


def _function(name: str, row: str, receiver: bool) -> Function:
    head, rest = _split(row)
    parameters: list[str] = []
    keywords: list[str] = []
    tensors = ["self"] if receiver else []
    variadic, target = "", parameters
    for part in head:
        if part == "*":
            target = keywords
            continue
        bare, _, kind = part.partition(":")
        if bare.startswith("*"):
            bare = variadic = bare[1:]
        target.append(bare)
        if kind and bare != "out":
            tensors.append(bare + kind[1:])
    returns, *flags = rest.split(" ")
    values: dict[str, str] = {}
    alternatives: list[tuple[str, str]] = []
    for flag in flags:
        key, _, value = flag.partition("=")
        if key == "if":
            parameter, _, other = value.partition("=")
            alternatives.append((parameter, other))
        else:
            values[key] = value
    return Function(
        name=name,
        returns=returns,
        parameters=tuple(parameters),
        keywords=tuple(keywords),
        variadic=variadic,
        creates="creates" in values,
        follows_argument="follows" in values,
        always_cpu="cpu" in values,
        device="device" in values,
        dtype="dtype" in values,
        default_dtype=values.get("default", ""),
        random="random" in values,
        mixing=values.get("mix", "none"),
        in_place="in_place" in values,
        view="view" in values,
        tensor_args=tuple(tensors),
        cpu_args=tuple(values["host"].split("/")) if "host" in values else (),
        dtype_strict="one_dtype" in values,
        output_dtype=values.get("out", "unknown"),
        output_rank=values.get("rank", "unknown"),
        outputs=_fields(values.get("fields", "")),
        alternatives=tuple(alternatives),
    )


def _fields(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (field.partition(":") for field in text.split("/")) if text else ()
    return tuple((name, dtype) for name, _, dtype in pairs)


@cache
def function(name: str) -> Function | None:
    """The function of that dotted name, or ``None``; ``torch.Tensor.add`` is the method, with a ``self``."""
    row = FUNCTIONS.get(name)
    if row is None:
        name = canonical(name)
        row = FUNCTIONS.get(name)
    if row is not None:
        return _function(name, row, receiver=False)
    if name.startswith(_METHOD_PREFIX):
        row = METHODS.get(name[len(_METHOD_PREFIX) :])
        if row is not None:
            head, rest = row[1:].split(")", 1)
            return _function(name, f"(self:t{', ' if head else ''}{head}){rest}", receiver=False)
    row = LIBRARY_FUNCTIONS.get(name)
    return None if row is None else _function(name, row, receiver=False)


@cache
def method(name: str) -> Function | None:
    """The method of ``torch.Tensor`` of that name, or ``None``; its ``tensor_args`` begin with ``self``."""
    row = METHODS.get(name)
    return None if row is None else _function(name, row, receiver=True)


def attribute(name: str) -> str | None:
    """What reading that attribute of a tensor gives (``size``, ``device``, ``tensor`` …); ``None`` for methods."""
    return ATTRIBUTES.get(name)


@cache
def module_class(name: str) -> ModuleClass | None:
    """The class of ``torch.nn`` of that name, or ``None``."""
    row = MODULES.get(name)
    if row is None:
        name = canonical(name)
        row = MODULES.get(name)
        if row is None:
            return None
    parameters, rest = _split(row)
    values: dict[str, str] = {}
    states: list[str] = []
    needs: list[str] = []
    for flag in rest.split(" "):
        key, _, value = flag.partition("=")
        if key == "state":
            states.append(value)
        elif key == "weight_needs":
            needs.append(value)
        else:
            values[key] = value
    return ModuleClass(
        name=name,
        parameters=tuple(parameter.lstrip("*") for parameter in parameters),
        stateful="stateful" in values,
        state_arguments=tuple(states),
        device="device" in values,
        dtype="dtype" in values,
        weight=values.get("weight", ""),
        weight_needs=tuple(needs),
        forward_parameters=tuple(values["forward"].split("/")) if values.get("forward") else (),
        mixing=values.get("mix", "none"),
        dtype_strict="one_dtype" in values,
        output=values.get("output", "tensor"),
        output_dtype=values.get("out", "input"),
        float_input="float_input" in values,
        container=values.get("container", ""),
        loss="loss" in values,
    )


@cache
def optimizer_class(name: str) -> OptimizerClass | None:
    """The class of ``torch.optim`` of that name, or ``None``."""
    row = OPTIMIZERS.get(name)
    if row is None:
        name = canonical(name)
        row = OPTIMIZERS.get(name)
        if row is None:
            return None
    parameters, rest = _split(row)
    return OptimizerClass(name, parameters, eager_state="eager" in rest, closure="closure" in rest)
