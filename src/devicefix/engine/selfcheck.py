"""Apply changes and prove on the result that they did what they said and nothing else."""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from devicefix.codemods import changes as c
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.expected import expected_tree, same_tree
from devicefix.codemods.layout import Layout
from devicefix.codemods.realise import realise
from devicefix.findings import TextEdit
from devicefix.source.errors import SourceError
from devicefix.source.text import SourceText

T = TypeVar("T")


class CheckFailed(Exception):
    """The rewritten text is not what the changes describe. The message is a short reason."""


def rewrite(
    source: SourceText, changes: Sequence[c.Change], layout: Layout | None = None
) -> tuple[SourceText, list[TextEdit]]:
    """The source with the changes made, and the edits that made them.

    Raises `CheckFailed` when the new text does not parse, its tree differs from the one that the changes describe, or
    a comment was lost.
    """
    try:
        edits = realise(source, changes, layout)
        new = source.with_edits(edits)
        expected = expected_tree(source, changes)
        tree = new.tree()
    except CannotChange as refusal:
        raise CheckFailed(refusal.reason) from None
    except SourceError as error:
        raise CheckFailed(f"the rewritten file would not be valid ({error.message})") from None
    except RecursionError:
        raise CheckFailed("the code is nested too deeply") from None
    if not same_tree(tree, expected):
        raise CheckFailed("the rewrite would change more than it should")
    if _may_lose_comments(source, changes, edits) and _comments(source) - _comments(new):
        raise CheckFailed("a comment would be lost")
    return new, edits


def _may_lose_comments(source: SourceText, changes: Sequence[c.Change], edits: Sequence[TextEdit]) -> bool:
    if any(isinstance(change, (c.DeleteStatement, c.ReplaceStatement, c.RemoveComment)) for change in changes):
        return False
    return any("#" in source.text[edit.start : edit.end] for edit in edits)


def _comments(source: SourceText) -> Counter[str]:
    text = re.sub(r"\r\n?", "\n", source.python_text)
    found: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.string] += 1
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def largest_good(items: Sequence[T], is_good: Callable[[list[T]], bool]) -> list[T]:
    """As many items as pass together, found by halving: a few guilty ones cost few tries.

    ``is_good`` is asked about lists in the order of ``items``; the empty list counts as good.
    """

    def extend(good: list[T], more: Sequence[T]) -> list[T]:
        if not more or is_good([*good, *more]):
            return [*good, *more]
        if len(more) == 1:
            return good
        half = len(more) // 2
        return extend(extend(good, more[:half]), more[half:])

    return extend([], items)
