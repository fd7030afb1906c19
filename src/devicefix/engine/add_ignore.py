"""Write a suppression comment for every finding, so that only new ones are reported from now on."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Sequence

from devicefix.engine import suppress
from devicefix.findings import Finding, TextEdit
from devicefix.source.errors import SourceError
from devicefix.source.text import SourceText

_OURS = re.compile(r"#\s*devicefix\s*:\s*ignore\s*\[([^\]]*)\]", re.IGNORECASE)


def with_ignores(source: SourceText, findings: Sequence[Finding]) -> tuple[SourceText, list[Finding]]:
    """The source with a comment for each finding, and the findings for which there was no place.

    A comment goes to the end of the finding's line; where that is inside a string or before a backslash, a line of its
    own above the statement is tried. Raises `SourceError` when the result would differ in more than comments.
    """
    wanted: dict[int, list[str]] = defaultdict(list)
    above: dict[int, list[str]] = defaultdict(list)
    left: list[Finding] = []
    closed = _lines_that_take_no_comment(source)
    for finding in findings:
        if finding.code == suppress.UNUSED.code:
            left.append(finding)
            continue
        first = source.lines.line_of(source.offset_at(finding.span.start, finding.span.cell))
        last = source.lines.line_of(source.offset_at(finding.span.end, finding.span.cell))
        line = next((n for n in range(first, last + 1) if n not in closed), None)
        if line is not None:
            wanted[line].append(finding.code)
        elif first - 1 not in closed and _begins_statement(source, first):
            above[first].append(finding.code)
        else:
            left.append(finding)
    edits = [_at_end(source, line, codes) for line, codes in wanted.items()]
    edits += [_on_own_line(source, line, codes) for line, codes in above.items()]
    new = source.with_edits(edits)
    if ast.dump(new.tree()) != ast.dump(source.tree()):
        raise SourceError(source.name, "left as it was: the comments would change the code")
    return new, left


def _lines_that_take_no_comment(source: SourceText) -> set[int]:
    """Lines whose end is inside a string, or that end in a backslash."""
    closed = {n for n in range(1, len(source.lines) + 1) if source.line(n).rstrip("\r\n").endswith("\\")}
    for node in ast.walk(source.tree()):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
        if is_text or type(node).__name__ in ("JoinedStr", "TemplateStr"):
            closed.update(range(node.lineno, node.end_lineno or node.lineno))  # type: ignore[attr-defined]
    # Masked lines of a notebook are in another language.
    masked = source.python_text
    if masked != source.text:
        closed.update(
            n
            for n in range(1, len(source.lines) + 1)
            if source.line(n) != masked[source.lines.start(n) : source.lines.end(n)]
        )
    return closed


def _begins_statement(source: SourceText, line: int) -> bool:
    return any(isinstance(node, ast.stmt) and node.lineno == line for node in ast.walk(source.tree()))


def _at_end(source: SourceText, line: int, codes: list[str]) -> TextEdit:
    start, content = source.lines.start(line), source.line(line)
    listed = sorted(set(codes))
    here = [d for d in suppress.directives(source) if d.kind == "ignore" and d.first == line and d.codes]
    for existing in here:
        match = _OURS.search(source.text, existing.start, existing.end)
        if match is not None:
            more = ", ".join([*match[1].split(","), *listed])
            more = ", ".join(dict.fromkeys(part.strip() for part in more.split(",") if part.strip()))
            return TextEdit(match.start(1), match.end(1), more)
    end = start + len(content.rstrip())
    return TextEdit(end, source.lines.end(line), f"  # devicefix: ignore[{', '.join(listed)}]")


def _on_own_line(source: SourceText, line: int, codes: list[str]) -> TextEdit:
    start, content = source.lines.start(line), source.line(line)
    indent = content[: len(content) - len(content.lstrip())]
    line_end = source.lines.line_end(line) or source.lines.line_end(line - 1) or "\n"
    listed = ", ".join(sorted(set(codes)))
    return TextEdit(start, start, f"{indent}# devicefix: ignore-next-line[{listed}]{line_end}")
