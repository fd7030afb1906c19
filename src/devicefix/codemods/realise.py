"""From changes to text edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from devicefix.codemods import changes as c
from devicefix.codemods import expressions, imports, statements
from devicefix.codemods.edits import Edit, Taken
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.layout import Layout
from devicefix.findings import TextEdit

if TYPE_CHECKING:
    from devicefix.source.text import SourceText

_HANDLERS: dict[type, Callable[[Layout, Any], list[Edit]]] = {
    c.ReplaceExpression: expressions.replace_expression,
    c.AppendToExpression: expressions.append_to_expression,
    c.Unwrap: expressions.unwrap,
    c.WrapExpression: expressions.wrap_expression,
    c.BindResult: statements.bind_result,
    c.ReplaceStatement: statements.replace_statement,
    c.RewriteAssignment: statements.rewrite_assignment,
    c.InsertStatements: statements.insert_statements,
    c.MoveStatement: statements.move_statement,
    c.UnwrapIf: statements.unwrap_if,
    c.AddImport: imports.add_import,
    c.RemoveComment: statements.remove_comment,
}


def realise(source: SourceText, changes: Sequence[c.Change], layout: Layout | None = None) -> list[TextEdit]:
    """The smallest text edits that make ``changes`` in ``source``, in order and without overlaps.

    The nodes must come from ``source.tree()``. Equal changes count once. Raises `CannotChange` when one of them
    cannot be made, or when two of them want the same text. A ``layout`` of the same source remembers earlier work.
    """
    return as_text_edits(realise_ranked(layout or Layout(source), changes))


def realise_ranked(layout: Layout, changes: Sequence[c.Change]) -> list[Edit]:
    """Like `realise`, with the order of insertions at one place still open."""
    gone = frozenset(id(change.statement) for change in changes if isinstance(change, c.DeleteStatement))
    edits: list[Edit] = []
    taken = Taken()
    for change in dict.fromkeys(changes):
        new = layout.remembered.get(change)
        if new is None:
            try:
                new = _realise_one(layout, change, gone)
            except CannotChange:
                raise
            except RecursionError:
                raise CannotChange("the code is nested too deeply") from None
            except Exception as error:  # a slip of ours costs this fix, not the user's file
                raise CannotChange(f"internal error ({type(error).__name__}: {error})") from error
            if not isinstance(change, c.DeleteStatement):  # whether `pass` is needed depends on its companions
                layout.remembered[change] = new
        if any(not _nested_insertions(edit, other) for edit in new for other in taken.conflicts(edit)):
            raise CannotChange("two changes want the same piece of text")
        for edit in new:
            taken.add(edit)
        edits += new
    return edits


def _nested_insertions(one: Edit, other: Edit) -> bool:
    """Both only insert: around nested expressions their ranks say which comes first."""
    return one.start == one.end and other.start == other.end


def _realise_one(layout: Layout, change: c.Change, gone: frozenset[int]) -> list[Edit]:
    if isinstance(change, c.EditCall):
        from devicefix.codemods.calls import edit_call  # libcst is loaded here, and only when it is needed

        return edit_call(layout, change)
    if isinstance(change, c.AddParameter):
        from devicefix.codemods.parameters import add_parameter

        return add_parameter(layout, change)
    if isinstance(change, c.DeleteStatement):
        return statements.delete_statement(layout, change, gone)
    return _HANDLERS[type(change)](layout, change)


def as_text_edits(edits: Sequence[Edit]) -> list[TextEdit]:
    """Sorted plain edits. Suffixes come before prefixes at one place, inner ones before outer ones."""
    merged: list[TextEdit] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end, e.rank)):
        last = merged[-1] if merged else None
        if last is not None and last.start == last.end == edit.start == edit.end:
            merged[-1] = TextEdit(last.start, last.end, last.replacement + edit.text)
        else:
            merged.append(TextEdit(edit.start, edit.end, edit.text))
    return merged
