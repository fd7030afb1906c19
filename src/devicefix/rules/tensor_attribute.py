"""DVF301: a tensor kept as a plain attribute of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis import attributes
from devicefix.analysis.attributes import TensorAttribute
from devicefix.analysis.buffers import (
    NOT_ALWAYS,
    UNSURE,
    copies_per_call,
    graph_attributes,
    registrable,
    registration,
    registration_doubt,
)
from devicefix.analysis.lookups import is_lookup_table
from devicefix.analysis.met_uses import uses_as_tensor
from devicefix.analysis.plain_attributes import creation, where_used
from devicefix.codemods.changes import AppendToExpression
from devicefix.findings import Finding, Fix
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import other_side, short, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF301", "tensor-attribute"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every plain tensor attribute that a moved module leaves behind."""
    seen: set[tuple[ast.AST, str]] = set()
    for attribute in attributes.attributes_met(facts):
        seen.add((attribute.cls.node, attribute.name))
        yield from _met(facts, attribute)
    for attribute in graph_attributes(facts):
        if (attribute.cls.node, attribute.name) in seen:
            continue
        node = attribute.writes[0].statement or attribute.cls.node
        message = (
            f"`self.{attribute.name}` is computed from parameters once, when the module is built: "
            "`.to()` does not move it, and "
            "its graph is gone after the first backward pass"
        )
        yield finding(facts, CODE, NAME, node, message, note="compute it in `forward`")
    for attribute, uses in copies_per_call(facts):
        if (attribute.cls.node, attribute.name) in seen:
            continue
        statements, note = registrable(facts, attribute)
        if note:
            continue
        node = statements[0]
        message = (
            f"`self.{attribute.name}` is copied to the input's device at every call, and does not follow "
            "`.half()` or `.bfloat16()`"
        )
        changes = [*registration(facts, attribute, statements), *uses]
        yield finding(
            facts, CODE, NAME, node, message,
            fix=fix(
                f"register `{attribute.name}` as a buffer", *changes,
                unsafe="it works as it is; the buffer follows dtype changes, which the attribute does not",
            ),
        )  # fmt: skip


def _met(facts: FileFacts, attribute: TensorAttribute) -> Iterator[Finding]:
    mix = attribute.mixes[0]
    built = attributes.built_in_constructor(facts, attribute)
    if not attribute.is_module:
        if mix.assumed or not built or is_lookup_table(attribute) or attributes.holds_batches(attribute):
            return
        if built[0].statement in facts.excused:
            return  # it is moved, but the result is dropped: that is the fault
        node = built[0].statement or attribute.cls.node
        message = f"`self.{attribute.name}` is created on the CPU, but meets {other_side(mix)}, {where(mix)}"
        made = creation(facts, attribute)
        if made is not None:
            repair = fix(f"create it on `{made.device}`", made.change)
            yield finding(facts, CODE, NAME, node, message, fix=repair, related=((mix.node, "they meet here"),))
            return
        uses = where_used(facts, attribute)
        if uses:
            repair = _moved_where_used(uses)
            yield finding(facts, CODE, NAME, node, message, fix=repair, related=((mix.node, "they meet here"),))
            return
        note = (
            f"`{attribute.cls.name}` is no module, so nothing moves it: give it a device, or move the tensor "
            "where it is used"
        )
        yield finding(facts, CODE, NAME, node, message, note=note, related=((mix.node, "they meet here"),))
        return
    if not built:
        return
    statements, note = registrable(facts, attribute)
    first = next((write for write in built if write.value.is_tensor), built[0])
    node = statements[0] if statements else first.statement or attribute.cls.node
    what = (
        "`setattr` makes a plain attribute"
        if attribute.name.startswith("<")
        else f"`self.{attribute.name}` is a plain attribute"
    )
    message = f"{what}, which `.to()` leaves behind; it meets {other_side(mix)}, {where(mix)}"
    registered = None
    if not note:
        tuples = [s for s in statements if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Tuple)]
        group = f"split:{tuples[0].lineno}" if tuples else ""
        registered = fix(
            f"register `{attribute.name}` as a buffer",
            *registration(facts, attribute, statements),
            unsafe=registration_doubt(facts, attribute),
            group=group,
        )
    elif note in (NOT_ALWAYS, UNSURE) and (uses := uses_as_tensor(facts, attribute.mixes)):
        registered = _moved_where_used(uses)
    yield finding(facts, CODE, NAME, node, message, fix=registered, note=note, related=((mix.node, "they meet here"),))


def _moved_where_used(uses: list[tuple[ast.expr, str]]) -> Fix:
    moves = [AppendToExpression(use, f".to({device})") for use, device in uses]
    return fix(f"move {short(uses[0][0])} with `.to({uses[0][1]})` where it is used", *moves)


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a tensor attribute of a module is no buffer, so `.to()` leaves it behind",
    explanation="""
`Module.to`, `.cuda()` and `.half()` move parameters, buffers and submodules. A tensor that is assigned to a plain
attribute is none of these: it stays on the CPU and meets the activations there. `register_buffer` makes it follow the
module.

Only attributes that are shown to meet a tensor on the module's device are reported. Tables that Python code reads as
numbers, accumulators that stay on the CPU, and classes that move such tensors themselves (`_apply`) are left alone.
""",
    fix_safety="""
The fix turns the assignment into `self.register_buffer("name", …, persistent=False)`. Non-persistent buffers add no
key to `state_dict`, so checkpoints from before still load. An earlier `self.name = None` is the statement that is
converted; later assignments then update the buffer.

In a class that is no module nothing moves the tensor. Where the constructor knows the device, as a parameter or an
attribute, the tensor is created there, and the result of a helper that makes it of numbers is moved there; else it is
moved in the one function that uses it. So is an attribute that is not always a tensor, if a method is called on it
there that only tensors have.

There is no fix for tensors that require grad or are computed from parameters, for other attributes that also hold
other kinds of values, that are set before `super().__init__()`, or that a class attribute or a property shadows, and
for other classes that are no modules.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


class AddPositions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.table = torch.linspace(0, 1, length * width).view(length, width)

    def forward(self, x):
        return x + self.table[: x.size(1)]


def run(device):
    model = AddPositions(8, 4).to(device)
    return model(torch.ones(2, 5, 4, device=device))
""",
            after="""
import torch
from torch import nn


class AddPositions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.register_buffer("table", torch.linspace(0, 1, length * width).view(length, width), persistent=False)

    def forward(self, x):
        return x + self.table[: x.size(1)]


def run(device):
    model = AddPositions(8, 4).to(device)
    return model(torch.ones(2, 5, 4, device=device))
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


class Grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.offsets = torch.tensor([0, 2, 5])  # read as numbers only

    def forward(self, x):
        cuts = self.offsets.tolist()
        return torch.stack([x[a:b].sum() for a, b in zip(cuts, cuts[1:])])


def run(device):
    return Grouped().to(device)(torch.ones(5, device=device))
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer",),
)
