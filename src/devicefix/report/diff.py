"""Colours for a unified diff."""

from __future__ import annotations

from devicefix.report.style import Style


def painted(diff: str, style: Style) -> str:
    """The diff with removed, added and header lines in colour."""
    if not style.color:
        return diff
    return "".join(_line(line, style) for line in diff.splitlines(keepends=True))


def _line(line: str, style: Style) -> str:
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    if line.startswith(("--- ", "+++ ")):
        return style.paint(body, "bold") + end
    if line.startswith("@@"):
        return style.paint(body, "cyan") + end
    if line.startswith("+"):
        return style.paint(body, "green") + end
    if line.startswith("-"):
        return style.paint(body, "red") + end
    return line
