"""DVF104: a second name for a tensor from before it was moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.findings import Finding
from devicefix.rules.base import Rule
from devicefix.rules.findings_for import finding
from devicefix.rules.wording import other_side, short, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF104", "stale-alias"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every use of an older name for a tensor that was moved since."""
    reported = set()
    for mix in facts.mixes:
        move = facts.move_past(mix)
        if move is None or not facts.here(mix.node):
            continue
        if (mix.node, move.call) in reported or not facts.here(move.call):
            continue
        reported.add((mix.node, move.call))
        node = mix.culprit_node or mix.node
        name = short(mix.culprit_node) if mix.culprit_node is not None else "a tensor"
        message = (
            f"{name} still is the tensor from before {short(move.call)} at line {move.call.lineno}; "
            f"it meets {other_side(mix)}, {where(mix)}"
        )
        note = "the alias would have to be taken after the move, past other uses of both names"
        yield finding(
            facts, CODE, NAME, node, message, note=note, related=((move.call, "moved under another name here"),)
        )


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="an older name for a tensor that was moved since",
    explanation="""
After `first = x` and `x = x.to(device)`, the name `first` still stands for the tensor on the CPU. The assignment is
there and looks right; only the second name is stale.
""",
    fix_safety="There is no fix: the alias has to move below the move, which reorders other uses.",
    check=check,
    silent=(
        """
import torch


def run(device):
    x = torch.ones(2)
    x = x.to(device)
    first = x  # taken after the move
    return first + x
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.Tensor.to.html",),
)
