"""Torch's own operator database, bound to our tables: samples with their arguments by parameter name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from devicefix import torch_api

ORDER = ["bool", "int", "float", "complex"]


@dataclass
class Sample:
    """One call of one function."""

    fact: torch_api.Function
    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    bound: dict[str, Any]  #: arguments by parameter, ``None`` left out

    def run(self) -> Any:
        return self.operator(*self.args, **self.kwargs)

    @property
    def given(self) -> list[Any]:
        """The tensors among the arguments that the table calls tensor arguments, lists flattened, in order."""
        return [t for name in self.fact.tensor_args for t in tensors(self.bound.get(name.rstrip("*")))]


def dtype_class(dtype: Any) -> str:
    if dtype is torch.bool:
        return "bool"
    return "complex" if dtype.is_complex else "float" if dtype.is_floating_point else "int"


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)


def bind(fact: torch_api.Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    for position, value in enumerate(args):
        name = fact.parameter_at(position)
        if name == fact.variadic and name:
            bound[name] = (*bound.get(name, ()), value)
        else:
            bound[name] = value
    bound.update(kwargs)
    return {name: value for name, value in bound.items() if value is not None}


def samples(dtypes: tuple[Any, ...], limit: int) -> Iterator[Sample]:
    """Samples of every operator that our tables know."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        name = f"torch.{info.name}"
        fact = torch_api.function(name)
        if fact is None or fact.name != torch_api.canonical(name):
            continue
        for dtype in dtypes:
            if dtype not in info.dtypes:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = list(islice(info.sample_inputs("cpu", dtype, requires_grad=False), limit))
                except (RuntimeError, ImportError, AttributeError):  # needs what this machine lacks
                    continue
                for one in found:
                    args = (one.input, *one.args)
                    yield Sample(fact, info.op, args, dict(one.kwargs), bind(fact, args, one.kwargs))
