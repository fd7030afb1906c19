from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import toy
from devicefix.cli.check import run_check
from devicefix.cli.options import parse_quickly
from devicefix.settings import OUTPUT_FORMATS

CODE = "import torch\nx.to(d)\na = torch.zeros(3)\nb = torch.rand(3)\n"
SAFE = "import torch\nx = x.to(d)\na = torch.zeros(3, device=x.device)\nb = torch.rand(3)\n"
ALL = SAFE.replace("rand(3)", "rand(3, device=x.device)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    Path("a.py").write_text(CODE)
    Path("clean.py").write_text("import torch\n")
    return tmp_path


def run(*arguments: str) -> int:
    options = parse_quickly(arguments)
    assert options is not None
    return run_check(options, rules=toy.RULES, analyse=toy.analyse)


def test_findings_are_printed_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a.py") == 1
    out, err = capsys.readouterr()
    assert "a.py:2:1: DVF101 `x.to()` returns a new tensor" in out
    assert "2 | x.to(d)\n  | ^^^^^^^\n" in out
    assert "safe fix: assign the result to `x`" in out
    assert "unsafe fix: create it on the device of `x` (unsafe: the random stream changes)" in out
    assert "Found 3 findings.\n2 findings can be fixed with --write" in out
    assert "1 more can be fixed with --unsafe-fixes." in out
    assert not err
    assert Path("a.py").read_text() == CODE


def test_a_clean_file_is_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("clean.py") == 0
    assert capsys.readouterr().out == "All checks passed.\n"


def test_no_path_means_this_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    assert "a.py:2:1" in capsys.readouterr().out


def test_an_empty_folder_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert run("empty") == 0
    assert "No Python files" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("--diff", "a.py"), ("a.py", "--diff")])
def test_a_diff_is_a_patch_and_nothing_is_written(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == (
        "--- a.py\n+++ a.py\n@@ -1,4 +1,4 @@\n import torch\n-x.to(d)\n-a = torch.zeros(3)\n"
        "+x = x.to(d)\n+a = torch.zeros(3, device=x.device)\n b = torch.rand(3)\n"
    )
    assert "2 fixes in 1 file not written" in err
    assert Path("a.py").read_text() == CODE


def test_a_diff_without_changes_is_empty_and_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text("b = torch.rand(3)\n")
    assert run("--diff", "a.py") == 0
    assert capsys.readouterr().out == ""


def test_write_makes_safe_fixes_and_says_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--write", ".") == 1
    out = capsys.readouterr().out
    assert Path("a.py").read_text() == SAFE
    assert "Fixed 2 findings in 1 file; 1 remaining." in out
    assert "1 more can be fixed with --unsafe-fixes." in out
    assert "DVF201" in out
    assert "DVF101" not in out
    assert run("--write", ".") == 1
    assert "nothing was fixed" in capsys.readouterr().out


def test_write_with_unsafe_fixes_makes_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--write", "--unsafe-fixes", "a.py") == 0
    assert Path("a.py").read_text() == ALL
    assert "Fixed 3 findings in 1 file; 0 remaining." in capsys.readouterr().out
    assert run("a.py") == 0


def test_show_fixes_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    run("--write", "--show-fixes", "a.py")
    assert "Fixed:\n  a.py:2:1: DVF101 assign the result to `x`\n" in capsys.readouterr().out


def test_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    run("--statistics", "a.py")
    assert "2  DVF201  factory-device\n1  DVF101  dropped-move\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("--select", "DVF1"), {"DVF101"}),
        (("--select=DVF101,DVF201",), {"DVF101", "DVF201"}),
        (("--select", "dropped-move"), {"DVF101"}),
        (("--select", "DROPPED_MOVE"), {"DVF101"}),
        (("--select", "ALL", "--ignore", "DVF2"), {"DVF101"}),
        (("--ignore", "dvf101"), {"DVF201"}),
        (("--select", "DVF901", "--extend-select", "DVF101"), {"DVF101"}),
    ],
)
def test_rules_are_selected(arguments: tuple[str, ...], codes: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--output-format", "json", *arguments, "a.py") == 1
    assert {record["code"] for record in json.loads(capsys.readouterr().out)} == codes


@pytest.mark.parametrize(
    ("selector", "hint"), [("DVF102", "DVF101"), ("droped-move", "dropped-move"), ("XYZ", ""), ("DVF2O1", "DVF201")]
)
def test_an_unknown_rule_is_an_error_that_names_a_near_one(
    selector: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--select", "--ignore", "--extend-select"):
        assert run(option, selector, "a.py") == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert f"unknown rule `{selector}`" in err
        assert hint in err


def test_one_broken_file_never_stops_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.py").write_text("def f(:\n")
    Path("c.py").write_bytes(b"x = '\xff'\n")
    Path("d.py").write_text("print 'x'\n")
    Path("e.ipynb").write_text("{")
    assert run("--write", "missing.py", ".") == 2
    out, err = capsys.readouterr()
    assert Path("a.py").read_text() == SAFE
    assert [line.split(": ")[2] for line in err.splitlines()] == [
        "missing.py",
        "b.py:1:7",
        "c.py:1:6",
        "d.py:1:1",
        "e.ipynb:1:2",
    ]
    assert "no such file" in err
    assert "Python 2" in err
    assert "Fixed 2 findings" in out


def test_an_unreadable_file_is_an_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("folder.py").mkdir()
    Path("fifo").mkdir()
    assert run("a.py", "fifo", "--exit-zero") == 0
    Path("a.py").chmod(0o444)
    assert run("--write", "a.py") == 2
    assert "read-only" in capsys.readouterr().err
    assert Path("a.py").read_text() == CODE


def test_exit_zero_hides_findings_but_not_failures() -> None:
    assert run("--exit-zero", "a.py") == 0
    assert run("--exit-zero", "--diff", "a.py") == 0
    assert run("--exit-zero", "missing.py") == 2


def test_quiet_prints_findings_and_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    run("--output-format", "concise", "a.py")
    whole = capsys.readouterr().out
    assert run("-q", "--output-format", "concise", "a.py", "missing.py") == 2
    out, err = capsys.readouterr()
    assert whole.startswith(out)
    assert "DVF101" in out
    assert "Found" not in out
    assert "missing.py" in err
    assert run("-q", "--statistics", "--output-format", "concise", "a.py") == 1
    assert capsys.readouterr().out.count("dropped-move") == 1
    assert run("-q", "clean.py") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_quiet_leaves_what_machines_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in ("full", "concise"):
        return
    run("--output-format", name, "a.py")
    loud = capsys.readouterr().out
    run("-q", "--output-format", name, "a.py")
    assert capsys.readouterr() == (loud, "")


def test_silent_prints_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-s", "--statistics", "a.py", "missing.py") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "missing.py" in err
    assert err.count("\n") == 1


def test_verbose_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    Path("devicefix.toml").write_text("jobs = 1\n")
    run("-v", ".")
    err = capsys.readouterr().err
    assert f"settings: {Path('devicefix.toml').absolute()}\n" in err
    assert "checked 2 files (0 without anything to check) in" in err


def stdin(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_standard_input_is_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stdin(monkeypatch, CODE.encode())
    assert run("-", "--stdin-filename", "pkg/m.py") == 1
    assert "pkg/m.py:2:1: DVF101" in capsys.readouterr().out


@pytest.mark.parametrize("text", [CODE, CODE.replace("\n", "\r\n"), "x = 1\n", "x = 1\r\n", "", "\ufeffx.to(d)\n"])
def test_standard_input_is_written_to_standard_output(
    text: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin(monkeypatch, text.encode())
    run("--write", "-")
    out, _ = capfdbinary.readouterr()
    expected = text.replace("x.to", "x = x.to").replace("zeros(3)", "zeros(3, device=x.device)")
    assert out == expected.encode()


def test_broken_standard_input_comes_back_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin(monkeypatch, b"def f(:\n")
    assert run("--write", "-") == 2
    out, err = capfdbinary.readouterr()
    assert out == b"def f(:\n"
    assert b"<stdin>:1:7" in err


def test_standard_input_goes_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-", "a.py") == 2
    assert "no other path" in capsys.readouterr().err


@pytest.mark.parametrize(("choice", "colored"), [("always", True), ("never", False), ("auto", False)])
def test_color_is_a_choice(choice: str, colored: bool, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["a.py"], ["--diff", "a.py"], ["--output-format", "concise", "a.py"]):
        run("--color", choice, *arguments)
        assert ("\x1b[" in capsys.readouterr().out) is colored


def test_the_environment_has_a_say_in_color(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    run("a.py")
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    run("a.py")
    assert "\x1b[" not in capsys.readouterr().out
    run("--color", "always", "a.py")
    assert "\x1b[" in capsys.readouterr().out


def test_crlf_and_missing_newlines_make_a_patch_that_applies(capsys: pytest.CaptureFixture[str]) -> None:
    import subprocess

    for raw in (
        CODE.replace("\n", "\r\n").encode(),
        CODE.encode()[:-1],
        b"y = 1\nx.to(d)",
        b"\x0cx.to('\xe2\x80\xa8')\n",
    ):
        Path("a.py").write_bytes(raw)
        run("--diff", "a.py")
        patch = capsys.readouterr().out
        run("-q", "--write", "a.py")
        written = Path("a.py").read_bytes()
        Path("a.py").write_bytes(raw)
        done = subprocess.run(["patch", "--binary", "-p0"], input=patch.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done
        assert Path("a.py").read_bytes() == written


def test_ignores_are_written_and_then_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(CODE + 'y = torch.zeros("""\n""")\nz = torch.zeros(1, \\\n  2)\n')
    assert run("--add-ignore", "a.py") == 0
    assert "Added 5 suppressions; 0 remaining." in capsys.readouterr().out
    text = Path("a.py").read_text()
    assert "x.to(d)  # devicefix: ignore[DVF101]\n" in text
    assert '""")  # devicefix: ignore[DVF201]\n' in text
    assert "  2)  # devicefix: ignore[DVF201]\n" in text
    assert run("a.py") == 0
    assert run("--add-ignore", "a.py") == 0
    assert Path("a.py").read_text() == text


def test_notebooks_are_checked_shown_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [
        {"cell_type": "code", "source": ["%time 1\n", "x.to(d)"], "outputs": [], "metadata": {}},
        {"cell_type": "markdown", "source": "x.to(d)", "metadata": {}},
        {"cell_type": "code", "source": "y = 1\na = torch.zeros(3)", "outputs": [], "metadata": {}},
    ]
    raw = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=2)
    Path("n.ipynb").write_text(raw)
    assert run("n.ipynb") == 1
    out = capsys.readouterr().out
    assert "n.ipynb:cell 1:2:1: DVF101" in out
    assert "n.ipynb:cell 3:2:5: DVF201" in out
    assert "2 | a = torch.zeros(3)" in out
    assert run("--diff", "n.ipynb") == 1
    out = capsys.readouterr().out
    assert "--- n.ipynb:cell 1\n" in out
    assert "-x.to(d)\n" in out
    assert run("--write", "n.ipynb") == 0
    written = Path("n.ipynb").read_text()
    assert written == raw.replace('"x.to(d)"\n', '"x = x.to(d)"\n').replace("zeros(3)", "zeros(3, device=x.device)")
