"""DVF506: an index on a device, a table on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.attributes import attributes_met, built_in_constructor
from devicefix.analysis.host_tables import moved_result
from devicefix.analysis.lookups import Lookup, is_lookup_table, lookups
from devicefix.analysis.plain_attributes import creation
from devicefix.codemods.changes import AppendToExpression, Change, Unwrap
from devicefix.findings import Finding, Fix
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import place, short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF506", "index-on-device"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Tables on the CPU that are indexed by tensors on a device."""
    for lookup in lookups(facts):
        mix = lookup.mix
        message = (
            f"{short(mix.culprit_node)} is on the CPU, but is indexed by {short(mix.partner_node)}, "
            f"which is {place(mix.partner.device)}"
        )
        yield finding(facts, CODE, NAME, lookup.node, message, fix=_fix(lookup))
    yield from _plain_classes(facts)


def _fix(lookup: Lookup) -> Fix:
    mix, moved = lookup.mix, lookup.moved
    if moved is not None and lookup.same_device and not lookup.keeps_table and isinstance(moved.func, ast.Attribute):
        arguments = ", ".join(ast.unparse(a) for a in (*moved.args, *moved.keywords))
        suffix = f".{moved.func.attr}({arguments})"
        return fix("move the table first", AppendToExpression(lookup.node.value, suffix), Unwrap(moved, lookup.node))
    assert mix.partner_node is not None
    changes: list[Change] = [AppendToExpression(mix.partner_node, ".cpu()")]
    changes.extend(AppendToExpression(value, ".cpu()") for value in lookup.stored)
    known = moved is not None or lookup.host_use or isinstance(lookup.node.ctx, ast.Store)
    doubt = "" if known else "the result stays on the CPU, and may be needed beside tensors on the device"
    return fix("look up with an index on the CPU", *changes, unsafe=doubt)


def _plain_classes(facts: FileFacts) -> Iterator[Finding]:
    for attribute in attributes_met(facts):
        if not is_lookup_table(attribute):
            continue
        mixes = [mix for mix in attribute.mixes if not mix.assumed and moved_result(facts, mix) is None]
        built = built_in_constructor(facts, attribute)
        if not mixes or not built:
            continue
        mix = mixes[0]
        message = (
            f"`self.{attribute.name}` is a table on the CPU, but is indexed by {short(mix.partner_node)}, which is "
            f"{place(mix.partner.device)}, at line {getattr(mix.node, 'lineno', 0)}"
        )
        note = (
            f"`{attribute.cls.name}` is no module, so nothing moves it: give it a device, "
            "or move the table where it is used"
        )
        made = creation(facts, attribute) if len(mixes) == len(attribute.mixes) else None
        repair = fix(f"create it on `{made.device}`", made.change) if made is not None else None
        node = built[0].statement or attribute.cls.node
        related = ((mix.node, "indexed here"),)
        yield finding(facts, CODE, NAME, node, message, fix=repair, note=note, related=related)


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a tensor on a device is the index into a tensor on the CPU",
    explanation="""
A table on a card takes an index on the CPU, but not the other way round: "indices should be either on cpu or on the
same device as the indexed tensor (cpu)".

Tables that are only created in the wrong place belong to `factory-device`, those that are attributes of a module to
`tensor-attribute`. This rule reports tables that are on the CPU on purpose, tables whose looked-up rows are moved
afterwards, and those of classes that are no modules.
""",
    fix_safety="""
Where the result is moved at once, as in `table[t].to(x.device)`, the table is moved first: `table.to(x.device)[t]`. A
table that is on the CPU on purpose stays there, and the index comes back: `table[t.cpu()]`. That is safe where the
result is seen to be read on the host, is moved, or is stored into; else it is unsafe, since the result may be needed
on the device. On the CPU nothing changes in any of these.

A table that is an attribute of a class other than a module is created on the device where the constructor knows that,
as a parameter or an attribute. Else there is no fix: the class has to be told the device.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch


def pick(scores, names):
    table = torch.arange(6.0).view(3, 2)
    best = scores.argmax(1)
    return table[best].to(scores.device) + scores.sum()


def run(device):
    return pick(torch.tensor([[0.1, 0.9], [0.8, 0.2]], device=device), ["a", "b"])
""",
            after="""
import torch


def pick(scores, names):
    table = torch.arange(6.0).view(3, 2)
    best = scores.argmax(1)
    return table.to(scores.device)[best] + scores.sum()


def run(device):
    return pick(torch.tensor([[0.1, 0.9], [0.8, 0.2]], device=device), ["a", "b"])
""",
        ),
    ),
    silent=(
        """
import torch


def run(device):
    table = torch.arange(6.0, device=device)
    order = torch.randperm(6)  # an index on the CPU is allowed
    labels = table.cpu()[order]  # and so are two on the CPU
    return table[order].cpu() - labels
""",
    ),
    references=("https://pytorch.org/docs/stable/tensor_indexing.html",),
)
