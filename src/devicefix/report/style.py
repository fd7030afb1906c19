"""Colours for terminals, and whether to use them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


@dataclass(frozen=True)
class Style:
    """How text is dressed up. Without colour every method returns its text unchanged."""

    color: bool = False

    def paint(self, text: str, *looks: str) -> str:
        """The text in the given looks (``bold``, ``red`` …)."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_CODES[look] for look in looks)}m{text}\x1b[0m"


def use_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour. ``choice`` is ``auto``, ``always`` or ``never``; an option wins over the environment.

    ``NO_COLOR`` and ``FORCE_COLOR`` count when they are not empty; else colour is for terminals.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and hasattr(stream, "isatty") and stream.isatty()
