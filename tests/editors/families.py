"""A program for each family of rules, with what the command line makes of it.

The programs are the examples of the rules themselves, so a new family is tried in every editor from the day it exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devicefix import check, fix
from devicefix.rules import all_rules

WIDE = '"é😀"; '  #: two bytes, then four: columns differ in every encoding


@dataclass(frozen=True)
class Case:
    """``before`` has a finding of the family with a safe fix; ``after`` is the text with all safe fixes."""

    family: str
    before: str
    after: str
    findings: int  #: in ``before``

    def write(self, folder: Path, line_end: str) -> Path:
        name = "crlf" if line_end == "\r\n" else "lf"
        path = folder / f"{self.family.lower()}_{name}.py"
        path.write_bytes(self.before.replace("\n", line_end).encode())
        return path

    def expected(self, line_end: str) -> bytes:
        return self.after.replace("\n", line_end).encode()


def cases() -> list[Case]:
    """One case for each family that has a safe fix."""
    found: dict[str, Case] = {}
    for rule in all_rules():
        family = rule.code[:4]
        for example in rule.examples:
            if family not in found and not example.unsafe and example.before != example.after:
                case = _case(family, example.before.lstrip("\n"))
                if case is not None:
                    found[family] = case
    return list(found.values())


def _case(family: str, text: str) -> Case | None:
    """The example with wide characters before the finding if that leaves it as it is, else above it."""
    plain = check(text)
    assert plain.findings, (family, plain.errors)
    first = plain.findings[0]
    lines = text.splitlines(keepends=True)
    row = first.span.start.line - 1
    indent = len(lines[row]) - len(lines[row].lstrip())
    beside = [*lines[:row], lines[row][:indent] + WIDE + lines[row][indent:], *lines[row + 1 :]]
    above = ["# é😀\n", *lines]
    for candidate in ("".join(beside), "".join(above)):
        found = check(candidate)
        result = fix(candidate)
        fixed = any(finding.code.startswith(family) for finding in result.applied)
        if not found.errors and fixed and len(found.findings) == len(plain.findings):
            return Case(family, candidate, result.new_text, len(found.findings))
    return None
