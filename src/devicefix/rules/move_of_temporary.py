"""DVF102: an in-place operation on the copy that a move returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.dropped import dropped_moves
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF102", "move-of-temporary"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every statement that changes the copy that a move returned."""
    for drop in dropped_moves(facts):
        if not drop.chained:
            continue
        message = (
            f"`.{drop.chained}()` works on the copy that `.{drop.method}()` returns; the copy is dropped and "
            f"{short(drop.receiver)} is unchanged wherever a move is needed"
        )
        yield finding(
            facts, CODE, NAME, drop.node, message, note=drop.note,
            fix=fix(drop.title, *drop.changes, unsafe=drop.doubt) if drop.changes else None,
        )  # fmt: skip


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="an in-place operation works on a moved copy that is dropped",
    explanation="""
`buf.to(device).fill_(0)` fills the tensor that `to` returns. When `buf` is already on `device`, that is `buf` itself
and the statement does what it seems to do; when it is not, the copy is filled and dropped, and `buf` keeps its old
values on its old device.
""",
    fix_safety="""
The fix assigns the result, so that the name stands for the moved and changed tensor. It is safe when the value is
shown to be a tensor and the name is local; the same names and places as for `dropped-move` have no fix.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch


def run(device):
    x = torch.ones(2, 3, device=device)
    total = torch.empty(2, 3)
    total.to(device).fill_(0.5)
    return total + x
""",
            after="""
import torch


def run(device):
    x = torch.ones(2, 3, device=device)
    total = torch.empty(2, 3)
    total = total.to(device).fill_(0.5)
    return total + x
""",
        ),
    ),
    silent=(
        """
import torch


def run(device):
    total = torch.zeros(2, 3)
    total.add_(torch.ones(2, 3)).mul_(2)  # no move, no copy
    return total
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.Tensor.to.html",),
)
