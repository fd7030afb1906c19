"""``devicefix config``, ``devicefix clean``, the cache and the baseline on the command line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from devicefix.__main__ import run

FAULT = "import torch\n\n\ndef f(device):\n    x = torch.ones(3)\n    x.to(device)\n    return x + torch.ones(3, device=device)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("DEVICEFIX_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path("a.py").write_text(FAULT)
    Path("b.py").write_text("import torch\n")
    return project


# -- config ------------------------------------------------------------------------------------------------------------


def test_config_shows_values_and_where_they_come_from(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("base.toml").write_text('ignore = ["DVF4"]\ntorch-version = "2.1"\n')
    Path("devicefix.toml").write_text('extend = "base.toml"\n\njobs = 2\n\n[per-file-ignores]\n"t*" = ["ALL"]\n')
    assert run(["config"]) == 0
    *rows_, last = capsys.readouterr().out.splitlines()
    rows = dict(row.split(" = ", 1) for row in rows_)
    assert last.startswith("# rules that run: DVF101, DVF102, ")
    assert "DVF4" not in last
    assert rows["ignore"].split("#")[0].strip() == '["DVF4"]'
    assert rows["ignore"].endswith(f"# {folder / 'base.toml'}:1")
    assert rows["torch-version"].split("#")[0].strip() == '"2.1"'
    assert rows["jobs"].endswith(f"# {folder / 'devicefix.toml'}:3")
    assert '{ "t*" = ["ALL"] }' in rows["per-file-ignores"]
    assert rows["select"].split() == ["[]", "#", "default"]
    assert rows["modules"].endswith("# default")


def test_config_of_a_file_in_another_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sub").mkdir()
    Path("sub/pyproject.toml").write_text("[tool.devicefix]\nunsafe-fixes = true\n")
    Path("sub/x.py").touch()
    assert run(["config", "sub/x.py", "--output-format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["path"] == "sub/x.py"
    assert "DVF101" in shown["rules"]
    rows = {row["key"]: row for row in shown["settings"]}
    assert rows["unsafe-fixes"] == {"key": "unsafe-fixes", "value": True, "from": f"{folder / 'sub/pyproject.toml'}:2"}
    assert rows["torch-version"] == {"key": "torch-version", "value": None, "from": "default"}
    assert run(["config", "--isolated", "sub/x.py", "--output-format", "json"]) == 0
    assert all(row["from"] == "default" for row in json.loads(capsys.readouterr().out)["settings"])
    assert run(["config", "sub/y.py"]) == 2
    assert capsys.readouterr().err == "devicefix: error: sub/y.py: there is no such file or folder\n"


def test_config_names_the_rules_that_run_on_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("devicefix.toml").write_text('select = ["DVF1"]\n[per-file-ignores]\n"a.py" = ["DVF102", "DVF2"]\n')
    rules = {}
    for path in (".", "a.py", "b.py"):
        assert run(["config", path]) == 0
        rules[path] = capsys.readouterr().out.splitlines()[-1]
    assert rules["."] == rules["b.py"] == "# rules that run: DVF101, DVF102, DVF103, DVF104"
    assert rules["a.py"] == "# rules that run: DVF101, DVF103, DVF104"


def test_mistakes_in_settings_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    for text, said in (
        ("selct = []\n", "did you mean `select`"),
        ('ignore = ["DVF999"]\n', "unknown rule"),
        ("jobs = -1\n", "jobs"),
    ):
        Path("devicefix.toml").write_text(text)
        assert run(["config"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--torch-version", "two"], "--torch-version: must be a version"),
        (["--per-file-ignores", "DVF1"], "--per-file-ignores: must be `PATTERN:RULE,RULE`"),
        (["--per-file-ignores", "a.py:DVF999"], "unknown rule `DVF999`"),
        (["--extend-safe-fixes", "nope"], "unknown rule `nope`"),
        (["--unfixable", "DVF0"], "unknown rule `DVF0`"),
        (["--buffer-style", "x"], "register_buffer"),
        (["--base", "main"], "--base goes with --changed-only"),
        (["--diff", "--write-baseline", "x.json"], "exclude each other"),
        (["--watch", "--write"], "exclude each other"),
        (["--baseline", "missing.json"], "cannot be read"),
    ],
)
def test_mistakes_on_the_command_line_are_told(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "a.py"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--per-file-ignores", "a.py:DVF1"], 0),
        (["--per-file-ignores", "b.py:DVF1"], 1),
        (["--per-file-ignores", "a*:DVF3,DVF101", "--per-file-ignores", "c:ALL"], 0),
        (["--torch-version", "1.13"], 1),
        (["--modules", "lib.A,lib.B", "--in-place-containers", "lib.C"], 1),
        (["--persistent-buffers", "--device-expression", "accelerator", "--buffer-style", "nn.Buffer"], 1),
    ],
)
def test_settings_on_the_command_line(arguments: list[str], status: int) -> None:
    assert run([*arguments, "a.py"]) == status


def test_the_command_line_comes_on_top_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("devicefix.toml").write_text('unfixable = ["DVF3"]\n[per-file-ignores]\n"b.py" = ["DVF1"]\n')
    run(["--unfixable", "DVF1", "--per-file-ignores", "c.py:DVF1", "a.py"])
    assert "the settings turn fixes of this rule off" in capsys.readouterr().out


# -- the cache ---------------------------------------------------------------------------------------------------------


def known(capsys: pytest.CaptureFixture[str], *arguments: str) -> bool:
    run(["-v", *arguments, "."])
    return "2 known from an earlier run" in capsys.readouterr().err


def test_the_cache_is_used_unless_told_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not known(capsys)
    assert known(capsys)
    assert not known(capsys, "--no-cache")
    assert not known(capsys, "--cache-dir", str(tmp_path / "other"))
    assert known(capsys, "--cache-dir", str(tmp_path / "other"))
    assert (tmp_path / "other/CACHEDIR.TAG").exists()


@pytest.mark.parametrize(
    "output_format", ["full", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson", "azure"]
)
def test_what_is_known_is_printed_in_the_same_way(output_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for arguments in (["--no-cache"], [], []):
        assert run(["--output-format", output_format, *arguments, "."]) == 1
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1] == printed[2]


def test_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["clean"]) == 0
    assert "nothing to remove" in capsys.readouterr().out
    run(["."])
    assert run(["clean"]) == 0
    assert "removed" in capsys.readouterr().out
    assert not (tmp_path / "cache").exists()


def test_clean_leaves_other_folders_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").write_text("x")
    assert run(["clean", "--cache-dir", str(mine)]) == 2
    assert "left alone" in capsys.readouterr().err
    assert (mine / "precious").exists()
    assert run(["clean", "--cache-dir", str(mine / "precious")]) == 2


def test_the_user_s_folder_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    from devicefix.engine.cache.places import cache_folder

    monkeypatch.delenv("DEVICEFIX_CACHE_DIR")
    assert cache_folder() == platformdirs.user_cache_path("devicefix", appauthor=False)
    monkeypatch.setenv("DEVICEFIX_CACHE_DIR", "here")
    assert cache_folder() == Path("here").absolute()
    assert cache_folder("there") == Path("there").absolute()


# -- the baseline ------------------------------------------------------------------------------------------------------


def test_a_baseline_is_written_and_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--write-baseline", "known.json", "."]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "1 finding written to known.json\n"
    for _ in range(2):  # the second time from the cache
        assert run(["--baseline", "known.json", "."]) == 0
        assert "All checks passed" in capsys.readouterr().out
    assert run(["--baseline", "known.json", "--write", "."]) == 0
    assert Path("a.py").read_text() == FAULT
    Path("a.py").write_text(FAULT + "\n\n" + FAULT.replace("def f", "def g").removeprefix("import torch\n\n\n"))
    assert run(["--baseline", "known.json", "--output-format", "concise", "."]) == 1
    out = capsys.readouterr().out
    assert out.count("DVF101") == 1
    assert "a.py:12:5" in out
    assert run(["--baseline", "known.json", "--exit-zero", "."]) == 0


def test_stale_entries_are_told_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--write-baseline", "known.json", "."])
    Path("a.py").write_text("import torch\n")
    capsys.readouterr()
    assert run(["-v", "--baseline", "known.json", "."]) == 0
    assert "stale in the baseline: a.py: DVF101 in f: x.to(device)" in capsys.readouterr().err
    run(["--baseline", "known.json", "."])
    assert "stale" not in capsys.readouterr().err


# -- standard input, progress, watching --------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [["--changed-only"], ["--baseline", "x"], ["--watch"], ["--write-baseline", "x"]])
def test_standard_input_goes_with_none_of_these(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*option, "-"]) == 2
    assert option[0] in capsys.readouterr().err


def test_progress_is_shown_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from devicefix.cli import progress

    monkeypatch.setattr(progress, "AFTER", 0)
    monkeypatch.setattr(progress, "EVERY", 0)
    run(["."])
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_progress_makes_room_for_findings() -> None:
    """In a real terminal: the bar appears, and every finding is whole."""
    import pty

    for number in range(6):
        Path(f"c{number}.py").write_text(FAULT)
    code = (
        "from devicefix.cli import progress\nprogress.AFTER = progress.EVERY = 0\n"
        "from devicefix.__main__ import run\nimport sys\nsys.exit(run(['--no-cache', '-j1', '--output-format', 'concise', '.']))\n"
    )
    shown = bytearray()

    def read(handle: int) -> bytes:
        data = os.read(handle, 1024)
        shown.extend(data)
        return data

    source = str(Path(__file__).parents[2] / "src")
    status = pty.spawn(
        ["/usr/bin/env", f"PYTHONPATH={source}", "TERM=xterm", "COLUMNS=100", sys.executable, "-c", code], read
    )
    text = shown.decode("utf-8", "replace")
    assert os.waitstatus_to_exitcode(status) == 1, text
    assert "Checking" in text
    for number in range(6):
        assert f"c{number}.py:6:5" in text


def test_watching_needs_a_library(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert run(["--watch", "."]) == 2
    assert "pip install 'devicefix[watch]'" in capsys.readouterr().err


def test_watching_checks_again_after_a_change() -> None:
    pytest.importorskip("watchfiles")
    import signal
    import subprocess
    import time

    source = str(Path(__file__).parents[2] / "src")
    with subprocess.Popen(
        [sys.executable, "-m", "devicefix", "--watch", "--output-format", "concise", "."],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    ) as process:  # fmt: skip
        assert process.stdout is not None

        def until(wanted: str) -> str:
            seen = ""
            for line in process.stdout or ():
                seen += line
                if wanted in line:
                    return seen
            raise AssertionError(seen)

        try:
            assert "a.py:6:5: DVF101" in until("watching for changes")
            time.sleep(1)
            Path("notes.txt").write_text("no reason to check")
            Path("a.py").write_text("import torch\n")
            assert "All checks passed" in until("watching for changes")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) in (0, 130)
        finally:
            process.kill()


def test_what_matters_to_watchers() -> None:
    from devicefix.cli.watch import matters

    assert all(map(matters, ["/x/a.py", "a.ipynb", "a.pyi", "pyproject.toml", ".devicefix.toml", ".gitignore"]))
    assert not any(map(matters, ["a.txt", "a.py.tmp", "a.pyc", "poetry.lock"]))
