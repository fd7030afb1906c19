"""``devicefix --write --verify COMMAND``: apply fixes, run a command, take back the fixes that break it.

The command is run before anything is changed and again after the rewrite. A rewrite breaks the command if it passed
before and fails now, or if it failed with a device error before and fails with another kind of error now. (A command
that still fails with a device error is no worse than before: the remaining mismatch may be one that devicefix does
not repair.) The guilty change is then found by bisection, rolled back, reported, and the rest is kept.

Interrupted at any moment (Ctrl-C, SIGTERM, SIGHUP), the files are as they were before. After a kill that cannot be
caught the journal beside the files remains, and the next call restores from it first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from devicefix.verify.interrupts import Interrupts
from devicefix.verify.journal import ForeignChangeError, Journal, recover
from devicefix.verify.report import tool_version
from devicefix.verify.shell_command import CommandRun, run_command
from devicefix.verify.sites import shown_path


class Change(Protocol):
    """One fix that can be applied or left out on its own."""

    @property
    def path(self) -> Path:
        """The file it changes."""
        ...


C = TypeVar("C", bound=Change)
Render = Callable[[Sequence[C]], Mapping[Path, bytes]]

VERIFIED, STILL_FAILS, ROLLED_BACK, CANNOT_TELL = "verified", "still fails", "rolled back", "cannot tell"
STATUS = {VERIFIED: 0, STILL_FAILS: 1, ROLLED_BACK: 1, CANNOT_TELL: 3}
WHERE = ("here", "simulated")


@dataclass
class GuardReport(Generic[C]):
    """What was kept, what was rolled back, and why."""

    verdict: str
    reason: str
    kept: list[C] = field(default_factory=list)
    rolled_back: list[C] = field(default_factory=list)
    runs: list[CommandRun] = field(default_factory=list)

    @property
    def status(self) -> int:
        """Exit status: 0 verified, 1 something was rolled back or the command still fails, 3 cannot tell."""
        return STATUS[self.verdict]

    def as_text(self) -> str:
        """The verdict, the runs, and the end of the output of the last one that failed."""
        lines = [f"{self.verdict}: {self.reason}"]
        lines.extend(f"  {run.label}: {run.in_words()}" for run in self.runs)
        lines.extend(f"  rolled back: {_name(change)}" for change in self.rolled_back)
        guilty = [run for run in self.runs if not run.passed][-1:] if self.verdict != VERIFIED else []
        for run in guilty:
            lines.extend(f"  | {line}" for line in run.tail.splitlines()[-6:])
        return "\n".join(lines) + "\n"

    def as_json(self) -> str:
        """The same for programs."""
        return (
            json.dumps(
                {
                    "tool": "devicefix",
                    "version": tool_version(),
                    "verdict": self.verdict,
                    "reason": self.reason,
                    "exit_status": self.status,
                    "kept": [_name(change) for change in self.kept],
                    "rolled_back": [_name(change) for change in self.rolled_back],
                    "runs": [
                        {"label": run.label, "status": run.status, "device_error": run.device_error}
                        for run in self.runs
                    ],
                },
                indent=2,
            )
            + "\n"
        )


def _name(change: Any) -> str:
    text = str(change)
    return text if not text.startswith("<") else shown_path(str(change.path))


def write_verified(
    command: str,
    changes: Sequence[C],
    render: Render[C],
    *,
    folder: Path | None = None,
    where: str = "here",
    count: int = 2,
    timeout: float | None = None,
    announce: Callable[[GuardReport[C]], None] | None = None,
) -> GuardReport[C]:
    """Apply ``changes`` as far as ``command`` bears them.

    command     a shell command line, run in ``folder`` (the current directory) with no input
    changes     independent candidates in the order in which they should be applied; ``str(change)`` names one in the
    report render      gives the complete new contents of every file that a subset of the changes touches. It is
    called with
                subsets in the given order and must compute them from the original files, whatever is on disk meanwhile
                (they are read before anything is written, so rendering from memory is the natural way). Files that it
                does not mention go back to their originals
    where       "here": the command as it is; "simulated": every Python process of it sees ``count`` simulated
    accelerators timeout     seconds after which a run of the command counts as failed
    announce    is called with the report at the moment from which the files are final; no signal comes between the
    two, so
                a report printed here is true whatever happens next

    When this returns, the files hold exactly the rendering of ``kept``. When it raises, they hold what they held
    before.
    """
    if where not in WHERE:
        raise ValueError(f"unknown place {where!r}: choose from {', '.join(WHERE)}")
    base = folder or Path.cwd()
    recover(base)
    interrupts = Interrupts()
    with interrupts.caught():
        return _Session(command, list(changes), render, base, where, count, timeout, interrupts, announce).run()


class _Session(Generic[C]):
    """The state of one `write_verified`."""

    def __init__(
        self,
        command: str,
        changes: list[C],
        render: Render[C],
        folder: Path,
        where: str,
        count: int,
        timeout: float | None,
        interrupts: Interrupts,
        announce: Callable[[GuardReport[C]], None] | None,
    ) -> None:
        self.interrupts, self.announce = interrupts, announce
        self.command, self.changes, self.render = command, changes, render
        self.folder, self.where, self.count, self.timeout = folder, where, count, timeout
        self.runs: list[CommandRun] = []
        self.before: CommandRun | None = None

    def report(
        self, verdict: str, reason: str, kept: Sequence[C] = (), rolled_back: Sequence[C] = ()
    ) -> GuardReport[C]:
        return GuardReport(verdict, reason, list(kept), list(rolled_back), self.runs)

    def run(self) -> GuardReport[C]:
        self.before = before = self._execute("before the rewrite")
        refused: str | None = None
        if self.where == "simulated" and not before.simulated:
            refused = "the command never imported torch on the simulated accelerator; nothing was written"
        elif not before.passed and not before.device_error:
            refused = "the command fails before the rewrite, and not with a device error; nothing was written"
        if refused is not None:
            result = self.report(CANNOT_TELL, refused)
            self._announce(result)
            return result
        contents = self.render(self.changes)
        journal: Journal | None = None
        final = False
        try:
            with self.interrupts.held():
                journal = Journal(self.folder, [*contents, *(change.path for change in self.changes)])
            result = self._write(journal, contents)
            with self.interrupts.held():
                if self.interrupts.pending is None:  # else the end of this block raises
                    final = True
                    journal.close()
                    self._announce(result)
                    self.interrupts.pending = None
            return result
        finally:
            if journal is not None and not final:
                with self.interrupts.held():
                    journal.restore()
                    journal.close()

    def _announce(self, result: GuardReport[C]) -> None:
        if self.announce is not None:
            self.announce(result)

    def _write(self, journal: Journal, contents: Mapping[Path, bytes]) -> GuardReport[C]:
        """Bring the files into their final state, but leave the journal open."""
        try:
            self._apply(journal, contents)
            after = self._execute(f"with all {len(self.changes)} fixes" if len(self.changes) != 1 else "with the fix")
            if self._bears(after):
                return self._all_kept(after)
            return self._bisect(journal, after)
        except ForeignChangeError as error:
            with self.interrupts.held():
                foreign = journal.restore()
            left = ", ".join(shown_path(str(path)) for path in foreign)
            return self.report(
                CANNOT_TELL, f"{error}; the other files are as they were" + (f" ({left} left alone)" if left else "")
            )

    def _all_kept(self, after: CommandRun) -> GuardReport[C]:
        if after.passed:
            return self.report(VERIFIED, "the command passes after the rewrite", self.changes)
        return self.report(
            STILL_FAILS,
            "the command failed with a device error before the rewrite and still does; all fixes kept",
            self.changes,
        )

    def _bisect(self, journal: Journal, all_applied: CommandRun) -> GuardReport[C]:
        """Find the guilty changes one after the other; everything else stays."""
        everything = list(range(len(self.changes)))
        tried: dict[frozenset[int], CommandRun] = {frozenset(everything): all_applied}
        if not self._bears(self._try(journal, [], tried, "without any fix, again")):
            return self._unstable(journal)
        order = everything
        guilty: list[int] = []
        promoted: set[int] = set()
        while not self._bears(last := self._try(journal, order, tried)):
            first_bad, before_it = self._first_bad(journal, order, tried)
            suspect = order[first_bad]
            order.remove(suspect)
            if before_it.passed or suspect in promoted:
                guilty.append(suspect)
            else:
                # Up to here the command stops at a device error. This change may only have removed that error, and so
                # let the command run on into a mistake of an earlier one. Put in front, it hides behind nobody.
                promoted.add(suspect)
                order.insert(0, suspect)
            if not order and not self._bears(tried[frozenset()]):
                return self._unstable(journal)
        self._apply(journal, self._rendered(order))
        return self._some_rolled_back(last, sorted(order), sorted(guilty))

    def _first_bad(
        self, journal: Journal, order: list[int], tried: dict[frozenset[int], CommandRun]
    ) -> tuple[int, CommandRun]:
        """The position of the first change in ``order`` with which the command breaks, and the run without it.

        It is known to break with all of them and not to break with none.
        """
        borne, broken = 0, len(order)
        while broken - borne > 1:
            middle = (borne + broken) // 2
            if self._bears(self._try(journal, order[:middle], tried)):
                borne = middle
            else:
                broken = middle
        return broken - 1, tried[frozenset(order[:borne])]

    def _try(
        self, journal: Journal, selected: list[int], tried: dict[frozenset[int], CommandRun], label: str = ""
    ) -> CommandRun:
        key = frozenset(selected)
        if key not in tried:
            self._apply(journal, self._rendered(selected))
            tried[key] = self._execute(label or f"with {len(selected)} of {len(self.changes)} fixes")
        return tried[key]

    def _rendered(self, selected: list[int]) -> Mapping[Path, bytes]:
        return self.render([self.changes[index] for index in sorted(selected)]) if selected else {}

    def _unstable(self, journal: Journal) -> GuardReport[C]:
        with self.interrupts.held():
            journal.restore()
        return self.report(CANNOT_TELL, "the command does not give the same result twice; nothing was written")

    def _some_rolled_back(self, last: CommandRun, kept: list[int], guilty: list[int]) -> GuardReport[C]:
        state = "passes" if last.passed else "fails with a device error as before"
        if len(guilty) == 1:
            reason = f"1 fix breaks the command and was rolled back; without it the command {state}"
        else:
            reason = f"{len(guilty)} fixes break the command and were rolled back; without them the command {state}"
        changes = self.changes
        return self.report(ROLLED_BACK, reason, [changes[i] for i in kept], [changes[i] for i in guilty])

    def _apply(self, journal: Journal, contents: Mapping[Path, bytes]) -> None:
        with self.interrupts.held():
            journal.apply(contents)

    def _bears(self, run: CommandRun) -> bool:
        assert self.before is not None
        return run.passed or (not self.before.passed and run.device_error)

    def _execute(self, label: str) -> CommandRun:
        run = run_command(
            self.command, label, folder=self.folder, where=self.where, count=self.count, timeout=self.timeout
        )
        self.runs.append(run)
        return run
