"""DVF201: a tensor made on the default device meets one on the module's device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.placement import NewTensor, Placement, new_tensors, place_at_creation
from devicefix.codemods.changes import AddParameter, AppendToExpression, Change, EditCall, InsertStatements
from devicefix.findings import Finding, Fix
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import other_side, short, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.handed_out import HandedOut

CODE, NAME = "DVF201", "factory-device"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every new tensor that meets another device, with what would put it there."""
    placements = [(new, place_at_creation(facts, new)) for new in new_tensors(facts, "factory")]
    _tie(facts, placements)
    for new, placed in placements:
        mix = new.mixes[0]
        message = f"{short(new.call)} is created on the CPU, but meets {other_side(mix)}, {where(mix)}"
        repair, note = _fix(placed, new.call)
        yield finding(
            facts, CODE, NAME, new.call, message, fix=repair, note=note, related=((mix.node, "they meet here"),)
        )


def _tie(facts: FileFacts, placements: list[tuple[NewTensor, Placement]]) -> None:
    """Two tensors that meet in one statement are repaired together: half of it would not make the program run."""
    doubtful: dict[ast.AST | None, str] = {}
    for new, placed in placements:
        if placed.doubt and placed.device is not None and not placed.group:
            for mix in new.mixes:
                doubtful[facts.statement(mix.node)] = f"meeting:{getattr(mix.node, 'lineno', 0)}"
    for new, placed in placements:
        if placed.device is not None and not placed.group:
            for mix in new.mixes:
                placed.group = placed.group or doubtful.get(facts.statement(mix.node), "")


def _fix(placed: Placement, call: ast.Call) -> tuple[Fix | None, str]:
    if placed.later:
        return move_results(placed), ""
    if placed.device is None:
        return None, placed.note
    title = f"create it with `device={placed.device}`"
    changes: list[Change] = []
    if placed.takes_device:
        keywords = [("device", placed.device)]
        if placed.dtype is not None:
            keywords.append(("dtype", placed.dtype))
        changes.append(EditCall(call, set_keywords=tuple(keywords)))
    else:
        title = f"move it with `.to({placed.device})`"
        changes.append(AppendToExpression(call, f".to({placed.device})"))
    for parameter, calls in placed.threaded:
        changes.append(AddParameter(parameter, "device=None"))
        changes.extend(EditCall(site, set_keywords=(("device", device),)) for site, device in calls)
    return fix(title, *changes, unsafe=placed.doubt, group=placed.group), ""


def move_results(placed: Placement) -> Fix:
    """Move what the helper returns where it is called, or where its tuple is taken apart."""
    if placed.handed_out:
        way = placed.handed_out[0]
        names = ", ".join(f"`{name}`" for name in way.names)
        return fix(f"move {names} with `.to({way.device})`", *(_insertion(way) for way in placed.handed_out))
    if placed.uses:
        use, device = placed.uses[0]
        moves = [AppendToExpression(node, f".to({text})") for node, text in placed.uses]
        return fix(f"move {short(use)} with `.to({device})` where it is used", *moves)
    call, device = placed.moved[0]
    title = f"move the result of {short(call)} with `.to({device})`"
    return fix(title, *(AppendToExpression(site, f".to({text})") for site, text in placed.moved))


def _insertion(way: HandedOut) -> InsertStatements:
    if isinstance(way.place, ast.For):
        return InsertStatements(way.place.body[0], way.lines)
    return InsertStatements(way.place, way.lines, "after")


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a tensor created on the default device meets a tensor on the model's device",
    explanation="""
Factory functions such as `torch.zeros`, `torch.arange` or `torch.tensor` put their result on the default device, the
CPU, unless they are told otherwise. That works until the model runs on an accelerator: the new tensor then meets
activations or parameters that are on the card, and PyTorch stops with "Expected all tensors to be on the same
device". The tensor has to follow one that is already in the right place.

A factory is reported only where its result is shown to meet a tensor on another device. What PyTorch allows is not
reported: a 0-dimensional tensor in arithmetic, a CPU index into a tensor on the card, `copy_`, lengths for
`pack_padded_sequence`.
""",
    fix_safety="""
The fix adds `device=` from the tensor that the new one meets, or from another tensor, parameter or device variable
that is there when the new tensor is created. It is safe when that reference is a tensor on every path.

`dtype=` is added only where the factory's own default is floating point, the reference is shown to be floating point,
and the two meet in an operation that combines dtypes. Integer ranges, masks and explicit dtypes stay as they are.

A helper that makes its tensor of numbers alone knows no device. Where its result is one tensor, and a caller further
out has a tensor that it meets, the result is moved there. What a replay memory or a data set hands out in a tuple is
moved where the tuple is taken apart, also in another function that is given it. A constant of the module that
one function needs, and what a data set holds as well, is moved where it is used. So is any other tensor that nobody
could create on a device.

It is unsafe when a `device` parameter has to be threaded through a helper function, or when the reference is an
element of a list that may be empty.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), 16)
        out, _ = self.rnn(x, h0)
        return out[:, -1]


def run(device):
    torch.manual_seed(0)
    model = Classifier().to(device)
    return model(torch.randn(2, 5, 8, device=device)).detach()
""",
            after="""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), 16, device=x.device, dtype=x.dtype)
        out, _ = self.rnn(x, h0)
        return out[:, -1]


def run(device):
    torch.manual_seed(0)
    model = Classifier().to(device)
    return model(torch.randn(2, 5, 8, device=device)).detach()
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


class Mixed(nn.Module):
    def forward(self, x):
        order = torch.randperm(x.size(0))  # a CPU index is allowed
        scale = torch.tensor(0.5)  # and so is a 0-dimensional tensor
        return x[order] * scale


def run(device):
    torch.manual_seed(0)
    return Mixed()(torch.ones(2, 3, device=device))
""",
    ),
    references=("https://pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)
