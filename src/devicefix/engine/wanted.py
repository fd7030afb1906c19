"""What can go wrong in choosing the findings of interest; light, because every run may have to catch it."""

from __future__ import annotations


class BaselineError(Exception):
    """A baseline that cannot be read or written; the message is one line."""


class GitError(Exception):
    """Git is missing, or cannot answer; the message is one line."""
