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
        """A running server and an editor: VS Code, or the one that the test's parameter names (``name@encoding``)."""
        name, _, encoding = getattr(request, "param", "vscode-1.100").partition("@")
        one = lsp_client.editor = Editor(lsp_client, name)
        await one.start(recorded(name, encoding or None), tmp_path)
        yield
        await lsp_client.shutdown_session()

    @pytest.fixture
    def editor(connection: LanguageClient) -> Editor:
        return connection.editor
