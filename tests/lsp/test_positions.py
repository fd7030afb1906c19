from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

t = pytest.importorskip("lsprotocol.types")

from devicefix.lsp.positions import Places, code_points, units  # noqa: E402

ENCODINGS = ("utf-8", "utf-16", "utf-32")
texts = st.text(alphabet=st.sampled_from("a \n\ré😀\u2028\x0c\x85\ud800"), max_size=40)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=texts, data=st.data())
def test_offsets_survive_the_round_trip(encoding, text, data):
    places = Places(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        return  # no position lies between the two
    assert places.offset(places.position(offset)) == offset


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=texts, line=st.integers(0, 99), column=st.integers(0, 99))
def test_any_position_means_some_offset(encoding, text, line, column):
    assert 0 <= Places(text, encoding).offset(t.Position(line, column)) <= len(text)


@pytest.mark.parametrize(("encoding", "length"), [("utf-8", 6), ("utf-16", 3), ("utf-32", 2)])
def test_units(encoding, length):
    assert units("é😀", encoding) == length


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_middle_of_a_character_means_its_start(encoding):
    text = "é😀x"
    for count in range(units(text, encoding)):
        assert units(text[: code_points(text, count, encoding)], encoding) <= count


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_the_line_ends_of_the_protocol_end_lines(separator):
    places = Places(f"a{separator}b\nc", "utf-16")
    assert places.position(4) == t.Position(1, 0)
    assert places.position(3) == t.Position(0, 3)
