"""The hooks for pre-commit, and the action for GitHub, as their users' machines run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
FAULT = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
x = torch.ones(4, 3)
x.to(device)
print(model(x))
"""
FIXED = FAULT.replace("x.to(device)", "x = x.to(device)")
PACKAGE = ("src", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "action.yml")
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PYTHON", "VIRTUAL_ENV"))}


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=CLEAN, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository as users see it: what is packaged, under a tag."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    folder = tmp_path_factory.mktemp("released")
    for name in PACKAGE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "release")
    git(folder, "tag", "v0")
    return folder


def project(folder: Path, released: Path, hook: str) -> Path:
    config = {"repos": [{"repo": str(released), "rev": "v0", "hooks": [{"id": hook}]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (folder / "train.py").write_text(FAULT, encoding="utf-8")
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": FAULT}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "train.ipynb").write_text(json.dumps(book, indent=1), encoding="utf-8")
    (folder / "notes.txt").write_text("x.to(device)\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    return folder


def pre_commit(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**CLEAN, "PRE_COMMIT_HOME": str(home)}
    command = [sys.executable, "-m", "pre_commit", *(arguments or ("run",)), "--all-files"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


@pytest.mark.slow
def test_the_check_hook_reports_and_changes_nothing(tmp_path: Path, released: Path, home: Path) -> None:
    pytest.importorskip("pre_commit")
    folder = project(tmp_path, released, "devicefix-check")
    done = pre_commit(folder, home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "train.py:7:1: DVF101" in done.stdout
    assert "train.ipynb:cell 1:7:1: DVF101" in done.stdout
    assert (folder / "train.py").read_text(encoding="utf-8") == FAULT


@pytest.mark.slow
def test_the_fixing_hook_fails_once_and_then_passes(tmp_path: Path, released: Path, home: Path) -> None:
    pytest.importorskip("pre_commit")
    folder = project(tmp_path, released, "devicefix")
    first = pre_commit(folder, home)
    assert first.returncode == 1, first.stdout + first.stderr
    assert "files were modified by this hook" in first.stdout
    assert (folder / "train.py").read_text(encoding="utf-8") == FIXED
    git(folder, "add", "-A")
    again = pre_commit(folder, home)
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.slow
def test_the_hooks_can_be_tried_without_a_configuration(tmp_path: Path, released: Path, home: Path) -> None:
    pytest.importorskip("pre_commit")
    folder = project(tmp_path, released, "devicefix")
    (folder / ".pre-commit-config.yaml").unlink()
    checked = pre_commit(folder, home, "try-repo", str(released), "devicefix-check")
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "train.py:7:1: DVF101" in checked.stdout
    fixed = pre_commit(folder, home, "try-repo", str(released), "devicefix")
    assert fixed.returncode == 1, fixed.stdout + fixed.stderr
    assert (folder / "train.py").read_text(encoding="utf-8") == FIXED


def test_the_hooks_are_valid() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")
    hooks = clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert {hook["id"] for hook in hooks} == {"devicefix", "devicefix-check"}


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return loaded


def test_inputs_of_the_action_reach_the_shell_through_the_environment_only() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]


@pytest.mark.slow
@pytest.mark.parametrize(("given", "status", "printed"), [
    ({"paths": "train.py other.py"}, 1, "(DVF101),file=train.py,line=7,"),
    ({"paths": "other.py"}, 0, ""),
    ({"paths": "train.py", "args": "--ignore DVF101 --exit-zero"}, 0, ""),
])  # fmt: skip
def test_the_action_runs(given: dict[str, str], status: int, printed: str, tmp_path: Path, released: Path) -> None:
    (tmp_path / "train.py").write_text(FAULT, encoding="utf-8")
    (tmp_path / "other.py").write_text(FIXED, encoding="utf-8")
    done = run_action(given, tmp_path, released)
    assert done.returncode == status, done.stdout + done.stderr
    assert printed in done.stdout


@pytest.mark.slow
def test_the_action_writes_sarif(tmp_path: Path, released: Path) -> None:
    (tmp_path / "train.py").write_text(FAULT, encoding="utf-8")
    run_action({"paths": "train.py", "output-format": "sarif", "output-file": "out.sarif"}, tmp_path, released)
    report = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))
    assert report["runs"][0]["results"][0]["ruleId"] == "DVF101"


def run_action(given: dict[str, str], folder: Path, released: Path) -> subprocess.CompletedProcess[str]:
    """Run the steps of the action as GitHub's runner does: inputs filled in, variables handed on between steps."""
    described = action()
    inputs = {name: given.get(name, details["default"]) for name, details in described["inputs"].items()}
    inputs["python"] = sys.executable
    runner = released.parent / "runner"  # the environment is made once for all tests
    runner.mkdir(exist_ok=True)
    handed_on = runner / "environment"
    environment = {
        **CLEAN,
        "RUNNER_TEMP": str(runner),
        "GITHUB_ACTION_PATH": str(released),
        "GITHUB_ENV": str(handed_on),
    }
    install, check = described["runs"]["steps"]
    if not handed_on.exists():
        subprocess.run(["bash", "-e", "-c", install["run"]], env={**environment, **filled(install, inputs)}, check=True)
    variables = dict(line.split("=", 1) for line in handed_on.read_text(encoding="utf-8").split())
    environment |= {**variables, **filled(check, inputs)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", check["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def filled(step: dict[str, Any], inputs: dict[str, str]) -> dict[str, str]:
    return {key: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")] for key, value in step["env"].items()}
