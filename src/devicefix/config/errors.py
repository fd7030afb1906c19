"""A mistake in a settings file."""

from __future__ import annotations


class ConfigError(Exception):
    """A settings file that cannot be used. ``line`` from 1, 0 when unknown."""

    def __init__(self, path: str, message: str, line: int = 0) -> None:
        super().__init__(path, message, line)
        self.path = path
        self.message = message
        self.line = line

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.message}"
