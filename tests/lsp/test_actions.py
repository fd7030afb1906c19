"""What is offered where, and what it does."""

from __future__ import annotations

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from lsp import programs
from lsp.raw import RawClient

UNSAFE = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4)]

    def forward(self, x):
        return self.layers[0](x)
"""


def at(line: int, character: int) -> dict[str, object]:
    place = {"line": line, "character": character}
    return {"start": place, "end": place}


def position(text: str, word: str) -> dict[str, object]:
    before = text[: text.index(word)]
    return at(before.count("\n"), len(before) - before.rfind("\n") - 1)


def applied(text: str, edit: dict) -> str:
    """Only for ASCII: the other tests count units."""
    lines = text.splitlines(keepends=True)
    starts = [sum(len(line) for line in lines[:n]) for n in range(len(lines) + 1)]
    (change,) = edit["documentChanges"]
    for e in sorted(
        change["edits"], key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True
    ):
        start, end = (starts[p["line"]] + p["character"] for p in (e["range"]["start"], e["range"]["end"]))
        text = text[:start] + e["newText"] + text[end:]
    return text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    client = RawClient()
    client.root = tmp_path_factory.mktemp("project")
    client.start("vscode-1.100", root=client.root)
    yield client
    assert client.stop() == 0


@pytest.fixture
def opened(server: RawClient, request: pytest.FixtureRequest):
    """Opens a text under a name of the test's own."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    uri = (server.root / f"{name}.py").as_uri()

    def open_(text: str) -> str:
        server.open(uri, text)
        return uri

    yield open_
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def resolve(server: RawClient, action: dict) -> dict:
    return server.request("codeAction/resolve", action)["edit"]


def kinds(actions: list[dict]) -> list[str]:
    return list(dict.fromkeys(a["kind"] for a in actions))


def test_everything_for_a_safe_finding(server, opened):
    uri = opened(programs.MOVE)
    actions = server.actions(uri, place=at(4, 20))
    assert [(a["kind"], a["title"]) for a in actions] == [
        ("quickfix", "devicefix: assign the result to `x`"),
        ("quickfix", "devicefix: ignore DVF101 here"),
        ("source.fixAll.devicefix", "devicefix: make all safe fixes in this file"),
    ]
    assert [a.get("isPreferred") for a in actions] == [True, None, None]
    assert actions[0]["diagnostics"][0]["code"] == "DVF101"
    assert all("edit" not in a for a in actions)


def test_an_unsafe_fix_says_why_and_is_not_preferred(server, opened):
    uri = opened(UNSAFE)
    fix = server.actions(uri, ["quickfix"], position(UNSAFE, "self.layers"))[0]
    assert "(unsafe: " in fix["title"]
    assert "isPreferred" not in fix
    assert "nn.ModuleList" in applied(UNSAFE, resolve(server, fix))


def test_fix_all_leaves_unsafe_fixes_out(server, opened):
    uri = opened(UNSAFE)
    assert server.actions(uri, ["source.fixAll"]) == []
    both = UNSAFE + "\n\ndef f(x: torch.Tensor, device):\n    x.to(device)\n    return x\n"
    server.change(uri, 2, both)
    (action,) = server.actions(uri, ["source.fixAll"])
    fixed = applied(both, resolve(server, action))
    assert "x = x.to(device)" in fixed
    assert "self.layers = [nn.Linear(4, 4)]" in fixed


def test_ignore_writes_a_comment_that_works(server, opened):
    uri = opened(programs.CUDA)
    action = next(
        a for a in server.actions(uri, ["quickfix"], position(programs.CUDA, "nn.Linear")) if "ignore" in a["title"]
    )
    text = applied(programs.CUDA, resolve(server, action))
    assert "model = nn.Linear(3, 2).cuda()  # devicefix: ignore[DVF401]\n" in text
    server.change(uri, 2, text)
    found = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]
    assert [d["range"]["start"]["line"] for d in found] == [4]


def test_one_device_variable(server, opened):
    uri = opened(programs.CUDA)
    actions = server.actions(uri, ["refactor"], position(programs.CUDA, "nn.Linear"))
    assert [a["title"] for a in actions] == ["devicefix: use one device variable in this file"]
    assert applied(programs.CUDA, resolve(server, actions[0])) == programs.CUDA_FIXED


def test_fixes_that_go_together_are_offered_once(server, opened):
    uri = opened(programs.CUDA)
    fixes = [a["title"] for a in server.actions(uri, ["quickfix"]) if "ignore" not in a["title"]]
    assert fixes == ["devicefix: add `device` and use it (2 places)"]


BUFFER = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = torch.zeros(4)
        self.name = "net"

    def forward(self, x):
        return x
"""


def test_an_attribute_becomes_a_buffer_where_nothing_is_wrong(server, opened):
    uri = opened(BUFFER)
    assert server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"] == []
    actions = server.actions(uri, ["refactor.rewrite"], position(BUFFER, "self.seen"))
    assert [a["title"] for a in actions] == ["devicefix: register `seen` as a buffer"]
    fixed = applied(BUFFER, resolve(server, actions[0]))
    assert fixed == BUFFER.replace(
        "self.seen = torch.zeros(4)", 'self.register_buffer("seen", torch.zeros(4), persistent=False)'
    )
    assert server.actions(uri, ["refactor"], position(BUFFER, "self.name")) == []
    assert server.actions(uri, None, position(BUFFER, "return x")) == []


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["source"], ["source.fixAll.devicefix"]),
        (["source.fixAll"], ["source.fixAll.devicefix"]),
        (["source.fixAll.devicefix"], ["source.fixAll.devicefix"]),
        (["source.fixAll.ruff"], []),
        (["source.organizeImports"], []),
        (["quickfix"], ["quickfix"]),
        (["notebook"], []),
        (["refactor.extract"], []),
        (["sourcery"], []),
    ],
)
def test_only_the_kinds_that_are_asked_for(server, opened, only, expected):
    assert kinds(server.actions(opened(programs.MOVE), only)) == expected


def test_nothing_is_offered_where_nothing_is_wrong(server, opened):
    uri = opened(programs.MOVE_FIXED)
    assert server.actions(uri) == []
    assert server.actions(uri, ["source.fixAll"]) == []


def test_the_fix_of_the_line_is_offered_when_the_editor_names_its_diagnostic(server, opened):
    uri = opened(programs.MOVE)
    (found,) = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]
    params = {
        "textDocument": {"uri": uri},
        "range": at(4, 0),
        "context": {"diagnostics": [found], "only": ["quickfix"]},
    }
    assert len(server.request("textDocument/codeAction", params)) == 2
    params["context"]["diagnostics"] = []
    assert not server.request("textDocument/codeAction", params)


def test_hover_shows_the_page_of_the_rule(server, opened):
    uri = opened(programs.MOVE)
    place = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 20}}
    shown = server.request("textDocument/hover", place)
    assert shown["contents"]["kind"] == "markdown"
    assert shown["contents"]["value"].startswith("Safe fix: assign the result to `x`.\n\n# DVF101 dropped-move")
    assert shown["range"]["start"]["line"] == 4
    assert server.request("textDocument/hover", {**place, "position": {"line": 0, "character": 0}}) is None


def test_hover_explains_a_suppression(server, opened):
    uri = opened(programs.MOVE.replace("x.to(device)", "x.to(device)  # devicefix: ignore[DVF101]"))
    place = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 55}}
    assert "# DVF101 dropped-move" in server.request("textDocument/hover", place)["contents"]["value"]


def test_findings_are_kept_while_the_file_does_not_parse(server, opened):
    def pull() -> list[dict]:
        return server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]

    uri = opened(programs.NET)
    assert len(pull()) == 2
    broken = programs.NET.replace("        self.linear =", "        y = (\n        self.linear =")
    server.change(uri, 2, broken)
    stale = pull()
    assert [(d["code"], d["range"]["start"]["line"]) for d in stale] == [("DVF301", 7), ("DVF201", 12)]
    assert all("from before the syntax error" in d["message"] for d in stale)
    assert server.actions(uri) == []
    server.change(uri, 3, programs.NET)
    assert all("syntax error" not in d["message"] for d in pull())


def test_a_file_that_never_parsed_has_none(server, opened):
    uri = opened("import torch\nx.to(device\n")
    assert server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"] == []


@pytest.mark.parametrize("separator", ["\x0c", "\u2028", "\x85"])
def test_characters_that_only_python_takes_for_line_ends(server, opened, separator):
    head = f"note = '{separator}'\n" if separator != "\x0c" else "\x0c\n"
    uri = opened(head + programs.MOVE)

    def pull() -> list[dict]:
        return server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]

    (found,) = pull()
    assert found["range"]["start"] == {"line": 5, "character": 18}
    server.change(uri, 2, "x = ", {"start": found["range"]["start"], "end": found["range"]["start"]})
    assert pull() == []


def test_a_byte_order_mark_in_the_text(server, opened):
    text = "\ufefff = 1; import torch\ndef g(x: torch.Tensor, device):\n    x.to(device)\n    return x\n"
    uri = opened(text)
    (fix, _) = server.actions(uri, ["quickfix"])
    assert applied(text, resolve(server, fix)) == text.replace("    x.to", "    x = x.to")


def test_related_places_are_shown(server, opened):
    uri = opened(programs.NET)
    found = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]
    (related,) = found[0]["relatedInformation"]
    assert related["location"]["uri"] == uri
    assert related["location"]["range"]["start"]["line"] == 12


def test_an_unsaved_buffer(server):
    uri = "untitled:Untitled-1"
    server.open(uri, programs.MOVE)
    (fix, _) = server.actions(uri, ["quickfix"])
    (change,) = resolve(server, fix)["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert change["edits"][0]["newText"] == "x = "


def test_an_editor_that_counts_bytes_without_saying_so(tmp_path):
    client = RawClient()
    client.start("neovim-0.7.2", tmp_path, {"positionEncoding": "utf-8"})
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.MOVE)
    assert client.wait_for(uri)[0]["range"]["start"]["character"] == 21
    assert client.stop() == 0
    assert not [n for n in client.notifications if n["method"] == "window/showMessage"]


@pytest.mark.parametrize("language", ["json", "toml", "plaintext", "rust"])
def test_other_languages_are_left_alone(server, language):
    uri = f"file:///other.{language}"
    server.open(uri, programs.MOVE, language)
    report = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert report["items"] == []
