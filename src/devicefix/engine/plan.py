"""Which fixes can be made together in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from devicefix.codemods.changes import Change
from devicefix.codemods.edits import Taken
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.layout import Layout
from devicefix.codemods.realise import realise_ranked
from devicefix.findings import Applicability, Finding
from devicefix.source.text import SourceText


@dataclass(frozen=True)
class Unit:
    """Fixes that are made together or not at all."""

    findings: tuple[Finding, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes of all fixes, equal ones once."""
        return tuple(dict.fromkeys(change for f in self.findings if f.fix for change in f.fix.changes))


@dataclass
class Plan:
    """``chosen`` fit together; ``refused`` cannot be made at all; the others wait for the next pass."""

    chosen: list[Unit]
    refused: list[tuple[Unit, str]]
    layout: Layout


def units_of(findings: Iterable[Finding], *, unsafe: bool) -> list[Unit]:
    """The units that may be made: every member must have a fix of an allowed level."""
    groups: dict[str, list[Finding]] = {}
    single: list[Unit] = []
    for finding in findings:
        if finding.fix is not None and finding.fix.group:
            groups.setdefault(finding.fix.group, []).append(finding)
        elif _allowed(finding, unsafe):
            single.append(Unit((finding,)))
    whole = [Unit(tuple(members)) for members in groups.values() if all(_allowed(m, unsafe) for m in members)]
    return single + whole


def _allowed(finding: Finding, unsafe: bool) -> bool:
    level = finding.applicability
    return level is Applicability.SAFE or (unsafe and level is Applicability.UNSAFE)


def plan(source: SourceText, units: Sequence[Unit]) -> Plan:
    """Choose units that do not touch each other's text, first and outermost ones first."""
    layout = Layout(source)
    realised: list[tuple[int, int, int, Unit]] = []
    refused: list[tuple[Unit, str]] = []
    for number, unit in enumerate(units):
        try:
            edits = realise_ranked(layout, unit.changes)
        except CannotChange as refusal:
            refused.append((unit, refusal.reason))
            continue
        if not edits:
            refused.append((unit, "there is nothing to change"))
            continue
        realised.append((min(e.start for e in edits), -max(e.end for e in edits), number, unit))
    chosen: list[Unit] = []
    taken = Taken()
    made: set[Change] = set()
    for _, _, _, unit in sorted(realised, key=lambda item: item[:3]):
        own = [change for change in unit.changes if change not in made]
        try:
            edits = realise_ranked(layout, own)
        except CannotChange:
            continue
        if any(taken.conflicts(edit) for edit in edits):
            continue
        chosen.append(unit)
        for edit in edits:
            taken.add(edit)
        made.update(own)
    return Plan(chosen, refused, layout)
