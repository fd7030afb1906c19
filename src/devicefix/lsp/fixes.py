"""What a code action does to a document, computed by the engine of the command line. Runs in the worker's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.findings import Applicability, Finding, TextEdit
from devicefix.lsp.sources import texts_of
from devicefix.lsp.text_edits import minimal_edits

if TYPE_CHECKING:
    from devicefix.codemods.changes import Change
    from devicefix.engine.plan import Unit
    from devicefix.lsp.checker import Checked, Checker
    from devicefix.lsp.documents import Part
    from devicefix.source.text import SourceText


class CannotFix(Exception):
    """The change cannot be made. The message says why, for the user."""


@dataclass(frozen=True)
class PartEdits:
    """What happens to one document; offsets are those of its text."""

    part: Part
    edits: tuple[TextEdit, ...]


def members(checked: Checked, finding: Finding) -> tuple[Finding, ...]:
    """The findings that are fixed together with this one."""
    if finding.fix is None or not finding.fix.group or checked.result is None:
        return (finding,)
    group = finding.fix.group
    return tuple(other for other in checked.result.findings if other.fix and other.fix.group == group)


def doubt(checked: Checked, finding: Finding) -> str:
    """Why a fix is not safe; empty for a safe one."""
    for member in members(checked, finding):
        if member.applicability is not Applicability.SAFE:
            return (member.fix.reason if member.fix else "") or "not shown to be safe"
    return ""


def fix_one(checked: Checked, finding: Finding) -> list[PartEdits]:
    """The fix of one finding and of those that go with it. Raises `CannotFix`."""
    from devicefix.engine.plan import Unit

    return change(checked, Unit(members(checked, finding)).changes)


def change(checked: Checked, changes: Sequence[Change]) -> list[PartEdits]:
    """Changes, proven as a whole. Raises `CannotFix`."""
    from devicefix.engine.selfcheck import CheckFailed, rewrite

    source = _source(checked)
    try:
        new, edits = rewrite(source, changes)
    except CheckFailed as failure:
        raise CannotFix(str(failure)) from None
    if source.text == checked.snapshot.parts[0].text:  # one document, without a byte order mark in its text
        return [PartEdits(checked.snapshot.parts[0], tuple(edits))] if edits else []
    return _edits(checked, new)


def fix_all(checked: Checked, checker: Checker, *, unsafe: bool = False, only: Sequence[str] = ()) -> list[PartEdits]:
    """Every fix, pass after pass, as ``--write`` makes them. Raises `CannotFix`."""
    from devicefix.engine.fix import fix_source

    source = _source(checked)
    path = checked.snapshot.path
    project = checker.project_for(path)
    try:
        result = fix_source(
            source, project=project, settings=checked.settings, unsafe=unsafe, only=only, checked=checked.result
        )
    finally:
        project.forget(path)  # the project saw the texts in between
    return _edits(checked, result.source)


def fix_part(checked: Checked, uri: str) -> list[PartEdits]:
    """The safe fixes that touch nothing but one cell. Raises `CannotFix`."""
    from devicefix.engine.plan import plan, units_of

    source = _source(checked)
    assert checked.result is not None
    planned = plan(source, units_of(checked.result.findings, unsafe=False))
    made: list[Unit] = []
    for unit in planned.chosen:
        try:
            edits = change(checked, unit.changes)
        except CannotFix:
            continue
        if {edit.part.uri for edit in edits} == {uri}:
            made.append(unit)
    if not made:
        return []
    return change(checked, tuple(dict.fromkeys(change for unit in made for change in unit.changes)))


def ignore(checked: Checked, finding: Finding) -> list[PartEdits]:
    """A comment that turns one finding off. Raises `CannotFix`."""
    from devicefix.engine.add_ignore import with_ignores
    from devicefix.source.errors import SourceError

    try:
        new, left = with_ignores(_source(checked), [finding])
    except SourceError as error:
        raise CannotFix(error.message) from None
    if left:
        raise CannotFix("there is no place for a comment on this line")
    return _edits(checked, new)


def _source(checked: Checked) -> SourceText:
    if checked.result is None:
        raise CannotFix("the file is not valid Python at the moment")
    return checked.result.source


def _edits(checked: Checked, new: SourceText) -> list[PartEdits]:
    texts = texts_of(new, checked.snapshot)
    made = []
    for part, text in zip(checked.snapshot.parts, texts, strict=True):
        edits = minimal_edits(part.text, text)
        if edits:
            made.append(PartEdits(part, tuple(edits)))
    return made
