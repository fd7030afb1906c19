from __future__ import annotations

import os
from pathlib import Path

import pytest

from devicefix.settings import Settings
from devicefix.source.discover import discover
from devicefix.source.errors import DiscoveryError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*names: str, content: str = "") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def names(*paths: str, **settings: object) -> list[str]:
    found = discover(paths or (".",), Settings(**settings))  # type: ignore[arg-type]
    return [item.as_posix() if isinstance(item, Path) else f"! {item}" for item in found]


def test_source_files_are_found_in_a_fixed_order(tree: Path) -> None:
    put("b.py", "a.pyi", "n.ipynb", "sub/c.py", "sub/deep/d.py", "x.txt", "y.pyc", ".hidden.py")
    assert names() == [".hidden.py", "a.pyi", "b.py", "n.ipynb", "sub/c.py", "sub/deep/d.py"]
    assert names("sub") == ["sub/c.py", "sub/deep/d.py"]


def test_folders_of_other_tools_are_left_out(tree: Path) -> None:
    put("a.py", ".git/b.py", ".venv/c.py", "node_modules/d.py", "build/e.py", "dist/f.py", "__pycache__/g.py")
    put("env/pyvenv.cfg", "env/lib/h.py", "conda/conda-meta/x", "conda/i.py", "lib/site-packages/j.py", ".tox/k.py")
    assert names() == ["a.py"]


def test_what_is_named_is_taken(tree: Path) -> None:
    put("build/e.py", ".venv/c.py", "script", content="")
    put(".gitignore", content="build/\nscript\n")
    Path(".git").mkdir()
    assert names("build/e.py", "script", ".venv") == ["build/e.py", "script", ".venv/c.py"]
    assert names("build") == ["build/e.py"]


def test_gitignore_files_are_obeyed_at_every_level(tree: Path) -> None:
    Path(".git").mkdir()
    put("a.py", "gen/b.py", "sub/c.py", "sub/keep.py", "sub/deep/gen/d.py", "sub/deep/e.py", "f_gen.py")
    put(".gitignore", content="gen/\n*_gen.py\n/sub/c.py\n# comment\n")
    put("sub/deep/.gitignore", content="!gen/\ne.py\n")
    assert names() == ["a.py", "sub/keep.py", "sub/deep/gen/d.py"]


def test_gitignore_above_the_folder_holds_inside_a_repository(tree: Path) -> None:
    put("repo/.gitignore", content="skip.py\n/pkg/only_here.py\n")
    put("repo/pkg/a.py", "repo/pkg/skip.py", "repo/pkg/only_here.py", "repo/pkg/sub/only_here.py")
    assert "repo/pkg/skip.py" in names("repo/pkg")
    Path("repo/.git").mkdir()
    assert names("repo/pkg") == ["repo/pkg/a.py", "repo/pkg/sub/only_here.py"]
    os.chdir("repo/pkg")
    assert names() == ["a.py", "sub/only_here.py"]


def test_gitignore_holds_outside_a_repository_too(tree: Path) -> None:
    put("a.py", "b.py")
    put(".gitignore", content="b.py\n")
    assert names() == ["a.py"]


def test_broken_patterns_are_passed_over(tree: Path) -> None:
    put("a.py", "b.py")
    put(".gitignore", content="!\n\\\nb.py\n")
    assert names() == ["a.py"]


def test_excluded_patterns_of_the_settings(tree: Path) -> None:
    put("a.py", "old/b.py", "sub/old/c.py", "d_pb2.py")
    assert names(exclude=("old/", "*_pb2.py")) == ["a.py"]
    assert names(exclude=("/old",)) == ["a.py", "d_pb2.py", "sub/old/c.py"]


def test_missing_paths_are_errors_and_the_others_are_found(tree: Path) -> None:
    put("a.py")
    Path("broken.py").symlink_to("nowhere.py")
    assert names("missing", "a.py", "broken.py") == [
        "! missing: no such file or folder",
        "a.py",
        "! broken.py: broken symbolic link",
    ]
    assert isinstance(next(discover(["a\0b"])), DiscoveryError)


def test_a_file_is_found_once(tree: Path) -> None:
    put("a.py")
    Path("link.py").symlink_to("a.py")
    assert names("a.py", "./a.py", "link.py", ".") == ["a.py"]


def test_links_to_folders_are_not_followed(tree: Path) -> None:
    put("sub/a.py")
    Path("sub/loop").symlink_to(".", target_is_directory=True)
    assert names() == ["sub/a.py"]


def test_something_else_than_a_file_is_an_error(tree: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("s.py")
        assert names("s.py") == ["! s.py: neither a file nor a folder"]
