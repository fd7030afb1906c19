"""Read one settings file."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from devicefix.config.errors import ConfigError

FILE_NAMES = ("devicefix.toml", ".devicefix.toml", "pyproject.toml")
_TABLE = "tool.devicefix"


def file_in(folder: Path) -> Path | None:
    """The settings file of a folder; a ``pyproject.toml`` counts only if it has a ``[tool.devicefix]`` table."""
    for name in FILE_NAMES:
        path = folder / name
        if name != "pyproject.toml":
            if path.is_file():
                return path
            continue
        try:
            raw = path.read_bytes()
        except OSError:
            continue
        if b"devicefix" in raw and "devicefix" in _tool_table(path):
            return path
    return None


def _tool_table(path: Path) -> dict[str, Any]:
    tool = read_toml(path).get("tool")
    return tool if isinstance(tool, dict) else {}


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises `ConfigError`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors begin files with a byte order mark
        data: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "is not encoded as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        message = re.sub(r" \(at line .*\)$", "", str(error))
        line = int(match[1]) if match else len(text.splitlines())
        raise ConfigError(str(path), f"not valid TOML: {message}", line) from None
    except RecursionError:
        raise ConfigError(str(path), "not valid TOML: nested too deeply") from None
    return data


def load(path: Path, seen: tuple[Path, ...] = (), *, origins: dict[str, str] | None = None) -> dict[str, Any]:
    """The fields of `Settings` that a file sets, with those of the file that it extends. Raises `ConfigError`.

    ``origins`` is filled with the place where each was set.
    """
    from devicefix.config.schema import BY_NAME, EXTEND, BadValue

    resolved = path.resolve()
    if resolved in seen:
        raise ConfigError(str(path), "extends itself")
    data = read_toml(path)
    in_pyproject = path.name == "pyproject.toml"
    table = data.get("tool", {}).get("devicefix", {}) if in_pyproject else data
    if not isinstance(table, dict):
        raise ConfigError(str(path), f"`{_TABLE}` must be a table", _line(path, "devicefix", False))
    fields: dict[str, Any] = {}
    if EXTEND in table:
        fields = _extended(path, table[EXTEND], in_pyproject, (*seen, resolved), origins)
    written: dict[str, str] = {}
    for name, value in table.items():
        if name == EXTEND:
            continue
        line = _line(path, name, in_pyproject)
        key = BY_NAME.get(name.replace("_", "-"))
        if key is None:
            raise ConfigError(str(path), _unknown(name, path), line)
        if key.name in written:
            raise ConfigError(str(path), f"`{name}` is the same as `{written[key.name]}`, which is set as well", line)
        written[key.name] = name
        try:
            fields[key.field] = key.read(value)
        except BadValue as error:
            inner = error.inner
            what = f'`{key.name}."{inner}"`' if inner is not None else f"`{key.name}`"
            wrong = value[inner] if inner is not None else value
            line = (_line(path, inner, in_pyproject, within=name) if inner is not None else 0) or line
            raise ConfigError(str(path), f"{what} must be {error}, not {_shown(wrong)}", line) from None
        if origins is not None:
            origins[key.field] = f"{path}:{line}" if line else str(path)
    return fields


def _extended(
    path: Path, value: Any, in_pyproject: bool, seen: tuple[Path, ...], origins: dict[str, str] | None
) -> dict[str, Any]:
    line = _line(path, "extend", in_pyproject)
    if not isinstance(value, str):
        raise ConfigError(str(path), f"`extend` must be the path of a settings file, not {_shown(value)}", line)
    other = path.parent / Path(value).expanduser()
    if not other.is_file():
        raise ConfigError(str(path), f"`extend`: there is no file {other}", line)
    tidy = Path(os.path.normpath(other))
    if tidy.is_file() and tidy.samefile(other):
        other = tidy  # without `..`, to be shown
    try:
        return load(other, seen, origins=origins)
    except ConfigError as error:
        if error.message == "extends itself":
            raise ConfigError(str(path), "`extend` goes round in a circle", line) from None
        raise


def _unknown(name: str, path: Path) -> str:
    import difflib

    from devicefix.config.schema import BY_NAME, EXTEND

    if name == "tool" and path.name != "pyproject.toml":
        return f"unknown key `tool`; in {path.name} the keys stand without `[{_TABLE}]`"
    near = difflib.get_close_matches(name.replace("_", "-"), [*BY_NAME, EXTEND], n=1, cutoff=0.5)
    hint = f"; did you mean `{near[0]}`?" if near else f"; the keys are {', '.join([*BY_NAME, EXTEND])}"
    return f"unknown key `{name}`{hint}"


def _shown(value: Any) -> str:
    """A value roughly as it stands in a file."""
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def _line(path: Path, name: str, in_pyproject: bool, within: str = "") -> int:
    """The line on which a key is set, as far as can be told without a TOML library that keeps places.

    ``within`` names the table that the key is in, below ours. 0 if the key is not found.
    """
    try:
        lines = path.read_text("utf-8-sig", "replace").split("\n")
    except OSError:
        return 0
    ours = [re.escape(_TABLE)] if in_pyproject else []
    table = r"\.".join([*ours, _name(within)] if within else ours)
    key = re.compile(rf"\s*{_name(name)}\s*(=|\.)")
    header = re.compile(rf"\s*\[+\s*{r'[.]'.join([*ours, _name(name)])}\s*[.\]]")
    opening = re.compile(rf"\s*\[\s*{table}\s*\]")
    inside = not table
    for number, line in enumerate(lines, 1):
        if not within and header.match(line):
            return number
        if line.lstrip().startswith("["):
            inside = bool(table and opening.match(line))
        elif inside and key.match(line):
            return number
    return 0


def _name(key: str) -> str:
    """A pattern for a key, bare or quoted."""
    return rf"[\"']?{re.escape(key)}[\"']?"
