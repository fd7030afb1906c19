"""The vocabulary shared by every layer: where something is, what is wrong, and how it can be repaired."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.codemods.changes import Change


class Applicability(str, Enum):
    """How far a fix may be trusted."""

    SAFE = "safe"  #: shown to keep values, dtypes, checkpoints and names for this occurrence
    UNSAFE = "unsafe"  #: right in all likelihood, but one of the conditions could not be shown
    REPORT = "report"  #: there is no mechanical rewrite


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place in a text: line from 1, column from 1, in code points."""

    line: int
    column: int


@dataclass(frozen=True, order=True, slots=True)
class Span:
    """A stretch of text, end exclusive. ``cell`` is the 1-based notebook cell, 0 outside notebooks."""

    start: Position
    end: Position
    cell: int = 0


@dataclass(frozen=True, order=True, slots=True)
class TextEdit:
    """Replace ``text[start:end]`` (code-point offsets into the decoded source) by ``replacement``."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair, described as changes to syntax-tree nodes; it becomes text edits only when somebody asks.

    ``title`` is an imperative phrase ("assign the result to `x`"). ``reason`` says, for an unsafe fix, what could
    not be shown. ``group`` ties fixes that must be applied together or not at all.
    """

    title: str
    applicability: Applicability
    changes: tuple[Change, ...]
    reason: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding, such as the line that created the tensor."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place."""

    code: str
    name: str
    message: str
    path: str
    span: Span
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    note: str = ""  #: for a finding without a fix: why there is none

    @property
    def applicability(self) -> Applicability:
        """``REPORT`` when there is no fix, else that of the fix."""
        return self.fix.applicability if self.fix else Applicability.REPORT
