"""Damaged notebooks, settings and baselines: one clear line each, exit status 2, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devicefix.__main__ import run

CODE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
x = torch.ones(4, 3)
x.to(device)
print(model(x))
"""
CELL = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": CODE.splitlines(True)}
TEXT = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
NOTEBOOK = {"cells": [TEXT, CELL], "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
ROW = {"code": "DVF101", "scope": "", "line": "y.to(device)", "message": "m", "count": 2}
BASELINE = {"version": 1, "findings": {"a.py": [ROW, {**ROW, "line": "z.to(device)"}], "b.py": []}}
SETTINGS = """\
select = ["DVF1", "DVF2"]
unsafe-fixes = false
torch-version = "2.4"
modules = ["mylib.layers.Block"]

[per-file-ignores]
"tests/*" = ["ALL"]
"""
FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    Path("a.py").write_text(CODE)
    return project


@st.composite
def bytes_damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    """Cut off, overwritten, doubled, in another encoding, or with what a merge leaves."""
    at = draw(st.integers(0, len(valid) - 1))
    return draw(
        st.sampled_from(
            [
                valid[:at],
                valid[at:],
                valid[:at] + draw(st.binary(min_size=1, max_size=3)) + valid[at + 1 :],
                valid[:at] + draw(st.sampled_from([b"\0", b"\xff", b"{", b"]", b'"', b"\\", b",", b"\n"])) + valid[at:],
                valid + valid,
                valid.decode().encode("utf-16"),
                b"\xef\xbb\xbf" + valid,
                b"<<<<<<< HEAD\n" + valid + b"=======\n" + valid + b">>>>>>> other\n",
                valid[:at] + b"[" * 100_000,
            ]
        )
    )


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values in JSON data."""
    found = [path]
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += paths_in(inner, (*path, key))
    return found


@st.composite
def data_damaged(draw: st.DrawFn, valid: Any) -> bytes:
    """One value is gone or is of another kind."""
    data = json.loads(json.dumps(valid))
    path = draw(st.sampled_from(paths_in(valid)))
    other = draw(st.sampled_from([None, True, -1, 1.5, "text", [], {}, [None], {"a": 1}, [[]], "\ud800"]))
    if not path:
        return json.dumps(other).encode()
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    if draw(st.booleans()):
        del holder[path[-1]]
    else:
        holder[path[-1]] = other
    return json.dumps(data, indent=1).encode()


def tried(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Status and both outputs of a run. Whatever the damage, a failure is told in lines of one shape."""
    status = run(arguments)
    out, err = capsys.readouterr()
    assert status in (0, 1, 2)
    assert all(line.startswith("devicefix: error: ") for line in err.splitlines()), err
    assert (status == 2) == bool(err)
    return status, out, err


def without_sources(raw: bytes) -> Any:
    """A notebook as pairs of keys and values, in their order, without the text of its cells."""

    def pairs(found: list[tuple[str, Any]]) -> Any:
        return [(key, None if key == "source" else value) for key, value in found]

    return json.loads(raw.decode("utf-8-sig"), strict=False, object_pairs_hook=pairs)


class TestNotebooks:
    @FUZZ
    @given(raw=st.one_of(bytes_damaged(json.dumps(NOTEBOOK, indent=1).encode()), data_damaged(NOTEBOOK)))
    def test_whatever_is_wrong(self, raw: bytes, capsys: pytest.CaptureFixture[str]) -> None:
        Path("n.ipynb").write_bytes(raw)
        status, out, err = tried(["--write", "--no-cache", "n.ipynb"], capsys)
        now = Path("n.ipynb").read_bytes()
        if status == 2:
            assert err.count("\n") == 1
            assert err.startswith("devicefix: error: n.ipynb")
            assert out == ""
            assert now == raw
        elif now != raw:  # what is still a notebook may be repaired, and stays what it was otherwise
            assert without_sources(now) == without_sources(raw)

    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            (b"", "not a notebook: the file is empty"),
            (b"import torch\n", "1:1: not a notebook: Expecting value"),
            (b"[]", "there is no list of cells"),
            (b'{"cells": [{"cell_type": "code"}]}', "cell 1 has no `source`"),
            (b'{"worksheets": []}', "format 3 and older"),
            (b"\x93NUMPY", "not encoded as UTF-8"),
        ],
    )
    def test_one_that_does_not_mention_torch(self, raw: bytes, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("n.ipynb").write_bytes(raw)
        for _ in range(2):  # the second time a cache is there
            status, out, err = tried(["."], capsys)
            assert status == 2
            assert said in err
            assert "a.py:7:1" in out  # the others are checked all the same

    def test_the_others_are_repaired(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("n.ipynb").write_bytes(b'{"cells": [')
        assert tried(["--write", "."], capsys)[0] == 2
        assert "x = x.to(device)" in Path("a.py").read_text()


class TestSettings:
    @FUZZ
    @given(raw=bytes_damaged(SETTINGS.encode()))
    def test_whatever_is_wrong(self, raw: bytes, capsys: pytest.CaptureFixture[str]) -> None:
        Path("a.py").write_text(CODE)
        Path("devicefix.toml").write_bytes(raw)
        status, out, err = tried(["--write", "--no-cache", "a.py"], capsys)
        if status == 2:
            assert err.count("\n") == 1
            assert "devicefix.toml" in err
            assert out == ""
            assert Path("a.py").read_text() == CODE

    @pytest.mark.parametrize("name", ["devicefix.toml", ".devicefix.toml", "pyproject.toml"])
    @pytest.mark.parametrize(
        ("text", "line", "said"),
        [
            ('select = ["DVF1", "DVF999"]', 2, "`select`: unknown rule `DVF999`"),
            ('unfixable = ["nothing-like-it"]', 2, "`unfixable`: unknown rule `nothing-like-it`"),
            ('per-file-ignores = { "a.py" = ["DVF0"] }', 2, "`per-file-ignores`: unknown rule `DVF0`"),
            ("jobs = -1", 2, "`jobs` must be a whole number, 0 or more, not `-1`"),
            ("selct = []", 2, "unknown key `selct`; did you mean `select`?"),
            ('buffer-style = "buffer"', 2, '`buffer-style` must be "register_buffer" or "nn.Buffer", not `"buffer"`'),
            ("jobs = [", 2, "not valid TOML"),
        ],
    )
    def test_the_line_names_file_line_key_and_what_is_allowed(
        self, name: str, text: str, line: int, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path(name).write_text(("[tool.devicefix]" if name == "pyproject.toml" else "#") + f"\n{text}\n")
        for arguments in (["."], ["--write", "a.py"], ["--diff", "."], ["config"], ["--add-ignore", "."]):
            status, out, err = tried(arguments, capsys)
            assert (status, out) == (2, "")
            assert err.count("\n") == 1
            assert f"{name}:{line}: " in err
            assert said in err
        assert Path("a.py").read_text() == CODE

    @pytest.mark.parametrize("text", ["jobs = -1", 'select = ["DVF999"]', "["])
    def test_those_of_a_folder_stop_the_run_before_anything_is_written(
        self, text: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("sub").mkdir()
        Path("sub/b.py").write_text(CODE)
        Path("sub/devicefix.toml").write_text(text)
        status, out, err = tried(["--write", "."], capsys)
        assert (status, out) == (2, "")
        assert "sub/devicefix.toml:1" in err
        assert Path("a.py").read_text() == Path("sub/b.py").read_text() == CODE


class TestBaselines:
    @FUZZ
    @given(raw=st.one_of(bytes_damaged(json.dumps(BASELINE, indent=1).encode()), data_damaged(BASELINE)))
    def test_whatever_is_wrong(self, raw: bytes, capsys: pytest.CaptureFixture[str]) -> None:
        Path("a.py").write_text(CODE)
        Path("known.json").write_bytes(raw)
        status, out, err = tried(["--write", "--no-cache", "--baseline", "known.json", "a.py"], capsys)
        assert Path("known.json").read_bytes() == raw
        if status == 2:
            assert err.count("\n") == 1
            assert err.startswith("devicefix: error: known.json")
            assert out == ""
            assert Path("a.py").read_text() == CODE

    @pytest.mark.parametrize("version", ["true", "1.0", '"1"', "2", "null", "NaN", "[1]"])
    def test_another_version(self, version: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("known.json").write_text(f'{{"version": {version}, "findings": {{}}}}')
        status, _, err = tried(["--baseline", "known.json", "a.py"], capsys)
        assert status == 2
        assert "this program reads version 1" in err

    @pytest.mark.parametrize(
        ("target", "said"),
        [("a.py", "holds something that is no baseline"), ("sub", "it is a folder"), (".", "it is a folder"),
         ("missing/known.json", "there is no folder missing")],
    )  # fmt: skip
    def test_nothing_else_is_overwritten(self, target: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("sub").mkdir()
        status, out, err = tried(["--write-baseline", target, "a.py"], capsys)
        assert (status, out) == (2, "")
        assert said in err
        assert Path("a.py").read_text() == CODE

    def test_an_empty_or_an_older_baseline_is_replaced(self, capsys: pytest.CaptureFixture[str]) -> None:
        for before in ("", '{"version": 0, "findings": {}}'):
            Path("known.json").write_text(before)
            assert run(["--write-baseline", "known.json", "a.py"]) == 0
            assert run(["--baseline", "known.json", "a.py"]) == 0
            assert capsys.readouterr().out.splitlines() == [
                "All checks passed.",
                "1 finding not shown: listed in known.json.",
            ]
