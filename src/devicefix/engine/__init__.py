"""Checking, fixing to rest with a proof, many files at once: what the command line and the editors share."""

from __future__ import annotations

from devicefix.engine.check import check_source
from devicefix.engine.fix import fix_source
from devicefix.engine.results import CheckResult, FileError, FixResult, Withdrawn

__all__ = ["CheckResult", "FileError", "FixResult", "Withdrawn", "check_source", "fix_source"]
