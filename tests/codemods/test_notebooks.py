from __future__ import annotations

import json

import pytest

from devicefix.codemods.changes import (
    AddImport,
    BindResult,
    Change,
    DeleteStatement,
    EditCall,
    InsertStatements,
    MoveStatement,
    RemoveComment,
)
from devicefix.engine.selfcheck import rewrite
from devicefix.source import load_source
from devicefix.source.notebook import NotebookSource


def load(*cells: str) -> NotebookSource:
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    source = load_source(json.dumps({"cells": made}).encode(), "n.ipynb")
    assert isinstance(source, NotebookSource)
    return source


def cells(source: NotebookSource, *changes: Change) -> list[str]:
    new, _ = rewrite(source, changes)
    assert isinstance(new, NotebookSource)
    return new.cell_texts()


def test_changes_stay_in_their_cells() -> None:
    source = load("%load_ext a\nx.to(d)", "y = 1", "f(\n    a,\n)")
    _, move, _, call = source.tree().body
    got = cells(source, BindResult(move, "x"), EditCall(call.value, (("device", "d"),)))  # type: ignore[arg-type, attr-defined]
    assert got == ["%load_ext a\nx = x.to(d)", "y = 1", "f(\n    a,\n    device=d,\n)"]


@pytest.mark.parametrize(
    ("where", "expected"), [("before", "new = 1\n# why\ny = 1"), ("after", "# why\ny = 1\nnew = 1")]
)
def test_a_comment_in_the_cell_above_is_no_neighbour(where: str, expected: str) -> None:
    source = load("x = 1\n# end of the cell", "# why\ny = 1", "# next\nz = 1")
    got = cells(source, InsertStatements(source.tree().body[1], ("new = 1",), where))  # type: ignore[arg-type]
    assert got == ["x = 1\n# end of the cell", expected, "# next\nz = 1"]


def test_blank_lines_of_other_cells_do_not_count() -> None:
    source = load("x = 1\n\n", "y = 1", "\n\nz = 1")
    y = source.tree().body[1]
    both = (
        InsertStatements(y, ("a = 1",), "before", blank_before=1, blank_after=1),
        InsertStatements(y, ("b = 1",), "after", blank_after=2),
    )
    assert cells(source, *both) == ["x = 1\n\n", "a = 1\n\ny = 1\nb = 1", "\n\nz = 1"]


def test_comments_below_a_block_in_the_next_cell_are_not_its_own() -> None:
    source = load("for i in a:\n    b", "    \n# c\ny = 1")
    got = cells(source, InsertStatements(source.tree().body[0], ("new = 1",), "after"))
    assert got[0] == "for i in a:\n    b\nnew = 1"


@pytest.mark.parametrize(
    ("index", "expected"),
    [(0, ["b = 1", "c = 1", "d = 1"]), (1, ["a = 1", "c = 1", "d = 1"]), (2, ["a = 1\nb = 1", "", "d = 1"])],
)
def test_deleting_leaves_no_lines_behind(index: int, expected: list[str]) -> None:
    source = load("a = 1\nb = 1", "c = 1", "d = 1")
    assert cells(source, DeleteStatement(source.tree().body[index])) == expected


def test_an_import_goes_into_the_cell_of_the_imports() -> None:
    assert cells(load("import os", "x = 1"), AddImport("torch")) == ["import os\nimport torch", "x = 1"]
    assert cells(load("%matplotlib inline", "x = 1"), AddImport("torch"))[1] == "x = 1"
    assert cells(load("x = 1\n", "y = 1"), AddImport("torch")) == ["import torch\n\nx = 1\n", "y = 1"]


def test_a_statement_moves_from_cell_to_cell() -> None:
    source = load("a = 1\nb = 1", "c = 1\nd = 1")
    body = source.tree().body
    assert cells(source, MoveStatement(body[3], body[1], "before")) == ["a = 1\nd = 1\nb = 1", "c = 1"]


def test_a_comment_at_the_end_of_a_cell_is_removed() -> None:
    source = load("a = 1\n# gone", "b = 1")
    start = source.text.index("# gone")
    assert cells(source, RemoveComment(start, start + 6)) == ["a = 1", "b = 1"]
