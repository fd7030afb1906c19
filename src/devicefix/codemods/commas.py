"""Adding to and removing from comma-separated lists (arguments, parameters) in the layout that they have.

A list written with one item per line gets one more line; the trailing comma, or its absence, stays; comments keep
their place behind the item that they follow.
"""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

from devicefix.codemods.errors import CannotChange

Item = TypeVar("Item", bound="cst.Arg | cst.Param")
NO_SPACE = cst.SimpleWhitespace("")
ONE_SPACE = cst.SimpleWhitespace(" ")


def after(item: cst.Arg | cst.Param) -> cst.BaseParenthesizableWhitespace:
    """The space behind an item that has no comma."""
    space = item.whitespace_after_arg if isinstance(item, cst.Arg) else item.whitespace_after_param
    return space if isinstance(space, cst.BaseParenthesizableWhitespace) else NO_SPACE


def with_after(item: Item, space: cst.BaseParenthesizableWhitespace) -> Item:
    """The item with other space behind it."""
    field = "whitespace_after_arg" if isinstance(item, cst.Arg) else "whitespace_after_param"
    return _with(item, **{field: space})


def _with(item: Item, **fields: object) -> Item:
    """`with_changes` with the type of the item kept."""
    changed: Item = item.with_changes(**fields)  # type: ignore[assignment]
    return changed


def comma_space(item: cst.Arg | cst.Param) -> cst.BaseParenthesizableWhitespace | None:
    """The space behind the item's comma; None when it has no comma."""
    return item.comma.whitespace_after if isinstance(item.comma, cst.Comma) else None


def separator(items: list[Item], before: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """What stands between two items here, without comments: one space, or a line end and an indentation."""
    pattern: cst.BaseParenthesizableWhitespace | None = before
    if len(items) > 1:
        pattern = comma_space(items[-2])
    if isinstance(pattern, cst.ParenthesizedWhitespace):
        return bare(pattern)
    return ONE_SPACE


def bare(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """The same line end and indentation without comments and blank lines."""
    first = cst.TrailingWhitespace(newline=space.first_line.newline)
    return cst.ParenthesizedWhitespace(first_line=first, indent=space.indent, last_line=space.last_line)


def append(items: list[Item], new: list[Item], before: cst.BaseParenthesizableWhitespace) -> list[Item]:
    """``items`` followed by ``new``; ``before`` is the space between the opening parenthesis and the first item."""
    if not new:
        return items
    if not items:
        return _joined(new, ONE_SPACE)
    gap = separator(items, before)
    last = items[-1]
    tail = comma_space(last)
    trailing_comma = tail is not None
    end_space = tail if tail is not None else after(last)
    between, closing = _split(end_space, gap)
    last = with_after(last, NO_SPACE if not trailing_comma else after(last))
    comma = last.comma if isinstance(last.comma, cst.Comma) else cst.Comma()
    items = [*items[:-1], _with(last, comma=comma.with_changes(whitespace_after=between))]
    new = _joined(new, gap)
    if trailing_comma:
        new[-1] = _with(new[-1], comma=cst.Comma(whitespace_after=closing))
    else:
        new[-1] = with_after(new[-1], closing)
    return [*items, *new]


def insert(items: list[Item], index: int, new: list[Item], before: cst.BaseParenthesizableWhitespace) -> list[Item]:
    """``new`` placed before ``items[index]``, which must exist."""
    if not new:
        return items
    gap = separator(items[: index + 1] if index else items, before)
    made = [_with(item, comma=cst.Comma(whitespace_after=gap)) for item in new]
    return [*items[:index], *made, *items[index:]]


def remove(items: list[Item], index: int) -> list[Item]:
    """``items`` without the one at ``index``. Raises `CannotChange` when a comment would be lost."""
    gone = items[index]
    own = [after(gone), comma_space(gone)]
    if any(_has_comment(space) for space in own):
        raise CannotChange("a comment belongs to the argument that would be removed")
    rest = [*items[:index], *items[index + 1 :]]
    if index == len(items) - 1 and rest:
        tail = comma_space(gone)
        if _has_comment(comma_space(rest[-1])):
            raise CannotChange("a comment belongs to the argument before the one that would be removed")
        if tail is None:
            rest[-1] = with_after(_with(rest[-1], comma=cst.MaybeSentinel.DEFAULT), after(gone))
        else:
            rest[-1] = _with(rest[-1], comma=gone.comma)
    return rest


def _joined(new: list[Item], gap: cst.BaseParenthesizableWhitespace) -> list[Item]:
    return [*(_with(item, comma=cst.Comma(whitespace_after=gap)) for item in new[:-1]), new[-1]]


def _split(
    end_space: cst.BaseParenthesizableWhitespace, gap: cst.BaseParenthesizableWhitespace
) -> tuple[cst.BaseParenthesizableWhitespace, cst.BaseParenthesizableWhitespace]:
    """The old space before ``)`` as (space behind the old last item, space behind the new last item)."""
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return gap, end_space
    if not isinstance(end_space, cst.ParenthesizedWhitespace):
        return gap, end_space
    between = end_space.with_changes(indent=gap.indent, last_line=gap.last_line)
    return between, bare(end_space)


def _has_comment(space: cst.BaseParenthesizableWhitespace | None) -> bool:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return False
    lines = [space.first_line.comment, *(line.comment for line in space.empty_lines)]
    return any(comment is not None for comment in lines)
