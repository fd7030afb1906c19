"""The keys of a settings file: what each may hold, and the field of `Settings` that it fills.

The reference page and the check of a file are both made from this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devicefix.settings import OUTPUT_FORMATS


class BadValue(ValueError):
    """The value does not fit; the message says what would. ``inner`` names the key of a table that holds it."""

    def __init__(self, message: str, inner: str | None = None) -> None:
        super().__init__(message)
        self.inner = inner


@dataclass(frozen=True)
class Key:
    """One key: the field, how its value is read, and one line of documentation."""

    name: str
    field: str
    read: Callable[[Any], Any]
    expects: str
    help: str

    def shown(self, value: Any) -> Any:
        """The value as it would be written in a settings file; None where it is not set."""
        if self.expects == "table":
            return {pattern: list(rules) for pattern, rules in value}
        if self.expects == "version":
            return ".".join(map(str, value)) if value else None
        return list(value) if isinstance(value, tuple) else value


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise BadValue("`true` or `false`")


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise BadValue("a list of strings")


def _classes(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [None]
    if all(isinstance(name, str) and all(part.isidentifier() for part in name.split(".")) for name in names):
        return tuple(names)
    raise BadValue('a list of classes such as "mylib.layers.Block"')


def _choice(*allowed: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        raise BadValue(" or ".join(f'"{choice}"' for choice in allowed))

    return read


def _jobs(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise BadValue("a whole number, 0 or more")


def _version(value: Any) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", value) if isinstance(value, str) else None
    if match is None:
        raise BadValue('a version such as "2.4"')
    return int(match[1]), int(match[2])


def _per_file(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise BadValue("a table from patterns to lists of rules")
    for pattern, selectors in value.items():
        if not isinstance(selectors, list) or not all(isinstance(item, str) for item in selectors):
            raise BadValue("a list of rules", inner=pattern)
    return tuple((pattern, tuple(selectors)) for pattern, selectors in value.items())


_BUFFERS = ("register_buffer", "nn.Buffer")
_DEVICES = ("cuda", "accelerator")

KEYS: tuple[Key, ...] = (
    Key("select", "select", _names, "rules", "Only these rules run."),
    Key("extend-select", "extend_select", _names, "rules", "These rules run as well."),
    Key("ignore", "ignore", _names, "rules", "These rules do not run."),
    Key("per-file-ignores", "per_file_ignores", _per_file, "table", "Rules that do not run for some files."),
    Key("exclude", "exclude", _names, "patterns", "Files and folders to leave out, as in .gitignore."),
    Key("unsafe-fixes", "unsafe_fixes", _flag, "bool", "Also make fixes that could not be shown to be safe."),
    Key("extend-safe-fixes", "extend_safe_fixes", _names, "rules", "Rules whose unsafe fixes count as safe."),
    Key("extend-unsafe-fixes", "extend_unsafe_fixes", _names, "rules", "Rules whose safe fixes count as unsafe."),
    Key("unfixable", "unfixable", _names, "rules", "Rules that are reported but never fixed."),
    Key("torch-version", "torch_version", _version, "version", "The oldest torch that the code must run on."),
    Key("buffer-style", "buffer_style", _choice(*_BUFFERS), "choice", "How a buffer is written."),
    Key("device-expression", "device_expression", _choice(*_DEVICES), "choice", "How a new device is chosen."),
    Key("persistent-buffers", "persistent_buffers", _flag, "bool", "Whether new buffers go into checkpoints."),
    Key("modules", "modules", _classes, "classes", "Classes that are modules."),
    Key("in-place-containers", "in_place_containers", _classes, "classes", "Classes whose `to` moves the object."),
    Key("copying-containers", "copying_containers", _classes, "classes", "Classes whose `to` returns a moved copy."),
    Key("output-format", "output_format", _choice(*OUTPUT_FORMATS), "choice", "How findings are printed."),
    Key("jobs", "jobs", _jobs, "number", "Processes; 0: as many as pay off."),
)
BY_NAME = {key.name: key for key in KEYS}
#: Keys that hold selectors of rules.
OF_RULES = ("select", "extend-select", "ignore", "extend-safe-fixes", "extend-unsafe-fixes", "unfixable")
EXTEND = "extend"

#: keys whose values on the command line come on top of those of the file
ADDED = frozenset(
    ("per_file_ignores", "extend_safe_fixes", "extend_unsafe_fixes", "unfixable", "modules", "in_place_containers",
     "copying_containers", "ignore", "extend_select", "exclude")
)  # fmt: skip


def from_command_line(field: str, given: str | list[str]) -> Any:
    """The value of a field from what the command line says. Raises `BadValue`."""
    key = next(key for key in KEYS if key.field == field)
    if field == "per_file_ignores":
        pairs = [str(text).rpartition(":") for text in given]
        if not all(pattern and rules for pattern, _, rules in pairs):
            raise BadValue("`PATTERN:RULE,RULE`")
        return tuple((pattern, tuple(_split(rules))) for pattern, _, rules in pairs)
    return key.read(given == "True" if field == "persistent_buffers" else given)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
