"""``--write --interactive``: what is wanted is made, and nothing else."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toy
from devicefix.cli.check import run_check
from devicefix.cli.options import parse_quickly

CODE = "import torch\nx.to(d)\na = torch.zeros(3)\nb = torch.rand(3)\n"
FIRST = CODE.replace("x.to", "x = x.to")
SECOND = CODE.replace("zeros(3)", "zeros(3, device=x.device)")
BOTH = FIRST.replace("zeros(3)", "zeros(3, device=x.device)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    Path("a.py").write_text(CODE)
    return tmp_path


def run(answers: str, *arguments: str) -> int:
    options = parse_quickly(["--write", "-i", *arguments])
    assert options is not None
    before, sys.stdin = sys.stdin, io.StringIO(answers)
    try:
        return run_check(options, rules=toy.RULES, analyse=toy.analyse)
    finally:
        sys.stdin = before


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ("y\nn\n", FIRST),
        ("n\ny\n", SECOND),
        ("y\ny\n", BOTH),
        ("a\n", BOTH),
        ("n\na\n", SECOND),
        ("n\nn\n", CODE),
        ("q\n", CODE),
        ("y\nq\n", FIRST),
        ("y\n", FIRST),
        ("", CODE),
        ("what?\n\nYES\nNo\n", FIRST),
    ],
)
def test_what_is_wanted_is_made(answers: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(answers, "a.py") == 1  # the unsafe one remains
    assert Path("a.py").read_text() == text
    out, err = capsys.readouterr()
    assert "[1/2] a.py:2:1: DVF101 assign the result to `x`\n--- a.py\n+++ a.py\n" in out
    assert "+x = x.to(d)\n" in out
    assert "Make this fix?" in err


def test_the_diff_shows_one_fix_on_top_of_those_before(capsys: pytest.CaptureFixture[str]) -> None:
    run("y\ny\n", "a.py")
    second = capsys.readouterr().out.partition("[2/2]")[2]
    assert " x = x.to(d)\n-a = torch.zeros(3)\n+a = torch.zeros(3, device=x.device)\n" in second


def test_unsafe_fixes_come_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a\n", "--unsafe-fixes", "a.py") == 0
    assert "torch.rand(3, device=x.device)" in Path("a.py").read_text()
    Path("a.py").write_text(CODE)
    capsys.readouterr()
    run("n\nn\ny\n", "--unsafe-fixes", "a.py")
    assert "[3/3] a.py:4:5: DVF201 create it on the device of `x`\nunsafe: the random stream changes\n" in (
        capsys.readouterr().out
    )


def test_notebooks() -> None:
    cell = {"cell_type": "code", "source": "x.to(d)\ny.to(d)", "outputs": [], "metadata": {}}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("n.ipynb").write_text(json.dumps(book))
    run("n\ny\n", "n.ipynb")
    assert json.loads(Path("n.ipynb").read_text())["cells"][0]["source"] == "x.to(d)\ny = y.to(d)"


def test_without_fixes_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.py").write_text("import torch\n")
    assert run("", "b.py") == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("All checks passed.\n", "")


@pytest.mark.skipif(os.name == "nt", reason="file modes of another kind")
def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").chmod(0o444)
    assert run("a\n", "a.py") == 2
    assert "read-only" in capsys.readouterr().err


def test_a_file_that_changed_meanwhile_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Editing(io.StringIO):
        def readline(self, size: int | None = -1) -> str:
            Path("a.py").write_text("saved = 'by an editor'\n")
            return "a\n"

    monkeypatch.setattr(sys, "stdin", Editing())
    options = parse_quickly(["--write", "-i", "a.py"])
    assert options is not None
    assert run_check(options, rules=toy.RULES, analyse=toy.analyse) == 2
    assert Path("a.py").read_text() == "saved = 'by an editor'\n"
    assert "changed while it was being checked" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["-i", "a.py"], ["-i", "--diff"], ["-w", "-i", "--verify", "true"]])
def test_what_it_goes_with(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from devicefix.__main__ import run as command

    assert command(arguments) == 2
    assert "--interactive" in capsys.readouterr().err
    assert command(["-w", "-i", "-"]) == 2


LINES = ["x.to(d)", "y.to(d)", "a = torch.zeros(3)", "pass"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
def test_any_choice(lines: list[str], wanted: list[bool]) -> None:
    Path("a.py").write_text("\n".join(["import torch", "x = y = d", *lines]) + "\n")
    run("".join("y\n" if yes else "n\n" for yes in wanted), "--select", "DVF101", "a.py")
    choices = iter(wanted)
    moves = [f"{line[0]} = {line}" if ".to" in line and next(choices) else line for line in lines]
    assert Path("a.py").read_text().splitlines()[2:] == moves
