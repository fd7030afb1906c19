"""DVF502: the inputs are moved, the module is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.bound_modules import move_after_device, move_after_unpacking
from devicefix.analysis.order import Steps
from devicefix.analysis.ownership import Ownership, holds_parameters
from devicefix.analysis.unmoved import Unmoved, move_target, unmoved_modules
from devicefix.codemods.changes import AppendToExpression, InsertStatements
from devicefix.findings import Finding, Fix
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import place, short, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF502", "module-not-moved"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of one file."""
    if not any(origin.kind == "module" for mix in facts.records.mixes for origin in mix.culprit.origins):
        return
    ownership = Ownership(facts)
    steps = Steps(facts, ownership)
    for unmoved in unmoved_modules(facts, ownership):
        if not (unmoved.made_in_forward or unmoved.joined_late) and (
            steps.move_after_copy(unmoved.origin) is not None or steps.move_after_use(unmoved.origin) is not None
        ):
            continue  # the order is wrong: DVF503
        mix = unmoved.mixes[0]
        repair, note = _repair(facts, unmoved)
        message = (
            f"{_name(facts, unmoved.call)} is built on the CPU and not moved, but meets a tensor "
            f"{place(mix.partner.device)}, {where(mix)}"
        )
        met = ((mix.node, "they meet here"),)
        yield finding(facts, CODE, NAME, unmoved.call, message, fix=repair, note=note, related=met)


def _name(facts: FileFacts, call: ast.Call) -> str:
    """What the module is called, or else the call that builds it."""
    parent = facts.parents.get(call)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Name, ast.Attribute)):
        return short(parent.targets[0])
    return short(call)


def _kept(facts: FileFacts, call: ast.Call) -> bool:
    """Whether a module is kept for later calls."""
    parent = facts.parents.get(call)
    return isinstance(parent, (ast.Assign, ast.AnnAssign)) and any(
        isinstance(target, ast.Attribute)
        for target in (parent.targets if isinstance(parent, ast.Assign) else [parent.target])
    )


def _repair(facts: FileFacts, unmoved: Unmoved) -> tuple[Fix | None, str]:
    if unmoved.made_in_forward and holds_parameters(unmoved.obj):
        if _kept(facts, unmoved.call):
            return None, "it is built when the module is called, too late for an optimizer: build it in `__init__`"
        return None, "its weights are made anew at every call and never trained: build it in `__init__`"
    target = move_target(facts, unmoved)
    if target is None:
        later = move_after_unpacking(facts, unmoved) or move_after_device(facts, unmoved)
        if later is not None:
            statement, line = later
            return fix(f"move it with `{line}`", InsertStatements(statement, (line,), "after")), ""
        return None, "no device is known where it is built: move it with `.to(…)` as soon as there is one"
    change = AppendToExpression(target.call, target.suffix)
    return fix(f"move it with `{target.suffix}`", change, unsafe=target.doubt), ""


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="the inputs are moved to a device, but the model, criterion or metric is not",
    explanation="""
Models, criteria with weights and metrics with running sums hold tensors. They are built on the CPU and stay there
until somebody moves them. When their inputs are moved and they are not, the first call fails. The finding stands
where the outermost such module is built, once, and not at every layer inside it.

A layer or an adapter that is put into a model after the model was moved stays on the CPU, too.

Modules that hold no tensors (`nn.L1Loss()`, `nn.ReLU()`) need no move. Modules that a framework places, that are part
of a module that is moved, or that are handed to code which may move them, are left alone.

A module that is built inside `forward` is reported too: moving it would hide that its weights are new at every call.
""",
    fix_safety="""
The fix appends `.to(device)` to the call that builds the module. The device is named by what is there at that place:
a device variable, an attribute such as `self.device`, or a tensor or module that is on the device already. Where a
function builds it and gives it back together with other things, it is moved behind the line that unpacks them.
Parameters, `state_dict` keys and values stay what they are.

There is no fix where no device can be named yet, because the device variable is set later, and for modules with
parameters that `forward` builds. It is unsafe where the inputs go to a device by name and only under a condition.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


def fit(device, inputs, labels):
    model = nn.Linear(4, 3).to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]))
    inputs, labels = inputs.to(device), labels.to(device)
    return criterion(model(inputs), labels)


def run(device):
    torch.manual_seed(0)
    return fit(device, torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])).detach()
""",
            after="""
import torch
from torch import nn


def fit(device, inputs, labels):
    model = nn.Linear(4, 3).to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5])).to(device)
    inputs, labels = inputs.to(device), labels.to(device)
    return criterion(model(inputs), labels)


def run(device):
    torch.manual_seed(0)
    return fit(device, torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])).detach()
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(4, 4).to(device)
    criterion = nn.L1Loss()  # holds nothing
    x = torch.randn(2, 4).to(device)
    return criterion(model(x), x).detach()
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",),
)
