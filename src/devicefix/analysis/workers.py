"""Code that runs in the worker processes of a data loader, and calls that need a card."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.classes import ancestry, find_method
from devicefix.analysis.facts import AcceleratorUse, Callback
from devicefix.analysis.passed_functions import PARTIAL
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import FunctionInfo
    from devicefix.analysis.values import Scope

#: methods of data sets that loaders call
ITEM_METHODS = ("__getitem__", "__getitems__", "__iter__")

DATASETS = frozenset(
    {"torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "torchvision.datasets.VisionDataset"}
)


@dataclass(frozen=True, slots=True)
class WorkerFunction:
    """A function that loaders call, and in which role."""

    function: FunctionInfo
    role: str  #: ``collate_fn``, ``worker_init_fn``, ``__getitem__`` …
    loader: ast.Call | None = None  #: the call that handed it over


def record_external(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> None:
    """Note functions handed over as callbacks of a loader, and calls that fail without a card."""
    for parameter in torch_api.host_callbacks(name):
        value = args.keywords.get(parameter)
        function = _function(it, value) if value is not None else None
        if function is not None:
            it.records.callbacks.append(Callback(node, parameter, function))
    if name.startswith("torch."):
        fact = torch_api.accelerator_call(name)
        if fact is not None and fact.needs_card:
            it.records.accelerator_uses.append(AcceleratorUse(node, fact.name, frame.scope()))


def _function(it: Interpreter, value: Value) -> FunctionInfo | None:
    if value.kind is Kind.FUNCTION:
        info: FunctionInfo = value.data.function
        return info
    if value.kind is Kind.METHOD and value.data[1] == PARTIAL:
        return _function(it, value.data[0].data.function)
    if value.kind is Kind.METHOD and len(value.data) == 3:
        bound: FunctionInfo = value.data[2]
        return bound
    if value.kind is Kind.OBJECT and value.data.cls is not None:
        return find_method(it, value.data.cls, "__call__")
    return None


def record_item_method(it: Interpreter, function: FunctionInfo) -> None:
    """Note a method through which loaders fetch items, if its class is a data set."""
    if function.cls is not None and any(
        torch_api.canonical(name) in DATASETS for name in ancestry(it, function.cls)[1]
    ):
        it.records.item_methods.add(function)


def worker_functions(facts: FileFacts) -> dict[ast.AST, WorkerFunction]:
    """Functions that run in a loader's workers, by their node."""
    found: dict[ast.AST, WorkerFunction] = {}
    for method in facts.records.item_methods:
        found[method.node] = WorkerFunction(method, method.name)
    for callback in facts.records.callbacks:
        found.setdefault(callback.function.node, WorkerFunction(callback.function, callback.parameter, callback.call))
    return found


def worker_of(scope: Scope, workers: dict[ast.AST, WorkerFunction]) -> WorkerFunction | None:
    """The worker function inside which a scope runs, if there is one."""
    for current in scope.chain():
        if current.function is not None and current.function.node in workers:
            return workers[current.function.node]
    return None
