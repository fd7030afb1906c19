"""The one place where the harness touches the tool: check a file, fix a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from devicefix.engine import FileError
    from devicefix.source import SourceText


class ToolError(Exception):
    """The tool said that it could not work on the file."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding as the harness sees it."""

    code: str
    applicability: str  #: safe, unsafe or report
    line: int
    message: str


def tool_is_there() -> bool:
    """Whether the engine and the analysis behind it can be imported."""
    try:
        from devicefix.analysis import analyse  # noqa: F401
        from devicefix.engine import check_source, fix_source  # noqa: F401
    except ImportError:
        return False
    return True


def known_codes() -> set[str]:
    """The codes of the rules that exist."""
    from devicefix.rules import all_rules

    return {rule.code for rule in all_rules()}


def check(path: Path) -> list[Found]:
    """The findings of the default rules in one file, read with its folder as the project."""
    from devicefix.engine import check_source

    result = check_source(_source(path))
    _raise(result.errors)
    return [
        Found(finding.code, finding.applicability.value, finding.span.start.line, finding.message)
        for finding in result.findings
    ]


def fix(path: Path, *, unsafe: bool) -> bytes:
    """The file's content after ``--write``, with ``--unsafe-fixes`` if asked."""
    from devicefix.engine import fix_source

    result = fix_source(_source(path), unsafe=unsafe)
    _raise(result.errors)
    return result.source.raw


def _source(path: Path) -> SourceText:
    from devicefix.source import read_source

    return read_source(path)


def _raise(errors: list[FileError]) -> None:
    if errors:
        raise ToolError("; ".join(map(str, errors)))
