"""The JSON text of a notebook: where the source strings of its cells are, and how to change only them.

Writing the whole notebook anew would change indentation, escapes and key order. Here the raw text is kept, and only
the string literals of changed source lines are replaced.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_UNIT = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Literal:
    """One JSON string: ``raw[start:end]`` with its quotes, and its value."""

    start: int
    end: int
    value: str


@dataclass(frozen=True)
class Cell:
    """One cell. ``number`` counts all cells from 1; ``literals`` hold the source, one or one per line."""

    number: int
    kind: str
    language: str
    literals: tuple[Literal, ...]
    is_list: bool

    @property
    def text(self) -> str:
        """The source of the cell."""
        return "".join(literal.value for literal in self.literals)


class NotJson(ValueError):
    """The text is not the JSON of a notebook. ``line`` and ``column`` from 1, 0 when unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def members(raw: str, at: int) -> list[tuple[str, int, int]]:
    """(key, start, end) of the values of the object that begins at ``at``."""
    found = []
    at = _skip(raw, at + 1)
    while raw[at] != "}":
        key, at = _DECODER.raw_decode(raw, at)
        at = _skip(raw, _skip(raw, at) + 1)
        _, end = _DECODER.raw_decode(raw, at)
        found.append((str(key), at, end))
        at = _skip(raw, end)
        if raw[at] == ",":
            at = _skip(raw, at + 1)
    return found


def items(raw: str, at: int) -> list[tuple[int, int]]:
    """(start, end) of the items of the array that begins at ``at``."""
    found = []
    at = _skip(raw, at + 1)
    while raw[at] != "]":
        _, end = _DECODER.raw_decode(raw, at)
        found.append((at, end))
        at = _skip(raw, end)
        if raw[at] == ",":
            at = _skip(raw, at + 1)
    return found


def _skip(raw: str, at: int) -> int:
    match = _SPACE.match(raw, at)
    return match.end() if match else at


def read_cells(raw: str) -> tuple[dict[str, Any], list[Cell]]:
    """The notebook as data and its cells with the places of their source. Raises `NotJson`."""
    if not raw.strip():
        raise NotJson("not a notebook: the file is empty")
    try:
        data = _DECODER.decode(raw)
    except json.JSONDecodeError as error:
        raise NotJson(f"not a notebook: {error.msg}", error.lineno, error.colno) from None
    except ValueError as error:
        raise NotJson(f"not a notebook: {error}") from None
    except RecursionError:
        raise NotJson("not a notebook: nested too deeply") from None
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        if isinstance(data, dict) and "worksheets" in data:
            raise NotJson("notebooks of format 3 and older are not supported; convert it with `jupyter nbconvert`")
        raise NotJson("not a notebook: there is no list of cells")
    places = {key: start for key, start, _ in members(raw, _skip(raw, 0))}
    cells = []
    for number, (start, _) in enumerate(items(raw, places["cells"]), 1):
        if raw[start] != "{":
            raise NotJson(f"not a notebook: cell {number} is no object")
        cells.append(_cell(raw, number, start))
    return data, cells


def _cell(raw: str, number: int, at: int) -> Cell:
    values = {key: (start, end) for key, start, end in members(raw, at)}
    wanted = [(key, *place) for key, place in values.items() if key in ("cell_type", "metadata")]
    data = {key: json.loads(raw[start:end], strict=False) for key, start, end in wanted}
    metadata = data.get("metadata")
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = str(vscode.get("languageId", "")) if isinstance(vscode, dict) else ""
    for wanted_key in ("cell_type", "source"):
        if wanted_key not in values:
            raise NotJson(f"not a notebook: cell {number} has no `{wanted_key}`")
    start, end = values["source"]
    is_list = raw[start] == "["
    spans = items(raw, start) if is_list else [(start, end)]
    literals = []
    for start, end in spans:
        value = json.loads(raw[start:end], strict=False)
        if not isinstance(value, str):
            raise NotJson(f"not a notebook: the source of cell {number} is not text")
        literals.append(Literal(start, end, value))
    return Cell(number, str(data.get("cell_type", "")), language, tuple(literals), is_list)


def edit_cell(raw: str, cell: Cell, edits: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Edits of the raw JSON that make ``edits`` (offsets into `Cell.text`, sorted, apart) in the cell."""
    made: list[tuple[int, int, str]] = []
    starts, at = [], 0
    for literal in cell.literals:
        starts.append(at)
        at += len(literal.value)
    groups: list[tuple[int, int, list[tuple[int, int, str]]]] = []
    for edit in edits:
        first, last = _touched(starts, at, edit)
        if groups and first <= groups[-1][1]:
            groups[-1] = (groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], edit])
        else:
            groups.append((first, last, [edit]))
    for first, last, own in groups:
        units = [unit for literal in cell.literals[first : last + 1] for unit in _units(raw, literal)]
        base = starts[first]
        for start, end, replacement in reversed(own):
            units[start - base : end - base] = _encoded(replacement, raw)
        literals = _split(units) if cell.is_list else ["".join(units)]
        text = _separator(raw, cell).join(f'"{literal}"' for literal in literals)
        made.append((cell.literals[first].start, cell.literals[last].end, text))
    return made


def _touched(starts: list[int], length: int, edit: tuple[int, int, str]) -> tuple[int, int]:
    """Which literals an edit falls into; one that would be left empty draws in its neighbour."""
    start, end, replacement = edit
    first = max(i for i, s in enumerate(starts) if s <= start)
    if not replacement and end == length and start == starts[first] and first > 0:
        first -= 1
    last = max(i for i, s in enumerate(starts) if s <= max(end - 1, start))
    if end < length and start < end and end in starts:
        last = starts.index(end)
    return first, max(first, last)


def _units(raw: str, literal: Literal) -> list[str]:
    """The escapes and characters of a JSON string, one for each character of its value."""
    units = _UNIT.findall(raw[literal.start + 1 : literal.end - 1])
    if len(units) != len(literal.value):
        raise NotJson("a string of the notebook is written in a way that is not understood")
    return units


def _encoded(text: str, raw: str) -> list[str]:
    ascii_only = raw.isascii()
    return [json.dumps(char, ensure_ascii=ascii_only)[1:-1] for char in text]


def _split(units: list[str]) -> list[str]:
    """One literal per line, as notebooks are written."""
    literals, line = [], []
    for unit in units:
        line.append(unit)
        if unit in ("\\n", "\\u000a", "\\u000A"):
            literals.append("".join(line))
            line = []
    if line or not literals:
        literals.append("".join(line))
    return literals


def _separator(raw: str, cell: Cell) -> str:
    """What stands between two literals of this cell."""
    if len(cell.literals) > 1:
        return raw[cell.literals[0].end : cell.literals[1].start]
    start = cell.literals[0].start
    line_start = max(raw.rfind("\n", 0, start), raw.rfind("\r", 0, start)) + 1
    before = raw[line_start:start]
    if before.strip():
        return ", "
    line_end = "\r\n" if raw[max(line_start - 2, 0) : line_start] == "\r\n" else "\n"
    return f",{line_end}{before}"
