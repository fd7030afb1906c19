"""One line per finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devicefix.engine.outcome import Outcome
from devicefix.findings import Applicability
from devicefix.report.style import Style
from devicefix.report.words import place

_MARKS = {Applicability.SAFE: "[safe fix] ", Applicability.UNSAFE: "[unsafe fix] ", Applicability.REPORT: ""}


def render(outcomes: Iterable[Outcome], style: Style) -> Iterator[str]:
    """``file:line:column: CODE [safe fix] message``."""
    for outcome in outcomes:
        for f in outcome.findings:
            mark = style.paint(_MARKS[f.applicability], "cyan")
            where = style.paint(place(f.path, f.span), "bold")
            yield f"{where}: {style.paint(f.code, 'red', 'bold')} {mark}{f.message}\n"
