"""Places as machine formats want them: relative paths, edits with lines, fingerprints."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from devicefix.engine.outcome import Outcome
from devicefix.findings import Finding, Position, TextEdit
from devicefix.source.lines import LineIndex


def relative(path: str) -> str:
    """The path relative to the current folder if it is below, with forward slashes."""
    try:
        return Path(path).absolute().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(path).as_posix()


def place_of(offset: int, lines: LineIndex) -> Position:
    """The line and column of an offset of the whole text."""
    line = lines.line_of(offset)
    return Position(line, offset - lines.start(line) + 1)


def with_edits(outcome: Outcome) -> list[tuple[Finding, list[TextEdit]]]:
    """Each finding with the edits of its fix."""
    return list(zip(outcome.findings, outcome.edits or [[]] * len(outcome.findings), strict=True))


class Fingerprints:
    """A name for each finding that stays the same when lines above it come and go."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, finding: Finding, outcome: Outcome) -> str:
        """Made from path, rule and the text of the line; equal ones are numbered."""
        line = (outcome.lines or {}).get((finding.span.cell, finding.span.start.line), "").strip()
        key = f"{relative(finding.path)}\0{finding.code}\0{line}"
        self._seen[key] += 1
        return hashlib.sha256(f"{key}\0{self._seen[key]}".encode("utf-8", "replace")).hexdigest()[:32]


def all_findings(outcomes: Iterable[Outcome]) -> Iterator[tuple[Outcome, Finding]]:
    """Every finding with its file."""
    for outcome in outcomes:
        for finding in outcome.findings:
            yield outcome, finding


def in_cell(finding: Finding) -> str:
    """`` (cell 3)`` for a finding in a notebook, for formats that know only lines."""
    return f" (cell {finding.span.cell})" if finding.span.cell else ""
