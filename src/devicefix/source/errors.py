"""What can go wrong with a file, as values that are shown in one line."""

from __future__ import annotations

from dataclasses import dataclass


class SourceError(Exception):
    """A file that cannot be read, decoded, parsed or written. ``line`` and ``column`` are 1-based, 0 when unknown."""

    def __init__(self, path: str, message: str, line: int = 0, column: int = 0, cell: int = 0) -> None:
        super().__init__(path, message, line, column, cell)
        self.path = path
        self.message = message
        self.line = line
        self.column = column
        self.cell = cell

    def __str__(self) -> str:
        where = f":cell {self.cell}" if self.cell else ""
        if self.line:
            where += f":{self.line}:{self.column}"
        return f"{self.path}{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class DiscoveryError:
    """A path that was named but cannot be walked: missing, unreadable, or of a kind that is not handled."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"
