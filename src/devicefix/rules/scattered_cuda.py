"""DVF401: ``.cuda()`` and ``"cuda"`` spread over a file instead of one device variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.one_device import Unification, unify
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF401", "scattered-cuda"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every place that names CUDA outright."""
    for step in unify(facts):
        yield finding(
            facts, CODE, NAME, step.node, _message(step), note=step.note,
            fix=fix(step.title, *step.changes, unsafe=step.doubt, group=step.group) if step.changes else None,
        )  # fmt: skip


def _message(step: Unification) -> str:
    code = short(step.node)
    if step.flag:
        return f"{code} is guarded by `{step.flag}` here and again elsewhere; one device variable says it once"
    if step.existing:
        return f"{code} puts it on CUDA whatever `{step.existing}` says"
    if step.chosen_by is not None:
        line = getattr(step.chosen_by, "lineno", 0)
        how = "by a `with`" if step.chosen_here else "per process"
        return f"{code} fails on a machine without CUDA; the card is chosen {how} (line {line})"
    return f"{code} fails on a machine without CUDA; nothing in the file chooses the device"


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="accelerators are named here and there instead of in one device variable",
    explanation="""
`.cuda()`, `.to("cuda")` and `device="cuda"` fail where there is no CUDA ("Torch not compiled with CUDA enabled"), and
each is one more place that can disagree with the others: with `--device cpu` on the command line a stray `.cuda()`
mixes two devices. PyTorch's documentation recommends to decide once, keep the result in a `torch.device`, and use it
everywhere. `torch.load(…, map_location="cuda")` counts as well where the file has a device variable, or gets one.

A call under its own test (`if torch.cuda.is_available(): …`) or in a function that is only called under one, other
classes' `.cuda()`, code for two cards on purpose, code that captures CUDA graphs or uses TensorRT, data-loader code and
overrides of `cuda` itself are left alone. Code in which each process owns a card (`set_device`, process groups), or
that changes the current card in a `with`, is reported once, without a fix.
""",
    fix_safety="""
An existing device variable is used wherever one is in scope: a local one, `self.device`, `args.device`, a global. In
a module's method the fix follows an input (`x.device`), in a LightningModule it uses `self.device`. Otherwise a new
module-level variable is added after the imports, or at the head of `if __name__ == "__main__":` where only that needs
it, with the test for CUDA, under a name that is free.

The index and `non_blocking=` survive. Guards that only move (`if use_cuda: x = x.cuda()`) fold into the move, and the
flag goes on to decide. The fix is safe: where CUDA is available it chooses the same device as before, unless an
existing variable says otherwise, which is its purpose.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


def run(_):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).cuda()
    x = torch.ones(4, 3).cuda(non_blocking=True)
    return model(x).detach()
""",
            after="""
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def run(_):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    x = torch.ones(4, 3).to(device, non_blocking=True)
    return model(x).detach()
""",
        ),
    ),
    silent=(
        """
import torch


def to_gpu(x):
    return x.cuda() if torch.cuda.is_available() else x  # the one place that asks


def run(_):
    return to_gpu(torch.ones(2))
""",
    ),
    references=("https://pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",),
)
