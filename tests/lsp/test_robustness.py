"""What must not bring the server down, or leave an editor waiting."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from lsp import programs
from lsp.raw import RawClient, ServerError

MOVE_AT = {"start": {"line": 4, "character": 20}, "end": {"line": 4, "character": 20}}


@pytest.fixture
def server():
    client = RawClient()
    yield client
    client.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory):
    """A server for tests that leave it as they found it."""
    client = RawClient()
    client.root = tmp_path_factory.mktemp("shared")
    client.start(root=client.root)
    yield client
    assert client.stop() == 0


def works(client: RawClient, uri: str = "file:///nowhere/alive.py") -> None:
    client.diagnostics.pop(uri, None)
    client.open(uri, programs.MOVE)
    assert [d["code"] for d in client.wait_for(uri)] == ["DVF101"]
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.pump(lambda: not client.diagnostics[uri]["diagnostics"], "cleared")


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


GARBAGE = {
    "no json": frame(b"{nonsense"),
    "not utf-8": frame(b"\xff\xfe\x00"),
    "a list": frame(b"[]"),
    "a number": frame(b"1"),
    "null": frame(b"null"),
    "an empty object": frame(b"{}"),
    "wrong version": frame(b'{"jsonrpc": "1.0", "method": "initialized"}'),
    "no method": frame(b'{"jsonrpc": "2.0"}'),
    "method is a number": frame(b'{"jsonrpc": "2.0", "method": 7}'),
    "unknown notification": frame(b'{"jsonrpc": "2.0", "method": "x/y", "params": {}}'),
    "answer to no question": frame(b'{"jsonrpc": "2.0", "id": 99, "result": null}'),
    "error without a question": frame(b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": ""}}'),
    "cancel of nothing": frame(b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 77}}'),
    "bytes before a header": b"\x00\x01garbage",
    "a line before a header": b"hello\r\n",
    "a body that is too long": b'Content-Length: 2\r\n\r\n{"jsonrpc": "2.0"}',
    "a header without a number": b"Content-Length: many\r\n\r\n",
    "an absurd length": b"Content-Length: 99999999999999\r\n\r\n",
    "a lower-case header": b"content-length: 2\r\n\r\n{}",
    "deeply nested": frame(b"[" * 5000 + b"]" * 5000),
    "change of what is not open": frame(
        b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": '
        b'{"textDocument": {"uri": "file:///no.py", "version": 2}, "contentChanges": [{"text": ""}]}}'
    ),
    "close of what is not open": frame(
        b'{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///no.py"}}}'
    ),
    "open without text": frame(
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///no.py"}}}'
    ),
    "change of an unknown notebook": frame(
        b'{"jsonrpc": "2.0", "method": "notebookDocument/didChange", "params": '
        b'{"notebookDocument": {"uri": "file:///n.ipynb", "version": 2}, "change": {}}}'
    ),
}


@pytest.mark.parametrize("raw", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_costs_nothing_but_itself(shared: RawClient, raw: bytes):
    shared.send_bytes(raw)
    works(shared)
    assert not [n for n in shared.notifications if n["method"] == "window/showMessage"]


@pytest.mark.parametrize("params", [None, {}, {"textDocument": 3}, [], "x", {"textDocument": {"uri": None}}])
def test_requests_with_wrong_parameters_are_answered(shared: RawClient, params):
    with pytest.raises(ServerError):
        shared.request("textDocument/codeAction", params, seconds=10)
    works(shared)


def test_requests_about_unknown_documents_are_answered(shared: RawClient):
    with pytest.raises(ServerError, match="not open"):
        shared.actions("file:///never/opened.py")
    with pytest.raises(ServerError):
        shared.request("no/suchMethod", {})
    with pytest.raises(ServerError):
        shared.request("workspace/executeCommand", {"command": "devicefix.applyAction", "arguments": [{"do": "fix"}]})
    with pytest.raises(ServerError):
        shared.request("codeAction/resolve", {"title": "x", "data": {"uri": "file:///a.py", "number": 1}})
    works(shared)


def test_requests_before_initialize_are_refused(server: RawClient):
    with pytest.raises(ServerError) as caught:
        server.request("textDocument/hover", {"textDocument": {"uri": "x"}, "position": {"line": 0, "character": 0}})
    assert caught.value.code == -32002
    server.start()
    works(server)


def test_it_ends_when_the_editor_is_gone(server: RawClient):
    server.start()
    works(server)
    server.process.stdin.close()
    assert server.process.wait(15) is not None


def test_exit_without_shutdown_is_an_error(server: RawClient):
    server.start()
    server.notify("exit")
    assert server.process.wait(15) == 1


def test_a_file_is_deleted_under_it(shared: RawClient):
    file = shared.root / "gone.py"
    helper = shared.root / "helper.py"
    helper.write_text("import torch\n\n\ndef make():\n    return torch.ones(3)\n")
    file.write_text(programs.MOVE)
    uri = file.as_uri()
    shared.open(uri, "import helper\n" + programs.MOVE)
    assert len(shared.wait_for(uri, 1)) == 1
    file.unlink()
    helper.unlink()
    shared.change(uri, 2, "import helper\n" + programs.MOVE + "\n")
    assert len(shared.wait_for(uri, 2)) == 1
    shared.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    (action, *_) = shared.actions(uri, ["quickfix"])
    assert action["title"].endswith("assign the result to `x`")


def test_two_hundred_open_files(server: RawClient, tmp_path):
    server.start(root=tmp_path)
    uris = [(tmp_path / f"m{number}.py").as_uri() for number in range(200)]
    for uri in uris:
        server.open(uri, programs.NET)
    for uri in uris:
        assert len(server.wait_for(uri, 1, 120)) == 2
    server.change(uris[100], 2, programs.MOVE)
    assert len(server.wait_for(uris[100], 2)) == 1


def test_an_edit_does_not_wait_for_the_others(server: RawClient, tmp_path):
    """After a change of the settings everything is checked again, but what the user is at comes first."""
    server.start(root=tmp_path)
    uris = [(tmp_path / f"m{number}.py").as_uri() for number in range(100)]
    for uri in uris:
        server.open(uri, programs.NET)
    for uri in uris:
        server.wait_for(uri, 1, 60)
    server.notify("workspace/didChangeConfiguration", {"settings": {"devicefix": {"ignore": ["DVF301"]}}})
    server.change(uris[-1], 2, programs.MOVE)
    server.wait_for(uris[-1], 2)
    done = [uri for uri in uris if len(server.diagnostics[uri]["diagnostics"]) == 1]
    assert len(done) < 60
    server.pump(lambda: all(len(server.diagnostics[uri]["diagnostics"]) == 1 for uri in uris), "all", 60)


def test_opened_again_with_the_same_version(shared: RawClient):
    uri = (shared.root / "again.py").as_uri()
    for text, expected in ((programs.MOVE, "DVF101"), (programs.CUDA, "DVF401"), (programs.MOVE, "DVF101")):
        shared.open(uri, text)
        shared.pump(lambda e=expected: e in str(shared.diagnostics.get(uri)), expected)


def test_fast_typing_shows_the_last_text(shared: RawClient):
    uri = (shared.root / "typing.py").as_uri()
    shared.open(uri, programs.NET)
    for version in range(2, 60):
        shared.change(uri, version, programs.NET + f"# {version}\n")
    shared.change(uri, 60, programs.MOVE)
    assert [d["code"] for d in shared.wait_for(uri, 60)] == ["DVF101"]


def test_a_cancelled_request_is_answered_at_once(server: RawClient, tmp_path):
    server.start("vscode-1.100", tmp_path)
    uri = (tmp_path / "big.py").as_uri()
    body = programs.NET.replace("import torch\nfrom torch import nn\n", "")
    server.open(uri, programs.NET + "".join(body.replace("Net", f"Net{n}") for n in range(300)))
    number = server.request_later("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    time.sleep(0.3)
    begin = time.monotonic()
    server.notify("$/cancelRequest", {"id": number})
    assert server.answer(number)["error"]["code"] == -32800
    assert time.monotonic() - begin < 2


def test_a_result_for_an_older_text_is_not_given(server: RawClient, tmp_path):
    server.start("vscode-1.100", tmp_path)
    uri = (tmp_path / "big.py").as_uri()
    body = programs.NET.replace("import torch\nfrom torch import nn\n", "")
    text = programs.NET + "".join(body.replace("Net", f"Net{n}") for n in range(200))
    server.open(uri, text)
    number = server.request_later("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    server.change(uri, 2, programs.MOVE)
    assert server.answer(number)["error"]["code"] == -32801
    found = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert [d["code"] for d in found["items"]] == ["DVF101"]


def test_an_action_for_an_older_text_is_refused(server: RawClient, tmp_path):
    server.start("vscode-1.100", tmp_path)
    uri = (tmp_path / "a.py").as_uri()
    server.open(uri, programs.MOVE)
    action = server.actions(uri, ["quickfix"])[0]
    server.change(uri, 2, "\n" + programs.MOVE)
    with pytest.raises(ServerError) as caught:
        server.request("codeAction/resolve", action)
    assert caught.value.code == -32801


def test_editors_without_resolve_get_commands_for_whole_files(server: RawClient, tmp_path):
    server.start("eglot-1.9", tmp_path)
    uri = (tmp_path / "a.py").as_uri()
    server.open(uri, programs.MOVE)
    server.wait_for(uri)
    offered = server.actions(uri, place=MOVE_AT)
    fix = next(a for a in offered if a["kind"] == "quickfix")
    whole = next(a for a in offered if a["kind"] == "source.fixAll.devicefix")
    assert "edit" in fix
    assert "edit" not in whole
    assert server.request("workspace/executeCommand", whole["command"]) is True
    (edit,) = [n["params"]["edit"] for n in server.notifications if n["method"] == "workspace/applyEdit"]
    assert edit["documentChanges"][0]["textDocument"]["version"] == 1
    (asked,) = server.actions(uri, ["source.fixAll"])
    assert asked["edit"] == edit


def test_nothing_is_printed_between_messages(server: RawClient, tmp_path):
    """A settings file with a mistake, a file in another encoding, and a syntax error all lead to words, not output."""
    (tmp_path / "pyproject.toml").write_text('[tool.devicefix]\nselekt = ["DVF1"]\n')
    server.start(root=tmp_path)
    uri = (tmp_path / "a.py").as_uri()
    server.open(uri, programs.MOVE)
    assert server.wait_for(uri) == []
    server.pump(lambda: any(n["method"] == "window/showMessage" for n in server.notifications), "a message")
    (shown,) = [n["params"]["message"] for n in server.notifications if n["method"] == "window/showMessage"]
    assert "did you mean `select`" in shown
    (tmp_path / "pyproject.toml").write_text("")
    server.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    server.pump(lambda: len(server.diagnostics[uri]["diagnostics"]) == 1, "the finding")
