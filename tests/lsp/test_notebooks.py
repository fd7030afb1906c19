"""Cells as VS Code sends them."""

from __future__ import annotations

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from lsp.raw import RawClient

IMPORTS = "import torch\nfrom torch import nn\n"
MAGIC = "%matplotlib inline\n!pip list\n"
MODEL = "model = nn.Linear(3, 2).cuda()\n"
DATA = 'note = "é😀"; x = torch.ones(4, 3).cuda()'
MOVE = "def f(y: torch.Tensor, device):\n    y.to(device)\n    return y"


class Notebook:
    """An open notebook and its texts."""

    def __init__(self, client: RawClient, uri: str, cells: list[str]) -> None:
        self.client, self.uri, self.version, self.made = client, uri, 1, 0
        self.order: list[str] = []
        self.texts: dict[str, str] = {}
        items = [self._new(text) for text in cells]
        client.notify(
            "notebookDocument/didOpen",
            {
                "notebookDocument": {
                    "uri": uri,
                    "notebookType": "jupyter-notebook",
                    "version": 1,
                    "cells": [{"kind": 2, "document": item["uri"]} for item in items],
                },
                "cellTextDocuments": items,
            },
        )
        self.order = [item["uri"] for item in items]

    def _new(self, text: str) -> dict:
        uri = f"{self.uri.replace('file:', 'vscode-notebook-cell:')}#W{self.made}sZmlsZQ%3D%3D"
        self.made += 1
        self.texts[uri] = text
        return {"uri": uri, "languageId": "python", "version": 1, "text": text}

    def change(self, **cells: object) -> None:
        self.version += 1
        notebook = {"uri": self.uri, "version": self.version}
        self.client.notify("notebookDocument/didChange", {"notebookDocument": notebook, "change": {"cells": cells}})

    def replace(self, index: int, text: str, version: int) -> None:
        uri = self.order[index]
        self.texts[uri] = text
        document = {"uri": uri, "version": version}
        self.change(textContent=[{"document": document, "changes": [{"text": text}]}])

    def insert(self, index: int, text: str) -> None:
        item = self._new(text)
        self.order.insert(index, item["uri"])
        array = {"start": index, "deleteCount": 0, "cells": [{"kind": 2, "document": item["uri"]}]}
        self.change(structure={"array": array, "didOpen": [item]})

    def remove(self, index: int) -> str:
        uri = self.order.pop(index)
        self.change(structure={"array": {"start": index, "deleteCount": 1}, "didClose": [{"uri": uri}]})
        return uri

    def wait(self, *counts: int) -> list[list[dict]]:
        def there() -> bool:
            return all(
                len(self.client.diagnostics.get(uri, {"diagnostics": [None] * 99})["diagnostics"]) == count
                for uri, count in zip(self.order, counts, strict=True)
            )

        self.client.pump(
            there,
            f"{counts}, have {[len(self.client.diagnostics.get(u, {}).get('diagnostics', [])) for u in self.order]}",
        )
        return [self.client.diagnostics[uri]["diagnostics"] for uri in self.order]

    def actions(self, index: int, only: list[str]) -> list[dict]:
        return self.client.actions(self.order[index], only)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    client = RawClient()
    client.root = tmp_path_factory.mktemp("notebooks")
    client.start("vscode-1.100", root=client.root)
    yield client
    assert client.stop() == 0


@pytest.fixture
def notebook(server: RawClient, request: pytest.FixtureRequest):
    uri = (server.root / f"{request.node.name}.ipynb").as_uri()
    return Notebook(server, uri, [IMPORTS, MAGIC, MODEL, DATA, MOVE])


def places(edit: dict) -> dict[str, list[tuple[int, int, str]]]:
    return {
        change["textDocument"]["uri"]: [
            (e["range"]["start"]["line"], e["range"]["start"]["character"], e["newText"]) for e in change["edits"]
        ]
        for change in edit["documentChanges"]
    }


def test_each_cell_gets_its_findings(notebook):
    found = notebook.wait(0, 0, 1, 1, 1)
    assert [d["code"] for cell in found for d in cell] == ["DVF401", "DVF401", "DVF101"]
    assert found[3][0]["range"]["start"] == {"line": 0, "character": 18}
    assert found[4][0]["range"]["start"] == {"line": 1, "character": 4}


def test_cells_are_not_pulled_as_well(server, notebook):
    notebook.wait(0, 0, 1, 1, 1)
    report = server.request("textDocument/diagnostic", {"textDocument": {"uri": notebook.order[2]}})
    assert report["items"] == []


def test_a_fix_reaches_over_cells(server, notebook):
    notebook.wait(0, 0, 1, 1, 1)
    action = notebook.actions(2, ["quickfix"])[0]
    edit = server.request("codeAction/resolve", action)["edit"]
    found = places(edit)
    assert set(found) == {notebook.order[0], notebook.order[2], notebook.order[3]}
    assert "torch.device(" in found[notebook.order[0]][-1][2]
    assert [place[:2] for place in found[notebook.order[2]]] == [(0, 24)]


def test_fix_all_of_the_notebook_is_asked_of_a_clean_cell(server, notebook):
    notebook.wait(0, 0, 1, 1, 1)
    (action,) = notebook.actions(0, ["notebook.source.fixAll"])
    assert action["kind"] == "notebook.source.fixAll.devicefix"
    edit = server.request("codeAction/resolve", action)["edit"]
    assert set(places(edit)) == {notebook.order[i] for i in (0, 2, 3, 4)}


def test_fix_all_of_a_cell_stays_in_it(server, notebook):
    notebook.wait(0, 0, 1, 1, 1)
    (action,) = notebook.actions(4, ["source.fixAll"])
    edit = server.request("codeAction/resolve", action)["edit"]
    assert places(edit) == {notebook.order[4]: [(1, 4, "y = ")]}


def test_an_edit_in_one_cell_changes_another(notebook):
    notebook.wait(0, 0, 1, 1, 1)
    notebook.replace(0, IMPORTS + 'device = torch.device("cpu")\n', 2)
    found = notebook.wait(0, 0, 1, 1, 1)
    notebook.client.pump(
        lambda: "device" in notebook.client.diagnostics[notebook.order[2]]["diagnostics"][0]["message"], "the variable"
    )
    assert found
    notebook.replace(4, MOVE.replace("y.to", "y = y.to"), 2)
    notebook.wait(0, 0, 1, 1, 0)


def test_cells_come_go_and_move(notebook):
    notebook.wait(0, 0, 1, 1, 1)
    gone = notebook.remove(3)
    notebook.wait(0, 0, 1, 1)
    notebook.client.pump(lambda: not notebook.client.diagnostics[gone]["diagnostics"], "cleared")
    notebook.insert(1, "def g(z: torch.Tensor, device):\n    z.to(device)\n    return z")
    notebook.wait(0, 1, 0, 1, 1)


def test_syntax_error_in_a_cell_keeps_the_others(notebook):
    notebook.wait(0, 0, 1, 1, 1)
    notebook.replace(2, "model = nn.Linear(3,\n", 2)
    notebook.wait(0, 0, 0, 1, 1)
    last = notebook.order[3]
    stale = "from before the syntax error"
    notebook.client.pump(lambda: stale in notebook.client.diagnostics[last]["diagnostics"][0]["message"], "stale")
    notebook.replace(2, MODEL, 3)
    notebook.wait(0, 0, 1, 1, 1)
    notebook.client.pump(lambda: stale not in notebook.client.diagnostics[last]["diagnostics"][0]["message"], "fresh")


def test_closing_clears(server, notebook):
    notebook.wait(0, 0, 1, 1, 1)
    cells = [{"uri": uri} for uri in notebook.order]
    server.notify("notebookDocument/didClose", {"notebookDocument": {"uri": notebook.uri}, "cellTextDocuments": cells})
    server.pump(lambda: all(not server.diagnostics[uri]["diagnostics"] for uri in notebook.order), "cleared")


def test_ignore_in_a_cell(server, notebook):
    notebook.wait(0, 0, 1, 1, 1)
    action = next(a for a in notebook.actions(3, ["quickfix"]) if "ignore" in a["title"])
    edit = server.request("codeAction/resolve", action)["edit"]
    assert places(edit) == {notebook.order[3]: [(0, len(DATA) + 1, "  # devicefix: ignore[DVF401]")]}


def test_an_empty_notebook(server):
    Notebook(server, (server.root / "empty.ipynb").as_uri(), [])
    one = Notebook(server, (server.root / "one.ipynb").as_uri(), [""])
    one.wait(0)
