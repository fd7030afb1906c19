"""What the simulator costs: training steps on the plain CPU and on the simulated accelerator, alternating in one run.

    python benchmarks/bench_simulator.py [--threads 2] [--check]

``--check`` exits 1 where an overhead is above its limit.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn

from devicefix.verify import simulated_accelerator

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
CASES = {
    # name: (steps per round, highest allowed overhead or None)
    "tiny MLP, batch 8": (200, 3.0),
    "small CNN, batch 16 of 28x28": (100, 1.6),
    "CNN, batch 64 of 3x32x32": (20, None),
    "Transformer 2x64, batch 8 of 32": (50, None),
}


def build(name: str) -> tuple[nn.Module, torch.Tensor, int]:
    """Model, input, number of classes."""
    if name.startswith("tiny MLP"):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), torch.randn(8, 4), 3
    if name.startswith("small CNN"):
        return (
            nn.Sequential(
                nn.Conv2d(1, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(8, 16, 3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(400, 10),
            ),
            torch.randn(16, 1, 28, 28),
            10,
        )
    if name.startswith("CNN"):
        return (
            nn.Sequential(
                nn.Conv2d(3, 32, 3, padding=1),
                nn.BatchNorm2d(32),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(32, 64, 3, padding=1),
                nn.BatchNorm2d(64),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(4096, 10),
            ),
            torch.randn(64, 3, 32, 32),
            10,
        )
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(2048, 10))
    return model, torch.randn(8, 32, 64), 10


def training_step(name: str, device: str) -> Callable[[], float]:
    torch.manual_seed(0)
    model, data, classes = build(name)
    model.to(device)
    target = torch.randint(0, classes, (data.size(0),)).to(device)
    data = data.to(device)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def fastest(step: Callable[[], float], steps: int) -> float:
    """The fastest of many steps in milliseconds: the one least disturbed by the rest of the machine."""
    for _ in range(5):
        step()
    best = float("inf")
    for _ in range(steps):
        start = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads, milliseconds per step")
    failed = False
    for name, (steps, limit) in CASES.items():
        plain, simulated = [], []
        for _ in range(ROUNDS):
            plain.append(fastest(training_step(name, "cpu"), steps))
            with simulated_accelerator("cuda", even_with_card=True):
                simulated.append(fastest(training_step(name, "cuda"), steps))
        factor = min(simulated) / min(plain)
        over = limit is not None and factor > limit
        failed |= over
        print(
            f"{name:33} plain {min(plain):8.3f}  simulated {min(simulated):8.3f}  x{factor:.2f}"
            + (f"  limit {limit}" if limit else "")
            + ("  TOO SLOW" if over else "")
        )
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
