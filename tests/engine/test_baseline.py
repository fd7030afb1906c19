"""A baseline hides what is known, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toy
from devicefix.engine import baseline
from devicefix.engine.outcome import Outcome
from devicefix.engine.run import run
from devicefix.engine.wanted import BaselineError
from devicefix.settings import Settings

CODE = "def f(x, d):\n    x.to(d)\n    return torch.zeros(3)\n\n\nclass A:\n    def g(self, x, d):\n        x.to(d)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(CODE)
    return tmp_path


def outcomes(*paths: str, filters: tuple[baseline.Baseline, ...] = (), mode: str = "check") -> list[Outcome]:
    return list(
        run(paths or ["."], Settings(), mode, rules=toy.RULES, analyse=toy.analyse, filters=filters)  # type: ignore[arg-type]
    )


def new(**more: object) -> list[tuple[str, int]]:
    """Code and line of what is not in the baseline."""
    found = outcomes(filters=(baseline.read("known.json"),), **more)  # type: ignore[arg-type]
    return [(f.code, f.span.start.line) for outcome in found for f in outcome.findings]


def write() -> int:
    return baseline.write("known.json", outcomes())


def test_what_is_known_is_hidden() -> None:
    assert write() == 3
    assert new() == []
    [outcome] = outcomes("a.py", filters=(baseline.read("known.json"),))
    assert outcome.hidden == 3


def test_it_survives_moved_lines_spaces_and_other_numbers() -> None:
    write()
    Path("a.py").write_text("# more\n\n\n" + CODE.replace("x.to(d)", "x.to( d )").replace("    return", "\n    return"))
    assert [code for code, _ in new()] == ["DVF101", "DVF101"]  # spaces inside are another line
    Path("a.py").write_text(
        "# more\n\n\n" + CODE.replace("    x.to", "        x.to").replace("def f(x, d):", "def f(x, d):\n    if d:")
    )
    assert new() == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (CODE + "y.to(d)\n", [9]),
        (CODE.replace("def f", "def other"), [2, 3]),
        (CODE.replace("class A", "class B"), [8]),
        (CODE.replace("    x.to(d)\n    return", "    x.to(d)\n    x.to(d)\n    return"), [3]),
        ("x.to(d)\n" + CODE, [1]),
        (CODE.replace("zeros(3)", "zeros(4)"), [3]),
    ],
)
def test_what_is_new_is_reported(text: str, lines: list[int]) -> None:
    write()
    Path("a.py").write_text(text)
    assert [line for _, line in new()] == lines


def test_other_files_are_not_meant() -> None:
    write()
    Path("b.py").write_text(CODE)
    assert len(new()) == 3


def test_paths_are_relative_to_the_baseline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    found = outcomes("../a.py", filters=(baseline.read("../known.json"),))
    assert [f for o in found for f in o.findings] == []
    data = json.loads(Path("../known.json").read_text())
    assert list(data["findings"]) == ["a.py"]


def test_stale_entries() -> None:
    Path("gone.py").write_text("x.to(d)\n")
    Path("unchecked.py").write_text("x.to(d)\n")
    write()
    Path("gone.py").unlink()
    Path("a.py").write_text(CODE.replace("    x.to(d)\n    return", "    return"))
    known = baseline.read("known.json")
    for outcome in outcomes("a.py", filters=(known,)):
        known.note(outcome.path)
    assert [(name, key[0], key[1], count) for name, key, count in known.stale()] == [
        ("a.py", "DVF101", "f", 1),
        ("gone.py", "DVF101", "", 1),
    ]


def test_a_file_without_findings_makes_its_entries_stale() -> None:
    write()
    Path("a.py").write_text("x = 1\n")
    known = baseline.read("known.json")
    for outcome in outcomes("a.py", filters=(known,)):
        known.note(outcome.path)
    assert len(known.stale()) == 3


def test_fixes_leave_what_is_known() -> None:
    write()
    Path("a.py").write_text(CODE + "y.to(d)\n")
    [outcome] = outcomes("a.py", filters=(baseline.read("known.json"),), mode="write")
    assert Path("a.py").read_text() == CODE + "y = y.to(d)\n"
    assert [f.code for f in outcome.applied] == ["DVF101"]
    assert outcome.findings == []


def test_suppressions_are_written_for_what_is_new() -> None:
    write()
    Path("a.py").write_text(CODE + "y.to(d)\n")
    outcomes("a.py", filters=(baseline.read("known.json"),), mode="ignore")
    assert Path("a.py").read_text() == CODE + "y.to(d)  # devicefix: ignore[DVF101]\n"


def test_notebooks() -> None:
    cell = {"cell_type": "code", "source": "x.to(d)", "outputs": [], "metadata": {}}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    Path("n.ipynb").write_text(text)
    write()
    assert new() == []


def test_writing_again_gives_the_same_bytes() -> None:
    write()
    before = Path("known.json").read_bytes()
    write()
    assert Path("known.json").read_bytes() == before
    assert not list(Path().glob(".known*"))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", '{"version": 1}', '{"version": 2, "findings": {}}', '{"version": 1, "findings": {"a": [{}]}}',
     '{"version": 1, "findings": {"a": [{"code": 1, "scope": "", "line": "", "message": ""}]}}',
     '{"version": 1, "findings": {"a": [{"code": "", "scope": "", "line": "", "message": "", "count": 0}]}}',
     '{"version": 1, "findings": [1]}', "\xff"],
)  # fmt: skip
def test_what_is_no_baseline_is_an_error(text: str) -> None:
    Path("known.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BaselineError, match=r"known\.json"):
        baseline.read("known.json")


def test_a_missing_baseline_is_an_error() -> None:
    with pytest.raises(BaselineError, match="cannot be read"):
        baseline.read("missing.json")
    with pytest.raises(BaselineError, match="cannot be written"):
        baseline.write("missing/known.json", [])


LINES = ["x.to(d)", "y.to(d)", "a = torch.zeros(3)", "pass", "# comment", ""]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(LINES), max_size=8),
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(LINES)), max_size=4),
)
def test_exactly_the_inserted_findings_are_new(lines: list[str], inserted: list[tuple[int, str]]) -> None:
    Path("a.py").write_text("\n".join(lines) + "\n")
    write()
    after = list(lines)
    for place, line in inserted:
        after.insert(min(place, len(after)), line)
    Path("a.py").write_text("\n".join(after) + "\n")
    assert len(new()) == sum(line not in ("pass", "# comment", "") for _, line in inserted)
