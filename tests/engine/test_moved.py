from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devicefix.engine.moved import Moved
from devicefix.findings import TextEdit
from devicefix.source.text import apply_edits


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.text("xy", max_size=3)), max_size=6))
def test_characters_that_stay_are_found_where_they_went(steps: list[tuple[int, int, str]]) -> None:
    text = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[:40]
    edits, at = [], 0
    for gap, length, replacement in steps:
        start = at + gap + 1
        edits.append(TextEdit(start, start + length, "-" * len(replacement)))
        at = start + length
    new = apply_edits(text, edits)
    moved = Moved(edits)
    for offset, char in enumerate(text):
        if not any(edit.start <= offset < edit.end for edit in edits):
            assert new[moved.behind(offset)] == char
            assert moved.before(offset) <= moved.behind(offset)
