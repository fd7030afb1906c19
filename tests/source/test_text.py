from __future__ import annotations

import ast
import codecs
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devicefix.findings import Position, TextEdit
from devicefix.source import SourceError, SourceText
from devicefix.source.text import apply_edits


def source(raw: bytes | str) -> SourceText:
    return SourceText.from_bytes(raw.encode() if isinstance(raw, str) else raw, "t.py")


ODD = {
    "lf": "x = 1\ny = 2\n",
    "crlf": "x = 1\r\ny = 2\r\n",
    "cr": "x = 1\ry = 2\r",
    "mixed": "x = 1\r\ny = 2\rz = 3\n",
    "no final newline": "x = 1\ny = 2",
    "form feed": "\x0c\nx = 1\n\x0cy = 2\n",
    "separators in strings": "x = '\x1c\x85\u2028\u2029'\ny = 2\n",
    "separators in comments": "# \x0b \x1c \u2028 z\ny = 2\n",
    "tabs": "if 1:\n\tx = 1\n\ty = 2\n",
    "unicode": "é = '😀'; y = 2\n",
    "combining": "x = 'e\u0301'; y = 2\n",
    "empty": "",
    "only newline": "\n",
    "blank lines at the end": "x = 1\n\n\n",
    "trailing white space": "x = 1   \n  \n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_bytes_come_back_as_they_were(text: str) -> None:
    for raw in (text.encode(), codecs.BOM_UTF8 + text.encode()):
        assert source(raw).encode(source(raw).text) == raw
        assert source(raw).round_trips
        assert source(raw).text == text


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_places_of_nodes_are_exact(text: str) -> None:
    parsed = source(text)
    for node in ast.walk(parsed.tree()):
        if isinstance(node, ast.Name):
            assert parsed.segment(node) == node.id
            assert parsed.offset_at(parsed.span(node).start) == parsed.start_of(node)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_raise_a_source_error(raw: bytes) -> None:
    try:
        parsed = source(raw)
    except SourceError:
        return
    assert not parsed.round_trips or parsed.encode(parsed.text) == raw
    message = ""
    try:
        parsed.tree()
    except SourceError as error:
        message = str(error)
    assert "\n" not in message


@given(st.text(alphabet="ab \t\n\r\x0c\x1c\u2028é😀#", max_size=40))
def test_positions_and_offsets_are_inverse(text: str) -> None:
    parsed = source(text)
    for offset in range(len(text)):
        if text[offset] in "\r\n":
            continue
        assert parsed.offset_at(parsed.position(offset)) == offset


@given(
    st.text(max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.text(max_size=4)), max_size=5),
)
def test_edits_change_what_they_name_and_nothing_else(text: str, wanted: list[tuple[int, int, str]]) -> None:
    edits, at = [], 0
    for start, length, replacement in sorted(wanted):
        if start < at or start + length > len(text):
            continue
        edits.append(TextEdit(start, start + length, replacement))
        at = start + length + 1
    expected = list(text)
    for edit in reversed(edits):
        expected[edit.start : edit.end] = edit.replacement
    assert apply_edits(text, edits) == "".join(expected)


def test_overlapping_edits_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abcdef", [TextEdit(0, 3, "x"), TextEdit(2, 4, "y")])


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("latin-1", "x = 'é'"),
        ("cp1252", "x = '€'"),
        ("utf-8", "x = '😀'"),
        ("shift_jis", "x = '日本'"),
        ("koi8-r", "x = 'ж'"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_declared_encodings_are_obeyed(encoding: str, body: str, line_end: str) -> None:
    raw = f"# first{line_end}# -*- coding: {encoding} -*-{line_end}{body}{line_end}".encode(encoding)
    parsed = source(raw)
    assert body in parsed.text
    assert parsed.encode(parsed.text) == raw
    edited = parsed.with_edits([TextEdit(len(parsed.text), len(parsed.text), "y")])
    assert edited.raw == raw + b"y"


@pytest.mark.parametrize(
    ("raw", "message", "line"),
    [
        (b"x = '\xff'\n", "byte 0xff is not valid utf-8", 1),
        (b"\n\nx = '\xff'\n", "byte 0xff is not valid utf-8", 3),
        (b"# coding: nonsense\n", "unknown encoding", 1),
        ("x = 1".encode("utf-16"), "UTF-16", 1),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "encoding problem", 1),
    ],
)
def test_wrong_encodings_are_named(raw: bytes, message: str, line: int) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        source(raw)
    assert caught.value.line == line


def test_text_that_the_encoding_cannot_hold_is_refused() -> None:
    parsed = source("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    with pytest.raises(SourceError, match=r"latin-1|iso-8859-1"):
        parsed.encode(parsed.text + "€")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("print 'x'\n", "Python 2"),
        ("exec 'x'\n", "Python 2"),
        ("try:\n    x\nexcept A, e:\n    y\n", "Python 2"),
        ("x = 0777\n", "Python 2"),
        ("raise E, 'm'\n", "Python 2"),
        ("x <> y\n", "Python 2"),
        ("x = `y`\n", "Python 2"),
        ("print x\n", "Python 2"),
        ("def f(:\n", "syntax error"),
        ("x = (\n", "syntax error"),
        ("x = '\n", "syntax error"),
        ("\tx\n  y\n", "syntax error"),
        ("x = 1\0\n", "null bytes"),
        ("(" * 300 + ")" * 300, "syntax error|too deeply"),
        ("x = " + "-" * 100_000 + "1\n", "too deeply|syntax error"),
        ("if 1:\n" + "".join(" " * i + "if 1:\n" for i in range(1, 200)), "syntax error"),
    ],
)
def test_what_does_not_parse_is_one_line(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        source(text).tree()
    assert "\n" not in str(caught.value)


def test_a_deep_but_valid_chain_does_not_crash() -> None:
    parsed = source("x = " + "+".join(["a"] * 3000) + "\n")
    with contextlib.suppress(SourceError):
        assert parsed.tree().body


def test_warnings_of_the_parser_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    source("x = '\\d'; y = 1 is 1; z = (1)(2)\n").tree()
    assert not recwarn.list


def test_a_very_long_line_is_no_trouble() -> None:
    parsed = source("x = [" + "1, " * 100_000 + "é]\n" + "y = 2\n")
    last = parsed.tree().body[1]
    assert parsed.segment(last) == "y = 2"
    assert parsed.span(last).start == Position(2, 1)


def test_parents_lead_to_the_module() -> None:
    parsed = source("def f():\n    return a + b\n")
    node = next(n for n in ast.walk(parsed.tree()) if isinstance(n, ast.Name))
    assert [type(above).__name__ for above in parsed.ancestors(node)] == ["BinOp", "Return", "FunctionDef", "Module"]
    assert parsed.parent(ast.parse("x")) is None
