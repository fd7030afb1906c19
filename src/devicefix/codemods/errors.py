"""Why a change is refused."""

from __future__ import annotations


class CannotChange(Exception):
    """This change cannot be made here. The message is a short reason that follows "not rewritten: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
