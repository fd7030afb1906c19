"""Memory stays within bounds however many files a run has."""

from __future__ import annotations

import ast
import gc
import sys
from pathlib import Path

import pytest

from devicefix.engine import projects
from devicefix.engine.projects import Projects
from devicefix.engine.run import Job, process
from devicefix.settings import Settings

FILE = """\
import torch
from torch import nn
from m{next} import Net{next}, helper{next}


class Net{n}(Net{next}):
    def __init__(self):
        super().__init__()
        self.scale{n} = torch.ones(3)
        self.inner = Net{next}()

    def forward(self, x):
        for _ in range(3):
            x = x * self.scale{n} + helper{n}(self, x)
        return super().forward(x) + self.inner(x)


def helper{n}(net, x):
    return helper{next}(net, x.to(net.scale{n}.device)) + torch.zeros(3)


model = Net{n}().cuda()
print(model(torch.ones(2, 3)))
"""
LAST = """\
from torch import nn


class Net{n}(nn.Module):
    def forward(self, x):
        return x


def helper{n}(net, x):
    return x
"""
FILES = 30


def alive() -> int:
    """How many syntax trees there are."""
    return sum(type(found) is ast.Module for found in gc.get_objects())


def test_trees_do_not_pile_up_between_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an analysis leaves behind refers to itself, but must not keep the trees of other files."""
    for n in range(FILES):
        (tmp_path / f"m{n}.py").write_text((FILE if n + 1 < FILES else LAST).format(n=n, next=n + 1))
    monkeypatch.setattr(projects, "KEPT_TEXT", 0)
    monkeypatch.setattr(projects, "COLLECTED_TEXT", sys.maxsize)
    job = Job(Settings(), roots=(str(tmp_path),))
    shared = Projects(job)
    gc.collect()
    before = alive()
    gc.disable()
    try:
        found = 0
        for n in range(FILES):
            outcome = process(tmp_path / f"m{n}.py", job, shared)
            assert outcome.errors == []
            found += len(outcome.findings)
        shared.get()  # as before the next file
        assert found >= FILES - 1
        assert alive() - before <= FILES + 1  # at most their own, which the text between two collections bounds
    finally:
        gc.enable()
