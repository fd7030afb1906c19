"""devicefix in a notebook: ``%load_ext devicefix``, then ``%%devicefix`` at the top of a cell.

The cell is checked together with the cells that ran before it, and then runs. With ``--write`` its text is replaced by
the repaired one, and that runs.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devicefix.engine.results import CheckResult
    from devicefix.findings import Finding
    from devicefix.settings import Settings
    from devicefix.source.text import SourceText

MAGIC = "%%devicefix"
HERE = "this notebook.ipynb"


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext``."""

    def devicefix(line: str, cell: str) -> Any:
        """Check this cell for PyTorch device mismatches, then run it. ``%%devicefix --help`` lists the options."""
        return run_magic(shell, line, cell)

    shell.register_magic_function(devicefix, "cell", "devicefix")


def unload_ipython_extension(shell: Any) -> None:
    """Called by ``%unload_ext``."""
    shell.magics_manager.magics["cell"].pop("devicefix", None)


def run_magic(shell: Any, line: str, cell: str) -> None:
    """Check or repair a cell, print what was found, and run it."""
    try:
        options = _parser().parse_args(shlex.split(line))
    except SystemExit:  # after --help or a mistake, about which argparse has said what there is to say
        return
    except ValueError as error:
        print(f"devicefix: {error}")
        return
    from devicefix.engine.errors import UnknownRule

    try:
        cell = _treated(shell, cell, options)
    except UnknownRule as error:
        print(f"devicefix: {error}")
        return
    if not options.no_run:
        shell.run_cell(cell)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=MAGIC, description="Check this cell, then run it.")
    parser.add_argument("--diff", action="store_true", help="show what --write would change")
    parser.add_argument("--write", action="store_true", help="replace the cell by the repaired text and run that")
    parser.add_argument("--unsafe-fixes", action="store_true", help="also fixes that could not be shown to be safe")
    parser.add_argument("--select", default="", metavar="RULES", help="only these rules, separated by commas")
    parser.add_argument("--no-run", action="store_true", help="do not run the cell")
    return parser


def _treated(shell: Any, cell: str, options: argparse.Namespace) -> str:
    """The cell to run: as it was, or repaired."""
    from devicefix.engine.check import check_source
    from devicefix.engine.fix import fix_source
    from devicefix.source.load import load_source

    settings = _settings(options)
    texts = [*earlier_cells(shell), cell]
    source = load_source(notebook(texts), HERE)
    result = check_source(source, settings=settings)
    for error in result.errors:
        print(f"devicefix: {error}")
    found = in_cell(result.findings, len(texts))
    if not (options.write or options.diff) or not any(finding.fix for finding in found):
        show(found, source)
        return cell
    unsafe = options.unsafe_fixes or settings.unsafe_fixes
    fixed = fix_source(source, settings=settings, unsafe=unsafe, checked=result)
    repaired = _last_cell(fixed.source, cell)
    after = _check_alone(texts[:-1], repaired, settings)
    left = in_cell(after.findings, len(texts))
    if after.errors or len(left) >= len(found):  # part of the repair belongs into an earlier cell
        show(found, source)
        return cell
    if options.diff:
        from devicefix.engine.diff import text_diff

        print(text_diff(_ended(cell), _ended(repaired), "cell"), end="")
        return cell
    show(left, after.source)
    print(f"devicefix: fixed {len(found) - len(left)}, {len(left)} remaining")
    shell.set_next_input(repaired.rstrip("\n"), replace=True)
    return repaired


def _settings(options: argparse.Namespace) -> Settings:
    from dataclasses import replace

    from devicefix.config import Configuration

    settings = Configuration().for_path(".")
    selected = tuple(part.strip() for part in options.select.split(",") if part.strip())
    return replace(settings, select=selected) if selected else settings


def earlier_cells(shell: Any) -> list[str]:
    """The text of the cells that ran before this one, without the magic that checks them."""
    history = [str(text) for text in shell.history_manager.input_hist_raw[1:]]
    if history and history[-1].lstrip().startswith(MAGIC):
        history.pop()
    return [text.lstrip().partition("\n")[2] if text.lstrip().startswith(MAGIC) else text for text in history]


def notebook(cells: Sequence[str]) -> bytes:
    """A notebook with these code cells."""
    made = [{"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def in_cell(findings: Sequence[Finding], number: int) -> list[Finding]:
    """The findings in one cell."""
    return [finding for finding in findings if finding.span.cell == number]


def _last_cell(source: SourceText, cell: str) -> str:
    from devicefix.source.notebook import NotebookSource

    return source.cell_texts()[-1] if isinstance(source, NotebookSource) and source.cells else cell


def _check_alone(earlier: Sequence[str], cell: str, settings: Settings) -> CheckResult:
    """The findings when only this cell is repaired."""
    from devicefix.engine.check import check_source
    from devicefix.source.load import load_source

    return check_source(load_source(notebook([*earlier, cell]), HERE), settings=settings)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def show(findings: Sequence[Finding], source: SourceText) -> None:
    """Print findings with their lines and what can be done."""
    from devicefix.report.words import remedy

    for finding in findings:
        start = finding.span.start
        print(f"cell:{start.line}:{start.column}: {finding.code} {finding.message}")
        print(f"    {source.line_text(finding.span).strip()}")
        print(f"    = {remedy(finding)}")
