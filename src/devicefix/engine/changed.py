"""Lines that were added since a commit, as git tells."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devicefix.engine.filters import Seen
from devicefix.engine.wanted import GitError

_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@dataclass(frozen=True)
class Changed:
    """A filter: only findings on added lines are of interest. Untracked files count whole, and so do notebooks, whose
    lines git does not see."""

    added: dict[str, tuple[tuple[int, int], ...]]  #: real path -> first and last lines of what was added
    tracked: frozenset[str]  #: real paths

    def hidden(self, seen: Seen) -> list[bool]:
        """The findings that touch no added line, neither themselves nor where they say that things meet."""
        path = os.path.realpath(seen.path)
        if path not in self.tracked or (seen.notebook and path in self.added):
            return [False] * len(seen.findings)
        stretches = self.added.get(path, ())
        return [
            not any(
                first <= span.end.line and span.start.line <= last
                for span in (f.span, *(r.span for r in f.related if r.path == f.path))
                for first, last in stretches
            )
            for f in seen.findings
        ]


def changed_since(base: str, paths: Sequence[str]) -> Changed:
    """What was added in the repositories of ``paths`` since ``base`` and the current commit parted.

    ``base`` is any name of a commit; with ``HEAD`` that is what has not been committed. Raises `GitError`.
    """
    added: dict[str, tuple[tuple[int, int], ...]] = {}
    tracked: set[str] = set()
    for top in dict.fromkeys(_top(path) for path in paths):
        since = _parting(top, base)
        diff = (
            "diff",
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-renames",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        )
        for name, stretches in _added(_git(top, *diff, since, "--")).items():
            added[os.path.join(top, name)] = stretches
        tracked.update(os.path.join(top, os.fsdecode(raw)) for raw in _git(top, "ls-files", "-z").split(b"\0") if raw)
    return Changed(added, frozenset(tracked))


def _top(path: str) -> str:
    folder = Path(path) if os.path.isdir(path) else Path(path).parent
    return os.path.realpath(os.fsdecode(_git(str(folder), "rev-parse", "--show-toplevel").rstrip(b"\n")))


def _parting(top: str, base: str) -> str:
    """The commit since which lines count."""
    commit = _git(
        top,
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{base}^{{commit}}",
        what=f"there is no commit `{base}`",
    )
    name = commit.decode("ascii").strip()
    try:
        return _git(top, "merge-base", name, "HEAD").decode("ascii").strip()
    except GitError:
        return name  # no common history, as in a shallow clone


def _git(folder: str, *arguments: str, what: str = "") -> bytes:
    command = ["git", "-C", folder or ".", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise GitError("--changed-only needs git, which is not installed") from None
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix("fatal: ")
        raise GitError(f"--changed-only: {what or said or 'git failed'}")
    return done.stdout


def _added(diff: bytes) -> dict[str, tuple[tuple[int, int], ...]]:
    """Added lines by path, out of a diff without context."""
    found: dict[str, list[tuple[int, int]]] = {}
    current: list[tuple[int, int]] | None = None
    left = 0  # lines of the hunk at hand: whatever they look like, they are no headers
    for line in diff.split(b"\n"):
        if left > 0 and line[:1] in (b"+", b"-"):
            left -= 1
            continue
        hunk = _HUNK.match(line)
        if hunk is not None:
            removed = re.match(rb"@@ -\d+(?:,(\d+))?", line)
            assert removed is not None
            first, count = int(hunk[1]), int(hunk[2] or 1)
            left = count + int(removed[1] or 1)
            if count and current is not None:
                current.append((first, first + count - 1))
        elif line.startswith(b"+++ "):
            name = _unquoted(line[4:].removesuffix(b"\t"))
            current = found.setdefault(os.fsdecode(name[2:]), []) if name.startswith(b"b/") else None
    return {name: tuple(stretches) for name, stretches in found.items()}


def _unquoted(name: bytes) -> bytes:
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPE.sub(lambda m: _LETTERS.get(m[1], m[1]) if not m[1].isdigit() else bytes([int(m[1], 8)]), name[1:-1])
