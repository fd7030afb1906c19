"""The parts of a page that are made by running something.

A page holds invisible comments; what stands between a comment and its ``<!-- end -->`` is written by this module:

``<!-- output: COMMAND -->``        the command and what it prints
``<!-- output diff: COMMAND -->``   the same, the output shown in colours of a diff (or of another language)
``<!-- table: NAME -->``            a table made from the program (see docs_tables.py)
``<!-- file: PATH -->``             a file of the repository

Two more say what a page needs and print nothing:

``<!-- setup: COMMAND -->``         runs a command, out of sight
``<!-- write: PATH -->``            the code block that follows is written to this file

The commands of one page run one after the other in a folder of their own that begins with a copy of ``examples/``.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPEN = re.compile(r"^<!-- (?P<kind>output|table|file|setup|write)(?: (?P<language>\w+))?: (?P<what>.+?) -->$")
END = "<!-- end -->"
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)")
TIMEOUT = 300  #: seconds for one command
#: what the commands of a page import besides devicefix's own dependencies
NEEDS = {
    "torch": re.compile(r"devicefix (run|verify|inspect)\b|\bpytest\b|\bIPython\b"),
    "IPython": re.compile(r"\bIPython\b"),
    "pytest": re.compile(r"\bpytest\b"),
}


class PageError(Exception):
    """A page that cannot be made; the message names the line."""


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder with a copy of ``examples/`` and, beside it, a ``devicefix`` command that runs this source tree."""
    with tempfile.TemporaryDirectory(prefix="devicefix-docs-") as name:
        top = Path(name)
        work = top / "work"
        shutil.copytree(ROOT / "examples", work / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        commands = top / "bin"
        commands.mkdir()
        for command, rest in (("devicefix", "-m devicefix"), ("python", "")):
            script = commands / command
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {rest} "$@"\n', encoding="utf-8")
            script.chmod(0o755)
        yield work


def environment(work: Path) -> dict[str, str]:
    """What the commands of a page see; a page that copies ``src`` into its folder runs that copy."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DEVICEFIX", "PYTEST", "COV_"))}
    return {
        **kept,
        "PATH": f"{work.parent / 'bin'}{os.pathsep}{kept.get('PATH', '')}",
        "PYTHONPATH": f"{work / 'src'}{os.pathsep}{ROOT / 'src'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "REPOSITORY": str(ROOT),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }


def run(command: str, work: Path) -> str:
    """What a command prints, both streams together. Its status does not matter: findings are no failure."""
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=work,
            env=environment(work),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PageError(f"`{command}` does not end") from None
    if "Traceback (most recent call last)" in done.stdout or "No module named" in done.stdout:
        raise PageError(f"`{command}` failed:\n{done.stdout}")
    return done.stdout.rstrip().replace(f"{work}/", "").replace(str(ROOT), ".")


def fenced(text: str, language: str) -> str:
    """A code block; its fence is longer than any inside."""
    longest = max((len(m) for m in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


class Page:
    """One page and the folder that its commands run in."""

    def __init__(self, text: str, tables: Mapping[str, Callable[[], str]], work: Path) -> None:
        self.lines = text.split("\n")
        self.tables = tables
        self.work = work

    def render(self) -> str:
        """The page with every generated part made anew."""
        made: list[str] = []
        at = 0
        inside = ""  # the fence of the code block that we are in
        while at < len(self.lines):
            line = self.lines[at]
            fence = FENCE.match(line)
            if fence and (not inside or line.strip() == inside):
                inside = "" if inside else fence["fence"]
            match = None if inside else OPEN.match(line)
            made.append(line)
            at += 1
            if match is None:
                continue
            if match["kind"] == "setup":
                run(match["what"], self.work)
            elif match["kind"] == "write":
                self._write(match["what"], at)
            else:
                made += [self._made(match, at), END]
                at = self._after(at)
        return "\n".join(made)

    def _after(self, at: int) -> int:
        """The line after the end of the generated part that begins at a line."""
        for number in range(at, len(self.lines)):
            if self.lines[number] == END:
                return number + 1
            if OPEN.match(self.lines[number]):
                break
        raise PageError(f"line {at}: there is no {END} for {self.lines[at - 1]}")

    def _made(self, match: re.Match[str], at: int) -> str:
        what = match["what"]
        if match["kind"] == "table":
            if what not in self.tables:
                raise PageError(f"line {at}: there is no table {what}")
            return self.tables[what]()
        if match["kind"] == "file":
            suffix = {"py": "python", "yml": "yaml", "yaml": "yaml", "toml": "toml"}.get(what.rpartition(".")[2], "")
            return fenced((ROOT / what).read_text(encoding="utf-8"), suffix)
        shown = run(what, self.work)
        if not shown:
            return fenced(f"$ {what}", "console")
        if match["language"]:
            return fenced(f"$ {what}", "console") + "\n\n" + fenced(shown, match["language"])
        return fenced(f"$ {what}\n{shown}", "console")

    def _write(self, name: str, at: int) -> None:
        opening = at
        while opening < len(self.lines) and not self.lines[opening].strip():
            opening += 1
        fence = FENCE.match(self.lines[opening]) if opening < len(self.lines) else None
        if fence is None:
            raise PageError(f"line {at}: no code block follows")
        closing = self.lines.index(fence["fence"], opening + 1)
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines[opening + 1 : closing]) + "\n", encoding="utf-8")


def needs(text: str) -> list[str]:
    """The modules that making a page takes."""
    commands = re.findall(r"^<!-- (?:output|setup)[^:]*: (.+?) -->$", text, re.MULTILINE)
    return [module for module, pattern in NEEDS.items() if any(pattern.search(command) for command in commands)]
