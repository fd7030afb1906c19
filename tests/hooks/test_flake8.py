"""The plugin, inside a real flake8."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("flake8")

FAULT = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
x = torch.ones(4, 3)
x.to(device)
print(model(x))
"""
#: Without an installed devicefix, flake8 finds the plugin by this section.
LOCAL = "[flake8]\n[flake8:local-plugins]\nextension =\n    DVF = devicefix.flake8_plugin:Plugin\n"


def installed() -> bool:
    return any(point.name == "DVF" for point in metadata.entry_points(group="flake8.extension"))


def flake8(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    (folder / ".flake8").write_text("[flake8]\n" if installed() else LOCAL, encoding="utf-8")
    command = [sys.executable, "-m", "flake8", "--select", "DVF", *arguments]
    source = str(Path(__file__).parents[2] / "src")
    return subprocess.run(
        command, cwd=folder, input=text, capture_output=True, text=True, check=False, env={"PYTHONPATH": source, "PATH": ""}
    )  # fmt: skip


def test_findings_appear_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULT, encoding="utf-8")
    done = flake8(tmp_path, "a.py")
    assert done.stdout.startswith("a.py:7:1: DVF101 "), done.stderr
    assert done.returncode == 1


def test_clean_files_are_clean(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULT.replace("x.to(", "x = x.to("), encoding="utf-8")
    assert flake8(tmp_path, "a.py").stdout == ""


@pytest.mark.parametrize("comment", ["  # noqa", "  # noqa: DVF101", "  # devicefix: ignore[DVF101]"])
def test_both_ways_of_suppression_work(tmp_path: Path, comment: str) -> None:
    (tmp_path / "a.py").write_text(FAULT.replace("x.to(device)\n", f"x.to(device){comment}\n"), encoding="utf-8")
    assert flake8(tmp_path, "a.py").stdout == ""


def test_standard_input(tmp_path: Path) -> None:
    assert ":7:1: DVF101 " in flake8(tmp_path, "-", text=FAULT).stdout


def test_the_settings_of_the_project_hold(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULT, encoding="utf-8")
    (tmp_path / "devicefix.toml").write_text('ignore = ["DVF101"]\n', encoding="utf-8")
    assert flake8(tmp_path, "a.py").stdout == ""
