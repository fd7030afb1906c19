"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.findings import Finding


@dataclass(frozen=True, slots=True)
class Example:
    """A program before and after the rule. Both are executed and rewritten by the tests."""

    before: str
    after: str
    unsafe: bool = False  #: the rewrite needs --unsafe-fixes


@dataclass(frozen=True, slots=True)
class Rule:
    """One fault: its code, its words, and how it is found and repaired.

    The documentation page, ``devicefix rule``, the editor hover and the SARIF help are made from these fields.
    ``check`` yields findings for one file from what the analysis knows about it; it reads no text and prints nothing.
    """

    code: str
    name: str
    summary: str  #: one line, no full stop
    explanation: str  #: Markdown: what it does, why it is wrong
    fix_safety: str  #: Markdown: when the fix is safe, unsafe, or absent
    check: Callable[[FileFacts], Iterator[Finding]]
    examples: tuple[Example, ...] = ()
    silent: tuple[str, ...] = ()  #: programs that look alike and are right; executed by the tests as well
    references: tuple[str, ...] = ()
    default: bool = True  #: off-by-default rules run only when selected
