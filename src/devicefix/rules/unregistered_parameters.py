"""DVF303: parameters in a plain list, tuple or dict of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.containers import containers_met
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.unregistered_modules import found_in

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF303", "unregistered-parameters"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of one file."""
    for container in containers_met(facts, "parameters"):
        yield found_in(facts, container, CODE, NAME)


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="parameters in a plain list or dict are not registered, so `.to()` leaves them behind",
    explanation="""
A module registers an `nn.Parameter` that is assigned to one of its attributes. Parameters in a Python list, tuple or
dict are not registered: `.to()` does not move them, no optimizer that is given `parameters()` trains them, and
`state_dict()` does not save them. `nn.ParameterList` and `nn.ParameterDict` register their members.

Lists that only group parameters of registered modules, such as the groups for an optimizer, are left alone.
""",
    fix_safety="""
The fix puts `nn.ParameterList(…)` or `nn.ParameterDict(…)` around what is assigned. It is always unsafe: the members
join `parameters()` and `state_dict()`, so that checkpoints from before lack their keys, and the optimizer trains what
it did not train before.

There is no fix where the container is used in a way that only a list or dict allows, for keys that are no legal
names, for lists of lists, and before `super().__init__()`.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


class Gates(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gates = {"gain": nn.Parameter(torch.ones(width)), "bias": nn.Parameter(torch.ones(1))}

    def forward(self, x):
        return x * self.gates["gain"] + self.gates["bias"]


def run(device):
    gates = Gates(3).to(device)
    return gates(torch.ones(2, 3, device=device)).detach()
""",
            after="""
import torch
from torch import nn


class Gates(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gates = nn.ParameterDict({"gain": nn.Parameter(torch.ones(width)), "bias": nn.Parameter(torch.ones(1))})

    def forward(self, x):
        return x * self.gates["gain"] + self.gates["bias"]


def run(device):
    gates = Gates(3).to(device)
    return gates(torch.ones(2, 3, device=device)).detach()
""",
            unsafe=True,
        ),
    ),
    silent=(
        """
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.group = [self.scale, self.shift]  # both are registered

    def forward(self, x):
        return x * self.group[0] + self.group[1]


def run(device):
    return Scaled(3).to(device)(torch.ones(2, 3, device=device)).detach()
""",
    ),
    references=(
        "https://pytorch.org/docs/stable/generated/torch.nn.ParameterList.html",
        "https://pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html",
    ),
)
