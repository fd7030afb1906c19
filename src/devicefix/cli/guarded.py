"""``--write --verify COMMAND``: make the fixes, and take back those that a program does not bear."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from devicefix.cli.check import FAILED, complain
from devicefix.engine.candidates import Candidate, Candidates

if TYPE_CHECKING:
    from devicefix.cli.check import Session
    from devicefix.engine.outcome import Outcome
    from devicefix.verify.guard import GuardReport


def write_guarded(session: Session, paths: list[str]) -> int:
    """Check, fix as far as the command bears it, and report what is left.

    Returns the exit status: 0 the command passes with all fixes and nothing remains, 1 something was rolled back or
    findings remain, 2 the run failed, 3 the command says nothing (it fails before the fixes as well).
    """
    from devicefix.verify.guard import VERIFIED, write_verified

    command = session.options.verify or ""
    where = session.options.verify_on
    problem = _prepare(where)
    if problem:
        complain(problem)
        return FAILED
    before, candidates = checked(session, paths)
    if not candidates.all:
        return session.finish(before)
    guard = "simulated" if where == "simulated" else "here"
    report = write_verified(command, candidates.all, candidates.render, where=guard, announce=_announce)
    status = session.finish(after(session, before, report.kept))
    return status if report.verdict == VERIFIED or status == FAILED else report.status


def checked(session: Session, paths: list[str]) -> tuple[list[Outcome], Candidates]:
    """The outcomes of a check, and the fixes that can be chosen from."""
    from devicefix.engine.run import Job

    before = list(session.files(paths, "check"))
    fixable = [Path(o.path) for o in before if any(f.fix for f in o.findings) and not o.errors]
    job = Job(
        session.settings,
        "write",
        rules=session.rules,
        analyse=session.analyse,
        roots=tuple(paths),
        settings_of=session.configuration.for_path,
    )
    return before, Candidates(fixable, job, session.filters(paths))


def _prepare(where: str) -> str:
    """Make the commands see the right devices; says what is in the way."""
    if where == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    elif where == "cuda":
        test = "import sys, torch; sys.exit(not torch.cuda.is_available())"
        if subprocess.run([sys.executable, "-c", test], capture_output=True, check=False).returncode:
            return "--verify-on cuda: torch sees no CUDA device here"
    return ""


def _announce(report: GuardReport[Candidate]) -> None:
    print(report.as_text(), end="", file=sys.stderr, flush=True)


def after(session: Session, before: list[Outcome], made: Iterable[Candidate]) -> list[Outcome]:
    """The outcomes with the fixes that were made, and with what is found in the files as they are now."""
    kept: dict[Path, list[Candidate]] = {}
    for candidate in made:
        kept.setdefault(candidate.path, []).append(candidate)
    if not kept:
        return before
    touched = [outcome.path for outcome in before if Path(outcome.path).absolute() in kept]
    again = {outcome.path: outcome for outcome in session.files(touched, "check")}
    outcomes = []
    for outcome in before:
        now = again.get(outcome.path, outcome)
        for candidate in kept.get(Path(outcome.path).absolute(), ()):
            now.applied += candidate.findings
        outcomes.append(now)
    return outcomes
