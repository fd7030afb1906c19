from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devicefix.findings import Position, TextEdit
from devicefix.source import SourceError, load_source
from devicefix.source.magics import mask
from devicefix.source.notebook import NotebookSource


def notebook(*cells: str | list[str], indent: int | None = 1, **dump: Any) -> bytes:
    data = {
        "cells": [
            {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# Title\n", "torch"]},
            *(
                {
                    "cell_type": "code",
                    "execution_count": None,
                    "id": f"c{i}",
                    "metadata": {"z": 1, "a": 2},
                    "outputs": [{"output_type": "stream", "name": "stdout", "text": ['é \\ / " \n']}],
                    "source": lines(cell) if isinstance(cell, str) else cell[0],
                }
                for i, cell in enumerate(cells)
            ),
        ],
        "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(data, indent=indent, **dump) + "\n").encode()


def lines(text: str) -> list[str]:
    made = text.split("\n")
    return [line + "\n" for line in made[:-1]] + ([made[-1]] if made[-1] else [])


def load(raw: bytes) -> NotebookSource:
    source = load_source(raw, "n.ipynb")
    assert isinstance(source, NotebookSource)
    return source


def replace(source: NotebookSource, old: str, new: str) -> NotebookSource:
    start = source.text.index(old)
    made = source.with_edits([TextEdit(start, start + len(old), new)])
    assert isinstance(made, NotebookSource)
    return made


def test_code_cells_are_one_program_with_places_in_their_cells() -> None:
    source = load(notebook("import torch\nx = 1", "y = é = 2\n", "z = y"))
    assert source.text == "import torch\nx = 1\ny = é = 2\n\nz = y"
    last = source.tree().body[-1]
    assert source.span(last).cell == 4
    assert source.span(last).start == Position(1, 1)
    second = source.tree().body[1]
    assert (source.span(second).cell, source.span(second).start) == (2, Position(2, 1))
    for node in source.tree().body:
        span = source.span(node)
        assert source.offset_at(span.start, span.cell) == source.start_of(node)
        assert source.line_text(span) == source.segment(node)


@pytest.mark.parametrize("indent", [None, 1, 2, 4])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("as_string", [True, False])
def test_only_the_changed_string_differs(indent: int | None, line_end: str, ascii_only: bool, as_string: bool) -> None:
    code = 'x = "é\\t"\nOLD = "ü"\nz = "😀/"'
    raw = notebook([code] if as_string else code, "other = 1", indent=indent, ensure_ascii=ascii_only)
    raw = raw.replace(b"\n", line_end.encode())
    source = load(raw)
    assert source.raw == raw
    assert source.round_trips
    made = replace(source, "OLD", "NEW")
    assert made.raw == raw.replace(b"OLD", b"NEW")
    assert json.loads(made.raw)["cells"][1]["source"] == json.loads(raw.replace(b"OLD", b"NEW"))["cells"][1]["source"]


def test_new_text_is_escaped_as_the_file_does_it() -> None:
    for ascii_only in (True, False):
        raw = notebook('x = "ü"\nOLD', ensure_ascii=ascii_only)
        made = replace(load(raw), "OLD", '"é"\\')
        assert made.text.endswith('"é"\\')
        assert (b"\\u00e9" in made.raw.replace(b"text", b"")) or not ascii_only


@pytest.mark.parametrize("indent", [None, 1, 2])
@pytest.mark.parametrize(
    ("start", "end", "new"),
    [
        (0, 0, "first\n"),
        (5, 5, "\nafter"),
        (6, 6, "before\n"),
        (12, 12, "\nlast"),
        (0, 6, ""),
        (6, 12, ""),
        (5, 12, ""),
        (2, 9, "\n"),
        (0, 12, ""),
        (5, 6, ""),
    ],
)
@pytest.mark.parametrize("as_string", [True, False])
def test_lines_come_and_go(indent: int | None, start: int, end: int, new: str, as_string: bool) -> None:
    text = "a = 1\nb = 22"
    raw = notebook("before", [text] if as_string else text, "after", indent=indent)
    source = load(raw)
    base = len("before\n")
    made = source.with_edits([TextEdit(base + start, base + end, new)])
    assert isinstance(made, NotebookSource)
    expected = text[:start] + new + text[end:]
    assert made.cell_texts() == ["before", expected, "after"]
    before, after = json.loads(raw), json.loads(made.raw)
    if not as_string:
        assert after["cells"][2]["source"] == (lines(expected) or [""])
    before["cells"][2].pop("source")
    after["cells"][2].pop("source")
    assert json.dumps(before) == json.dumps(after)


def test_deleting_a_cells_last_line_leaves_no_line_end_behind() -> None:
    source = load(notebook("a = 1\nGONE", "b = 2"))
    start = source.text.index("GONE")
    made = source.with_edits([TextEdit(start, start + len("GONE\n"), "")])
    assert made.text == "a = 1\nb = 2"


def test_a_change_over_two_cells_is_refused() -> None:
    source = load(notebook("a = 1", "b = 2"))
    with pytest.raises(SourceError, match="end of a cell"):
        source.with_edits([TextEdit(2, 8, "x")])


@given(
    st.lists(st.text(alphabet='ab1 =\t"\\/é😀\u2028\n', min_size=1, max_size=20), min_size=1, max_size=3),
    st.data(),
)
def test_any_edit_inside_a_cell_arrives_and_the_rest_stays(cells: list[str], data: st.DataObject) -> None:
    raw = notebook(*cells, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1])))
    source = load(raw)
    texts = source.cell_texts()
    index = data.draw(st.integers(0, len(texts) - 1))
    start = data.draw(st.integers(0, len(texts[index])))
    end = data.draw(st.integers(start, len(texts[index])))
    new = data.draw(st.text(alphabet='x\n"\\é', max_size=4))
    base = sum(len(text) + 1 for text in texts[:index])
    made = source.with_edits([TextEdit(base + start, base + end, new)])
    texts[index] = texts[index][:start] + new + texts[index][end:]
    assert isinstance(made, NotebookSource)
    assert made.cell_texts() == texts
    before, after = json.loads(raw), json.loads(made.raw)
    for document in (before, after):
        document["cells"][index + 1].pop("source")
    assert json.dumps(before) == json.dumps(after)


MAGICS = {
    "line magic": ("%matplotlib inline\nx = 1", "pass              \nx = 1"),
    "shell": ("!pip install x\nx = 1", "pass          \nx = 1"),
    "short": ("!l\n!ls\nx", "0 \n...\nx"),
    "help": ("torch.zeros?\nx.y??\n?x\nx", "pass        \npass \n0 \nx"),
    "indented": ("if c:\n    %time x\n    !ls -l\n", "if c:\n    pass; x\n    pass  \n"),
    "assigned": ("x = !ls\ny = %sql a\na, b = !ls -l", "x = ...\ny = ...   \na, b = ...   "),
    "continued": ("!pip \\\n  install \\\n  x\ny", "pass  \n           \n   \ny"),
    "timed": ("%time x.to(d)", "pass; x.to(d)"),
    "not magic, modulo": ("x = (a\n% b)", "x = (a\n% b)"),
    "not magic, in a string": ('x = """\n%magic\n!ls\n"""', 'x = """\n%magic\n!ls\n"""'),
    "not magic, not equal": ("x = a != b", "x = a != b"),
    "not magic, format": ("x = '%s' % a", "x = '%s' % a"),
    "not magic, keyword": ("f(a='!x')", "f(a='!x')"),
    "not magic, backslash": ("x = a \\\n  % b", "x = a \\\n  % b"),
    "comment with quote": ("# it's\n!ls -l\nx", "# it's\npass  \nx"),
    "quote in a magic": ("!echo it's\nx = 1", "pass      \nx = 1"),
    "cell magic, Python": ("%%time\nx.to(d)", "      \nx.to(d)"),
    "cell magic, capture": ("\n%%capture out\nx", "\n             \nx"),
    "cell magic, other": ("%%bash\nls -l\n\necho", "      \n     \n\n    "),
    "cell magic, html": ("%%html\n<b>x</b>", "      \n        "),
    "autocall": ("/f a\n,f a", "pass\npass"),
    "trailing semicolon": ("x;\n", "x;\n"),
}


@pytest.mark.parametrize(("before", "after"), MAGICS.values(), ids=MAGICS)
def test_magics_are_masked_by_text_of_the_same_length(before: str, after: str) -> None:
    assert mask(before).replace(" ", "") == after.replace(" ", "")
    assert len(mask(before)) == len(before)
    assert [len(row) for row in mask(before).split("\n")] == [len(row) for row in before.split("\n")]


@given(st.text(alphabet="%!?x=('\"\\\n #", max_size=40))
def test_masking_keeps_every_length(text: str) -> None:
    masked = mask(text)
    assert [len(row) for row in masked.split("\n")] == [len(row) for row in text.split("\n")]


def test_a_notebook_with_magics_parses_and_keeps_them() -> None:
    raw = notebook("%load_ext x\n!ls\nx = 1", "%%bash\nrm -rf /", "OLD(x)")
    made = replace(load(raw), "OLD", "NEW")
    assert made.raw == raw.replace(b"OLD", b"NEW")
    assert len(made.tree().body) == 4


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a notebook: the file is empty"),
        (b" \n\t", "not a notebook: the file is empty"),
        (b"null", "no list of cells"),
        (b'{"cells": {}}', "no list of cells"),
        (b'{"cells": [1]}', "cell 1 is no object"),
        (b'{"cells": [{"cell_type": "code", "source": ""}, {}]}', "cell 2 has no `cell_type`"),
        (b'{"cells": [{"cell_type": "code"}]}', "cell 1 has no `source`"),
        (b'{"cells": []} x', ":1:15: not a notebook: Extra data"),
        (b'{"cells": [\n{"a"}]}', ":2:5: not a notebook"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b"<<<<<<< HEAD\n{}", ":1:1: not a notebook"),
        (b"[]", "no list of cells"),
        (b"{}", "no list of cells"),
        (b"{", "not a notebook"),
        (b'{"worksheets": []}', "format 3"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "not text"),
        (b'{"cells": [{"cell_type": "code", "source": {"a": 1}}]}', "not text"),
    ],
)
def test_what_is_no_notebook_is_an_error(raw: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        load_source(raw, "n.ipynb")


def test_a_syntax_error_names_its_cell() -> None:
    with pytest.raises(SourceError) as caught:
        load(notebook("x = 1", "y = 1\ndef f(:")).tree()
    assert (caught.value.cell, caught.value.line) == (3, 2)
    assert "n.ipynb:cell 3:2:" in str(caught.value)


def test_notebooks_in_other_languages_have_no_code() -> None:
    raw = notebook("x <- 1").replace(b'"python"', b'"R"')
    assert load(raw).text == ""
    assert load(raw).tree().body == []


def test_cells_without_text_are_passed_over() -> None:
    raw = b'{"cells": [{"cell_type": "code", "source": []}, {"cell_type": "odd", "source": "y"}, {"cell_type": "code", "source": "x"}]}'
    source = load(raw)
    assert source.text == "x"
    assert source.cell_at(0) == 3
