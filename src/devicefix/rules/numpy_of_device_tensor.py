"""DVF505: a tensor on an accelerator is turned into a NumPy array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.host_reads import Conversion, conversions
from devicefix.codemods.changes import AppendToExpression
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import place, short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF505", "numpy-of-device-tensor"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of this rule in one file."""
    for conversion in conversions(facts):
        node = conversion.read.node
        message = f"{_call(conversion)} needs host memory, but {_what(conversion)} {place(conversion.device)}"
        if conversion.hidden:
            note = "the conversion is hidden in a list: use `torch.stack`, or bring each tensor to the CPU first"
            yield finding(facts, CODE, NAME, node, message, note=note)
            continue
        if conversion.read.argument is not None and not _makes_the_array(conversion):
            detach = ".detach()" if conversion.needs_grad else ""
            note = (
                f"hand over `{ast.unparse(conversion.tensor)}{detach}.cpu().numpy()`, "
                "or stay on the device with a function of torch: that is a choice"
            )
            yield finding(facts, CODE, NAME, node, message, note=note)
            continue
        if conversion.needs_grad:
            repair = fix(
                "go through `.detach().cpu()`", AppendToExpression(conversion.tensor, ".detach().cpu()"),
                unsafe=_caught(facts, conversion),
            )  # fmt: skip
        else:
            repair = fix("go through `.cpu()`", AppendToExpression(conversion.tensor, ".cpu()"))
        yield finding(facts, CODE, NAME, node, message, fix=repair)


def _caught(facts: FileFacts, conversion: Conversion) -> str:
    """What speaks against repairing a call that so far fails on the CPU as well; ``""`` if nothing does."""
    node: ast.AST | None = conversion.read.node
    while node is not None:
        if isinstance(node, ast.Try):
            return f"{short(conversion.tensor)} requires grad, and the failure on the CPU is caught"
        node = facts.parents.get(node)
    return ""


#: functions of NumPy that do nothing but make the array, so that there is nothing to compute on the device instead
MAKERS = frozenset({"array", "asarray", "asanyarray", "ascontiguousarray"})


def _makes_the_array(conversion: Conversion) -> bool:
    name = conversion.read.how.rpartition(".")[2]
    return name in MAKERS and not isinstance(conversion.tensor, ast.Starred)


def _call(conversion: Conversion) -> str:
    how = conversion.read.how
    return "`.numpy()`" if conversion.read.argument is None else f"`{how.replace('numpy.', 'np.', 1)}`"


def _what(conversion: Conversion) -> str:
    if conversion.read.inside:
        return f"{short(conversion.tensor)} holds tensors that are"
    return f"{short(conversion.tensor)} is"


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a tensor on an accelerator is turned into a NumPy array without `.cpu()`",
    explanation="""
NumPy reads host memory. `.numpy()` on a tensor that is on an accelerator stops with "can't convert cuda:0 device type
tensor to numpy", and so do NumPy functions that convert their arguments, such as `np.array(x)` or `np.concatenate([x,
y])`. `.cpu()` in between copies the tensor to the host; on a tensor that is there already it does nothing.

Only tensors that are shown to be on a device are reported: outputs of a module that is there, and what was moved
there. Data set items, labels from a loader, results of `.cpu()`, `.item()`, `.tolist()` and `.numpy(force=True)` are
left alone.
""",
    fix_safety="""
`.cpu()` is safe: on the CPU it returns the tensor itself, sharing memory with the array as before.

A tensor that requires grad is refused by NumPy on the CPU as well. Where the tensor is shown to record gradients the
fix is `.detach().cpu()`. Inside a `try` block it is unsafe: the program may count on the failure.

`np.asarray(x)` and `np.array(x)` get the same fix. Any other NumPy function that converts its argument
(`np.percentile(x, 90)`) is reported only: whether to leave the device there or to compute with torch is a choice. So is
a conversion hidden in a list of tensors.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


@torch.no_grad()
def predict(model, x, device):
    scores = model(x.to(device))
    return scores.numpy()


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    return torch.from_numpy(predict(model, torch.ones(4, 3), device))
""",
            after="""
import torch
from torch import nn


@torch.no_grad()
def predict(model, x, device):
    scores = model(x.to(device))
    return scores.cpu().numpy()


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    return torch.from_numpy(predict(model, torch.ones(4, 3), device))
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    x = torch.ones(4, 3)
    scores = model(x.to(device)).detach().cpu()
    return torch.from_numpy(scores.numpy() + x.numpy()[:, :2])  # both are on the host
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.Tensor.numpy.html",),
)
