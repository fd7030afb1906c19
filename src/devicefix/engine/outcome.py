"""What became of one file."""

from __future__ import annotations

from dataclasses import dataclass

from devicefix.engine.errors import FileError
from devicefix.findings import Finding, TextEdit


@dataclass(frozen=True, slots=True)
class Used:
    """What a result came from: the file, and what the analysis asked of others; paths as text."""

    stamp: tuple[int, int]  #: time of the last change (ns) and size, seen before the file was read
    digest: str  #: of the file's bytes
    read: tuple[tuple[str, int, int], ...] = ()  #: other files whose content counted, with their stamps
    present: tuple[str, ...] = ()  #: paths that are there
    absent: tuple[str, ...] = ()  #: paths that are not


@dataclass
class Outcome:
    """What became of one file. It holds no syntax trees, so that it can cross from one process to another."""

    path: str
    findings: list[Finding]  #: of the text as it is on disk after the run
    errors: list[FileError]
    applied: list[Finding]
    diff: str = ""
    lines: dict[tuple[int, int], str] | None = None  #: (cell, line) -> text of the lines that findings start on
    scopes: list[str] | None = None  #: for each finding the function or class that it stands in
    text: str | None = None  #: the text that ``edits`` refer to, when they were asked for
    edits: list[list[TextEdit]] | None = None  #: for each finding the edits of its fix, when they were asked for
    notebook: bool = False
    cells: tuple[tuple[int, int], ...] = ()  #: of a notebook: number and offset in ``text`` of each cell
    new_raw: bytes | None = None  #: the bytes after the fixes, if they differ
    ignored: int = 0  #: how many suppressions were written
    skipped: bool = False  #: whether a look at the bytes was enough
    more_unsafe: int = 0  #: how many findings only ``--unsafe-fixes`` would repair
    hidden: int = 0  #: how many findings were known before, or are on old lines
    used: Used | None = None  #: for the cache; None: not to be kept
    cached: bool = False  #: whether it comes from the cache
