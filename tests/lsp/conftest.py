from __future__ import annotations

from pathlib import Path

import pytest

try:
    import pytest_lsp
except ImportError:
    collect_ignore_glob = ["test_client_*.py"]  # the server is an extra, and so is its test client
else:
    from pytest_lsp import LanguageClient

    from lsp.client import CONFIG, Editor, recorded

    @pytest_lsp.fixture(config=CONFIG)
    async def connection(request: pytest.FixtureRequest, lsp_client: LanguageClient, tmp_path: Path):
        """A running server and an editor: VS Code, unless the test's ``as_editor`` says otherwise."""
        given = getattr(request, "param", None)
        mark = request.node.get_closest_marker("as_editor")
        name, options = given or "vscode-1.100", {}
        if mark:
            name, options = (mark.args or (name,))[0], mark.kwargs
        name, _, encoding = name.partition("@")
        one = lsp_client.editor = Editor(lsp_client, name)
        await one.start(recorded(name, encoding or None), tmp_path, options.get("options"))
        yield
        await lsp_client.shutdown_session()

    @pytest.fixture
    def editor(connection: LanguageClient) -> Editor:
        return connection.editor


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "as_editor(name, options=…): which editor's capabilities the client has")
