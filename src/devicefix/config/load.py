"""Read one settings file."""

from __future__ import annotations

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
        data: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "is not encoded as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        message = re.sub(r" \(at .*\)$", "", str(error))
        raise ConfigError(str(path), f"not valid TOML: {message}", int(match[1]) if match else 0) from None
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
    for name, value in table.items():
        if name == EXTEND:
            continue
        key = BY_NAME.get(name.replace("_", "-"))
        if key is None:
            raise ConfigError(str(path), _unknown(name), _line(path, name, in_pyproject))
        try:
            fields[key.field] = key.read(value)
        except BadValue as error:
            message = f"`{key.name}` must be {error}, not {_shown(value)}"
            raise ConfigError(str(path), message, _line(path, name, in_pyproject)) from None
        if origins is not None:
            line = _line(path, name, in_pyproject)
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
    try:
        return load(other, seen, origins=origins)
    except ConfigError as error:
        if error.message == "extends itself":
            raise ConfigError(str(path), "`extend` goes round in a circle", line) from None
        raise


def _unknown(name: str) -> str:
    import difflib

    from devicefix.config.schema import BY_NAME, EXTEND

    near = difflib.get_close_matches(name.replace("_", "-"), [*BY_NAME, EXTEND], n=1, cutoff=0.5)
    hint = f"; did you mean `{near[0]}`?" if near else f"; the keys are {', '.join([*BY_NAME, EXTEND])}"
    return f"unknown key `{name}`{hint}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def _line(path: Path, name: str, in_pyproject: bool) -> int:
    """The line on which a key is set, as far as can be told without a TOML library that keeps places."""
    try:
        lines = path.read_text("utf-8", "replace").split("\n")
    except OSError:
        return 0
    key = re.compile(rf"\s*[\"']?{re.escape(name)}[\"']?\s*(=|\.)")
    header = re.compile(rf"\s*\[\s*({re.escape(_TABLE)}\.)?[\"']?{re.escape(name)}[\"']?\s*\]")
    inside = not in_pyproject
    for number, line in enumerate(lines, 1):
        if header.match(line):
            return number
        if line.lstrip().startswith("["):
            inside = bool(re.match(rf"\s*\[\s*{re.escape(_TABLE)}\s*\]", line)) if in_pyproject else False
        elif inside and key.match(line):
            return number
    return 0
