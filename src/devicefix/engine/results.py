"""What the engine hands back. Errors are values: one broken file never stops the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from devicefix.engine.errors import FileError
from devicefix.findings import Finding, TextEdit
from devicefix.source.text import SourceText


@dataclass
class CheckResult:
    """The findings of one source, in order of place."""

    source: SourceText
    findings: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)

    def edits_for(self, finding: Finding) -> list[TextEdit]:
        """The smallest edits that make the finding's fix (with its whole group); empty when there is none."""
        from devicefix.codemods.errors import CannotChange
        from devicefix.codemods.realise import realise

        if finding.fix is None:
            return []
        group = finding.fix.group
        members = [f for f in self.findings if f.fix and f.fix.group == group] if group else [finding]
        changes = [change for member in members if member.fix for change in member.fix.changes]
        try:
            return realise(self.source, changes)
        except CannotChange:
            return []


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A fix that was not made, and why."""

    finding: Finding
    reason: str


@dataclass
class FixResult:
    """A source after its fixes. ``source`` is the original object when nothing was changed.

    ``remaining`` holds what is still found in the new text; withdrawn fixes appear there as reports.
    """

    original: SourceText
    source: SourceText
    applied: list[Finding] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)
    withdrawn: list[Withdrawn] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)

    @property
    def new_text(self) -> str:
        """The text after the fixes."""
        return self.source.text

    @property
    def changed(self) -> bool:
        """Whether the file's bytes differ."""
        return self.source.raw != self.original.raw
