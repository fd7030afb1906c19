"""devicefix inside flake8: the findings as flake8 shows them, with the settings of the project.

flake8 has its own ``# noqa`` and its own selection of codes; both work, and devicefix's as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from devicefix import __version__


class Plugin:
    """What flake8 makes one of for each file."""

    name = "devicefix"
    version = __version__

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.filename = filename
        self.text = "".join(lines)

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """The findings: line from 1, column from 0, text that begins with the code."""
        from devicefix.api import check
        from devicefix.config import Configuration

        settings = Configuration().for_path(self.filename)
        for finding in check(self.text, path=self.filename, settings=settings).findings:
            start = finding.span.start
            yield start.line, start.column - 1, f"{finding.code} {finding.message}", type(self)
