"""Every case of ``tests/fixtures``: is the case itself sound, and does the tool do what it expects?"""

from __future__ import annotations

import importlib.util

import judge
import pytest
import tool_port
from fixture_cases import EXPECTATIONS, KEYS, Case, discover
from judge import text_problems, workspace
from program_runs import difference, run_program

CASES = discover()

each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def needs_torch(case: Case) -> None:
    for module in ("torch", *case.settings.get("needs", ())):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def test_there_are_cases_of_every_expectation() -> None:
    assert {case.expect for case in CASES} == set(EXPECTATIONS)


@each_case
def test_case_is_well_formed(case: Case) -> None:
    assert set(case.settings) <= KEYS
    assert case.expect in EXPECTATIONS
    assert case.rules, "name the rule that answers for the case"
    assert case.folder.parent.name.startswith(case.rules[0].lower())
    assert (case.after is not None) == (case.expect == "fix")
    assert case.compare in ("text", "behaviour")
    assert case.is_static or None not in (case.runs_before("cpu"), case.runs_before("cuda"))
    if case.after is not None:
        assert text_problems(case, case.before.read_bytes(), case.after.read_bytes()) == []


@each_case
def test_case_runs_on_the_cpu_as_it_says(case: Case) -> None:
    needs_torch(case)
    if case.is_static:
        pytest.skip("not runnable here")
    import torch

    if torch.cuda.is_available():
        pytest.skip("says what happens on a machine without an accelerator")
    with workspace(case) as path:
        if not case.runs_before("cpu"):
            with pytest.raises(Exception):  # noqa: B017 - any failure will do
                run_program(path, "cpu")
            return
        before = run_program(path, "cpu")
    if case.after is not None:
        with workspace(case, case.after.read_bytes()) as path:
            assert difference(before, run_program(path, "cpu")) is None


@each_case
def test_tool_does_what_the_case_expects(case: Case) -> None:
    if not tool_port.tool_is_there():
        pytest.skip("the engine is not there yet")
    if case.expect != "clean" and not tool_port.known_codes() & set(case.rules):
        pytest.skip(f"there is no rule {' or '.join(case.rules)} yet")
    can_run = importlib.util.find_spec("torch") is not None
    verdict = judge.judge(case, tool_port, judge.simulated(), run=can_run)
    assert verdict.passed, "\n".join(["", *verdict.problems, verdict.diff])
