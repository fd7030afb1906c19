"""The command that everybody runs: check, ``--diff``, ``--write``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from devicefix.cli.options import CheckOptions
from devicefix.config.errors import ConfigError
from devicefix.config.resolve import Configuration

if TYPE_CHECKING:
    from devicefix.engine.check import Analyse
    from devicefix.engine.outcome import Outcome
    from devicefix.engine.run import Mode
    from devicefix.rules.base import Rule

OK, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130


def configuration(options: CheckOptions) -> Configuration:
    """The settings files with what the command line says on top."""
    overrides: dict[str, object] = {}
    if options.select:
        overrides["select"] = tuple(options.select)
    if options.unsafe_fixes is not None:
        overrides["unsafe_fixes"] = options.unsafe_fixes
    if options.output_format is not None:
        overrides["output_format"] = options.output_format
    if options.jobs is not None:
        overrides["jobs"] = options.jobs
    lists = {"ignore": options.ignore, "extend_select": options.extend_select, "exclude": options.exclude}
    added = {name: tuple(values) for name, values in lists.items() if values}
    file = Path(options.config) if options.config else None
    return Configuration(overrides, added, file, options.isolated)


def run_check(options: CheckOptions, *, rules: Sequence[Rule] | None = None, analyse: Analyse | None = None) -> int:
    """Run a check and print it. Returns the exit status; prints one line on stderr for each thing that failed.

    ``rules`` and ``analyse`` default to the built-in ones.
    """
    from devicefix.engine.errors import UnknownRule
    from devicefix.source.errors import SourceError

    _reconfigure_streams()
    try:
        if options.verify is not None:
            from devicefix.cli.guarded import write_guarded

            return write_guarded(options)
        return _Session(options, rules, analyse).run()
    except (ConfigError, UnknownRule, SourceError) as error:
        complain(str(error))
        return FAILED


def complain(message: str) -> None:
    """One line on stderr."""
    print(f"devicefix: error: {message}", file=sys.stderr)


def _reconfigure_streams() -> None:
    """File names and source lines may hold anything: never fail to print them."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class _Session:
    """One run, with the counts that its summary needs."""

    def __init__(self, options: CheckOptions, rules: Sequence[Rule] | None, analyse: Analyse | None) -> None:
        from devicefix.report.style import Style, use_color

        self.options = options
        self.rules = rules
        self.analyse = analyse
        self.configuration = configuration(options)
        named = options.stdin_filename if options.paths == ["-"] else None
        self.settings = self.configuration.for_path(named or (options.paths[0] if options.paths else "."))
        self.style = Style(use_color(options.color, sys.stdout))
        self.outcomes: list[Outcome] = []
        self.failed = False
        self.began = time.perf_counter()

    def run(self) -> int:
        paths = self.options.paths or ["."]
        if "-" in paths:
            if len(paths) > 1:
                complain("`-` reads standard input and goes with no other path")
                return FAILED
            return self._standard_input()
        return self._finish(self._files(paths))

    def _files(self, paths: list[str]) -> Iterable[Outcome]:
        from devicefix.engine.run import run

        return run(
            paths,
            self.settings,
            self._mode(),
            want_edits=self._wants_edits(),
            rules=self.rules,
            analyse=self.analyse,
            settings_of=self.configuration.for_path,
            cache=self._cache(),
        )

    def _cache(self) -> Callable[[], Path] | None:
        def folder() -> Path:
            from devicefix.engine.cache.places import cache_folder

            return cache_folder(self.options.cache_dir)

        return None if self.options.no_cache else folder

    def _mode(self) -> Mode:
        if self.options.add_ignore:
            return "ignore"
        return "diff" if self.options.diff else "write" if self.options.write else "check"

    def _wants_edits(self) -> bool:
        from devicefix.report import WITH_EDITS

        return not self.options.diff and self.settings.output_format in WITH_EDITS

    def _standard_input(self) -> int:
        from devicefix.engine.run import Job, check_selectors, process_bytes

        check_selectors(self.settings, self.rules)
        raw = sys.stdin.buffer.read()
        name = self.options.stdin_filename or "<stdin>"
        job = Job(self.settings, self._mode(), self._wants_edits(), self.rules, self.analyse)
        outcome = process_bytes(raw, name, job)
        if not (self.options.write or self.options.add_ignore):
            return self._finish([outcome])
        sys.stdout.buffer.write(raw if outcome.new_raw is None else outcome.new_raw)
        sys.stdout.buffer.flush()
        return self._finish([outcome], out=sys.stderr)

    def _finish(self, outcomes: Iterable[Outcome], out: TextIO | None = None) -> int:
        from devicefix.report import renderer

        out = out or sys.stdout
        seen = self._watched(outcomes)
        if self.options.diff:
            self._print_diffs(seen, out)
        else:
            for piece in renderer(self.settings.output_format)(seen, self.style):
                if not self.options.quiet:
                    out.write(piece)
        out.flush()
        self._summary(out)
        return self._status()

    def _watched(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Pass outcomes on, and complain about errors as they come."""
        for outcome in outcomes:
            for error in outcome.errors:
                self.failed = True
                complain(str(error))
            self.outcomes.append(outcome)
            yield outcome

    def _print_diffs(self, outcomes: Iterable[Outcome], out: TextIO) -> None:
        from devicefix.report.diff import painted

        for outcome in outcomes:
            if not self.options.quiet:
                out.write(painted(outcome.diff, self.style))

    def _status(self) -> int:
        if self.failed:
            return FAILED
        if self.options.exit_zero:
            return OK
        if self.options.diff:
            return FOUND if any(outcome.diff for outcome in self.outcomes) else OK
        return FOUND if any(outcome.findings for outcome in self.outcomes) else OK

    def _summary(self, out: TextIO) -> None:
        from devicefix.report.summary import summary

        if self.options.quiet:
            return
        if self.options.verbose:
            self._say_what_was_done()
        text = summary(self.outcomes, self.options, self.settings, self.style)
        if not text:
            return
        # Machines read the other formats and patches: the words for people go to stderr there.
        for_people = self.settings.output_format in ("full", "concise") and not self.options.diff
        print(text, file=out if for_people else sys.stderr)

    def _say_what_was_done(self) -> None:
        from devicefix.report.words import plural

        seconds = time.perf_counter() - self.began
        for file in self.configuration.files:
            print(f"settings: {file}", file=sys.stderr)
        skipped = sum(1 for outcome in self.outcomes if outcome.skipped)
        cached = sum(1 for outcome in self.outcomes if outcome.cached)
        files = plural(len(self.outcomes), "file")
        known = f", {cached} known from an earlier run" if cached else ""
        print(f"checked {files} ({skipped} without anything to check{known}) in {seconds:.2f} s", file=sys.stderr)
