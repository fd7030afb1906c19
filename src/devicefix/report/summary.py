"""The last lines of a run, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from devicefix.findings import Applicability
from devicefix.report.style import Style
from devicefix.report.words import place, plural

if TYPE_CHECKING:
    from devicefix.cli.options import CheckOptions
    from devicefix.engine.outcome import Outcome
    from devicefix.settings import Settings


def summary(
    outcomes: Sequence[Outcome], options: CheckOptions, settings: Settings, style: Style, *, stale: int = 0
) -> str:
    """What was found, what was fixed, what more could be; an empty string when there is nothing to say.

    ``stale`` is the number of findings in the baseline that are there no more.
    """
    rows: list[str] = []
    found = [finding for outcome in outcomes for finding in outcome.findings]
    applied = [finding for outcome in outcomes for finding in outcome.applied]
    if options.show_fixes and applied:
        verb = "Would fix" if options.diff else "Fixed"
        rows.append(f"{verb}:")
        rows += [f"  {place(f.path, f.span)}: {f.code} {f.fix.title if f.fix else ''}".rstrip() for f in applied]
    if options.statistics:
        rows += statistics([*found, *applied] if options.diff else found)
    if options.quiet:  # only what was asked for by name
        return "\n".join(rows)
    files = sum(1 for outcome in outcomes if outcome.applied)
    if options.diff:
        if applied:
            rows.append(f"{plural(len(applied), 'fix')} in {plural(files, 'file')} not written; --write makes them.")
        if found:
            rows.append(f"{plural(len(found), 'finding')} would remain; run without --diff to see them.")
    elif options.add_ignore:
        written = sum(outcome.ignored for outcome in outcomes)
        rows.append(f"Added {plural(written, 'suppression')}; {len(found)} remaining.")
    elif options.write:
        if applied:
            rows.append(f"Fixed {plural(len(applied), 'finding')} in {plural(files, 'file')}; {len(found)} remaining.")
        elif found:
            rows.append(f"{plural(len(found), 'finding')} remaining, nothing was fixed.")
    elif found:
        rows.append(f"Found {plural(len(found), 'finding')}.")
    rows += _hints(outcomes, options, settings)
    if not rows and not found and not any(outcome.errors for outcome in outcomes) and not options.diff:
        if settings.output_format in ("full", "concise"):
            rows.append(_all_clean(outcomes, style))
    rows += _hidden(outcomes, options)
    if stale:
        rows.append(
            f"Gone since {options.baseline} was written: {plural(stale, 'finding')}; --write-baseline makes it shorter."
        )
    return "\n".join(rows)


def _all_clean(outcomes: Sequence[Outcome], style: Style) -> str:
    if not outcomes:
        return "No Python files found."
    return style.paint("All checks passed.", "green")


def _hints(outcomes: Sequence[Outcome], options: CheckOptions, settings: Settings) -> list[str]:
    found = [finding for outcome in outcomes for finding in outcome.findings]
    safe = sum(f.applicability is Applicability.SAFE for f in found)
    unsafe = 0 if settings.unsafe_fixes else sum(outcome.more_unsafe for outcome in outcomes)
    rows = []
    if options.add_ignore:
        return []
    if safe and not options.write and not options.diff:
        rows.append(f"{plural(safe, 'finding')} can be fixed with --write (--diff shows how).")
    if unsafe:
        more = "more " if safe or options.write or options.diff else ""
        rows.append(f"{unsafe} {more}can be fixed with --unsafe-fixes.")
    return rows


def _hidden(outcomes: Sequence[Outcome], options: CheckOptions) -> list[str]:
    """What is not shown although it was found: silence must not look like health."""
    hidden = sum(outcome.hidden for outcome in outcomes)
    if not hidden:
        return []
    reasons = []
    if options.baseline is not None:
        reasons.append(f"listed in {options.baseline}")
    if options.changed_only:
        reasons.append("not on changed lines")
    return [f"{plural(hidden, 'finding')} not shown: {' or '.join(reasons)}."]


def statistics(found: Sequence[object]) -> list[str]:
    """Counts by rule, most frequent first."""
    counts = Counter((f.code, f.name) for f in found)  # type: ignore[attr-defined]
    width = max((len(str(n)) for n in counts.values()), default=0)
    return [f"{n:>{width}}  {code}  {name}" for (code, name), n in sorted(counts.items(), key=lambda i: (-i[1], i[0]))]
