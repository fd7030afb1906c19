"""DVF504: a file is read to the device that it was saved from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.load_locations import location
from devicefix.analysis.loads import Load, is_settled, open_loads
from devicefix.analysis.one_device import is_test_file
from devicefix.codemods.changes import EditCall
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF504", "load-without-map-location"

#: parameters that come after ``map_location``
LATER = {
    "torch.load": ("pickle_module", "weights_only", "mmap"),
    "torch.hub.load_state_dict_from_url": ("progress", "check_hash", "file_name", "weights_only"),
}


def check(facts: FileFacts) -> Iterator[Finding]:
    """Loads whose tensors end up wherever they were saved from."""
    for load in open_loads(facts):
        if load.misplaced is not None:
            message = (
                f"{short(load.misplaced.func)} takes no `map_location`; "
                f"it belongs to {short(load.call.func)} inside the parentheses"
            )
            yield finding(
                facts,
                CODE,
                NAME,
                load.misplaced,
                message,
                note="where the tensors should go is written in the wrong place",
            )
        elif (load.states or load.meetings) and not is_settled(facts, load) and not is_test_file(facts):
            yield _open(facts, load)


def _open(facts: FileFacts, load: Load) -> Finding:
    where, doubt, note = location(facts, load)
    message = f"{short(load.call.func)} without `map_location` puts tensors on the device that they were saved from"
    if load.meetings:
        line = getattr(load.meetings[0].node, "lineno", 0)
        message += f"; they meet others on the chosen device at line {line}"
    else:
        message += ", which this machine may not have"
    repair = fix(f"pass `map_location={where}`", _insert(facts, load, where), unsafe=doubt) if where else None
    return finding(facts, CODE, NAME, load.call, message, fix=repair, note=note)


def _insert(facts: FileFacts, load: Load, where: str) -> EditCall:
    """Add the argument in the order of the signature where those behind it are short and can be written anew unchanged."""
    later = [k for k in load.call.keywords if k.arg in LATER[load.name]]
    simple = all(isinstance(k.value, (ast.Constant, ast.Name)) for k in later)
    one_line = load.call.lineno == load.call.end_lineno
    if not later or not simple or not one_line or load.call.keywords[-len(later) :] != later:
        return EditCall(load.call, set_keywords=(("map_location", where),))
    again = tuple((str(k.arg), ast.unparse(k.value)) for k in later)
    if not all(f"{name}={value}" in facts.source.segment(load.call) for name, value in again):
        return EditCall(load.call, set_keywords=(("map_location", where),))
    return EditCall(
        load.call, set_keywords=(("map_location", where), *again), remove_keywords=tuple(str(k.arg) for k in later)
    )


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="`torch.load` without `map_location` returns tensors to the device that they were saved from",
    explanation="""
A checkpoint that was written on a card cannot be read on a machine without one ("Attempting to deserialize object on
a CUDA device"), and on a machine with several, every process reads it onto the first. `map_location=` says where the
tensors shall go instead.

Loads are reported whose result reaches a `load_state_dict`, or meets tensors on a device; a whole module meets what
it is called with. Loads under a test for the card, beside a branch that has `map_location`, of files that the same
function has just saved, in data sets, in files with tests, and of PyTorch's own published weights are left alone.
""",
    fix_safety="""
What only goes into `load_state_dict` is copied from wherever it is: `map_location=device` where a device variable is
at hand, else `map_location="cpu"`, is safe. What is used directly goes to the device of the tensors that it meets,
`f"cuda:{rank}"` where that is a number. The fix is unsafe when the loaded object is also handed to code that was not
followed, or to a `load_state_dict` of the class itself, which may keep its tensors, and there is none when no name for the device is at hand.
""",
    check=check,
    examples=(
        Example(
            before="""
import io

import torch
from torch import nn


def restore(model, file):
    state = torch.load(file)
    model.load_state_dict({name.replace("module.", ""): value for name, value in state.items()})
    return model


def run(device):
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save(nn.Linear(2, 1).state_dict(), file)
    file.seek(0)
    return restore(nn.Linear(2, 1), file).to(device)(torch.ones(1, 2, device=device)).detach()
""",
            after="""
import io

import torch
from torch import nn


def restore(model, file):
    state = torch.load(file, map_location="cpu")
    model.load_state_dict({name.replace("module.", ""): value for name, value in state.items()})
    return model


def run(device):
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save(nn.Linear(2, 1).state_dict(), file)
    file.seek(0)
    return restore(nn.Linear(2, 1), file).to(device)(torch.ones(1, 2, device=device)).detach()
""",
        ),
    ),
    silent=(
        """
import io

import torch
from torch import nn


def run(device):
    torch.manual_seed(0)
    model, best = nn.Linear(2, 1).to(device), io.BytesIO()
    torch.save(model.state_dict(), best)
    best.seek(0)
    model.load_state_dict(torch.load(best))  # written by this very process
    return model(torch.ones(1, 2, device=device)).detach()
""",
    ),
    references=("https://pytorch.org/docs/stable/generated/torch.load.html",),
)
