"""DVF601: tensors on two accelerators meet, or one that was brought to the CPU meets an accelerator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.crossings import Crossing, crossings
from devicefix.analysis.mapped_loads import MappedLoad, mapped_loads
from devicefix.codemods.changes import ReplaceExpression
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import other_side, place, short, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF601", "cross-device"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of this rule in one file."""
    for crossing in crossings(facts):
        repair = fix(crossing.title, *crossing.changes) if crossing.changes else None
        related = ((crossing.mix.node, "they meet here"),) if crossing.mix.node is not crossing.node else ()
        yield finding(
            facts, CODE, NAME, crossing.node, _message(crossing), fix=repair, note=crossing.note, related=related
        )
    for load in mapped_loads(facts):
        yield _loaded(facts, load)


def _loaded(facts: FileFacts, load: MappedLoad) -> Finding:
    line = getattr(load.meeting.node, "lineno", 0)
    message = (
        f"{short(load.call.func)} with `map_location={ast.unparse(load.given)}` puts tensors on the CPU; they meet others "
        f"on the chosen device at line {line}"
    )
    repair = None
    if load.where:
        change = ReplaceExpression(load.given, load.where)
        repair = fix(f"pass `map_location={load.where}`", change, unsafe=load.doubt)
    related = ((load.meeting.node, "they meet here"),) if facts.here(load.meeting.node) else ()
    return finding(facts, CODE, NAME, load.call, message, fix=repair, note=load.note, related=related)


def _message(crossing: Crossing) -> str:
    mix = crossing.mix
    if crossing.kind == "stale" and crossing.move is not None:
        target = short(crossing.move.call.args[0])
        return (
            f"{short(crossing.move.call)} moves to {target}, set when the module was built and still the CPU; "
            f"the result meets {other_side(mix)}, {where(mix)}"
        )
    if crossing.kind == "literal":
        return (
            f"{short(crossing.node)} is created {place(mix.culprit.device)} whatever the card of the inputs is, "
            f"but meets {short(mix.partner_node)}, {where(mix)}"
        )
    if crossing.kind == "host" and crossing.move is not None:
        moved = (
            f", brought there by {short(crossing.move.call)} at line {crossing.move.call.lineno}"
            if crossing.move.call is not mix.culprit_node
            else ""
        )
        return f"{short(mix.culprit_node)} is on the CPU{moved}, but meets {other_side(mix)}, {where(mix)}"
    return f"{short(mix.culprit_node)} is {place(mix.culprit.device)}, but meets {other_side(mix)}, {where(mix)}"


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="tensors on two devices meet, neither of them there by default",
    explanation="""
A model that is split over several cards has to copy its activations from one to the next, and labels to where the
logits come out. An operation on `cuda:0` and `cuda:1` stops with "Expected all tensors to be on the same device",
also where one side has no dimensions. The same goes for scratch memory that a library function creates on a card by
number, while its inputs are on another.

Also reported: a tensor that was brought to the CPU and then meets one on a device, a module that moves its inputs
to a `self.device` that was set when the module was built and that `.to()` does not update, and a file that is read
with `map_location="cpu"` though its tensors (or the module in it) are used with others on a device. That is right for
what `load_state_dict` copies, and not for moving averages, codebooks or statistics.
""",
    fix_safety="""
The fix copies one operand to the other by relation (`b.to(a.device)`), or creates the scratch with `device=x.device`.
It writes no card number, so it is right for any split, and does nothing where both are on one card. It is safe. What
enters a module on another card is copied where the module is called, not inside it.

What was brought to the CPU on purpose, and a stale `self.device`, are reported only: the remedy is a choice. A file is
read to the device of the tensors that it meets, if that has a name there and nothing else needs them on the CPU; where
not all uses of it were followed, that is unsafe.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


class TwoCards(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = nn.Linear(3, 4).to("cuda:0")
        self.top = nn.Linear(4, 2).to("cuda:1")

    def forward(self, x):
        hidden = self.bottom(x).relu()
        return self.top(hidden)


def run(device):
    torch.manual_seed(0)
    return TwoCards()(torch.ones(5, 3, device="cuda:0")).detach().cpu()
""",
            after="""
import torch
from torch import nn


class TwoCards(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = nn.Linear(3, 4).to("cuda:0")
        self.top = nn.Linear(4, 2).to("cuda:1")

    def forward(self, x):
        hidden = self.bottom(x).relu()
        return self.top(hidden.to(self.top.weight.device))


def run(device):
    torch.manual_seed(0)
    return TwoCards()(torch.ones(5, 3, device="cuda:0")).detach().cpu()
""",
        ),
    ),
    silent=(
        """
import torch


def total(pieces):
    parts = [piece.sum() for piece in pieces]
    return sum(part.to(parts[0].device) for part in parts)  # every copy is explicit


def run(device):
    return total([torch.ones(3, device=device), torch.ones(2, device=device)])
""",
    ),
    references=("https://pytorch.org/docs/stable/notes/cuda.html",),
)
