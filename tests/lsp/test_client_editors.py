"""The same session with the capabilities of each editor, as recorded from it."""

from __future__ import annotations

import pytest

from lsp import programs
from lsp.client import Editor, codes, edits_of, until

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]
EDITORS = ["vscode-1.100", "neovim-0.7.2", "neovim-0.11.4", "eglot-1.9", "neovim-0.11.4@utf-32"]
ENCODINGS = ["utf-16", "utf-16", "utf-8", "utf-16", "utf-32"]
COLUMN = {"utf-8": 21, "utf-16": 18, "utf-32": 17}  # of `x.to`, after `    print("é😀"); `
each_editor = pytest.mark.parametrize("connection", EDITORS, indirect=True)


@each_editor
async def test_open_diagnose_fix(editor: Editor, tmp_path, request: pytest.FixtureRequest):
    uri = (tmp_path / "a.py").as_uri()
    assert editor.encoding == ENCODINGS[EDITORS.index(request.node.callspec.params["connection"])]
    editor.open(uri, programs.MOVE)
    (found,) = await editor.diagnostics(uri, 1)
    assert (found.code, found.source) == ("DVF101", "devicefix")
    assert (found.range.start.line, found.range.start.character) == (4, COLUMN[editor.encoding])
    first = (await editor.actions(uri, found.range, ["quickfix"]))[0]
    assert first.title == "devicefix: assign the result to `x`"
    assert first.is_preferred
    assert editor.apply(first.edit)[uri] == programs.MOVE_FIXED
    (edit,) = edits_of(first.edit, uri)
    assert edit.new_text == "x = "
    assert edit.range.start == edit.range.end


@each_editor
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
async def test_fix_all(editor: Editor, tmp_path, line_end: str):
    uri = (tmp_path / "a.py").as_uri()
    text = (programs.NET + "\n\n" + programs.MOVE.replace("import torch\n\n\n", "")).replace("\n", line_end)
    editor.open(uri, text)
    found = await editor.diagnostics(uri, 3)
    assert codes(found) == ["DVF301", "DVF201", "DVF101"]
    (action,) = await editor.actions(uri, only=["source.fixAll.devicefix"])
    assert action.kind == "source.fixAll.devicefix"
    fixed = editor.apply(action.edit)[uri]
    assert 'self.register_buffer("table", torch.ones(4), persistent=False)' in fixed
    assert '"é😀"; extra = torch.randn(2, 4, device=' in fixed
    assert "; x = x.to(device)" in fixed
    assert fixed.count(line_end) == fixed.count("\n") == text.count("\n")
    assert len(edits_of(action.edit, uri)) == 3


@each_editor
async def test_edits_are_followed(editor: Editor, tmp_path):
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, programs.MOVE)
    (found,) = await editor.diagnostics(uri, 1)
    editor.insert(uri, found.range.start, "x = ")
    assert editor.texts[uri] == programs.MOVE_FIXED
    assert await editor.diagnostics(uri, 0) == []
    editor.replace(uri, programs.CUDA)
    assert codes(await editor.diagnostics(uri, 2)) == ["DVF401", "DVF401"]


@each_editor
async def test_only_changed_lines_are_edited(editor: Editor, tmp_path):
    uri = (tmp_path / "a.py").as_uri()
    text = programs.CUDA.replace("\n\nmodel", "\n\n" + "note = 'é😀'\n" * 400 + "\nmodel")
    editor.open(uri, text)
    await editor.diagnostics(uri, 2)
    (action,) = await editor.actions(uri, only=["source.fixAll.devicefix"])
    edits = edits_of(action.edit, uri)
    assert sum(e.range.end.line - e.range.start.line for e in edits) == 0
    assert sum(len(e.new_text) for e in edits) < 120
    assert editor.apply(action.edit)[uri].count("é😀") == 400


@pytest.mark.parametrize("connection", ["neovim-0.7.2", "eglot-1.9"], indirect=True)
async def test_closing_clears(editor: Editor, tmp_path):
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, programs.MOVE)
    await editor.diagnostics(uri, 1)
    editor.close(uri)
    await until(lambda: not editor.client.diagnostics[uri], "cleared")


async def test_pulled_results_are_not_sent_again(editor: Editor, tmp_path):
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, programs.MOVE)
    report = await editor.pull(uri)
    assert (await editor.pull(uri, report.result_id)).kind == "unchanged"
    editor.replace(uri, programs.MOVE + "\n")
    assert (await editor.pull(uri, report.result_id)).kind == "full"
    assert uri not in editor.client.diagnostics  # and nothing was pushed besides
