"""What the editor's settings say, on top of the settings files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devicefix.config.resolve import Configuration
from devicefix.config.schema import BY_NAME, BadValue

SECTION = "devicefix"
#: Settings that an editor's extension reads itself, or that mean nothing in an editor.
NOT_OURS = frozenset(
    ("path", "interpreter", "trace", "output-format", "jobs", "cache", "import-strategy", "position-encoding")
)
#: Lists that are added to those of the settings file, as the options of the command line are.
ADDED = frozenset(("ignore", "extend-select", "exclude"))


@dataclass(frozen=True)
class ClientSettings:
    """Checked settings of the editor; ``problems`` are sentences for the user."""

    enable: bool = True
    overrides: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    file: Path | None = None
    problems: tuple[str, ...] = ()

    def configuration(self) -> Configuration:
        """The settings of any file under these."""
        return Configuration(self.overrides, self.added, self.file)


def read_settings(raw: Any, root: Path | None = None) -> ClientSettings:
    """Settings as an editor sends them: an object, or one inside ``devicefix`` or ``settings``.

    Names may be written in any style (``extendSelect``, ``extend-select``). Empty values count as not set, because
    editors send the default of every setting.
    """
    table = _unwrapped(raw)
    enable, file = True, None
    overrides: dict[str, Any] = {}
    added: dict[str, tuple[Any, ...]] = {}
    problems: list[str] = []
    for name, value in table.items():
        key = _kebab(str(name))
        if key in NOT_OURS or value is None or value in ("", [], {}):
            continue
        if key == "enable":
            enable = value is not False
        elif key == "configuration":
            file = _path(value, root)
        elif key not in BY_NAME:
            problems.append(f"there is no setting `{SECTION}.{name}`")
        else:
            try:
                read = BY_NAME[key].read(value)
            except BadValue as error:
                problems.append(f"the setting `{SECTION}.{name}` must be {error}")
                continue
            (added if key in ADDED else overrides)[BY_NAME[key].field] = read
    return ClientSettings(enable, overrides, added, file, tuple(problems))


def _unwrapped(raw: Any) -> Mapping[str, Any]:
    table: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    for name in ("settings", SECTION, "settings"):
        inner = table.get(name)
        if isinstance(inner, Mapping):
            table = inner
    return table


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "-" + match[1].lower(), name).replace("_", "-").lower()


def _path(value: Any, root: Path | None) -> Path:
    path = Path(str(value)).expanduser()
    return path if path.is_absolute() or root is None else root / path
