"""Small programs with one fault of each family."""

from __future__ import annotations

MOVE = """import torch


def f(x: torch.Tensor, device):
    print("é😀"); x.to(device)
    return x
"""
MOVE_FIXED = MOVE.replace("x.to(device)", "x = x.to(device)")

NET = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(4)
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        note = "é😀"; extra = torch.randn(2, 4)
        return self.linear(x + extra) * self.table
"""

CUDA = """import torch
from torch import nn

model = nn.Linear(3, 2).cuda()
x = torch.ones(4, 3).cuda()
print(model(x))
"""
CUDA_FIXED = """import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

model = nn.Linear(3, 2).to(device)
x = torch.ones(4, 3).to(device)
print(model(x))
"""
