"""``--write --verify``: real files, real commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devicefix.__main__ import main

PROGRAM = "import torch\n\n\ndef run(device):\n    x = torch.ones(2, 3)\n    x.to(device)\n    return x + torch.ones(2, 3, device=device)\n"
FIXED = PROGRAM.replace("    x.to(device)", "    x = x.to(device)")


def command(code: str) -> str:
    return f'{sys.executable} -c "{code}"'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    try:
        status = main(list(arguments))
    except SystemExit as stop:
        status = stop.code  # type: ignore[assignment]
    return int(status or 0)


def test_fixes_that_the_command_bears_are_kept(folder: Path) -> None:
    assert run("--write", "--verify", command("import first, second"), ".") == 0
    assert (folder / "first.py").read_text() == (folder / "second.py").read_text() == FIXED


def test_the_guilty_fix_is_rolled_back_and_the_other_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picky = command("import sys; sys.exit('x = x' in open('second.py').read())")
    assert run("--write", "--verify", picky, ".") == 1
    assert (folder / "first.py").read_text() == FIXED
    assert (folder / "second.py").read_text() == PROGRAM
    assert "rolled back: second.py: DVF101" in capsys.readouterr().out


def test_a_command_that_fails_before_says_nothing(folder: Path) -> None:
    status = run("--write", "--verify", command("raise SystemExit(1)"), ".")
    assert status in (1, 3)


def test_nothing_to_fix_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clean.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    assert run("--write", "--verify", command("open('ran', 'w')"), ".") == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("arguments", [("--verify", "true", "."), ("--diff", "--verify", "true", ".")])
def test_it_goes_with_write(folder: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert "--verify goes with --write" in capsys.readouterr().err
    assert (folder / "first.py").read_text() == PROGRAM


def test_on_simulated_cards(folder: Path) -> None:
    pytest.importorskip("torch")
    code = "import first; first.run('cuda')"
    (folder / "second.py").unlink()
    status = run("--write", "--verify", command(code), "--verify-on", "simulated", ".")
    assert status == 0, "the command fails before, with a device error, and passes after"
    assert (folder / "first.py").read_text() == FIXED
