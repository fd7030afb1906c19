"""``devicefix --write --verify COMMAND``: keep the fixes that a command bears, and roll back those that break it.

The unit that is kept or rolled back is what one rule does in one file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.cli.options import CheckOptions
    from devicefix.config.resolve import Configuration
    from devicefix.source.text import SourceText
    from devicefix.verify.guard import GuardReport

PLACES = ("here", "simulated")


@dataclass(frozen=True, slots=True)
class RuleInFile:
    """All fixes of one rule in one file."""

    path: Path
    code: str
    name: str
    count: int

    def __str__(self) -> str:
        return f"{self.path}: {self.code} {self.name} ({self.count} {'fix' if self.count == 1 else 'fixes'})"


class _Rendering:
    """The files as they are with some of the fixes, always made from the originals."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.originals: dict[Path, SourceText] = {}
        self._made: dict[tuple[Path, tuple[str, ...]], bytes] = {}

    def add(self, path: Path) -> None:
        """Read a file before anything is written."""
        from devicefix.source import read_source

        self.originals[path] = read_source(path)

    def __call__(self, selected: Sequence[RuleInFile]) -> dict[Path, bytes]:
        codes: dict[Path, list[str]] = {}
        for change in selected:
            codes.setdefault(change.path, []).append(change.code)
        return {path: self._file(path, tuple(wanted)) for path, wanted in codes.items()}

    def _file(self, path: Path, codes: tuple[str, ...]) -> bytes:
        from devicefix.engine.fix import fix_source

        key = (path, codes)
        if key not in self._made:
            settings = self.configuration.for_path(path)
            self._made[key] = fix_source(self.originals[path], settings=settings, only=codes).source.raw
        return self._made[key]


def write_guarded(options: CheckOptions) -> int:
    """Write the fixes as far as ``options.verify`` bears them. Returns the exit status.

    0 the command passes with all fixes and nothing remains, 1 something was rolled back or findings remain, 2 the run
    failed, 3 the command says nothing (it fails before the fixes as well).
    """
    from devicefix.cli.check import FOUND, OK, complain, configuration
    from devicefix.engine.run import run
    from devicefix.verify.guard import write_verified

    assert options.verify is not None
    config = configuration(options)
    paths = options.paths or ["."]
    rendering = _Rendering(config)
    changes: list[RuleInFile] = []
    failed = False
    remaining = 0
    for outcome in run(paths, config.for_path(paths[0]), "diff", settings_of=config.for_path):
        for error in outcome.errors:
            complain(str(error))
            failed = True
        remaining += len(outcome.findings)
        if outcome.applied:
            path = Path(outcome.path)
            rendering.add(path)
            counts = Counter((finding.code, finding.name) for finding in outcome.applied)
            changes += [RuleInFile(path, code, name, count) for (code, name), count in sorted(counts.items())]
    if not changes:
        print("There is nothing to fix; the command was not run.")
        return 2 if failed else FOUND if remaining else OK

    def announce(report: GuardReport[RuleInFile]) -> None:
        print(report.as_text(), end="")
        for change in report.kept:
            print(f"  kept: {change}")

    report = write_verified(options.verify, changes, rendering, where=options.verify_on, announce=announce)
    if report.status:
        return report.status
    return 2 if failed else FOUND if remaining else OK
