"""The options of a check, and a parser for their common forms that needs no library.

``devicefix src`` in an editor or a commit hook should not wait for a command line library to load. What this parser
does not know (help, abbreviations, mistakes) is left to the full one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from devicefix.settings import OUTPUT_FORMATS

COMMANDS = frozenset(("check", "rule", "rules", "run", "verify", "inspect", "server", "config", "clean"))
VERIFY_ON = ("here", "simulated", "cuda", "cpu")


@dataclass
class CheckOptions:
    """What was asked for on the command line. None: not said there."""

    paths: list[str] = field(default_factory=list)
    diff: bool = False
    write: bool = False
    interactive: bool = False
    unsafe_fixes: bool | None = None
    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    extend_select: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    output_format: str | None = None
    stdin_filename: str | None = None
    statistics: bool = False
    show_fixes: bool = False
    add_ignore: bool = False
    exit_zero: bool = False
    quiet: bool = False  #: findings and errors, nothing else
    silent: bool = False  #: errors only
    verbose: bool = False
    jobs: int | None = None
    color: str = "auto"
    config: str | None = None
    isolated: bool = False
    no_cache: bool = False
    cache_dir: str | None = None
    baseline: str | None = None
    write_baseline: str | None = None
    changed_only: bool = False
    base: str | None = None
    watch: bool = False
    verify: str | None = None  #: a command that the fixes must not break
    verify_on: str = "here"
    #: fields of `Settings` by name, as they are given on the command line: text, or a list of texts
    fields: dict[str, str | list[str]] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """What goes together with what; empty if all is well."""
        kinds = {
            "--diff": self.diff,
            "--write": self.write,
            "--add-ignore": self.add_ignore,
            "--write-baseline": self.write_baseline is not None,
            "--watch": self.watch,
        }
        chosen = [name for name, given in kinds.items() if given]
        if len(chosen) > 1:
            return f"{' and '.join(chosen)} exclude each other"
        if self.base is not None and not self.changed_only:
            return "--base goes with --changed-only"
        if self.verify is not None and not self.write:
            return "--verify goes with --write"
        if self.interactive and not self.write:
            return "--interactive goes with --write"
        if self.interactive and self.verify is not None:
            return "--interactive and --verify exclude each other"
        return ""


_FLAGS = {
    "--diff": ("diff", True),
    "--write": ("write", True),
    "-w": ("write", True),
    "--interactive": ("interactive", True),
    "-i": ("interactive", True),
    "--unsafe-fixes": ("unsafe_fixes", True),
    "--no-unsafe-fixes": ("unsafe_fixes", False),
    "--statistics": ("statistics", True),
    "--show-fixes": ("show_fixes", True),
    "--add-ignore": ("add_ignore", True),
    "--exit-zero": ("exit_zero", True),
    "--quiet": ("quiet", True),
    "-q": ("quiet", True),
    "--silent": ("silent", True),
    "-s": ("silent", True),
    "--verbose": ("verbose", True),
    "-v": ("verbose", True),
    "--isolated": ("isolated", True),
    "--no-cache": ("no_cache", True),
    "--changed-only": ("changed_only", True),
    "--watch": ("watch", True),
}
_LISTS = {"--select": "select", "--ignore": "ignore", "--extend-select": "extend_select", "--exclude": "exclude"}
_VALUES = {
    "--output-format": "output_format",
    "--stdin-filename": "stdin_filename",
    "--color": "color",
    "--config": "config",
    "--cache-dir": "cache_dir",
    "--baseline": "baseline",
    "--write-baseline": "write_baseline",
    "--base": "base",
    "--jobs": "jobs",
    "-j": "jobs",
}
COLORS = ("auto", "always", "never")


def split_list(text: str) -> list[str]:
    """``A,B`` as a list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_quickly(arguments: Sequence[str]) -> CheckOptions | None:
    """The options, or None when the full parser has to look at them."""
    options = CheckOptions()
    if arguments and arguments[0] in COMMANDS - {"check"}:
        return None
    rest = list(arguments[1:] if arguments and arguments[0] == "check" else arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            options.paths += rest
            break
        if argument == "-" or not argument.startswith("-"):
            options.paths.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if argument in _FLAGS:
            attribute, flag = _FLAGS[argument]
            setattr(options, attribute, flag)
        elif name in _LISTS or name in _VALUES:
            if not equals:
                if not rest:
                    return None
                value = rest.pop(0)
            if name in _LISTS:
                getattr(options, _LISTS[name]).extend(split_list(value))
            elif not _set_value(options, _VALUES[name], value):
                return None
        else:
            return None
    return None if options.problem else options


def _set_value(options: CheckOptions, attribute: str, value: str) -> bool:
    if attribute == "jobs":
        if not value.isascii() or not value.isdigit():
            return False
        options.jobs = int(value)
        return True
    if attribute == "output_format" and value not in OUTPUT_FORMATS:
        return False
    if attribute == "color" and value not in COLORS:
        return False
    setattr(options, attribute, value)
    return True
