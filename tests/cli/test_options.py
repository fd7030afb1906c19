from __future__ import annotations

import dataclasses

import pytest

from devicefix.cli.check import run_check
from devicefix.cli.choices import Color, OutputFormat
from devicefix.cli.options import COLORS, CheckOptions, parse_quickly
from devicefix.settings import OUTPUT_FORMATS, Settings

COMMON = [
    [],
    ["src"],
    ["src", "tests"],
    ["--diff", "src"],
    ["src", "--diff"],
    ["-w", "src"],
    ["--write", "--unsafe-fixes", "src"],
    ["--no-unsafe-fixes", "src"],
    ["--select", "DVF1,DVF2", "src", "--ignore=DVF101"],
    ["--select", "DVF1", "--select", "DVF2"],
    ["--extend-select", "x", "--exclude", "a,b"],
    ["--output-format", "json"],
    ["--output-format=sarif", "src"],
    ["--statistics", "--show-fixes", "--exit-zero", "-q", "-v"],
    ["--jobs", "3"],
    ["-j", "0"],
    ["--color", "always"],
    ["--config", "x.toml", "--isolated"],
    ["-", "--stdin-filename", "a.py"],
    ["--", "-x.py", "--diff"],
    ["--add-ignore", "src"],
    ["check", "src"],
    ["check", "rule"],
    ["src", "rule"],
]


@pytest.mark.parametrize("arguments", COMMON, ids=" ".join)
def test_the_quick_parser_and_the_full_one_agree(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from devicefix.cli import app

    seen: list[CheckOptions] = []

    def record(options: CheckOptions) -> int:
        seen.append(options)
        return 0

    monkeypatch.setattr(app, "run_check", record)
    assert app.run_app(arguments) == 0
    assert parse_quickly(arguments) == seen[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["rule", "DVF101"],
        ["rules"],
        ["server"],
        ["--wrong"],
        ["--output-format", "yaml"],
        ["--output-format"],
        ["--jobs", "-1"],
        ["--jobs", "x"],
        ["--jobs", "²"],
        ["--color", "blue"],
        ["--diff", "--write"],
        ["--write", "--add-ignore"],
        ["-qv"],
        ["--stat"],
        ["--diff=1"],
        ["--install-completion"],
    ],
    ids=" ".join,
)
def test_everything_else_is_left_to_the_full_parser(arguments: list[str]) -> None:
    assert parse_quickly(arguments) is None


def test_every_option_is_reachable_in_both_parsers() -> None:
    import inspect

    from devicefix.cli.app import check

    own = {field.name for field in dataclasses.fields(CheckOptions)} - {"fields"}
    settings = {field.name for field in dataclasses.fields(Settings)} - {"root"}
    assert set(inspect.signature(check).parameters) == own | settings


def test_choices_are_those_of_the_settings() -> None:
    assert tuple(choice.value for choice in OutputFormat) == OUTPUT_FORMATS
    assert tuple(choice.value for choice in Color) == COLORS


def test_an_option_can_be_given_everything_it_is_documented_for() -> None:
    assert run_check(CheckOptions(paths=["-", "x"])) == 2
