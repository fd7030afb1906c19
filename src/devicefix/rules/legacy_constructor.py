"""DVF202: constructors from before PyTorch 0.4 that cannot follow a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.crossings import device_met
from devicefix.analysis.device_variables import DeviceVariables
from devicefix.analysis.evidence import path_of
from devicefix.analysis.guards import guard_of
from devicefix.analysis.placement import new_tensors, place_at_creation
from devicefix.analysis.references import seen_as_tensor
from devicefix.analysis.values import Kind
from devicefix.codemods.changes import AppendToExpression, Change, EditCall
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.factory_device import move_results
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import other_side, short, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.placement import NewTensor
    from devicefix.analysis.values import Value

CODE, NAME = "DVF202", "legacy-constructor"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every constructor of the old kind whose result meets another device, or is bound to the first card."""
    for new in new_tensors(facts, "legacy"):
        mix = new.mixes[0]
        message = f"{short(new.call)} always allocates on the CPU, but the result meets {other_side(mix)}, {where(mix)}"
        placed = place_at_creation(facts, new)
        if placed.later:
            met = ((mix.node, "they meet here"),)
            yield finding(facts, CODE, NAME, new.call, message, fix=move_results(placed), related=met)
            continue
        if placed.device is None or placed.threaded:
            yield finding(
                facts, CODE, NAME, new.call, message, note=placed.note, related=((mix.node, "they meet here"),)
            )
            continue
        title, change = _modern(new, placed.device)
        repair = fix(title, change, unsafe=placed.doubt) if change is not None else None
        note = "these constructors take no `device=` but the CPU; a modern one does"
        yield finding(
            facts, CODE, NAME, new.call, message, fix=repair, note=note, related=((mix.node, "they meet here"),)
        )

    for node, values in list(facts.records.values.items()):
        if isinstance(node, ast.Call) and _names_cuda(node) and facts.here(node) and _on_cuda(facts, node):
            yield from _cuda_constructor(facts, node, values)


def _names_cuda(node: ast.Call) -> bool:
    """Whether a call is one of ``….cuda.Name(…)``."""
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "cuda"
    )


def _on_cuda(facts: FileFacts, node: ast.Call) -> str:
    """The dtype that ``torch.cuda.FloatTensor(…)`` makes; "" for other calls and for guarded ones."""
    name = (path_of(node.func) or "").rpartition(".")[2]
    if guard_of(facts, node)[0] is not None:
        return ""
    return torch_api.LEGACY_CONSTRUCTORS.get(f"torch.cuda.{name}", "")


def _cuda_constructor(facts: FileFacts, node: ast.Call, values: list[Value]) -> Iterator[Finding]:
    dtype = _on_cuda(facts, node)
    prefix = (path_of(node.func) or "").partition(".cuda.")[0]
    message = f"{short(node)} allocates on the first card whatever the model's device is, and fails without CUDA"
    device = _device_at(facts, node)
    kinds = {v.kind for v in values}
    data = kinds == {Kind.SEQUENCE} or kinds == {Kind.NDARRAY}
    sizes = kinds <= {Kind.SIZE, Kind.NUMBER} and bool(kinds)
    if not device or not (data or sizes):
        note = (
            "whether its arguments are sizes or data is not known"
            if device
            else "no tensor is at hand to take the device from"
        )
        yield finding(facts, CODE, NAME, node, message, note=note)
        return
    maker = "tensor" if data else "empty"
    keywords = (("dtype", f"{prefix}.{dtype}"), ("device", device))
    change = EditCall(node, set_keywords=keywords, function=f"{prefix}.{maker}")
    yield finding(facts, CODE, NAME, node, message, fix=fix(f"use `{prefix}.{maker}` with `device={device}`", change))


def _device_at(facts: FileFacts, node: ast.Call) -> str:
    """The device of a tensor that the arguments mention, or that the result meets, or a device variable in scope."""
    for scope in facts.records.scopes.get(node, ()):
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id in scope.names:
                value = seen_as_tensor(scope.function, child.id, scope.names[child.id])
                if value.is_tensor and not value.has("maybe_none"):
                    return f"{child.id}.device"
    met = device_met(facts, node)
    if met:
        return met
    variable = DeviceVariables(facts).at(node)
    return variable.text if variable is not None else ""


def _modern(new: NewTensor, device: str) -> tuple[str, Change | None]:
    """``torch.tensor(…)`` or ``torch.empty(…)`` where the arguments show which one it is, else a move of the result."""
    call = new.call
    dtype = torch_api.LEGACY_CONSTRUCTORS.get(new.origins[0].detail, "")
    prefix = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    given = next((k.value for k in call.keywords if k.arg == "device"), None)
    if given is not None:  # which these constructors refuse, unless it is the CPU
        device = ast.unparse(given)
    if (
        prefix
        and dtype
        and all(k.arg == "device" for k in call.keywords)
        and len(call.args) == 1
        and isinstance(call.args[0], (ast.List, ast.ListComp))
    ):
        keywords = (("dtype", f"{prefix}.{dtype}"), ("device", device))
        return f"use `{prefix}.tensor` with `device={device}`", EditCall(
            call, set_keywords=keywords, function=f"{prefix}.tensor"
        )
    if given is not None:
        return "", None
    return f"move it with `.to({device})`", AppendToExpression(call, f".to({device})")


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a legacy constructor allocates on the CPU whatever the model's device is",
    explanation="""
`torch.FloatTensor(…)`, `torch.LongTensor(…)`, `torch.Tensor(…)` and their relatives date from before `torch.device`.
They always allocate on the CPU and refuse another device, so their result must be moved, or made by a factory that
takes `device=`.

Only constructors whose result is shown to meet a tensor on another device are reported.
""",
    fix_safety="""
Data written as a list becomes `torch.tensor(…, dtype=…, device=…)`; anything else, which could be sizes or data, is
moved with `.to(…)`. Both keep values and dtype. The fix is safe when the reference for the device is a tensor on
every path. What a helper makes of numbers alone is moved where a caller has a tensor that its result meets.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch


def weighted(x):
    weight = torch.FloatTensor([0.2, 0.3, 0.5])
    return x * weight


def run(device):
    return weighted(torch.ones(2, 3, device=device))
""",
            after="""
import torch


def weighted(x):
    weight = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float32, device=x.device)
    return x * weight


def run(device):
    return weighted(torch.ones(2, 3, device=device))
""",
        ),
    ),
    silent=(
        """
import torch


def table(rows):
    return torch.FloatTensor(rows).mean().item()  # never leaves the CPU


def run(device):
    return torch.tensor(table([[1.0, 2.0], [3.0, 4.0]]))
""",
    ),
    references=("https://pytorch.org/docs/stable/tensors.html",),
)
