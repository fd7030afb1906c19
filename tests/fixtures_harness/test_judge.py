"""The judge itself: it must accept the answers in the cases and refuse the naive ones and idleness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fixture_cases import Case, discover
from judge import judge
from tool_port import Found
from untouched_text import damage

if TYPE_CHECKING:
    from pathlib import Path

CASES = discover()
FIXES = [case for case in CASES if case.expect == "fix"]


class Answering:
    """Gives a fixed text for every file and names the case's own rule."""

    def __init__(self, case: Case, text: bytes, *, finds: bool = True) -> None:
        self.text = text
        self.found = [Found(case.rules[0], "safe", 1, "a fault")] if finds else []

    def check(self, path: Path) -> list[Found]:
        return self.found

    def fix(self, path: Path, *, unsafe: bool) -> bytes:
        return self.text


def answer(case: Case) -> bytes:
    return (case.after or case.before).read_bytes()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_answer_of_the_case_passes(case: Case) -> None:
    tool = Answering(case, answer(case), finds=case.expect != "clean")
    assert judge(case, tool, run=False).problems == []


@pytest.mark.parametrize("case", FIXES, ids=[case.name for case in FIXES])
def test_doing_nothing_fails(case: Case) -> None:
    tool = Answering(case, case.before.read_bytes(), finds=False)
    assert judge(case, tool, run=False).problems == ["no finding", "not rewritten"]


NAIVE = [case for case in CASES if case.naive and case.settings.get("naive_breaks") == "cpu"]


@pytest.mark.parametrize("case", NAIVE, ids=[case.name for case in NAIVE])
def test_the_naive_rewrite_fails(case: Case) -> None:
    pytest.importorskip("torch")
    assert case.naive is not None
    assert not judge(case, Answering(case, case.naive.read_bytes())).passed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\n# why\nb = 2\n", b"a = 3\nb = 2\n"),
        (b"a = 1\r\nb = 2\r\n", b"a = 1\nb = 3\n"),
        (b"\xef\xbb\xbfa = 1\n", b"a = 2\n"),
        (b"a = 1\nb = 'x'\n", b'a = 2\nb = "x"\n'),
        (b"a = 1\n\n\nb = 2\n", b"a = 1\nb = 2\n"),
        (b"a = 1", b"a = 2\n"),
    ],
    ids=["comment", "line-endings", "byte-order-mark", "quotes", "blank-lines", "last-line"],
)
def test_damage_outside_the_changed_statement_is_seen(before: bytes, after: bytes) -> None:
    assert damage(before, after) != []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1  # one\nb = 2\n", b"a = 3  # one\nb = 2\n"),
        (b"f(\n    1,  # one\n)\n", b"x = f(\n    1,  # one\n)\n"),
        (b"if c:\n    # why\n    a = 1\nb = 2\n", b"# why\na = 1\nb = 2\n"),
        (b"a = 1\nb = 2\nc = 3\n", b"b = 2\nc = 3\na = 1\n"),
    ],
    ids=["changed", "multi-line", "unwrapped", "moved"],
)
def test_changes_of_statements_are_no_damage(before: bytes, after: bytes) -> None:
    assert damage(before, after) == []
