"""``--write --verify``: real files, real commands."""

from __future__ import annotations

import json
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
    out, err = capsys.readouterr()
    assert "rolled back: second.py:6:5: DVF101" in err
    assert "second.py:6:5: DVF101" in out  # it is still there
    assert "Fixed 1 finding in 1 file; 1 remaining." in out


TWO = """\
import torch


def one(device):
    x = torch.ones(2)
    x.to(device)
    return x + torch.ones(2, device=device)


def two(device):
    y = torch.ones(2)
    y.to(device)
    return y + torch.ones(2, device=device)
"""


def test_fixes_of_one_rule_in_one_file_are_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.py").write_text(TWO)
    picky = command("import sys; sys.exit('y = y' in open('first.py').read())")
    assert run("--write", "--verify", picky, "first.py") == 1
    assert (folder / "first.py").read_text() == TWO.replace("    x.to", "    x = x.to")
    assert "rolled back: first.py:12:5: DVF101" in capsys.readouterr().err


def test_unsafe_fixes_take_part_when_they_are_asked_for(folder: Path) -> None:
    unsafe = ("--write", "--extend-unsafe-fixes", "DVF101", "--verify", command("import first"), "first.py")
    assert run(*unsafe) == 1
    assert (folder / "first.py").read_text() == PROGRAM
    assert run("--unsafe-fixes", *unsafe) == 0
    assert (folder / "first.py").read_text() == FIXED


def test_fixes_that_belong_together_are_kept_or_rolled_back_together(folder: Path) -> None:
    text = "import torch\n\nx = torch.ones(3).cuda()\ny = torch.ones(3).cuda()\n"
    (folder / "first.py").write_text(text)
    picky = command("import sys; sys.exit('torch.device' in open('first.py').read())")
    assert run("--write", "--verify", picky, "first.py") == 1
    assert (folder / "first.py").read_text() == text


def test_machine_formats_are_alone_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picky = command("import sys; sys.exit('x = x' in open('second.py').read())")
    assert run("--write", "--verify", picky, "--output-format", "json", ".") == 1
    [record] = json.loads(capsys.readouterr().out)
    assert record["path"] == "second.py"


def test_on_a_card_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("has a card")
    assert run("--write", "--verify", command("import first"), "--verify-on", "cuda", ".") == 2
    assert "no CUDA device" in capsys.readouterr().err
    assert (folder / "first.py").read_text() == PROGRAM


def test_on_the_cpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    see = command("import os, sys; sys.exit(os.environ['CUDA_VISIBLE_DEVICES'] != '')")
    assert run("--write", "--verify", see, "--verify-on", "cpu", ".") == 0
    assert (folder / "first.py").read_text() == FIXED


def test_a_command_that_fails_before_says_nothing(folder: Path) -> None:
    status = run("--write", "--verify", command("raise SystemExit(1)"), ".")
    assert status == 3
    assert (folder / "first.py").read_text() == PROGRAM


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
