"""The first command of the README, run to the letter in a checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKOUT = ("src", "examples", "pyproject.toml", "README.md", "LICENSE")


@pytest.mark.slow
def test_the_command_that_shows_it_at_work(tmp_path: Path) -> None:
    for name in CHECKOUT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^\$ (python3 -m venv .*)$", readme, re.MULTILINE)
    shown = re.search(r"^```diff\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert command
    assert shown
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        ["bash", "-c", command[1]],
        cwd=tmp_path,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert done.stdout.endswith(shown[1]), done.stdout[-3000:]


def test_the_command_that_runs_the_tests_exists() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n$ scripts/test.sh\n" in readme
    assert os.access(ROOT / "scripts" / "test.sh", os.X_OK)
    assert "scripts/test.sh --full" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", ["scripts/test.sh", ".ci/run"])
def test_the_scripts_are_valid_bash(script: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
