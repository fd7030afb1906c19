"""Settings of the editor and of files, and facts of other files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from devicefix.lsp.client_settings import read_settings
from lsp import programs
from lsp.raw import RawClient

HELPER = "import torch\n\n\ndef make():\n    return torch.ones(3)\n"
USER = """import torch
from helper import make


def f(device):
    x = make()
    x.to(device)
    return x
"""


@pytest.fixture
def start(tmp_path: Path):
    clients: list[RawClient] = []

    def start_(editor: str, options: object = None, settings: object = None) -> RawClient:
        client = RawClient()
        clients.append(client)
        client.settings = settings
        client.start(editor, tmp_path, options)
        return client

    yield start_
    for client in clients:
        assert client.stop() == 0


def pull(client: RawClient, uri: str) -> list[str]:
    found = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    return [d["code"] for d in found["items"]]


def pushed(client: RawClient, uri: str, *expected: str) -> None:
    client.pump(
        lambda: tuple(d["code"] for d in client.diagnostics.get(uri, {"diagnostics": []})["diagnostics"]) == expected,
        str(expected),
    )


def test_pushed_settings_and_initial_ones(start, tmp_path):
    client = start("eglot-1.9", {"settings": {"ignore": ["DVF301"]}})
    client.settings = None
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.NET)
    pushed(client, uri, "DVF201")


def test_settings_that_the_editor_is_asked_for(start, tmp_path):
    client = start("vscode-1.100", settings={"ignore": ["DVF301"], "select": [], "configuration": "", "path": ["x"]})
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.NET)
    client.pump(lambda: pull(client, uri) == ["DVF201"], "the settings")
    before = client.asked_again
    client.settings = {"select": ["DVF301"]}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.pump(lambda: client.asked_again > before, "asked again")
    assert pull(client, uri) == ["DVF301"]
    client.settings = {"enable": False}
    before = client.asked_again
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.pump(lambda: client.asked_again > before, "asked again")
    assert pull(client, uri) == []


def test_settings_files_and_their_changes(start, tmp_path):
    config = tmp_path / "pyproject.toml"
    config.write_text('[tool.devicefix]\nignore = ["DVF301"]\n')
    client = start("vscode-1.100")
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.NET)
    assert pull(client, uri) == ["DVF201"]
    config.write_text('[tool.devicefix]\nignore = ["DVF201"]\n')
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 2}]})
    client.pump(lambda: client.asked_again > 0, "asked again")
    assert pull(client, uri) == ["DVF301"]


@pytest.mark.parametrize("editor", ["neovim-0.7.2", "eglot-1.9"])
def test_settings_files_are_noticed_when_a_file_is_saved(start, tmp_path, editor):
    config = tmp_path / "devicefix.toml"
    client = start(editor)
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.NET)
    pushed(client, uri, "DVF301", "DVF201")
    config.write_text('ignore = ["DVF301"]\n')
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    pushed(client, uri, "DVF201")


def test_the_editor_wins_over_the_file(start, tmp_path):
    (tmp_path / "devicefix.toml").write_text('select = ["DVF201"]\n')
    client = start("eglot-1.9", {"select": ["DVF301"]})
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.NET)
    pushed(client, uri, "DVF301")


def test_mistakes_are_told_once(start, tmp_path):
    client = start("eglot-1.9", {"selekt": ["DVF301"], "ignore": "DVF201", "extendSelect": ["DVF999"]})
    for name in ("a.py", "b.py"):
        uri = (tmp_path / name).as_uri()
        client.open(uri, programs.NET)
        client.wait_for(uri)
    shown = [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]
    assert len(shown) == 3
    assert "`devicefix.selekt`" in shown[0]
    assert "must be a list of strings" in shown[1]
    assert "unknown rule `DVF999`" in shown[2]


def test_excluded_files_and_environments_are_left_alone(start, tmp_path):
    (tmp_path / "devicefix.toml").write_text('exclude = ["generated"]\n')
    client = start("vscode-1.100")
    for place in ("generated/a.py", ".venv/lib/a.py", "x/site-packages/a.py", "build/lib/a.py"):
        uri = (tmp_path / place).as_uri()
        client.open(uri, programs.NET)
        assert pull(client, uri) == [], place
    uri = (tmp_path / "src" / "a.py").as_uri()
    client.open(uri, programs.NET)
    assert len(pull(client, uri)) == 2


def test_an_edit_of_a_helper_changes_the_user(start, tmp_path):
    (tmp_path / "helper.py").write_text(HELPER)
    helper, user = (tmp_path / "helper.py").as_uri(), (tmp_path / "user.py").as_uri()
    client = start("eglot-1.9")
    client.open(user, USER)
    pushed(client, user, "DVF101")
    client.open(helper, HELPER)
    client.change(helper, 2, HELPER.replace("torch.ones(3)", "torch.nn.Linear(3, 3)"))
    pushed(client, user)
    client.notify("textDocument/didClose", {"textDocument": {"uri": helper}})
    pushed(client, user, "DVF101")


def test_a_helper_changes_on_disk(start, tmp_path):
    file = tmp_path / "helper.py"
    user = (tmp_path / "user.py").as_uri()
    client = start("vscode-1.100")
    client.open(user, USER)
    assert pull(client, user) == []
    for text, expected, kind in ((HELPER, ["DVF101"], 1), (HELPER.replace("torch.ones(3)", "torch.nn.ReLU()"), [], 2)):
        file.write_text(text)
        before = client.asked_again
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": kind}]})
        client.pump(lambda before=before: client.asked_again > before, "asked again")
        assert pull(client, user) == expected


def test_fixing_a_helper_does_not_confuse_its_users(start, tmp_path):
    """The fixed text of a file that was only offered is not what others see."""
    helper_text = HELPER + "\n\ndef g(y: torch.Tensor, device):\n    y.to(device)\n    return y\n"
    helper, user = (tmp_path / "helper.py").as_uri(), (tmp_path / "user.py").as_uri()
    client = start("vscode-1.100")
    client.open(helper, helper_text)
    client.open(user, USER)
    assert pull(client, helper) == ["DVF101"]
    (action,) = client.actions(helper, ["source.fixAll"])
    client.request("codeAction/resolve", action)
    assert pull(client, helper) == ["DVF101"]
    assert pull(client, user) == ["DVF101"]


@pytest.mark.parametrize(
    "raw",
    [
        {"extendSelect": ["A"]},
        {"extend-select": ["A"]},
        {"extend_select": ["A"]},
        {"devicefix": {"extendSelect": ["A"]}},
        {"settings": {"extendSelect": ["A"]}},
        {"settings": {"devicefix": {"extendSelect": ["A"]}}},
    ],
)
def test_settings_in_every_style(raw):
    assert read_settings(raw).added == {"extend_select": ("A",)}


@pytest.mark.parametrize(
    "raw", [None, 3, [], "x", {}, {"select": []}, {"select": None}, {"devicefix": 7}, {"path": ["a"]}]
)
def test_no_settings(raw):
    settings = read_settings(raw)
    assert settings.enable
    assert not settings.overrides
    assert not settings.added


def test_a_settings_file_is_relative_to_the_folder(tmp_path):
    assert read_settings({"configuration": "conf/d.toml"}, tmp_path).file == tmp_path / "conf/d.toml"
