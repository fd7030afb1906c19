"""Fixes that can be made or left out one by one, for somebody who tries what a program makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devicefix.engine.check import check_source
from devicefix.engine.filters import Filter, hidden_by, seen_in
from devicefix.engine.fix import fix_source
from devicefix.engine.plan import units_of
from devicefix.engine.projects import Projects
from devicefix.engine.results import CheckResult, FixResult
from devicefix.engine.run import Job
from devicefix.findings import Finding
from devicefix.source.load import read_source


@dataclass(frozen=True)
class Candidate:
    """A fix, or fixes that belong together, in one file."""

    path: Path  #: absolute
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        first = self.findings[0]
        more = f" (and {len(self.findings) - 1} with it)" if len(self.findings) > 1 else ""
        title = first.fix.title if first.fix else ""
        place = f"{first.path}:{first.span.start.line}:{first.span.start.column}"
        return f"{place}: {first.code} {title}{more}"


class Candidates:
    """The fixes of some files, and what the files are with any of them."""

    def __init__(self, files: Iterable[Path], job: Job, filters: Sequence[Filter] = ()) -> None:
        self._job = job
        self._projects = Projects(job)
        self._checked: dict[Path, CheckResult] = {}
        self._fixed: dict[tuple[Path, tuple[int, ...]], FixResult] = {}
        self.all: list[Candidate] = []
        for file in files:
            self._read(file, filters)

    def _read(self, file: Path, filters: Sequence[Filter]) -> None:
        source = read_source(file)
        settings = self._job.settings_for(file)
        result = check_source(
            source, project=self._projects.get(), settings=settings, rules=self._job.rules, analyse=self._job.analyse
        )
        hidden = hidden_by(filters, seen_in(result))
        wanted = [finding for finding, gone in zip(result.findings, hidden, strict=True) if not gone]
        path = file.absolute()
        self._checked[path] = result
        for unit in units_of(wanted, unsafe=settings.unsafe_fixes):
            candidate = Candidate(path, unit.findings)
            if self._with([candidate], path).applied:
                self.all.append(candidate)

    def original(self, path: Path) -> bytes:
        """The bytes of a file at the beginning."""
        return self._checked[path].source.raw

    def render(self, chosen: Sequence[Candidate]) -> Mapping[Path, bytes]:
        """The files with these fixes and no others, made from what the files were at the beginning."""
        return {path: self._with(chosen, path).source.raw for path in dict.fromkeys(c.path for c in chosen)}

    def _with(self, chosen: Sequence[Candidate], path: Path) -> FixResult:
        own = [candidate for candidate in chosen if candidate.path == path]
        key = path, tuple(sorted(id(candidate) for candidate in own))
        known = self._fixed.get(key)
        if known is not None:
            return known
        result = self._checked[path]
        wanted = {id(finding) for candidate in own for finding in candidate.findings}
        project = self._projects.get()
        fixed = fix_source(
            result.source,
            project=project,
            settings=self._job.settings_for(result.source.path),
            rules=self._job.rules,
            analyse=self._job.analyse,
            checked=result,
            leave=[finding for finding in result.findings if id(finding) not in wanted],
            grow=False,
        )
        if project is not None:
            project.forget(path)
        self._fixed[key] = fixed
        return fixed
