"""What proof by running costs: training steps on the plain CPU, simulated, and with recorded origins.

    python benchmarks/bench_simulator.py [--threads 2] [--check]

The three alternate in one run. Recorded origins are what ``devicefix run --device cuda`` adds to a real card; they are
measured on the card where there is one, against the plain card, and on the CPU elsewhere.

``--check`` exits 1 where an overhead is above its limit.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from devicefix.verify import simulated_accelerator
from devicefix.verify.recording import recorded_origins

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
    """One step of training as a function; it returns the loss, which also waits for a card."""
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
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    card = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}, {options.threads} threads, milliseconds per step; origins recorded on {card}")
    failed = False
    for name, (steps, limit) in CASES.items():
        times = measured(name, steps, card)
        factor = times["simulated"] / times["plain"]
        recorded = times["recorded"] / times["plain card"]
        over = limit is not None and factor > limit
        failed |= over
        print(
            f"{name:33} plain {times['plain']:8.3f}  simulated {times['simulated']:8.3f}  x{factor:.2f}"
            + (f" (limit {limit})" if limit else "")
            + f"  recorded {times['recorded']:8.3f}  x{recorded:.2f}"
            + ("  TOO SLOW" if over else "")
        )
    return 1 if failed and options.check else 0


def measured(name: str, steps: int, card: str) -> dict[str, float]:
    """The fastest step of each kind."""
    rounds: dict[str, list[float]] = {"plain": [], "simulated": [], "recorded": [], "plain card": []}
    for _ in range(ROUNDS):
        rounds["plain"].append(fastest(training_step(name, "cpu"), steps))
        with simulated_accelerator("cuda", even_with_card=True):
            rounds["simulated"].append(fastest(training_step(name, "cuda"), steps))
        rounds["plain card"].append(fastest(training_step(name, card), steps) if card != "cpu" else rounds["plain"][-1])
        with recorded_origins():
            rounds["recorded"].append(fastest(training_step(name, card), steps))
    return {kind: min(found) for kind, found in rounds.items()}


if __name__ == "__main__":
    sys.exit(main())
