"""The four runs that prove a repair.

Before on the accelerator must raise a device error; after on the accelerator must pass; after on the CPU must equal
before on the CPU; after on the accelerator must equal after on the CPU.

A program that hard-codes the accelerator (``.cuda()``) fails the other way round: it runs on the accelerator and
raises a device error on the CPU. Its repair is proven by the same runs with the two devices' parts exchanged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from devicefix.verify.jobs import Job, Result, Workshop
from devicefix.verify.report import tool_version
from devicefix.verify.values import HALF, REAL_CARD, SAME_MACHINE, SIMULATED, difference

CONFIRMED, REFUTED, CANNOT_TELL = "confirmed", "refuted", "cannot tell"
STATUS = {CONFIRMED: 0, REFUTED: 1, CANNOT_TELL: 3}


@dataclass
class Verdict:
    """What the runs showed."""

    verdict: str
    reason: str
    device: str  # "simulated" or "cuda"
    runs: dict[str, Result] = field(default_factory=dict)
    state_changes: list[str] = field(
        default_factory=list
    )  # state_dict keys and parameters that differ, for information

    @property
    def status(self) -> int:
        """Exit status: 0 confirmed, 1 refuted, 3 cannot tell."""
        return STATUS[self.verdict]

    def as_text(self) -> str:
        """The verdict, then one line for each run."""
        lines = [f"{self.verdict}: {self.reason}"]
        for name, result in self.runs.items():
            lines.append(f"  {name}: {result.in_words()}")
            lines.extend(f"    {line}" for line in result.explanation)
        lines.extend(f"  state_dict: {change}" for change in self.state_changes)
        return "\n".join(lines) + "\n"

    def as_json(self) -> str:
        """The same for programs."""
        runs = {
            name: {
                "status": r.status,
                "error": f"{r.error_kind}: {r.message}" if r.error_kind else r.message or None,
                "device_error": r.device_error,
                "explanation": r.explanation,
            }
            for name, r in self.runs.items()
        }
        return (
            json.dumps(
                {
                    "tool": "devicefix",
                    "version": tool_version(),
                    "verdict": self.verdict,
                    "reason": self.reason,
                    "device": self.device,
                    "exit_status": self.status,
                    "runs": runs,
                    "state_changes": self.state_changes,
                },
                indent=2,
            )
            + "\n"
        )


def verify(
    before: Path | str,
    after: Path | str,
    *,
    entry: str = "run",
    device: str = "auto",
    count: int = 2,
    bf16_entry: str | None = None,
    device_argument: str = "cuda",
    timeout: float = 120.0,
    workshop: Workshop | None = None,
) -> Verdict:
    """Run both programs on the CPU and on the accelerator and judge.

    ``entry`` is a function of the device string (``device_argument`` on the accelerator, "cpu" on the CPU). With
    ``bf16_entry`` a second function of ``after`` must run on both, too, and give the same values within the tolerance
    of 16-bit floats; where ``before`` has it and runs on the CPU, also the same as there.
    """
    own = workshop or Workshop()
    try:
        chosen = _choose(device)
        runs = _Runs(own, Path(before), Path(after), chosen, count, device_argument, timeout, entry)
        verdict = _judge(runs, entry)
        if verdict.verdict == CONFIRMED and bf16_entry is not None:
            problem = _sixteen_bit_problem(runs, bf16_entry)
            if problem is not None:
                verdict.verdict, verdict.reason = REFUTED, f"in {bf16_entry}: {problem}"
        return verdict
    finally:
        if workshop is None:
            own.close()


def _choose(device: str) -> str:
    """Like `runner.choose_device`, but in another process: asking for a card here would spoil it for forked
    children."""
    import subprocess
    import sys

    from devicefix.verify import runner
    from devicefix.verify._torch import require_torch

    require_torch()
    if device not in runner.DEVICES:
        raise runner.UsageError(f"unknown device {device!r}: choose from {', '.join(runner.DEVICES)}")
    if device == "simulated":
        return device
    asked = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.cuda.is_available())"],
        capture_output=True,
        text=True,
        check=False,
    )
    available = asked.stdout.strip().endswith("True")
    if device == "cuda" and not available:
        raise runner.UsageError(
            "--device cuda: this machine has no CUDA device that torch can use; try --device simulated"
        )
    return "cuda" if available else "simulated"


class _Runs:
    """The runs of one entry, each done at most once and remembered for the report."""

    def __init__(
        self,
        workshop: Workshop,
        before: Path,
        after: Path,
        device: str,
        count: int,
        argument: str,
        timeout: float,
        entry: str,
    ) -> None:
        self.workshop, self.before, self.after = workshop, before, after
        self.device, self.count, self.argument, self.timeout = device, count, argument, timeout
        self.entry = entry
        self.done: dict[str, Result] = {}

    def run(self, which: str, on_accelerator: bool, entry: str, again: bool = False) -> Result:
        name = f"{which} on the {'accelerator' if on_accelerator else 'CPU'}" + (", again" if again else "")
        if entry != self.entry:
            name += f" ({entry})"
        if name not in self.done:
            path = self.before if which == "before" else self.after
            on, argument = (self.device, self.argument) if on_accelerator else ("cpu", "cpu")
            self.done[name] = self.workshop.run(Job(path, on, argument, entry, self.count, self.timeout))
        return self.done[name]

    def verdict(self, verdict: str, reason: str) -> Verdict:
        return Verdict(verdict, reason, self.device, self.done)


def _judge(runs: _Runs, entry: str) -> Verdict:
    noun = "simulated accelerator" if runs.device == "simulated" else "accelerator"
    before_card, before_cpu = runs.run("before", True, entry), runs.run("before", False, entry)
    after_card, after_cpu = runs.run("after", True, entry), runs.run("after", False, entry)
    for name, result in runs.done.items():
        if result.not_simulated or result.error_kind == "NoEntryError" or result.status == "timeout":
            return runs.verdict(CANNOT_TELL, f"{name} {result.in_words()}")

    if after_card.ok and before_card.device_error and before_cpu.device_error and after_cpu.device_error:
        return runs.verdict(
            CANNOT_TELL,
            "before raises a device error on the accelerator and after runs there, but neither runs "
            "on the CPU, so there are no values to compare with",
        )

    # which of its two runs shows the mistake, and which gives the values to keep?
    if before_card.device_error or (before_cpu.ok and _follows_from_device(before_card)):
        broken, good, good_on_card = before_card, before_cpu, False
    elif before_card.ok and before_cpu.device_error:
        broken, good, good_on_card = before_cpu, before_card, True
    elif before_card.ok and before_cpu.ok:
        broken, good, good_on_card = None, before_cpu, False
    else:
        bad = before_card if not before_card.ok else before_cpu
        return runs.verdict(CANNOT_TELL, f"before does not run, but for another reason than devices ({bad.in_words()})")

    for result, place in ((after_card, f"the {noun}"), (after_cpu, "the CPU")):
        if not result.ok:
            return runs.verdict(REFUTED, f"after fails on {place}: {result.in_words()}")
    if broken is None:
        return _nothing_to_repair(runs, noun, before_cpu, after_cpu)

    tolerance = REAL_CARD if runs.device == "cuda" else SIMULATED
    random = "random numbers were drawn on the card, whose stream is not the CPU's"
    between = difference(after_cpu.leaves, after_card.leaves, tolerance)
    if between is not None:
        if after_card.drew_on_card:
            return runs.verdict(CANNOT_TELL, f"{random} ({between})")
        return runs.verdict(REFUTED, f"after gives other values on the {noun} than on the CPU: {between}")
    verdict = runs.verdict(
        CONFIRMED,
        f"before raises a device error on {'the CPU' if good_on_card else f'the {noun}'}, after "
        f"runs on both and gives the same values",
    )
    if good.ok:
        same = after_card if good_on_card else after_cpu
        changed = difference(good.leaves, same.leaves, tolerance if good_on_card else SAME_MACHINE)
        if changed is not None:
            again = runs.run("before", good_on_card, entry, again=True)
            if not again.ok or difference(good.leaves, again.leaves, tolerance) is not None:
                return runs.verdict(CANNOT_TELL, f"before gives other values in every run ({changed})")
            return runs.verdict(
                REFUTED, f"after gives other values than before on the {noun if good_on_card else 'CPU'}: {changed}"
            )
        verdict.state_changes = state_changes(good.modules, same.modules)
    elif good.device_error:
        verdict.reason += "; before runs nowhere, so its values could not be compared"
    else:
        return runs.verdict(CANNOT_TELL, f"before does not run on the CPU either ({good.in_words()})")
    return verdict


def _follows_from_device(result: Result) -> bool:
    """An error that does not speak of devices, but appears only where a move makes a copy: a moved leaf is no leaf."""
    return "non-leaf" in result.message


def _sixteen_bit_problem(runs: _Runs, entry: str) -> str | None:
    card, cpu = runs.run("after", True, entry), runs.run("after", False, entry)
    for result in (card, cpu):
        if not result.ok:
            return f"after fails: {result.in_words()}"
    found = difference(cpu.leaves, card.leaves, HALF)
    if found is not None:
        return f"after gives other values on the accelerator than on the CPU: {found}"
    before = runs.run("before", False, entry)
    return difference(before.leaves, cpu.leaves, HALF) if before.ok else None


def _nothing_to_repair(runs: _Runs, noun: str, before: Result, after: Result) -> Verdict:
    changed = difference(before.leaves, after.leaves, SAME_MACHINE)
    values = f"; after gives other values: {changed}" if changed else ""
    return runs.verdict(REFUTED, f"before raises no device error on the {noun}, there was nothing to repair{values}")


def state_changes(before: list[tuple[str, dict[str, str]]], after: list[tuple[str, dict[str, str]]]) -> list[str]:
    """What the repair changed in checkpoints and parameters, in words; modules are matched by class name and order."""
    changes = []
    if [name for name, _ in before] != [name for name, _ in after]:
        changes.append(f"modules {[name for name, _ in before]} became {[name for name, _ in after]}")
        return changes
    for (name, old), (_, new) in zip(before, after, strict=False):
        changes.extend(f"{name} lost {key} ({old[key]})" for key in old if key not in new)
        changes.extend(f"{name} gained {key} ({new[key]})" for key in new if key not in old)
        changes.extend(
            f"{name}.{key} was {old[key]}, is {new[key]}" for key in old if key in new and old[key] != new[key]
        )
    return changes
