"""Which rules run, and how far each may fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from devicefix.engine.errors import UnknownRule
from devicefix.findings import Applicability, Finding
from devicefix.rules.base import Rule
from devicefix.settings import Settings


def matches(selector: str, rule: Rule) -> bool:
    """Whether a selector (``ALL``, a code or prefix of one, a name) means this rule."""
    wanted = selector.strip()
    if wanted.upper() == "ALL":
        return True
    return rule.code.startswith(wanted.upper()) if _is_code(wanted) else _as_name(wanted) == rule.name


def _is_code(selector: str) -> bool:
    upper = selector.upper()
    return len(upper) >= 3 and upper.startswith("DVF") and (len(upper) == 3 or upper[3:].isdigit())


def _as_name(selector: str) -> str:
    return selector.lower().replace("_", "-")


def expand(selectors: Iterable[str], rules: Sequence[Rule]) -> frozenset[str]:
    """The codes that selectors stand for. Raises `UnknownRule`."""
    codes: set[str] = set()
    for selector in selectors:
        found = [rule.code for rule in rules if matches(selector, rule)]
        if not found:
            raise UnknownRule(unknown_rule(selector, rules), selector)
        codes.update(found)
    return frozenset(codes)


def find(code_or_name: str, rules: Sequence[Rule]) -> Rule | None:
    """The rule of a whole code or name; case and underscores do not matter."""
    wanted = _as_name(code_or_name.strip())
    return next((rule for rule in rules if wanted in (rule.code.lower(), rule.name)), None)


def unknown_rule(selector: str, rules: Sequence[Rule]) -> str:
    """The complaint about a selector that fits no rule."""
    import difflib

    known = [rule.code for rule in rules] + [rule.name for rule in rules]
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(selector.lower(), lowered, n=1, cutoff=0.5)
    hint = f"; did you mean `{lowered[near[0]]}`?" if near else "; `devicefix rules` lists them"
    return f"unknown rule `{selector}`{hint}"


def selected_rules(settings: Settings, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules that run under these settings. Raises `UnknownRule`."""
    if settings.select:
        codes = expand(settings.select, rules)
    else:
        codes = frozenset(rule.code for rule in rules if rule.default)
    codes = (codes | expand(settings.extend_select, rules)) - expand(settings.ignore, rules)
    return tuple(rule for rule in rules if rule.code in codes)


def ignored_for(path: Path, settings: Settings, rules: Sequence[Rule]) -> frozenset[str]:
    """The codes that ``per_file_ignores`` turns off for a file."""
    codes: set[str] = set()
    for pattern, selectors in settings.per_file_ignores:
        if _fits(path, pattern, settings.root):
            codes |= expand(selectors, rules)
    return frozenset(codes)


def _fits(path: Path, pattern: str, root: str) -> bool:
    """Whether a pattern means a path: its name, or the path below the folder of the settings file."""
    if "/" not in pattern and fnmatch(path.name, pattern):
        return True
    absolute = path.absolute()
    try:
        below = absolute.relative_to(Path(root or Path.cwd())).as_posix()
    except ValueError:
        below = path.as_posix()
    pattern = pattern.removeprefix("./").removeprefix("/")
    return any(fnmatch(below, candidate) for candidate in (pattern, pattern.removeprefix("**/"), f"{pattern}/*"))


def adjusted(finding: Finding, settings: Settings, rules: Sequence[Rule]) -> Finding:
    """The finding with its fix's level as the settings want it."""
    if finding.fix is None:
        return finding
    if settings.unfixable and finding.code in expand(settings.unfixable, rules):
        return replace(finding, fix=None, note="the settings turn fixes of this rule off")
    level = finding.fix.applicability
    if level is Applicability.UNSAFE and settings.extend_safe_fixes:
        if finding.code in expand(settings.extend_safe_fixes, rules):
            return replace(finding, fix=replace(finding.fix, applicability=Applicability.SAFE))
    if level is Applicability.SAFE and settings.extend_unsafe_fixes:
        if finding.code in expand(settings.extend_unsafe_fixes, rules):
            reason = finding.fix.reason or "the settings count this rule's fixes as unsafe"
            return replace(finding, fix=replace(finding.fix, applicability=Applicability.UNSAFE, reason=reason))
    return finding
