"""What the tests of rules and of the analysis ask about a program: where the findings are, and what the fix makes of it."""

from __future__ import annotations

import difflib
import textwrap

from devicefix import check, fix
from devicefix.findings import Finding

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
MARK = "# !"


def program(body: str, *, head: str = HEAD) -> str:
    """A source of one function ``run(device)`` with a body."""
    return f"{head}def run(device):\n{textwrap.indent(textwrap.dedent(body).strip(), ' ' * 4)}\n"


def source(text: str, *, head: str = HEAD) -> str:
    """Top-level code under the usual imports."""
    return f"{head}{textwrap.dedent(text).strip()}\n"


def found(text: str, code: str) -> list[Finding]:
    """The findings of one rule."""
    result = check(text)
    assert result.errors == []
    return [f for f in result.findings if f.code == code]


def codes(text: str) -> list[str]:
    """The codes of all findings, in order."""
    result = check(text)
    assert result.errors == []
    return [f.code for f in result.findings]


def marked(text: str) -> list[int]:
    """The lines that carry the mark ``# !``."""
    return [number for number, line in enumerate(text.splitlines(), 1) if MARK in line]


def lines(text: str, code: str) -> list[int]:
    """The lines on which findings of one rule begin."""
    return [f.span.start.line for f in found(text, code)]


def levels(text: str, code: str) -> list[str]:
    """How far the fixes of one rule may be trusted, in order."""
    return [f.applicability.value for f in found(text, code)]


def repaired(text: str, code: str, *, unsafe: bool = False) -> str:
    """The text after the fix of one rule: it compiles, and a second run changes nothing."""
    from devicefix.engine.fix import fix_source
    from devicefix.source.load import load_source

    result = fix_source(load_source(text.encode(), "program.py"), unsafe=unsafe, only=(code,))
    assert result.errors == []
    compile(result.new_text, "program.py", "exec")
    again = fix_source(load_source(result.new_text.encode(), "program.py"), unsafe=unsafe, only=(code,))
    assert again.new_text == result.new_text
    return result.new_text


def changed(text: str, code: str, *, unsafe: bool = False) -> list[str]:
    """The lines that the fix of one rule removed (``-``) and added (``+``), stripped."""
    new = repaired(text, code, unsafe=unsafe)
    difference = difflib.ndiff(text.splitlines(), new.splitlines())
    return [f"{line[0]}{line[1:].strip()}" for line in difference if line[0] in "+-"]


def added(text: str, code: str, *, unsafe: bool = False) -> list[str]:
    """The lines that the fix of one rule added, stripped."""
    return [line[1:] for line in changed(text, code, unsafe=unsafe) if line[0] == "+"]


__all__ = [
    "HEAD", "added", "changed", "check", "codes", "fix", "found", "levels", "lines", "marked", "program", "repaired", "source",
]  # fmt: skip
