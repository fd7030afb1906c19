"""What a rewrite must leave alone: every line, comment and line ending outside the statements that it changed."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections import Counter

#: Fields that hold the statements inside a compound statement.
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def damage(before: bytes, after: bytes) -> list[str]:
    """Sentences about what was changed without need; both texts are Python programs."""
    found = []
    if before.startswith(b"\xef\xbb\xbf") != after.startswith(b"\xef\xbb\xbf"):
        found.append("the byte order mark changed")
    endings = set(re.findall(rb"\r\n|\r|\n", before)), set(re.findall(rb"\r\n|\r|\n", after))
    if not endings[1] <= endings[0]:
        found.append(f"line endings {sorted(endings[0])} became {sorted(endings[1])}")
    if before.endswith((b"\n", b"\r")) != after.endswith((b"\n", b"\r")):
        found.append("the end of the last line changed")
    found += _lost_comments(before, after)
    found += _foreign_lines(before.decode("utf-8-sig"), after.decode("utf-8-sig"))
    return found


def _lost_comments(before: bytes, after: bytes) -> list[str]:
    lost = _comments(before) - _comments(after)
    gained = _comments(after) - _comments(before)
    return [f"comment lost: {text}" for text in lost] + [f"comment added: {text}" for text in gained]


def _comments(text: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _foreign_lines(before: str, after: str) -> list[str]:
    """Lines of ``before`` that are gone although no changed statement covers them."""
    old, new = before.splitlines(), after.splitlines()
    kept, kept_words = Counter(new), Counter(line.strip() for line in new)
    covered, shifted = _changed_lines(before, after)
    found = []
    for kind, start, end, low, high in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for number in range(start, end):
            line = old[number]
            moved = kept[line] >= old.count(line) or (number + 1 in shifted and kept_words[line.strip()] > 0)
            if line.strip() and not moved and not line.lstrip().startswith("#") and number + 1 not in covered:
                found.append(f"line {number + 1} changed outside a changed statement: {line.strip()}")
        blank = sum(not line.strip() for line in old[start:end]) - sum(not line.strip() for line in new[low:high])
        if blank > 0 and kind == "delete" and not any(line.strip() for line in old[start:end]):
            found.append(f"blank lines removed near line {start + 1}")
    return found


def _changed_lines(before: str, after: str) -> tuple[set[int], set[int]]:
    """Line numbers of the statements (headers only, for compound ones) that ``after`` does not have in this form.

    The second set holds the bodies of such compound statements: their lines may be indented anew.
    """
    remaining = Counter(text for text, _, _ in _statements(ast.parse(after)))
    lines: set[int] = set()
    bodies: set[int] = set()
    for text, span, body in _statements(ast.parse(before)):
        if remaining[text] > 0:
            remaining[text] -= 1
        else:
            lines.update(span)
            bodies.update(body)
    return lines, bodies


def _statements(tree: ast.AST) -> list[tuple[str, range, range]]:
    """Text of the node, its own lines, and the lines of its body."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.stmt, ast.excepthandler)):
            continue
        inner = [child for name in BODIES for child in getattr(node, name, ()) if hasattr(child, "lineno")]
        if not inner:
            found.append((ast.dump(node), range(node.lineno, (node.end_lineno or node.lineno) + 1), range(0)))
            continue
        header = {name: value for name, value in ast.iter_fields(node) if name not in BODIES}
        text = type(node).__name__ + "".join(f"{name}={_dump(value)}" for name, value in header.items())
        first = min(child.lineno for child in inner)
        body = range(first, (node.end_lineno or first) + 1)
        found.append((text, range(node.lineno, max(first, node.lineno + 1)), body))
    return found


def _dump(value: object) -> str:
    if isinstance(value, ast.AST):
        return ast.dump(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_dump, value)) + "]"
    return repr(value)
