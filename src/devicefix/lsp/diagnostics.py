"""Findings as an editor shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as t
from pygls.uris import from_fs_path

from devicefix.engine.suppress import UNUSED
from devicefix.lsp.positions import Encoding
from devicefix.lsp.sources import Locator

if TYPE_CHECKING:
    from devicefix.findings import Finding, Related
    from devicefix.lsp.capabilities import Client
    from devicefix.lsp.checker import Checked, Placed

SOURCE = "devicefix"
STALE = "from before the syntax error"


def diagnostics(checked: Checked, client: Client, encoding: Encoding) -> dict[str, list[t.Diagnostic]]:
    """The diagnostics of every document that was checked; an empty list where there is none."""
    found: dict[str, list[t.Diagnostic]] = {part.uri: [] for part in checked.snapshot.parts}
    if not found:
        return found
    locator = Locator(checked.snapshot, encoding)
    for placed in checked.placed:
        part, place = locator.locate(placed.start, placed.end)
        found[part.uri].append(diagnostic(placed, place, checked, client, locator))
    return found


def diagnostic(placed: Placed, place: t.Range, checked: Checked, client: Client, locator: Locator) -> t.Diagnostic:
    """One finding."""
    finding = placed.finding
    return t.Diagnostic(
        range=place,
        message=message(finding) + (f" ({STALE})" if checked.stale else ""),
        severity=t.DiagnosticSeverity.Information if checked.stale else t.DiagnosticSeverity.Warning,
        code=finding.code,
        source=SOURCE,
        tags=[t.DiagnosticTag.Unnecessary] if client.tags and finding.code == UNUSED.code else None,
        related_information=_related(finding, checked, locator) if client.related and not checked.stale else None,
        data={"stale": checked.stale, "fix": finding.applicability.value},
    )


def message(finding: Finding) -> str:
    """What is wrong, and why there is no fix if there is none."""
    if finding.fix is None and finding.note:
        return f"{finding.message}\n{finding.note}"
    return finding.message


def _related(finding: Finding, checked: Checked, locator: Locator) -> list[t.DiagnosticRelatedInformation] | None:
    made = []
    for related in finding.related:
        place = _location(related, checked, locator)
        if place is not None:
            made.append(t.DiagnosticRelatedInformation(place, related.message))
    return made or None


def _location(related: Related, checked: Checked, locator: Locator) -> t.Location | None:
    source = checked.result.source if checked.result is not None else None
    if source is not None and related.path == source.name:
        start = source.offset_at(related.span.start, related.span.cell)
        end = source.offset_at(related.span.end, related.span.cell)
        part, place = locator.locate(start, end)
        return t.Location(part.uri, place)
    uri = from_fs_path(related.path)
    if uri is None:
        return None
    # The columns of another file are right for ASCII, which is close enough for a link.
    start_, end_ = related.span.start, related.span.end
    first, last = (t.Position(p.line - 1, p.column - 1) for p in (start_, end_))
    return t.Location(uri, t.Range(first, last))


def touches(one: t.Range, other: t.Range) -> bool:
    """Whether two ranges share a place; their ends count."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(position: t.Position) -> tuple[int, int]:
    return position.line, position.character
