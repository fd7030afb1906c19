"""Which settings hold for a file: those of the nearest settings file, with the command line on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devicefix.config.errors import ConfigError
from devicefix.config.load import file_in, load
from devicefix.settings import Settings


@dataclass
class Configuration:
    """Answers for any path. ``overrides`` are fields of `Settings`; those in ``added`` are appended to lists.

    With ``file`` that one holds for all paths; with ``isolated`` none is read.
    """

    overrides: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    file: Path | None = None
    isolated: bool = False
    _by_folder: dict[Path, Settings] = field(default_factory=dict)
    _by_file: dict[Path | None, Settings] = field(default_factory=dict)
    _origins: dict[int, dict[str, str]] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """The settings files that were used so far."""
        return [file for file in self._by_file if file is not None]

    def for_path(self, path: Path | str) -> Settings:
        """The settings for a file or folder. Raises `ConfigError`."""
        if self.isolated:
            return self._from_file(None)
        if self.file is not None:
            return self._from_file(self.file)
        absolute = Path(path).absolute()
        return self._for_folder(absolute if absolute.is_dir() else absolute.parent)

    def explained(self, path: Path | str) -> list[tuple[str, Any, str]]:
        """Key, value and origin of every setting for a file or folder. Raises `ConfigError`."""
        from devicefix.config.schema import KEYS

        settings = self.for_path(path)
        origins = self._origins.get(id(settings), {})
        rows = []
        for key in KEYS:
            value = getattr(settings, key.field)
            if key.field in self.overrides or key.field in self.added:
                origin = "command line"
            else:
                origin = origins.get(key.field, "default")
            rows.append((key.name, key.shown(value), origin))
        return rows

    def origin_of(self, selector: str) -> str:
        """Where a selector of rules is used: the file and line or the option, and the key. Empty if it is unknown."""
        from devicefix.config.schema import KEYS

        for settings in self._by_file.values():
            for key in (key for key in KEYS if key.expects in ("rules", "table")):
                if selector not in _selectors(getattr(settings, key.field)):
                    continue
                given = self.overrides.get(key.field) or self.added.get(key.field) or ()
                if selector in _selectors(given):
                    return f"--{key.name}"
                return f"{self._origins[id(settings)].get(key.field, '')}: `{key.name}`"
        return ""

    def _for_folder(self, folder: Path) -> Settings:
        known = self._by_folder.get(folder)
        if known is not None:
            return known
        file = file_in(folder)
        if file is not None or folder.parent == folder:
            made = self._from_file(file)
        else:
            made = self._for_folder(folder.parent)
        self._by_folder[folder] = made
        return made

    def _from_file(self, file: Path | None) -> Settings:
        if file not in self._by_file:
            fields: dict[str, Any] = {}
            origins: dict[str, str] = {}
            if file is not None:
                if not file.is_file():
                    raise ConfigError(str(file), "there is no such settings file")
                fields = load(file, origins=origins)
                fields["root"] = str(file.absolute().parent)
            fields.update(self.overrides)
            for name, values in self.added.items():
                fields[name] = (*fields.get(name, ()), *values)
            self._by_file[file] = made = replace(Settings(), **fields)
            self._origins[id(made)] = origins
        return self._by_file[file]


def _selectors(value: tuple[Any, ...]) -> list[str]:
    """The selectors in the value of a field: a list of them, or of pairs of a pattern and such a list."""
    found: list[str] = []
    for item in value:
        found += [item] if isinstance(item, str) else item[1]
    return found
