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
    from devicefix.cli.progress import Progress
    from devicefix.engine.baseline import Baseline, Key
    from devicefix.engine.check import Analyse
    from devicefix.engine.filters import Filter
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
    added: dict[str, tuple[object, ...]] = {name: tuple(values) for name, values in lists.items() if values}
    if options.fields:
        from devicefix.config.schema import ADDED, BadValue, from_command_line

        for name, given in options.fields.items():
            try:
                value = from_command_line(name, given)
            except BadValue as error:
                shown = given if isinstance(given, str) else ", ".join(given)
                raise ConfigError(f"--{name.replace('_', '-')}", f"must be {error}, not `{shown}`") from None
            if name in ADDED:
                added[name] = value
            else:
                overrides[name] = value
    file = Path(options.config) if options.config else None
    return Configuration(overrides, added, file, options.isolated)


def run_check(options: CheckOptions, *, rules: Sequence[Rule] | None = None, analyse: Analyse | None = None) -> int:
    """Run a check and print it. Returns the exit status; prints one line on stderr for each thing that failed.

    ``rules`` and ``analyse`` default to the built-in ones.
    """
    _reconfigure_streams()
    if options.watch:
        from devicefix.cli.watch import NoWatcher, watch

        try:
            return watch(options.paths or ["."], lambda: _checked(options, rules, analyse))
        except NoWatcher as error:
            complain(str(error))
            return FAILED
    return _checked(options, rules, analyse)


def _checked(options: CheckOptions, rules: Sequence[Rule] | None, analyse: Analyse | None) -> int:
    from devicefix.engine.errors import UnknownRule
    from devicefix.engine.wanted import BaselineError, GitError
    from devicefix.source.errors import SourceError

    configured: Configuration | None = None
    try:
        configured = configuration(options)
        return Session(options, configured, rules, analyse).run()
    except UnknownRule as error:
        origin = configured.origin_of(error.selector) if configured is not None else ""
        complain(f"{origin}: {error}" if origin else str(error))
        return FAILED
    except (ConfigError, SourceError, BaselineError, GitError) as error:
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


class Session:
    """One run, with the counts that its summary needs."""

    def __init__(
        self,
        options: CheckOptions,
        configured: Configuration,
        rules: Sequence[Rule] | None,
        analyse: Analyse | None,
    ) -> None:
        from devicefix.report.style import Style, use_color

        self.options = options
        self.rules = rules
        self.analyse = analyse
        self.configuration = configured
        named = options.stdin_filename if options.paths == ["-"] else None
        self.settings = self.configuration.for_path(named or (options.paths[0] if options.paths else "."))
        self.style = Style(use_color(options.color, sys.stdout))
        self.outcomes: list[Outcome] = []
        self.failed = False
        self.began = time.perf_counter()
        self.progress: Progress | None = None
        self.baseline: Baseline | None = None

    def run(self) -> int:
        """Do what the options say and print it. Returns the exit status."""
        paths = self.options.paths or ["."]
        if "-" in paths:
            why_not = self._not_for_standard_input(paths)
            if why_not:
                complain(why_not)
                return FAILED
            return self._standard_input()
        if self.options.verify is not None:
            from devicefix.cli.guarded import write_guarded

            return write_guarded(self, paths)
        if self.options.interactive:
            from devicefix.cli.ask import write_asked

            return write_asked(self, paths)
        return self.finish(self.files(paths, self._mode()))

    def _not_for_standard_input(self, paths: list[str]) -> str:
        if len(paths) > 1:
            return "`-` reads standard input and goes with no other path"
        options = self.options
        given = {"--watch": options.watch, "--verify": options.verify, "--changed-only": options.changed_only}
        given |= {"--interactive": options.interactive}
        given |= {"--baseline": options.baseline, "--write-baseline": options.write_baseline}
        wrong = [name for name, value in given.items() if value]
        return f"`-` reads standard input and does not go with {wrong[0]}" if wrong else ""

    def files(self, paths: list[str], mode: Mode) -> Iterator[Outcome]:
        """The outcomes of all files; shows progress meanwhile."""
        from devicefix.engine.run import run

        return run(
            paths,
            self.settings,
            mode,
            want_edits=self._wants_edits(),
            rules=self.rules,
            analyse=self.analyse,
            settings_of=self.configuration.for_path,
            cache=self._cache(),
            filters=self.filters(paths),
            on_total=self._show_progress,
        )

    def filters(self, paths: list[str]) -> list[Filter]:
        """What hides findings. Raises `BaselineError` and `GitError`."""
        filters: list[Filter] = []
        if self.options.write_baseline is not None:
            from devicefix.engine.baseline import check_target

            check_target(Path(self.options.write_baseline))  # before the work is done, not after
        if self.options.baseline is not None:
            from devicefix.engine.baseline import read

            self.baseline = read(self.options.baseline)
            filters.append(self.baseline)
        if self.options.changed_only:
            from devicefix.engine.changed import changed_since

            filters.append(changed_since(self.options.base or "HEAD", paths))
        return filters

    def _show_progress(self, files: int) -> None:
        if files > 1 and not (self.options.quiet or self.options.silent) and sys.stderr.isatty():
            from devicefix.cli.progress import Progress

            self.progress = Progress(files)

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
            return self.finish([outcome])
        sys.stdout.buffer.write(raw if outcome.new_raw is None else outcome.new_raw)
        sys.stdout.buffer.flush()
        return self.finish([outcome], out=sys.stderr)

    def finish(self, outcomes: Iterable[Outcome], out: TextIO | None = None) -> int:
        """Print outcomes as they come, and a summary. Returns the exit status."""
        from devicefix.report import renderer

        out = out or sys.stdout
        seen = self._watched(outcomes)
        if self.options.diff:
            self._print_diffs(seen, out)
        else:
            for piece in renderer(self.settings.output_format)(seen, self.style):
                self._print(piece, out)
        if self.progress is not None:
            self.progress.hide()
        out.flush()
        if self.options.write_baseline is not None:
            return self._write_baseline(self.options.write_baseline)
        self._summary(out)
        return self._status()

    def _print(self, text: str, out: TextIO) -> None:
        if text and not self.options.silent and self.options.write_baseline is None:
            if self.progress is not None:
                self.progress.hide()
            out.write(text)

    def _write_baseline(self, path: str) -> int:
        from devicefix.engine.baseline import write
        from devicefix.report.words import plural

        count = write(path, self.outcomes)
        if not (self.options.quiet or self.options.silent):
            print(f"{plural(count, 'finding')} written to {path}", file=sys.stderr)
        return FAILED if self.failed else OK

    def _watched(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Pass outcomes on, and complain about errors as they come."""
        for outcome in outcomes:
            if self.progress is not None:
                self.progress.step()
            for error in outcome.errors:
                self.failed = True
                if self.progress is not None:
                    self.progress.hide()
                complain(str(error))
            if self.baseline is not None:
                self.baseline.note(outcome.path)
            self.outcomes.append(outcome)
            yield outcome

    def _print_diffs(self, outcomes: Iterable[Outcome], out: TextIO) -> None:
        from devicefix.report.diff import painted

        for outcome in outcomes:
            self._print(painted(outcome.diff, self.style), out)

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

        if self.options.silent:
            return
        if self.options.verbose:
            self._say_what_was_done()
        stale = sum(count for *_, count in self._stale())
        text = summary(self.outcomes, self.options, self.settings, self.style, stale=stale)
        if not text:
            return
        # Machines read the other formats and patches: the words for people go to stderr there.
        for_people = self.settings.output_format in ("full", "concise") and not self.options.diff
        print(text, file=out if for_people else sys.stderr)

    def _stale(self) -> list[tuple[str, Key, int]]:
        """What the baseline lists and a check did not find."""
        if self.baseline is None or self.options.write or self.options.diff or self.options.add_ignore:
            return []
        return self.baseline.stale()

    def _say_what_was_done(self) -> None:
        from devicefix.report.words import plural

        seconds = time.perf_counter() - self.began
        for file in self.configuration.files:
            print(f"settings: {file}", file=sys.stderr)
        skipped = sum(1 for outcome in self.outcomes if outcome.skipped)
        cached = sum(1 for outcome in self.outcomes if outcome.cached)
        files = plural(len(self.outcomes), "file")
        for path, (code, scope, line, _), count in self._stale():
            where = f" in {scope}" if scope else ""
            print(f"stale in the baseline: {path}: {code}{where}: {line} (x{count})", file=sys.stderr)
        known = f", {cached} known from an earlier run" if cached else ""
        print(f"checked {files} ({skipped} without anything to check{known}) in {seconds:.2f} s", file=sys.stderr)
