"""``--write --interactive``: show each fix, and make those that somebody wants."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from devicefix.cli.guarded import after, checked

if TYPE_CHECKING:
    from devicefix.cli.check import Session
    from devicefix.engine.candidates import Candidate, Candidates
    from devicefix.engine.outcome import Outcome

QUESTION = "Make this fix? [y]es, [n]o, [a]ll that are left, [q]uit: "
YES, NO, ALL, QUIT = "y", "n", "a", "q"


def write_asked(session: Session, paths: list[str]) -> int:
    """Check, ask for each fix, write what was wanted, and report what is left. Returns the exit status.

    Nothing is written before the last question; the end of the input answers it with "quit".
    """
    before, candidates = checked(session, paths)
    wanted = _ask(session, candidates)
    made = _write(wanted, candidates, before)
    return session.finish(after(session, before, made))


def _ask(session: Session, candidates: Candidates) -> list[Candidate]:
    wanted: list[Candidate] = []
    everything = False
    for number, candidate in enumerate(candidates.all, 1):
        shown = _diff(candidate, wanted, candidates)
        if not shown:
            continue  # a fix that was wanted before has made this one
        if everything:
            wanted.append(candidate)
            continue
        answer = _answer(session, f"[{number}/{len(candidates.all)}] {candidate}\n{_reason(candidate)}", shown)
        if answer == QUIT:
            break
        everything = answer == ALL
        if answer in (YES, ALL):
            wanted.append(candidate)
    return wanted


def _reason(candidate: Candidate) -> str:
    """Why a fix is not safe, where it is not."""
    reasons = dict.fromkeys(f.fix.reason for f in candidate.findings if f.fix and f.fix.reason)
    return "".join(f"unsafe: {reason}\n" for reason in reasons)


def _diff(candidate: Candidate, wanted: list[Candidate], candidates: Candidates) -> str:
    """What one more fix changes in a file."""
    from devicefix.engine.diff import unified_diff
    from devicefix.source.load import load_source

    name = candidate.findings[0].path
    own = [other for other in wanted if other.path == candidate.path]
    old = candidates.render(own)[candidate.path] if own else candidates.original(candidate.path)
    new = candidates.render([*own, candidate])[candidate.path]
    return unified_diff(load_source(old, name), load_source(new, name))


def _answer(session: Session, title: str, shown: str) -> str:
    """The first letter of what somebody answers."""
    from devicefix.report.diff import painted

    sys.stdout.write(f"{title}{painted(shown, session.style)}")
    sys.stdout.flush()
    while True:
        sys.stderr.write(QUESTION)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            return QUIT
        answer = line.strip().lower()[:1]
        if answer in (YES, NO, ALL, QUIT):
            return answer


def _write(wanted: list[Candidate], candidates: Candidates, before: list[Outcome]) -> list[Candidate]:
    """Write the files; the fixes of those that could be written. Errors go to the outcomes."""
    from devicefix.engine.errors import FileError
    from devicefix.source.errors import SourceError
    from devicefix.source.write import write_atomically

    failed: set[Path] = set()
    by_path = {Path(outcome.path).absolute(): outcome for outcome in before}
    for path, raw in candidates.render(wanted).items():
        try:
            write_atomically(path, raw, expected=candidates.original(path))
        except SourceError as error:
            failed.add(path)
            by_path[path].errors.append(FileError.of(error))
    return [candidate for candidate in wanted if candidate.path not in failed]
