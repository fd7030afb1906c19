"""All fixes of a source, pass after pass, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.engine.check import Analyse, check_source, withdrawn
from devicefix.engine.errors import FileError
from devicefix.engine.moved import Moved
from devicefix.engine.results import CheckResult, FixResult, Withdrawn
from devicefix.findings import Finding
from devicefix.settings import Settings
from devicefix.source.text import SourceText

if TYPE_CHECKING:
    Rewritten = tuple[SourceText, list["TextEdit"]]

    from devicefix.analysis.project import Project
    from devicefix.codemods.changes import Change
    from devicefix.engine.plan import Unit
    from devicefix.findings import TextEdit
    from devicefix.rules.base import Rule

MAX_PASSES = 20


@dataclass(frozen=True)
class _Checker:
    """`check_source` with everything but the source filled in."""

    project: Project | None
    settings: Settings
    rules: Sequence[Rule] | None
    analyse: Analyse | None

    def __call__(self, source: SourceText) -> CheckResult:
        return check_source(
            source, project=self.project, settings=self.settings, rules=self.rules, analyse=self.analyse
        )


def fix_source(
    source: SourceText,
    *,
    project: Project | None = None,
    settings: Settings | None = None,
    unsafe: bool | None = None,
    only: Sequence[str] = (),
    rules: Sequence[Rule] | None = None,
    analyse: Analyse | None = None,
    checked: CheckResult | None = None,
    leave: Collection[Finding] = (),
    grow: bool = True,
) -> FixResult:
    """Make every allowed fix and prove the result.

    ``unsafe`` overrides the settings; ``only`` limits the fixes to these rule codes; ``checked`` saves the first
    check. Findings of it in ``leave`` are neither repaired nor among the remaining ones; without ``grow`` findings that
    appear only after other fixes are not repaired. The text is returned unchanged when the fixes do not settle. Errors
    are in the result.
    """
    settings = settings or Settings()
    check = _Checker(project, settings, rules, analyse)
    first = checked or check(source)
    allow_unsafe = settings.unsafe_fixes if unsafe is None else unsafe
    barred: frozenset[str] = frozenset()
    while True:
        run = _Run(check, first, allow_unsafe, frozenset(only), barred, leave, grow)
        if run.settled:
            return run.result
        # Fixes of some rule undo each other's work: leave out the rules that were still busy and begin again.
        if not run.busy:
            remaining = [finding for finding in first.findings if finding not in leave]
            return FixResult(source, source, remaining=remaining, errors=[*first.errors, _unsettled(source)])
        barred |= run.busy


def _unsettled(source: SourceText) -> FileError:
    return FileError(source.name, f"left as it was: the fixes did not settle after {MAX_PASSES} passes")


class _Run:
    """One attempt to bring a source to rest."""

    def __init__(
        self,
        check: _Checker,
        first: CheckResult,
        unsafe: bool,
        only: frozenset[str],
        barred: frozenset[str],
        leave: Collection[Finding],
        grow: bool,
    ) -> None:
        self.check = check
        self.current = first
        self.left = {self._key(finding) for finding in leave}
        self.open = None if grow else {self._key(finding) for finding in first.findings}
        self.unsafe = unsafe
        self.only = only
        self.barred = barred
        self.result = FixResult(first.source, first.source, errors=list(first.errors))
        self.refusals: dict[tuple[str, int, int], str] = {}
        self.busy: frozenset[str] = frozenset()
        self.settled = self._settle()
        self._finish()

    def _settle(self) -> bool:
        if not self._candidates():
            return True
        if not self.current.source.round_trips:
            for unit in self._candidates():
                self._refuse(unit, f"the encoding {self.current.source.encoding} does not keep every byte")
            return True
        for _ in range(MAX_PASSES):
            units = self._candidates()
            if not units:
                return True
            self._one_pass(units)
        self.busy = frozenset(finding.code for unit in self._candidates() for finding in unit.findings)
        return not self.busy

    def _candidates(self) -> list[Unit]:
        from devicefix.engine.plan import units_of

        units = units_of(self.current.findings, unsafe=self.unsafe)
        return [unit for unit in units if all(self._open(finding) for finding in unit.findings)]

    def _open(self, finding: Finding) -> bool:
        if self.only and finding.code not in self.only:
            return False
        key = self._key(finding)
        if key in self.left or (self.open is not None and key not in self.open):
            return False
        return finding.code not in self.barred and key not in self.refusals

    def _key(self, finding: Finding) -> tuple[str, int, int]:
        source = self.current.source
        span = finding.span
        return finding.code, source.offset_at(span.start, span.cell), source.offset_at(span.end, span.cell)

    def _refuse(self, unit: Unit, reason: str) -> None:
        for finding in unit.findings:
            self.refusals[self._key(finding)] = reason
            self.result.withdrawn.append(Withdrawn(finding, reason))

    def _one_pass(self, units: Sequence[Unit]) -> None:
        from devicefix.engine.plan import plan
        from devicefix.engine.selfcheck import CheckFailed, largest_good, rewrite

        planned = plan(self.current.source, units)
        for unit, reason in planned.refused:
            self._refuse(unit, reason)
        reasons: dict[int, str] = {}
        made: dict[int, Rewritten] = {}  # how many units were rewritten together -> the result

        def rewrites(chosen: list[Unit]) -> bool:
            try:
                made[len(chosen)] = rewrite(self.current.source, _changes(chosen), planned.layout)
            except CheckFailed as failure:
                reasons[id(chosen[-1])] = str(failure)
                return False
            return True

        good = largest_good(planned.chosen, rewrites)
        kept = {id(unit) for unit in good}
        for unit in planned.chosen:
            if id(unit) not in kept:
                self._refuse(unit, reasons.get(id(unit), "the rewrite failed its check"))
        if good:
            self._advance(good, made[len(good)])

    def _advance(self, units: list[Unit], rewritten: Rewritten) -> None:
        """Take the rewritten source if every fixed finding is gone from it; else refuse those that are not."""
        from devicefix.engine.selfcheck import largest_good, rewrite

        new, edits = rewritten
        moved = Moved(edits)
        after = self.check(new)
        if len(after.errors) > len(self.result.errors):
            known = len(self.result.errors)

            def analysable(chosen: list[Unit]) -> bool:
                text, _ = rewrite(self.current.source, _changes(chosen))
                return len(self.check(text).errors) <= known

            good = largest_good(units, analysable)
            kept = {id(unit) for unit in good}
            for unit in units:
                if id(unit) not in kept:
                    self._refuse(unit, "the rewritten file could not be checked again")
            if good:
                self._advance(good, rewrite(self.current.source, _changes(good)))
            return
        there = {(f.code, f.message, after.source.offset_at(f.span.start, f.span.cell)) for f in after.findings}
        stubborn = [unit for unit in units if any(self._still_there(f, moved, there) for f in unit.findings)]
        if stubborn:
            for unit in stubborn:
                self._refuse(unit, "the rewrite would not repair it")
            return  # the next pass makes the others
        self.refusals = {
            (code, moved.behind(start), moved.before(end)): reason
            for (code, start, end), reason in self.refusals.items()
        }
        self.left = {(code, moved.behind(start), moved.before(end)) for code, start, end in self.left}
        if self.open is not None:
            self.open = {(code, moved.behind(start), moved.before(end)) for code, start, end in self.open}
        self.result.applied += [finding for unit in units for finding in unit.findings]
        self.current = after

    def _still_there(self, finding: Finding, moved: Moved, there: set[tuple[str, str, int]]) -> bool:
        code, start, _ = self._key(finding)
        places = {moved.behind(start), moved.before(start)}
        return any((code, finding.message, place) in there for place in places)

    def _finish(self) -> None:
        self.result.source = self.current.source
        self.result.remaining = []
        for finding in self.current.findings:
            if self._key(finding) in self.left:
                continue
            reason = self.refusals.get(self._key(finding))
            self.result.remaining.append(withdrawn(finding, reason) if reason and finding.fix else finding)


def _changes(units: Sequence[Unit]) -> list[Change]:
    return list(dict.fromkeys(change for unit in units for change in unit.changes))
