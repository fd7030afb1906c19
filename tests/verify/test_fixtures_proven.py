"""Every fixture that can run is proven: before fails on the accelerator (or behaves as it says), after passes, values equal.

The programs run in processes of their own, forked from one server that has torch imported (`devicefix.verify.jobs`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from devicefix.verify.four_runs import CANNOT_TELL, CONFIRMED, Verdict, state_changes, verify
from devicefix.verify.jobs import Job, Result, Workshop
from devicefix.verify.values import HALF, REAL_CARD, SAME_MACHINE, SIMULATED, difference

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIXTURES = Path(os.environ.get("DEVICEFIX_FIXTURES") or Path(__file__).parents[1] / "fixtures")
RESULTS = os.environ.get("DEVICEFIX_FIXTURE_RESULTS")  # where scripts/gpu_check.sh wants one line per fixture
WORKS = {"ok": True, "runs": True, "fails": False, "raises": False}
# a module or parameter that becomes part of the model is meant to appear in its state_dict
CHANGES_STATE = ("dvf302", "dvf303", "dvf304")


class Fixture:
    """One folder with its expectation."""

    def __init__(self, toml: Path) -> None:
        self.folder = toml.parent
        self.name = f"{self.folder.parent.name}/{self.folder.name}"
        self.facts: dict[str, Any] = tomllib.loads(toml.read_text(encoding="utf-8"))
        self.suffix = ".ipynb" if (self.folder / "before.ipynb").exists() else ".py"
        self.argument = self.facts.get("cuda_arg", "cuda")

    def file(self, which: str) -> Path:
        return self.folder / (which + self.suffix)

    @property
    def runnable(self) -> bool:
        return not self.facts.get("static") and self.file("before").exists()

    @property
    def two_cards(self) -> bool:
        return any(
            "cuda:1" in path.read_text(encoding="utf-8", errors="replace")
            for path in self.folder.glob("*" + self.suffix)
        ) or self.argument.endswith(":1")

    @property
    def missing(self) -> list[str]:
        return [name for name in self.facts.get("needs", []) if importlib.util.find_spec(name) is None]


def _found() -> list[Fixture]:
    fixtures = [Fixture(path) for path in sorted(FIXTURES.rglob("case.toml"))]
    return [fixture for fixture in fixtures if fixture.runnable]


ALL = _found()
every_fixture = pytest.mark.parametrize("fixture", ALL, ids=[fixture.name for fixture in ALL])


@pytest.fixture(scope="module")
def workshop() -> Any:
    with Workshop() as shop:
        yield shop


@lru_cache(maxsize=1)
def cards() -> int:
    import torch

    return torch.cuda.device_count()


def run(workshop: Workshop, fixture: Fixture, which: str, on: str, entry: str = "run") -> Result:
    argument = "cpu" if on == "cpu" else fixture.argument
    return workshop.run(Job(fixture.file(which), on, argument, entry))


def as_expected(result: Result, expectation: str | None, what: str) -> None:
    if expectation is None:
        return
    assert result.ok == WORKS[expectation], f"{what}: {result.in_words()}, expected: {expectation}\n{result.output}"


def before_as_expected(fixture: Fixture, card: Result, cpu: Result) -> None:
    as_expected(card, fixture.facts.get("before_cuda"), "before on the accelerator")
    as_expected(cpu, fixture.facts.get("before_cpu"), "before on the CPU")


def prove(workshop: Workshop, fixture: Fixture, on: str) -> str:
    """Assert everything the fixture claims; returns the verdict in a word."""
    if not fixture.file("after").exists():
        before_as_expected(fixture, run(workshop, fixture, "before", on), run(workshop, fixture, "before", "cpu"))
        return "as expected"
    verdict = verify(
        fixture.file("before"),
        fixture.file("after"),
        device="cuda" if on == "cuda" else "simulated",
        device_argument=fixture.argument,
        bf16_entry="run_bf16" if fixture.facts.get("bf16") else None,
        workshop=workshop,
    )
    before_card, before_cpu = verdict.runs["before on the accelerator"], verdict.runs["before on the CPU"]
    before_as_expected(fixture, before_card, before_cpu)
    if before_card.ok and before_cpu.ok:
        equal_everywhere(verdict, on)  # nothing fails before: the rewrite is about something else than a crash
        return "equal"
    if verdict.verdict == CANNOT_TELL and verdict.runs["after on the CPU"].device_error:
        return only_on_cards(verdict)
    if verdict.verdict == CANNOT_TELL and fixture.facts.get("before_cpu") == "raises":
        # there are no values of before to compare with: all that can be shown is that after runs everywhere
        assert all(verdict.runs[f"after on the {where}"].ok for where in ("accelerator", "CPU")), failures(verdict)
        return "repaired on both"
    assert verdict.verdict == CONFIRMED, verdict.as_text() + failures(verdict)
    if not fixture.folder.parent.name.startswith(CHANGES_STATE) and not fixture.facts.get("state_dict_changes"):
        assert verdict.state_changes == []
    return CONFIRMED


def equal_everywhere(verdict: Verdict, on: str) -> None:
    runs = verdict.runs
    card, cpu = runs["after on the accelerator"], runs["after on the CPU"]
    assert card.ok, failures(verdict)
    assert cpu.ok, failures(verdict)
    assert difference(runs["before on the CPU"].leaves, cpu.leaves, SAME_MACHINE) is None
    assert difference(cpu.leaves, card.leaves, REAL_CARD if on == "cuda" else SIMULATED) is None


def only_on_cards(verdict: Verdict) -> str:
    """A program for several cards runs nowhere else, before or after: there is no CPU value to compare with."""
    assert verdict.runs["before on the accelerator"].device_error, failures(verdict)
    assert verdict.runs["before on the CPU"].device_error, failures(verdict)
    assert verdict.runs["after on the accelerator"].ok, failures(verdict)
    return "passes on cards only"


def failures(verdict: Verdict) -> str:
    return "".join(f"\n--- {name}\n{result.output}" for name, result in verdict.runs.items() if not result.ok)


def note(fixture: Fixture, on: str, verdict: str) -> None:
    if RESULTS:
        with Path(RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"fixture": fixture.name, "on": on, "verdict": verdict}) + "\n")


@every_fixture
def test_on_the_simulated_accelerator(fixture: Fixture, workshop: Workshop) -> None:
    if fixture.missing:
        pytest.skip(f"needs {', '.join(fixture.missing)}")
    prove(workshop, fixture, "simulated")


@pytest.mark.gpu
@every_fixture
def test_on_a_real_card(fixture: Fixture, workshop: Workshop) -> None:
    if fixture.missing:
        note(fixture, "cuda", f"skipped: needs {', '.join(fixture.missing)}")
        pytest.skip(f"needs {', '.join(fixture.missing)}")
    if fixture.two_cards and cards() < 2:
        note(fixture, "cuda", "skipped: needs two cards")
        pytest.skip("needs two cards")
    try:
        note(fixture, "cuda", prove(workshop, fixture, "cuda"))
    except AssertionError as error:
        note(fixture, "cuda", f"FAILED: {str(error).splitlines()[0][:200]}")
        raise


NAIVE = [fixture for fixture in ALL if fixture.file("naive").exists() and fixture.facts.get("naive_breaks")]


@pytest.mark.parametrize("fixture", NAIVE, ids=[fixture.name for fixture in NAIVE])
def test_the_naive_rewrite_breaks(fixture: Fixture, workshop: Workshop) -> None:
    """naive.py looks like a repair, and the runs show that it is none."""
    if fixture.missing:
        pytest.skip(f"needs {', '.join(fixture.missing)}")
    reference = "after" if fixture.file("after").exists() else "before"
    places = [("cpu", "run"), ("simulated", "run")] + [(on, "run_bf16") for on in ("cpu", "simulated")]
    for on, entry in places:
        if entry == "run_bf16" and not fixture.facts.get("bf16"):
            continue
        naive, right = run(workshop, fixture, "naive", on, entry), run(workshop, fixture, reference, on, entry)
        if not naive.ok:
            return
        if right.ok and difference(right.leaves, naive.leaves, HALF if entry == "run_bf16" else SIMULATED) is not None:
            return
        if state_changes(right.modules, naive.modules):
            return
    pytest.fail("the naive rewrite passes everywhere")
