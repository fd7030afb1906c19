from __future__ import annotations

import json

import pytest

from devicefix import __version__
from devicefix.__main__ import run
from devicefix.engine.check import known_rules


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, option) == f"devicefix {__version__}\n"


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_options_and_commands(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, option)
    for word in ("--diff", "--write", "--unsafe-fixes", "--output-format", "rule", "verify", "inspect", "server"):
        assert word in out
    assert "devicefix [OPTIONS] [PATH]..." in out


@pytest.mark.parametrize("command", ["rule", "rules", "run", "verify", "inspect", "server"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Usage: devicefix" in output(capsys, command, "--help")


def test_every_rule_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for rule in known_rules():
        for name in (rule.code, rule.code.lower(), rule.name, rule.name.replace("-", "_").upper()):
            assert output(capsys, "rule", name).startswith(f"# {rule.code} {rule.name}\n")
        data = json.loads(output(capsys, "rule", rule.code, "--output-format", "json"))
        assert data["code"] == rule.code


def test_all_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "rules")
    assert [row.split()[0] for row in out.splitlines()] == [rule.code for rule in known_rules()]
    assert len(json.loads(output(capsys, "rules", "--output-format", "json"))) == len(known_rules())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--selct", "x"], "No such option"),
        (["--output-format", "yaml", "."], "yaml"),
        (["--jobs", "-1"], "--jobs"),
        (["--jobs", "many"], "--jobs"),
        (["--diff", "--write", "."], "exclude each other"),
        (["rule"], "Missing argument"),
        (["rule", "DVF90"], "unknown rule `DVF90`; did you mean `DVF901`?"),
        (["rules", "more"], "unexpected extra argument"),
        (["--select"], "requires an argument"),
        (["verify", "a.py"], "Missing argument"),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("devicefix: error: ")
    assert message in err
