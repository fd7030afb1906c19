"""The programs in a rule's documentation do what the documentation says.

Each example is rewritten (before becomes after to the letter, and after is clean), and both programs are run on the
CPU and on the simulated accelerator: before stops with a device error where it should, after gives the values that
before gives where it runs. The programs that are said to be right give no finding and run on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devicefix import check, fix
from devicefix.engine.check import known_rules
from devicefix.findings import Applicability
from devicefix.rules.base import Example, Rule

RULES = known_rules()
#: The documentation of these shows a fault that appears on another machine only: the two programs run alike here.
RUN_ALIKE = {"DVF504"}
#: The example needs two cards, so there is no run on the CPU to compare with.
CARDS_ONLY = {"DVF601"}

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, example in enumerate(rule.examples, 1)
]
REWRITTEN = [case for case in EXAMPLES if case.values[1].before != case.values[1].after]
REPORTED = [case for case in EXAMPLES if case.values[1].before == case.values[1].after]
SILENT = [
    pytest.param(program, id=f"{rule.code}-{number}") for rule in RULES for number, program in enumerate(rule.silent, 1)
]


def has_run(program: str) -> bool:
    return re.search(r"^def run\(", program, re.MULTILINE) is not None


@pytest.fixture(scope="module")
def workshop() -> Iterator[Any]:
    pytest.importorskip("torch")
    from devicefix.verify.jobs import Workshop

    with Workshop() as shop:
        yield shop


@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_a_rule_is_documented(rule: Rule) -> None:
    assert rule.summary
    assert not rule.summary.endswith(".")
    assert rule.explanation.strip()
    assert rule.fix_safety.strip()
    assert rule.silent, "show at least one program that only looks like the fault"


@pytest.mark.parametrize(("rule", "example"), REWRITTEN)
def test_before_is_found_and_becomes_after(rule: Rule, example: Example) -> None:
    found = check(example.before).findings
    assert rule.code in {finding.code for finding in found}
    rewritten = fix(example.before, unsafe=example.unsafe)
    assert rewritten.errors == []
    assert rewritten.new_text == example.after
    assert rewritten.remaining == []


@pytest.mark.parametrize(("rule", "example"), REWRITTEN)
def test_only_unsafe_examples_need_unsafe_fixes(rule: Rule, example: Example) -> None:
    levels = {f.applicability for f in check(example.before).findings if f.code == rule.code}
    assert levels == {Applicability.UNSAFE if example.unsafe else Applicability.SAFE}


@pytest.mark.parametrize(("rule", "example"), REPORTED)
def test_a_report_is_found_and_not_rewritten(rule: Rule, example: Example) -> None:
    found = [finding for finding in check(example.before).findings if finding.code == rule.code]
    assert found
    assert {finding.applicability for finding in found} == {Applicability.REPORT}
    assert not fix(example.before, unsafe=True).changed


@pytest.mark.parametrize("program", SILENT)
def test_a_look_alike_is_silent(program: str) -> None:
    result = check(program)
    assert result.errors == []
    assert result.findings == []


@pytest.mark.parametrize(("rule", "example"), [c for c in REWRITTEN if has_run(c.values[1].before)])
def test_the_runs_prove_the_example(rule: Rule, example: Example, workshop: Any, tmp_path: Path) -> None:
    from devicefix.verify.four_runs import CANNOT_TELL, CONFIRMED, verify

    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(example.before, encoding="utf-8")
    after.write_text(example.after, encoding="utf-8")
    verdict = verify(before, after, device="simulated", workshop=workshop)
    runs = verdict.runs
    if rule.code in RUN_ALIKE:
        assert all(result.ok for result in runs.values()), verdict.as_text()
        assert "other values" not in verdict.reason
    elif rule.code in CARDS_ONLY:
        assert verdict.verdict == CANNOT_TELL
        assert runs["before on the accelerator"].device_error, verdict.as_text()
        assert runs["after on the accelerator"].ok, verdict.as_text()
    else:
        assert verdict.verdict == CONFIRMED, verdict.as_text()


@pytest.mark.parametrize("program", [case for case in SILENT if has_run(case.values[0])])
@pytest.mark.parametrize(("on", "argument"), [("cpu", "cpu"), ("simulated", "cuda")])
def test_a_look_alike_runs(program: str, on: str, argument: str, workshop: Any, tmp_path: Path) -> None:
    from devicefix.verify.jobs import Job

    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    result = workshop.run(Job(path, on, argument))
    assert result.ok, result.in_words() + "\n" + result.output


def test_the_bundled_example_is_repaired_completely(workshop: Any) -> None:
    """`examples/` is what the README shows at work: it has the faults that it is said to have, and fixes are safe."""
    folder = Path(__file__).parents[2] / "examples"
    text = (folder / "train.py").read_text(encoding="utf-8")
    rewritten = fix(text)
    assert rewritten.changed
    assert rewritten.remaining == []
    assert {finding.code for finding in rewritten.applied} >= {"DVF101", "DVF201", "DVF301", "DVF501"}


@pytest.mark.parametrize(("on", "which", "works"), [
    ("cpu", "before", True), ("simulated", "before", False), ("cpu", "after", True), ("simulated", "after", True),
])  # fmt: skip
def test_the_bundled_example_runs(on: str, which: str, works: bool, workshop: Any, tmp_path: Path) -> None:
    from devicefix.verify.jobs import Job

    text = (Path(__file__).parents[2] / "examples" / "train.py").read_text(encoding="utf-8")
    path = tmp_path / "program.py"
    path.write_text(text if which == "before" else fix(text).new_text, encoding="utf-8")
    result = workshop.run(Job(path, on, "cuda" if on == "simulated" else "cpu", "main"))
    assert result.ok is works, result.in_words() + "\n" + result.output
    assert result.device_error is not works
