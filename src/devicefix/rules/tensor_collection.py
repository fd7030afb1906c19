"""DVF305: tensors of a module that are neither buffers nor can become one by a simple edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.held_tensors import HeldTensors, held_tensors
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding
from devicefix.rules.wording import other_side, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF305", "tensor-collection"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Tensors held out of reach of ``Module.to`` that meet another device."""
    for held in held_tensors(facts):
        mix = held.mixes[0]
        message = f"{_what(held)}; it meets {other_side(mix)}, {where(mix)}"
        yield finding(
            facts, CODE, NAME, held.statement, message, note=_way_out(held), related=((mix.node, "they meet here"),)
        )


def _what(held: HeldTensors) -> str:
    if held.kind == "class":
        return f"`{held.cls.name}.{held.name}` is a tensor of the class, which `.to()` on an instance leaves behind"
    if held.kind == "alias":
        return (
            f"`self.{held.name}` is a second name for a buffer; `.to()` replaces the buffer and leaves this one behind"
        )
    if held.container == "distribution":
        return f"`self.{held.name}` is a distribution, whose parameters `.to()` leaves behind"
    return f"`self.{held.name}` is a {held.container or 'collection'} of tensors, which `.to()` leaves behind"


def _way_out(held: HeldTensors) -> str:
    if held.kind == "class":
        return (
            "delete it from the class body and register it in `__init__` with `persistent=False`; "
            "while the class has an attribute of that name, `register_buffer` refuses it"
        )
    if held.kind == "alias":
        return "keep the module instead of its buffer, or hand the buffer over at every call"
    if held.container == "distribution":
        return (
            "register its parameters as buffers (`persistent=False`) and build the distribution from them where it is "
            "used, in a property for example"
        )
    return (
        "register each tensor under a name of its own (`persistent=False`), move them in an `_apply` of the class, "
        "or move them where they are used"
    )


#: an example without a rewrite
HEAD = """
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, sizes=((1.0, 2.0), (3.0,))):
        super().__init__()
        self.anchors = [torch.tensor(s) for s in sizes]  # stays on the CPU

    def forward(self, features):
        return [f * a for f, a in zip(features, self.anchors)]


def run(device):
    return Head().to(device)([torch.ones(1, 2, device=device), torch.ones(1, 1, device=device)])
"""

RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a list or dict of tensors, a class-level tensor or a second name for a buffer: `.to()` leaves it behind",
    explanation="""
`Module.to` moves what is registered: parameters, buffers and submodules. It does not look into lists, tuples, dicts
and objects of `torch.distributions`, it does not know tensors in the class body, and it *replaces* buffers, so that
another object that was given the buffer keeps the old one on the CPU.

Only such tensors are reported as are shown to meet one on another device. Collections that the code moves before it
uses them, or that are filled from tensors of the device, are left alone.
""",
    fix_safety="""
There is no fix. `register_buffer` takes one tensor: whether the members of a collection become several buffers, are
stacked, are moved by an `_apply` of the class or at every use is for a person to decide.
""",
    check=check,
    examples=(Example(before=HEAD, after=HEAD),),
    silent=(
        """
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]

    def forward(self, features):
        sizes = [s.to(features[0].device) for s in self.sizes]  # moved before they are used
        return [f * s for f, s in zip(features, sizes)]


def run(device):
    return Head().to(device)([torch.ones(1, 2, device=device), torch.ones(1, 1, device=device)])
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer",),
)
