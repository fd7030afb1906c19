"""DVF101: the result of ``x.to(device)`` on a tensor is thrown away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.dropped import Dropped, dropped_moves
from devicefix.analysis.dropped_together import moved_together
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF101", "dropped-move"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every statement that drops the result of a move."""
    for drop in moved_together(facts, list(dropped_moves(facts))):
        if drop.chained:
            continue
        yield finding(
            facts, CODE, NAME, drop.node, _message(drop), note=drop.note,
            fix=fix(drop.title, *drop.changes, unsafe=drop.doubt) if drop.changes else None,
        )  # fmt: skip


def _message(drop: Dropped) -> str:
    what = "returns a new object" if drop.container else "returns a new tensor"
    receiver = short(drop.receiver)
    if isinstance(drop.node, ast.Expr) or drop.call is None:
        return f"`.{drop.method}()` {what}; its result is dropped and {receiver} stays where it is"
    return f"`.{drop.method}()` {what}; the result is dropped and {receiver} stays where it is"


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="the tensor that a move or a conversion returns is dropped",
    explanation="""
`Module.to` changes the module in place. `Tensor.to` does not: it returns a new tensor and leaves the old one where it
is. A statement such as `x.to(device)` therefore does nothing, and the next operation meets a tensor that is still on
the CPU. On a machine without an accelerator the program runs, because nothing had to move. The same holds for
`.cuda()`, `.cpu()`, `.half()`, `.float()` and other conversions, and for containers whose `to` returns a copy
(`PackedSequence`, DGL graphs).

Modules, containers that move in place (`BatchEncoding`, PyTorch Geometric's `Data`), objects whose `to` returns
nothing and values of unknown kind are never reported.
""",
    fix_safety="""
The fix assigns the result to the name, attribute or item that was moved. It is safe when the value is shown to be a
tensor. It is unsafe when that follows only from how the name is used, or from the callers in this file, and for a
tensor that is on a device already and sent on together with one of these.

There is no fix for a name that belongs to an outer scope (it would become local), a property without a setter, a
field of a named tuple, a leaf that requires grad, a registered parameter or buffer, and a parameter that the function
does not use afterwards (its caller would keep the old tensor).
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    data = torch.ones(4, 3)
    model.to(device)
    data.to(device)
    return model(data).detach()
""",
            after="""
import torch
from torch import nn


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    data = torch.ones(4, 3)
    model.to(device)
    data = data.to(device)
    return model(data).detach()
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


class Batch(dict):
    def to(self, device):
        for key in self:
            self[key] = self[key].to(device)
        return self


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    model.to(device)  # a module moves in place
    batch = Batch(x=torch.ones(4, 3))
    batch.to(device)  # and so does this container
    return model(batch["x"]).detach()
""",
    ),
    references=(
        "https://pytorch.org/docs/stable/generated/torch.Tensor.to.html",
        "https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",
    ),
)
