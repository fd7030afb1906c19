from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from devicefix.lsp.text_edits import differences, minimal_edits
from devicefix.source.text import apply_edits

texts = st.text(alphabet="ab \n\r\u2028\x0cé", max_size=30)
lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "a\r\n", "x = é\n"]), max_size=25)


@given(texts, texts)
def test_edits_lead_from_one_text_to_the_other(old, new):
    assert apply_edits(old, minimal_edits(old, new)) == new


@given(lines, lines)
def test_no_edit_cuts_a_line_end_in_half(old_lines, new_lines):
    old, new = "".join(old_lines), "".join(new_lines)
    edits = minimal_edits(old, new)
    assert apply_edits(old, edits) == new
    for edit in edits:
        assert old[edit.start - 1 : edit.start + 1] != "\r\n"
        assert old[edit.end - 1 : edit.end + 1] != "\r\n"


@given(lines, lines)
def test_differences_leave_equal_lines_out(old, new):
    at, rebuilt = 0, []
    for i1, i2, j1, j2 in differences(old, new):
        assert i1 >= at
        assert (i1, j1) != (i2, j2)
        rebuilt += old[at:i1] + new[j1:j2]
        at = i2
    assert rebuilt + old[at:] == new


def test_an_assignment_is_inserted_before_the_word():
    (edit,) = minimal_edits("    x.to(d)\n", "    x = x.to(d)\n")
    assert (edit.start, edit.end, edit.replacement) == (4, 4, "x = ")


def test_equal_lines_between_two_changes_are_not_touched():
    old = "first\n" + "same\n" * 5000 + "last\n"
    begin = time.perf_counter()
    edits = minimal_edits(old, old.replace("first", "fresh").replace("last", "lost"))
    assert time.perf_counter() - begin < 1
    assert [edit.replacement for edit in edits] == ["resh", "o"]


def test_nothing_to_do():
    assert minimal_edits("a\n", "a\n") == []
