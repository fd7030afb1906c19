"""What is made of a loaded tensor is still where the file says; each way in which it can meet a device."""

from __future__ import annotations

import pytest

from devicefix import check

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


def run(path, device):
    net = nn.Linear(3, 3).to(device)
    wrapped = Wrapped().to(device)
    out = net(torch.ones(2, 3, device=device))
    loaded = torch.load(path{location})
    {use}
"""

MEETING = [
    "return out * loaded",
    "return out @ loaded.t()",
    "return out @ loaded['x'].t().contiguous()",
    "return out - loaded.get('mean')",
    "return torch.cdist(out, F.normalize(loaded.float(), dim=1))",
    "return torch.cat([out, loaded.view(-1, 3)])",
    "return (out > loaded['limits']).sum()",
    "return loaded['names'][out.argmax(1)]",
    "return net(loaded)",
    "return net(loaded['x'].float())",
    "return wrapped(loaded['x'])",
    "return F.mse_loss(out, loaded['goal'].squeeze())",
]


@pytest.mark.parametrize("use", MEETING)
def test_it_meets_the_device(use: str) -> None:
    assert codes(PROGRAM.format(location="", use=use)) == ["DVF504"]
    assert codes(PROGRAM.format(location=", map_location=device", use=use)) == []


APART = [
    "return out * loaded.to(device)",
    "return out @ loaded['x'].t().to(device)",
    "return out.cpu() @ loaded['x'].t()",
    "return out * loaded['x'].item()",
    "return out * float(loaded['scale'])",
    "return out, loaded['x'].t() @ loaded['x']",
    "return net(loaded['x'].to(device))",
    "return [net(x.to(device)) for x in loaded]",
    "return out, loaded['x'].view(-1)[0]",
    "return out, loaded.get('epoch')",
]


@pytest.mark.parametrize("use", APART)
def test_it_meets_nothing(use: str) -> None:
    assert codes(PROGRAM.format(location="", use=use)) == []


def codes(text: str) -> list[str]:
    result = check(text)
    assert result.errors == []
    return [finding.code for finding in result.findings]
