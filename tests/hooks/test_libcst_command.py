"""devicefix as a codemod of LibCST, through LibCST's own command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAULT = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
x = torch.ones(4, 3)
x.to(device)  # keep me
print(model(x))
"""


def codemod(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "libcst.tool", "codemod", "-x", "devicefix.codemods.commands.FixDevices"]
    return subprocess.run(
        [*command, "--no-format", "--hide-progress", *arguments, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )


def test_it_rewrites_what_needs_it_and_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(FAULT.replace("\n", "\r\n").encode())
    (tmp_path / "b.py").write_text("x = 1", encoding="utf-8")
    done = codemod(tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.py").read_bytes() == FAULT.replace("x.to(", "x = x.to(").replace("\n", "\r\n").encode()
    assert (tmp_path / "b.py").read_text(encoding="utf-8") == "x = 1"


def test_select(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULT, encoding="utf-8")
    codemod(tmp_path, "--select", "DVF2")
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == FAULT
