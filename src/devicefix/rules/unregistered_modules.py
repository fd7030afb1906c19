"""DVF302: modules in a plain list, tuple or dict of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.containers import Container, containers_met, doubt, registering
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import place, where

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF302", "unregistered-modules"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of one file."""
    for container in containers_met(facts, "modules"):
        yield found_in(facts, container, CODE, NAME)


def found_in(facts: FileFacts, container: Container, code: str, name: str) -> Finding:
    """The finding for a plain container of modules or parameters."""
    mix = container.mixes[0]
    node: ast.AST = container.assignments[0] if container.assignments else container.cls.node
    plain = "dict" if container.is_mapping else "list"
    message = (
        f"`self.{container.name}` is a plain {plain}, so `.to()` does not reach the {container.kind} in it; they meet "
        f"a tensor {place(mix.partner.device)}, {where(mix)}"
    )
    changes, note = registering(facts, container)
    title = f"make it an `nn.{container.replacement}`"
    repair = fix(title, *changes, unsafe=doubt(facts, container)) if changes else None
    return finding(
        facts, code, name, node, message, fix=repair, note=note or f"register them with `nn.{container.replacement}`",
        related=((mix.node, "they meet here"),),
    )  # fmt: skip


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="modules in a plain list or dict are not registered, so `.to()` leaves them behind",
    explanation="""
A module registers the modules that are assigned to its attributes. Modules in a Python list, tuple or dict are not
registered: `.to()` does not move them, `parameters()` does not list them, so that no optimizer trains them, and
`state_dict()` does not save them. On the CPU nothing seems wrong; on an accelerator the first call fails.
`nn.ModuleList` and `nn.ModuleDict` register their members.

Only containers whose members are shown to meet a tensor on another device are reported. Members that are registered
as well (with `add_module`, or because the list went into an `nn.Sequential`), and classes that move them by
themselves, are left alone.
""",
    fix_safety="""
The fix puts `nn.ModuleList(…)` or `nn.ModuleDict(…)` around what is assigned. It is safe only where the members are
shown to hold neither parameters nor persistent buffers. Elsewhere it is unsafe: the members join `parameters()` and
`state_dict()`, so that checkpoints from before lack their keys, and the optimizer trains what it did not train
before. This is most often what was meant, but a person has to say so.

There is no fix where the container is used in a way that only a list or dict allows (`sort`, `remove`, assignment to
a slice, `get`), for keys that are no strings, hold dots or clash with a method of `nn.ModuleDict`, for lists of
lists, and before `super().__init__()`.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.floors = [nn.Linear(width, width) for _ in range(depth)]

    def forward(self, x):
        for floor in self.floors:
            x = torch.relu(floor(x))
        return x


def run(device):
    torch.manual_seed(0)
    tower = Tower(3, 2).to(device)
    return tower(torch.ones(2, 3, device=device)).detach()
""",
            after="""
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.floors = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        for floor in self.floors:
            x = torch.relu(floor(x))
        return x


def run(device):
    torch.manual_seed(0)
    tower = Tower(3, 2).to(device)
    return tower(torch.ones(2, 3, device=device)).detach()
""",
            unsafe=True,
        ),
    ),
    silent=(
        """
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        floors = [nn.Linear(width, width) for _ in range(depth)]
        self.stack = nn.Sequential(*floors)  # registers them
        self.floors = floors

    def forward(self, x):
        for floor in self.floors:
            x = torch.relu(floor(x))
        return x


def run(device):
    torch.manual_seed(0)
    return Tower(3, 2).to(device)(torch.ones(2, 3, device=device)).detach()
""",
    ),
    references=(
        "https://pytorch.org/docs/stable/generated/torch.nn.ModuleList.html",
        "https://pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html",
    ),
)
