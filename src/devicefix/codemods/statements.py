"""Changing statements: binding, replacing, inserting, deleting, moving."""

from __future__ import annotations

import ast

from devicefix.codemods.changes import (
    BindResult,
    DeleteStatement,
    InsertStatements,
    MoveStatement,
    RemoveComment,
    ReplaceStatement,
    RewriteAssignment,
    UnwrapIf,
)
from devicefix.codemods.edits import FIRST, LAST, Edit
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.layout import Layout

SHARED_LINE = "the statement shares its line with another"


def bind_result(layout: Layout, change: BindResult) -> list[Edit]:
    """``target = `` in front of the statement."""
    layout.require_plain(change.statement)
    start = layout.start(change.statement)
    return [Edit(start, start, f"{change.target} = ", -layout.end(change.statement) - 1)]


def rewrite_assignment(layout: Layout, change: RewriteAssignment) -> list[Edit]:
    """Everything up to the value becomes the prefix; the value's text, its parentheses included, stays."""
    statement = change.statement
    layout.require_plain(statement)
    if statement.value is None:
        raise CannotChange("the assignment has no value")
    if isinstance(statement, ast.Assign) and len(statement.targets) != 1:
        raise CannotChange("the assignment has several targets")
    value = statement.value
    start, end = layout.outer(value)
    prefix, suffix = change.prefix, change.suffix
    bare_tuple = isinstance(value, ast.Tuple) and not layout.text.startswith("(", layout.start(value))
    if (bare_tuple or isinstance(value, (ast.Yield, ast.YieldFrom))) and start == layout.start(value):
        prefix, suffix = prefix + "(", ")" + suffix
    if end != layout.end(statement):
        raise CannotChange("the layout of the assignment is not understood")
    return [Edit(layout.start(statement), start, prefix), Edit(end, end, suffix, -start)]


def replace_statement(layout: Layout, change: ReplaceStatement) -> list[Edit]:
    """Other statements in the place of one."""
    statement = change.statement
    layout.require_plain(statement)
    start, end = layout.start(statement), layout.end(statement)
    if not change.lines:
        raise CannotChange("there is nothing to put in the place of the statement")
    if len(change.lines) == 1:
        if _is_compound_text(change.lines[0]) and not layout.owns_line(statement):
            raise CannotChange(SHARED_LINE)
        return [Edit(start, end, change.lines[0])]
    require_own_line(layout, statement)
    indent = layout.indentation(statement)
    line_end = layout.line_end(layout.lines.line_of(start))
    text = line_end.join(layout.reindent(line, indent) for line in change.lines)
    return [Edit(start, end, text[len(indent) :])]


def _is_compound_text(line: str) -> bool:
    return line.rstrip().endswith(":") or line.startswith(("if ", "for ", "while ", "with ", "def ", "class ", "try"))


def require_own_line(layout: Layout, statement: ast.stmt) -> None:
    """Raises `CannotChange` when the statement shares a line, or is an ``elif``."""
    if not layout.owns_line(statement):
        raise CannotChange(SHARED_LINE)
    _refuse_elif(layout, statement)


def require_room(layout: Layout, change: InsertStatements) -> None:
    """Raises `CannotChange` when there is no place for whole lines beside the anchor."""
    if change.where == "before" and layout.begins_line(change.anchor):
        _refuse_elif(layout, change.anchor)  # ``anchor; other``: above both
    else:
        require_own_line(layout, change.anchor)


def _refuse_elif(layout: Layout, statement: ast.stmt) -> None:
    if isinstance(statement, ast.If) and layout.text.startswith("elif", layout.start(statement)):
        raise CannotChange("the statement is an `elif` branch")


def insert_statements(layout: Layout, change: InsertStatements) -> list[Edit]:
    """Whole lines before the anchor (and the comments that belong to it) or behind it."""
    anchor = change.anchor
    layout.require_plain(anchor)
    require_room(layout, change)
    indent = layout.indentation(anchor)
    lines = [layout.reindent(line, indent) for line in change.lines]
    if change.where == "before":
        return [_lines_before(layout, layout.comment_block_above(anchor), lines, change)]
    return [_lines_after(layout, last_line(layout, anchor), lines, change)]


def _lines_before(layout: Layout, line: int, lines: list[str], change: InsertStatements) -> Edit:
    line_end = layout.line_end(line)
    at_top = line == 1 or layout.source.begins_cell(layout.lines.start(line))
    above = change.blank_before if at_top else _blank_lines(layout, line - 1, -1)
    below = 0
    blanks_first = [""] * max(change.blank_before - above, 0)
    blanks_last = [""] * max(change.blank_after - below, 0)
    at = layout.lines.start(line)
    return Edit(at, at, "".join(text + line_end for text in [*blanks_first, *lines, *blanks_last]), FIRST, lines=True)


def _lines_after(layout: Layout, line: int, lines: list[str], change: InsertStatements) -> Edit:
    line_end = layout.line_end(line)
    below = _blank_lines(layout, line + 1, +1)
    blanks_first = [""] * change.blank_before
    blanks_last = [""] * max(change.blank_after - below, 0) if _has_text_below(layout, line + below + 1) else []
    at = layout.lines.end(line)
    return Edit(at, at, "".join(line_end + text for text in [*blanks_first, *lines, *blanks_last]), LAST, lines=True)


def _has_text_below(layout: Layout, line: int) -> bool:
    if line <= len(layout.lines) and layout.source.begins_cell(layout.lines.start(line)):
        return False
    return line < len(layout.lines) or (line == len(layout.lines) and bool(layout.lines.content(line).strip()))


def _blank_lines(layout: Layout, line: int, step: int) -> int:
    count = 0
    while 1 <= line <= len(layout.lines) and not layout.lines.content(line).strip(" \t\f"):
        if layout.source.begins_cell(layout.lines.start(line if step > 0 else line + 1)):
            break
        if line == len(layout.lines) and not layout.lines.line_end(line):
            break  # what follows the last line end is no line
        count += 1
        line += step
    return count


def last_line(layout: Layout, statement: ast.stmt) -> int:
    """The last line of a statement, with the comment lines below that are indented as its body is."""
    line = layout.lines.line_of(layout.end(statement))
    indent = layout.indentation(statement)
    if not hasattr(statement, "body"):
        return line
    look = line + 1
    while look <= len(layout.lines) and not layout.source.begins_cell(layout.lines.start(look)):
        content = layout.lines.content(look)
        stripped = content.lstrip(" \t\f")
        if stripped.startswith("#") and len(content) - len(stripped) > len(indent):
            line = look
        elif stripped:
            break
        look += 1
    return line


def delete_statement(layout: Layout, change: DeleteStatement, gone: frozenset[int]) -> list[Edit]:
    """The statement's lines; ``pass`` when its block would be empty. ``gone``: ids of all deleted statements."""
    statement = change.statement
    layout.require_plain(statement)
    _refuse_elif(layout, statement)
    block = block_of(layout, statement)
    if all(id(other) in gone for other in block) and _needs_a_body(layout, statement):
        if statement is block[0]:
            return [Edit(layout.start(statement), layout.end(statement), "pass")]
        return [_removal(layout, statement)]
    return [_removal(layout, statement)]


def _needs_a_body(layout: Layout, statement: ast.stmt) -> bool:
    return not isinstance(layout.source.parent(statement), ast.Module)


def _removal(layout: Layout, statement: ast.stmt) -> Edit:
    start, end = layout.start(statement), layout.end(statement)
    first, last = layout.lines.line_of(start), layout.lines.line_of(end)
    if layout.owns_line(statement):
        if layout.lines.line_end(last):
            return Edit(layout.lines.start(first), layout.lines.next_start(last), "", lines=True)
        begin = layout.lines.end(first - 1) if first > 1 else 0
        return Edit(begin, layout.lines.end(last), "", lines=True)
    block = block_of(layout, statement)
    index = block.index(statement)
    if index + 1 < len(block) and layout.lines.line_of(layout.start(block[index + 1])) == last:
        return Edit(start, layout.start(block[index + 1]), "")
    if index > 0 and layout.lines.line_of(layout.end(block[index - 1])) == first:
        return Edit(layout.end(block[index - 1]), end, "")
    raise CannotChange(SHARED_LINE)


def block_of(layout: Layout, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that holds ``statement``."""
    parent = layout.source.parent(statement)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            return block
    raise CannotChange("the block of the statement was not found")


def move_statement(layout: Layout, change: MoveStatement) -> list[Edit]:
    """The statement's lines, with the comments directly above it, to another place of the same block."""
    statement, anchor = change.statement, change.anchor
    layout.require_plain(statement)
    if block_of(layout, statement) is not block_of(layout, anchor):
        raise CannotChange("the statement would move to another block")
    require_own_line(layout, statement)
    require_own_line(layout, anchor)
    first = layout.comment_block_above(statement)
    last = last_line(layout, statement)
    content = layout.text[layout.lines.start(first) : layout.lines.end(last)]
    line_end = layout.line_end(last)
    if change.where == "before":
        at = layout.lines.start(layout.comment_block_above(anchor))
        insertion = Edit(at, at, content + line_end, FIRST, lines=True)
    else:
        at = layout.lines.end(last_line(layout, anchor))
        insertion = Edit(at, at, line_end + content, LAST, lines=True)
    if layout.lines.line_end(last):
        removal = Edit(layout.lines.start(first), layout.lines.next_start(last), "", lines=True)
    else:
        begin = layout.lines.end(first - 1) if first > 1 else 0
        removal = Edit(begin, layout.lines.end(last), "", lines=True)
    if removal.start < insertion.start < removal.end:
        raise CannotChange("the statement would move into itself")
    return [insertion, removal]


def unwrap_if(layout: Layout, change: UnwrapIf) -> list[Edit]:
    """The body one level up. Lines inside strings keep their text, so such a body is refused."""
    statement = change.statement
    layout.require_plain(statement)
    if statement.orelse:
        raise CannotChange("the condition has an else branch")
    require_own_line(layout, statement)
    start, outside = layout.start(statement), layout.indentation(statement)
    body_start = layout.start(statement.body[0])
    if not layout.begins_line(statement.body[0]):
        if len(statement.body) > 1 or hasattr(statement.body[0], "body"):
            raise CannotChange("the body of the condition is on its line")
        return [Edit(start, body_start, "")]
    inside = layout.indentation(statement.body[0])
    header_last, body_first = layout.lines.line_of(start), layout.lines.line_of(body_start)
    edits = [Edit(layout.lines.start(header_last), _after_header(layout, statement), "", lines=True)]
    kept = _lines_inside_strings(statement)
    for line in range(layout.lines.line_of(edits[0].end), last_line(layout, statement) + 1):
        content = layout.lines.content(line)
        if line in kept:
            continue
        if content.startswith(inside):
            at = layout.lines.start(line)
            edits.append(Edit(at, at + len(inside) - len(outside), ""))
        elif content.strip() and line <= body_first:
            continue  # a comment that stands further left than the body
    return edits


def _after_header(layout: Layout, statement: ast.If) -> int:
    """Offset of the line after the condition's colon. Raises `CannotChange` when a comment would be lost."""
    colon = layout.next_bracket(statement, layout.outer(statement.test)[1], ":")
    line = layout.lines.line_of(colon)
    if layout.text[colon + 1 : layout.lines.end(line)].strip():
        raise CannotChange("a comment belongs to the condition")
    return layout.lines.next_start(line)


def _lines_inside_strings(statement: ast.stmt) -> set[int]:
    """Lines that begin inside a string of several lines: their indentation is content."""
    found: set[int] = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno is not None:
            found.update(range(node.lineno + 1, node.end_lineno + 1))
    return found


def remove_comment(layout: Layout, change: RemoveComment) -> list[Edit]:
    """The comment and the white space before it, or its whole line."""
    line = layout.lines.line_of(change.start)
    before = layout.text[layout.lines.start(line) : change.start]
    alone = not before.strip(" \t\f") and change.end == layout.lines.end(line)
    if alone and layout.lines.line_end(line):
        return [Edit(layout.lines.start(line), layout.lines.next_start(line), "")]
    return [Edit(change.start - (len(before) - len(before.rstrip(" \t\f"))), change.end, "")]
