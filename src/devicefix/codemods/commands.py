"""devicefix as a LibCST codemod, for projects that run their codemods through LibCST::

    python -m libcst.tool codemod -x devicefix.codemods.commands.FixDevices src/

The command line of devicefix does the same faster, and looks across files.
"""

from __future__ import annotations

import argparse

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile


class FixDevices(CodemodCommand):
    """Make the fixes of devicefix."""

    DESCRIPTION = "Repair PyTorch device mismatches."

    def __init__(self, context: CodemodContext, *, unsafe_fixes: bool = False, select: str = "") -> None:
        super().__init__(context)
        self.unsafe_fixes = unsafe_fixes
        self.select = tuple(part.strip() for part in select.split(",") if part.strip())

    @staticmethod
    def add_args(parser: argparse.ArgumentParser) -> None:
        """The options of ``libcst.tool codemod``."""
        parser.add_argument("--unsafe-fixes", action="store_true", help="also fixes that could not be shown to be safe")
        parser.add_argument("--select", default="", metavar="RULES", help="only these rules, separated by commas")

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """The module after the fixes. Skips a file that devicefix cannot read."""
        from dataclasses import replace

        from devicefix.api import fix
        from devicefix.config import Configuration

        path = self.context.filename or "<string>"
        settings = Configuration().for_path(path)
        if self.select:
            settings = replace(settings, select=self.select)
        result = fix(tree.bytes, path=path, unsafe=self.unsafe_fixes or settings.unsafe_fixes, settings=settings)
        for error in result.errors:
            raise SkipFile(str(error))
        for finding in result.remaining:
            self.warn(f"{finding.span.start.line}: {finding.code} {finding.message}")
        return cst.parse_module(result.source.raw) if result.changed else tree
