"""A list of findings that are known and not to be reported again.

A finding is recognised by its rule, its message without numbers, the function or class that it stands in and its line
without spaces, so that it is found again when lines above it come and go. Of equal ones they are counted.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devicefix.engine.filters import Seen, seen_of
from devicefix.engine.outcome import Outcome
from devicefix.engine.wanted import BaselineError

VERSION = 1
_NUMBER = re.compile(r"\d+")
_KEYS = ("code", "scope", "line", "message")


Key = tuple[str, str, str, str]


def keys_of(seen: Seen) -> list[Key]:
    """What each finding is recognised by."""
    return [
        (finding.code, scope, " ".join(line.split()), _NUMBER.sub("#", finding.message))
        for finding, scope, line in zip(seen.findings, seen.scopes, seen.lines, strict=True)
    ]


@dataclass
class Baseline:
    """Known findings by file; paths are relative to the folder of the baseline. A filter of findings."""

    folder: Path
    known: dict[str, Counter[Key]]
    checked: set[str] = field(default_factory=set)
    _left: dict[str, Counter[Key]] = field(default_factory=dict)

    def hidden(self, seen: Seen) -> list[bool]:
        """The findings that are known."""
        name = _name(seen.path, self.folder)
        left = Counter(self.known.get(name, Counter()))
        answers = []
        for key in keys_of(seen):
            answers.append(left[key] > 0)
            left[key] -= left[key] > 0
        self.checked.add(name)
        self._left[name] = +left
        return answers

    def note(self, path: str) -> None:
        """A file was checked; it may have had no finding."""
        name = _name(path, self.folder)
        if name not in self.checked:
            self.checked.add(name)
            self._left[name] = Counter(self.known.get(name, Counter()))

    def stale(self) -> list[tuple[str, Key, int]]:
        """Entries that match nothing any more: of the files that were checked, and of those that are gone."""
        found = []
        for name, counts in sorted(self.known.items()):
            if name in self.checked:
                counts = self._left[name]
            elif (self.folder / name).exists():
                continue
            found += [(name, key, count) for key, count in sorted(counts.items())]
        return found


def read(path: Path | str) -> Baseline:
    """Raises `BaselineError`."""
    file = Path(path)
    try:
        data = json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BaselineError(f"{path}: not a baseline: not encoded as UTF-8") from None
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}:{error.colno}: not a baseline: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("findings"), dict):
        raise BaselineError(f"{path}: not a baseline: there are no findings by file in it")
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        shown = json.dumps(version) if isinstance(version, (int, str)) else "another version"
        raise BaselineError(f"{path}: a baseline of version {shown}; this program reads version {VERSION}")
    known = {}
    for name, rows in data["findings"].items():
        try:
            known[name] = Counter[Key]()
            for row in rows:
                known[name][_key(row)] += _count(row)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise BaselineError(f"{path}: not a baseline: the findings of {name} do not have the right shape") from None
    return Baseline(file.absolute().parent, known)


def _key(row: Any) -> Key:
    code, scope, line, message = (row[name] for name in _KEYS)
    if not all(isinstance(value, str) for value in (code, scope, line, message)):
        raise TypeError
    return code, scope, line, message


def _count(row: Any) -> int:
    count = row.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError
    return count


def write(path: Path | str, outcomes: Iterable[Outcome]) -> int:
    """Write the findings of outcomes; returns how many. Raises `BaselineError`."""
    file = Path(path)
    check_target(file)
    folder = file.absolute().parent
    known: dict[str, Counter[Key]] = {}
    for outcome in outcomes:
        if outcome.findings:
            known[_name(outcome.path, folder)] = Counter(keys_of(seen_of(outcome)))
    rows = {
        name: [
            dict(zip(_KEYS, key, strict=True)) | ({"count": count} if count > 1 else {})
            for key, count in sorted(counts.items())
        ]
        for name, counts in sorted(known.items())
    }
    text = json.dumps({"version": VERSION, "findings": rows}, indent=2, ensure_ascii=False) + "\n"
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        temporary.write_text(text, "utf-8", "surrogatepass")
        os.replace(temporary, file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BaselineError(f"{path}: the baseline cannot be written: {error.strerror or error}") from None
    return sum(sum(counts.values()) for counts in known.values())


def check_target(file: Path) -> None:
    """Raises `BaselineError` where a baseline would overwrite something else, or cannot be written."""
    if file.is_dir():
        raise BaselineError(f"{file}: the baseline cannot be written: it is a folder")
    if not file.absolute().parent.is_dir():
        raise BaselineError(f"{file}: the baseline cannot be written: there is no folder {file.parent}")
    try:
        held = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise BaselineError(f"{file}: the baseline cannot be written: {error.strerror or error}") from None
    if held.strip() and (b'"version"' not in held or b'"findings"' not in held):
        raise BaselineError(f"{file}: holds something that is no baseline; it is left alone")


def _name(path: str, folder: Path) -> str:
    absolute = os.path.abspath(path)
    try:
        return Path(os.path.relpath(absolute, folder)).as_posix()
    except ValueError:  # another drive
        return Path(absolute).as_posix()
