from __future__ import annotations

import pytest

import toy
from devicefix.engine import check_source, fix_source
from devicefix.settings import Settings
from devicefix.source import SourceText, load_source


def found(code: str, **settings: object) -> list[tuple[str, int]]:
    source = SourceText.from_text(code, "t.py")
    result = check_source(source, rules=toy.RULES, analyse=toy.analyse, settings=Settings(**settings))  # type: ignore[arg-type]
    assert not result.errors
    return [(f.code, f.span.start.line) for f in result.findings]


OFF = {
    "code": "x.to(d)  # devicefix: ignore[DVF101]\n",
    "code and reason": "x.to(d)  # devicefix: ignore[DVF101] a probe\n",
    "name": "x.to(d)  # devicefix: ignore[dropped-move]\n",
    "name with underscores": "x.to(d)  # devicefix: ignore[dropped_move]\n",
    "prefix": "x.to(d)  # devicefix: ignore[DVF1]\n",
    "lower case": "x.to(d)  # DeviceFix:ignore[dvf101]\n",
    "several": "x.to(torch.zeros(1))  # devicefix: ignore[DVF101, DVF201]\n",
    "all": "x.to(torch.zeros(1))  # devicefix: ignore\n",
    "behind another comment": "x.to(d)  # move  # devicefix: ignore[DVF101]\n",
    "noqa": "x.to(d)  # noqa: DVF101\n",
    "noqa of several": "x.to(d)  # noqa: E501, DVF101\n",
    "noqa of all": "x.to(d)  # noqa\n",
    "on the last line of the call": "x.to(\n    d,\n)  # devicefix: ignore[DVF101]\n",
    "on a middle line": "x.to(\n    d,  # devicefix: ignore[DVF101]\n)\n",
    "next line": "# devicefix: ignore-next-line[DVF101]\nx.to(d)\n",
    "next line over a gap": "# devicefix: ignore-next-line\n\n# more\nx.to(d)\n",
    "block": "# devicefix: disable[DVF101]\nx.to(d)\nx.to(d)\n# devicefix: enable[DVF101]\n",
    "block to the end": "# devicefix: disable\nx.to(d)\n\nx.to(torch.zeros(1))\n",
    "file": "x.to(d)\n# devicefix: ignore-file[DVF101]\nx.to(d)\n",
    "whole file": "# devicefix: ignore-file\nx.to(torch.zeros(1))\n",
    "crlf": "x.to(d)  # devicefix: ignore[DVF101]\r\ny\r\n",
    "lone cr": "y\rx.to(d)  # devicefix: ignore[DVF101]\ry\r",
}


@pytest.mark.parametrize("code", OFF.values(), ids=OFF)
def test_a_comment_turns_findings_off_in_every_mode(code: str) -> None:
    assert found(code) == []
    source = SourceText.from_text(code, "t.py")
    result = fix_source(source, rules=toy.RULES, analyse=toy.analyse)
    assert not result.changed
    assert result.remaining == []


ON = {
    "another code": ("x.to(d)  # devicefix: ignore[DVF201]\n", [("DVF101", 1), ("DVF901", 1)]),
    "in a string": ("x.to('# devicefix: ignore')\n", [("DVF101", 1)]),
    "another line": ("# devicefix: ignore[DVF101]\nx.to(d)\n", [("DVF901", 1), ("DVF101", 2)]),
    "only the next line": ("# devicefix: ignore-next-line\nx.to(d)\nx.to(d)\n", [("DVF101", 3)]),
    "after the block": ("# devicefix: disable\nx.to(d)\n# devicefix: enable\nx.to(d)\n", [("DVF101", 4)]),
    "another block is open": (
        "# devicefix: disable[DVF101]\nx.to(d)\n# devicefix: enable[DVF201]\nx.to(d)\na = torch.zeros(1)\n",
        [("DVF201", 5)],
    ),
    "one of two": ("x.to(torch.zeros(1))  # devicefix: ignore[DVF101]\n", [("DVF201", 1)]),
    "noqa of others": ("x.to(d)  # noqa: E501\n", [("DVF101", 1)]),
    "noqanoqa": ("x.to(d)  # noqanything\n", [("DVF101", 1)]),
    "no such kind": ("x.to(d)  # devicefix: ignore-everything\n", [("DVF101", 1)]),
    "prose": ("x.to(d)  # devicefix ignores this\n", [("DVF101", 1)]),
    "prefix of another family": ("x.to(d)  # devicefix: ignore[DVF2]\n", [("DVF101", 1), ("DVF901", 1)]),
}


@pytest.mark.parametrize(("code", "expected"), ON.values(), ids=ON)
def test_what_a_comment_does_not_name_is_still_found(code: str, expected: list[tuple[str, int]]) -> None:
    assert found(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1  # devicefix: ignore[DVF101]\n", 1),
        ("x = 1  # devicefix: ignore\n", 1),
        ("x = 1  # noqa: DVF101\n", 1),
        ("x = 1  # noqa\n", 0),
        ("x = 1  # noqa: E501\n", 0),
        ("# devicefix: disable[DVF101]\nx = 1\n", 1),
        ("# devicefix: ignore-file[DVF101]\n", 1),
        ("# devicefix: ignore-file\n", 0),
        ("x.to(d)  # devicefix: ignore[DVF101, DVF201]\n", 1),
        ("x.to(d)  # devicefix: ignore[DVF777]\n", 2),
        ("s = '# devicefix: ignore'\n", 0),
    ],
)
def test_comments_that_do_nothing_are_found(code: str, expected: int) -> None:
    assert len(found(code)) == expected


def test_a_rule_that_did_not_run_is_not_known_to_be_silent() -> None:
    assert found("x = 1  # devicefix: ignore[DVF101]\n", select=("DVF201", "DVF901")) == []
    assert found("x = 1  # devicefix: ignore[DVF101]\n", ignore=("DVF901",)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # devicefix: ignore[DVF101]\n", "x = 1\n"),
        ("# devicefix: ignore-next-line\nx = 1\n", "x = 1\n"),
        ("x = 1  # noqa: DVF101\r\n", "x = 1\r\n"),
        ("x = 1  # noqa: DVF101, E501\n", "x = 1  # noqa: DVF101, E501\n"),
        ("x = 1  # why  # devicefix: ignore\n", "x = 1  # why  # devicefix: ignore\n"),
        ("x.to(d)  # devicefix: ignore[DVF101, DVF201]\n", "x.to(d)  # devicefix: ignore[DVF101, DVF201]\n"),
    ],
)
def test_an_idle_comment_is_taken_out_when_it_is_wholly_ours(before: str, after: str) -> None:
    source = SourceText.from_text(before, "t.py")
    assert fix_source(source, rules=toy.RULES, analyse=toy.analyse).new_text == after


def test_a_comment_in_a_notebook_holds_for_its_line() -> None:
    raw = (
        b'{"cells": [{"cell_type": "code", "source": ["%time\\n", "x.to(d)  # devicefix: ignore\\n", "x.to(d)"]},'
        b'{"cell_type": "code", "source": "x.to(d)"}]}'
    )
    result = check_source(load_source(raw, "n.ipynb"), rules=toy.RULES, analyse=toy.analyse)
    assert [(f.span.cell, f.span.start.line) for f in result.findings] == [(1, 3), (2, 1)]


def test_ignores_for_some_files() -> None:
    source = SourceText.from_text("x.to(d)\na = torch.zeros(1)\n", "tests/deep/test_a.py")
    for pattern, expected in [("tests/**", 1), ("test_*.py", 1), ("**/test_a.py", 1), ("src/**", 2), ("other.py", 2)]:
        settings = Settings(per_file_ignores=((pattern, ("DVF1",)),))
        result = check_source(source, rules=toy.RULES, analyse=toy.analyse, settings=settings)
        assert len(result.findings) == expected, pattern
