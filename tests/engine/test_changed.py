"""Lines that git says were added: with a real git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toy
from devicefix.engine.changed import _added, changed_since
from devicefix.engine.run import run
from devicefix.engine.wanted import GitError
from devicefix.settings import Settings

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
CODE = "a = 1\nx.to(d)\nb = 2\n"


def git(*arguments: str, folder: str = ".") -> str:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    env = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def commit(message: str = "more") -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    Path("a.py").write_text(CODE)
    commit()
    return tmp_path


def lines(*paths: str, base: str = "HEAD", mode: str = "check") -> list[tuple[str, int]]:
    chosen = list(paths or ["."])
    found = run(
        chosen,
        Settings(),
        mode,
        rules=toy.RULES,
        analyse=toy.analyse,
        filters=[changed_since(base, chosen)],  # type: ignore[arg-type]
    )
    return sorted((outcome.path, f.span.start.line) for outcome in found for f in outcome.findings)


def test_nothing_changed(repository: Path) -> None:
    assert lines() == []


def test_added_and_changed_lines(repository: Path) -> None:
    Path("a.py").write_text(CODE + "y.to(d)\n")
    assert lines() == [("a.py", 4)]
    Path("a.py").write_text("y.to(d)\n" + CODE)
    assert lines() == [("a.py", 1)]
    Path("a.py").write_text(CODE.replace("x.to(d)", "x.to(e)"))
    assert lines() == [("a.py", 2)]
    Path("a.py").write_text(CODE.replace("a = 1\n", ""))
    assert lines() == []


def test_staged_lines_count(repository: Path) -> None:
    Path("a.py").write_text(CODE + "y.to(d)\n")
    git("add", "-A")
    assert lines() == [("a.py", 4)]


def test_a_part_of_a_statement_is_enough(repository: Path) -> None:
    Path("a.py").write_text("y = torch.zeros(\n    3,\n)\n")
    commit()
    Path("a.py").write_text("y = torch.zeros(\n    4,\n)\n")
    assert lines() == [("a.py", 1)]


def test_a_new_line_may_bring_out_what_an_old_one_does(repository: Path) -> None:
    head = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
    Path("net.py").write_text(f"{head}        bias = torch.ones(3)\n        return x.relu()\n")
    commit()
    Path("net.py").write_text(f"{head}        bias = torch.ones(3)\n        return x.relu() + bias\n")
    found = [f for o in run(["net.py"], Settings(), filters=[changed_since("HEAD", ["net.py"])]) for f in o.findings]
    assert [(f.code, f.span.start.line) for f in found] == [("DVF201", 7)]
    commit()
    Path("net.py").write_text(f"{head}        bias = torch.ones(3)\n        return x.relu() + bias\n\n\nb = 2\n")
    assert not [f for o in run(["net.py"], Settings(), filters=[changed_since("HEAD", ["net.py"])]) for f in o.findings]


def test_untracked_and_ignored_files_count_whole(repository: Path) -> None:
    Path("b.py").write_text(CODE)
    Path(".gitignore").write_text("c.py\n")
    Path("c.py").write_text(CODE)
    assert lines() == [("b.py", 2)]
    assert lines("b.py", "c.py") == [("b.py", 2), ("c.py", 2)]


def test_since_another_commit(repository: Path) -> None:
    Path("a.py").write_text(CODE + "y.to(d)\n")
    commit()
    assert lines() == []
    assert lines(base="HEAD~1") == [("a.py", 4)]


def test_since_a_branch_only_what_is_new_here(repository: Path) -> None:
    git("checkout", "-q", "-b", "topic")
    Path("b.py").write_text("z.to(d)\n")
    commit()
    git("checkout", "-q", "main")
    Path("a.py").write_text("a = 1\nb = 2\n")  # main went on and removed a line
    commit()
    git("checkout", "-q", "topic")
    assert lines(base="main") == [("b.py", 1)]


def test_fixes_are_made_on_added_lines_only(repository: Path) -> None:
    Path("a.py").write_text("y.to(d)\n" + CODE)
    assert lines(mode="write") == []
    assert Path("a.py").read_text() == "y = y.to(d)\n" + CODE


def test_notebooks_count_whole_when_they_changed(repository: Path) -> None:
    cell = {"cell_type": "code", "source": "x.to(d)", "outputs": [], "metadata": {}}
    Path("n.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    )
    commit()
    assert lines() == []
    Path("n.ipynb").write_text(Path("n.ipynb").read_text().replace("x.to(d)", "y.to(d)"))
    assert lines() == [("n.ipynb", 1)]


@pytest.mark.parametrize(
    "name", ["a b.py", "é.py", "日本.py", 'quo"te.py', "tab\t.py", "new\nline.py", "back\\slash.py", "+++ b.py"]
)
def test_odd_names(repository: Path, name: str) -> None:
    Path(name).write_text(CODE)
    commit()
    assert lines() == []
    Path(name).write_text("y.to(d)\n" + CODE)
    assert lines() == [(name, 1)]


def test_from_a_folder_below_and_from_outside(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Path("sub").mkdir()
    Path("sub/b.py").write_text(CODE)
    commit()
    Path("sub/b.py").write_text(CODE + "y.to(d)\n")
    Path("a.py").write_text(CODE + "y.to(d)\n")
    monkeypatch.chdir("sub")
    assert lines() == [("b.py", 4)]
    monkeypatch.chdir("/")
    assert lines(str(tmp_path)) == [(str(tmp_path / "a.py"), 4), (str(tmp_path / "sub/b.py"), 4)]


def test_settings_of_git_do_not_matter(repository: Path) -> None:
    for key, value in (
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("color.diff", "always"),
        ("diff.context", "9"),
    ):
        git("config", key, value)
    Path("a.py").write_text(CODE + "y.to(d)\n")
    assert lines() == [("a.py", 4)]


def test_outside_of_git_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(GitError, match="not a git repository"):
        changed_since("HEAD", ["."])


def test_an_unknown_commit_is_an_error(repository: Path) -> None:
    for base in ("nowhere", "--help", ""):
        with pytest.raises(GitError, match="there is no commit"):
            changed_since(base, ["."])


def test_without_git_is_an_error(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="not installed"):
        changed_since("HEAD", ["."])


def test_lines_that_look_like_headers_are_none() -> None:
    diff = b"--- a/a\n+++ b/a\n@@ -1,1 +1,3 @@\n---- b/x\n+++ b/y\n++++ b/z\n+@@ -9 +9 @@\n--- a/c\n+++ b/c\n@@ -0,0 +5 @@\n+x\n"
    assert _added(diff) == {"a": ((1, 3),), "c": ((5, 5),)}


TEXT = st.lists(st.sampled_from(["a = 1", "x.to(d)", "+++ b/a.py", "--- a/a.py", "@@ -1 +1 @@", ""]), max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXT, TEXT)
def test_as_added_count_the_lines_that_are_not_in_the_old_text(
    repository: Path, old: list[str], new: list[str]
) -> None:
    """What is kept in order is not added: at least the new lines are, and none that is in both as a whole."""
    Path("t.txt").write_text("".join(f"{line}\n" for line in old))
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "old")
    Path("t.txt").write_text("".join(f"{line}\n" for line in new))
    stretches = changed_since("HEAD", ["."]).added.get(os.path.realpath("t.txt"), ())
    added = {n for first, last in stretches for n in range(first, last + 1)}
    kept = [line for n, line in enumerate(new, 1) if n not in added]
    rest = iter(old)
    assert all(line in rest for line in kept), "what is kept is a part of the old text, in order"
    assert old != new or not added
