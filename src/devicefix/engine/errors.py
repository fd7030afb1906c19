"""What can fail, as values."""

from __future__ import annotations

from dataclasses import dataclass

from devicefix.source.errors import SourceError


@dataclass(frozen=True, slots=True)
class FileError:
    """Why a file (or a part of the work on it) failed. ``line`` and ``column`` from 1, 0 when unknown."""

    path: str
    message: str
    line: int = 0
    column: int = 0
    cell: int = 0

    @classmethod
    def of(cls, error: SourceError) -> FileError:
        """The error of a source as a value."""
        return cls(error.path, error.message, error.line, error.column, error.cell)

    def __str__(self) -> str:
        where = f":cell {self.cell}" if self.cell else ""
        where += f":{self.line}:{self.column}" if self.line else ""
        return f"{self.path}{where}: {self.message}"


class UnknownRule(ValueError):
    """A selector that fits no rule. The message names the nearest valid one."""

    def __init__(self, message: str, selector: str = "") -> None:
        super().__init__(message, selector)
        self.selector = selector

    def __str__(self) -> str:
        return str(self.args[0])
