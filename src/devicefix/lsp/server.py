"""``devicefix server``: the language server's wiring."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types as t
from pygls.exceptions import JsonRpcContentModified, JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from devicefix import __version__
from devicefix.lsp import actions
from devicefix.lsp.capabilities import Client
from devicefix.lsp.checker import Checked
from devicefix.lsp.client_settings import SECTION, ClientSettings, read_settings
from devicefix.lsp.collector import Collector
from devicefix.lsp.diagnostics import diagnostics
from devicefix.lsp.documents import NotOpen, path_of
from devicefix.lsp.fixes import CannotFix
from devicefix.lsp.positions import Encoding, encoding_of
from devicefix.lsp.protocol import Protocol, Quiet
from devicefix.lsp.session import OutOfDate, Session
from devicefix.lsp.transport import Resynchronising

log = logging.getLogger("devicefix")

FIX_ALL_COMMAND = "devicefix.applyFixAll"
ACTION_COMMAND = "devicefix.applyAction"
WATCHED = ("**/*.py", "**/devicefix.toml", "**/.devicefix.toml", "**/pyproject.toml", "**/*.ipynb")
REQUEST_FAILED = -32803


class DeviceFixServer(LanguageServer):
    """One editor's server."""

    def __init__(self) -> None:
        super().__init__(
            "devicefix",
            __version__,
            text_document_sync_kind=t.TextDocumentSyncKind.Incremental,
            notebook_document_sync=t.NotebookDocumentSyncOptions(
                notebook_selector=[
                    t.NotebookDocumentFilterWithCells(
                        notebook=t.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
                        cells=[t.NotebookCellLanguage(language="python")],
                    )
                ],
                save=True,
            ),
            protocol_cls=Protocol,
        )
        self.client = Client()
        self.session = Session(self.publish, self.ask_again)
        self.session.pushes = self.pushes
        self.exit_status = 0
        self.was_shut_down = False
        self._initial: Any = None
        self._told: set[str] = set()

    # -- small things ------------------------------------------------------------------------------------------------

    @property
    def encoding(self) -> Encoding:
        """How the editor counts columns."""
        return self.session.documents.encoding

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Into the log only: a broken message is no reason to open a window."""
        log.error("%s", error)

    def tell(self, message: str) -> None:
        """Show the user a sentence, once."""
        if message not in self._told:
            self._told.add(message)
            self.window_show_message(t.ShowMessageParams(t.MessageType.Warning, f"devicefix: {message}"))

    # -- documents, called by the protocol ---------------------------------------------------------------------------

    def opened(self, params: t.DidOpenTextDocumentParams) -> None:
        """A document was opened."""
        self.session.documents.open(params.text_document)
        self.session.checker.note_disk(None)
        self._edited(params.text_document.uri)

    def edited(self, params: t.DidChangeTextDocumentParams) -> None:
        """A document was edited."""
        self.session.documents.change(params.text_document, params.content_changes)
        self._edited(params.text_document.uri)

    def closed(self, params: t.DidCloseTextDocumentParams) -> None:
        """A document was closed."""
        uri = params.text_document.uri
        if self.session.documents.get(uri) is None:
            return
        self.session.documents.close(uri)
        self.session.closed(uri)
        if self.pushes(uri):
            self._show(uri, None, [])

    def _edited(self, uri: str) -> None:
        if uri in self.session.documents.open_keys():
            self.session.edited(uri)

    def notebook_opened(self, params: t.DidOpenNotebookDocumentParams) -> None:
        """A notebook was opened."""
        self.session.documents.open_notebook(params.notebook_document, params.cell_text_documents)
        self.session.edited(params.notebook_document.uri)

    def notebook_edited(self, params: t.DidChangeNotebookDocumentParams) -> None:
        """Cells were edited, added, moved or removed."""
        uri = params.notebook_document.uri
        for gone in self.session.documents.change_notebook(uri, params.change):
            self._show(gone, None, [])
        self.session.edited(uri)

    def notebook_closed(self, params: t.DidCloseNotebookDocumentParams) -> None:
        """A notebook was closed."""
        uri = params.notebook_document.uri
        for gone in self.session.documents.close_notebook(uri):
            self._show(gone, None, [])
        self.session.closed(uri)

    # -- diagnostics -------------------------------------------------------------------------------------------------

    def pushes(self, key: str) -> bool:
        """Whether the editor waits to be told. Cells are always told: an edit in one changes the others."""
        return not self.client.pulls or self.session.documents.is_notebook(key)

    def publish(self, checked: Checked) -> None:
        """Tell the editor what was found."""
        versions = {part.uri: part.version for part in checked.snapshot.parts}
        for uri, found in diagnostics(checked, self.client, self.encoding).items():
            self._show(uri, versions[uri], found)
        self.report(checked)

    def _show(self, uri: str, version: int | None, found: list[t.Diagnostic]) -> None:
        params = t.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=found)
        self.text_document_publish_diagnostics(params)

    def report(self, checked: Checked) -> None:
        """Tell the user about mistakes in the settings, and the log about ours."""
        if checked.complaint:
            self.tell(checked.complaint)
        for fault in checked.faults:
            if not checked.stale:
                self.window_log_message(t.LogMessageParams(t.MessageType.Warning, fault))

    def ask_again(self) -> None:
        """Make an editor that asks for diagnostics do so."""
        if self.client.refreshes:
            self.workspace_diagnostic_refresh(None)

    async def checked(self, uri: str) -> Checked:
        """The result for the document of a request. Raises what the client understands."""
        try:
            return await self.session.checked(self.session.documents.key_of(uri))
        except OutOfDate:
            raise JsonRpcContentModified from None
        except NotOpen:
            raise JsonRpcInvalidParams(f"{uri} is not open") from None

    # -- actions -----------------------------------------------------------------------------------------------------

    async def edit(self, uri: str, number: int, what: dict[str, Any]) -> t.WorkspaceEdit:
        """The edit of an action that was offered for a result."""
        checked = await self.checked(uri)
        if checked.number != number:
            raise JsonRpcContentModified
        job = self.session.worker.submit(lambda stop: actions.carry_out(checked, self.session.checker, uri, what))
        try:
            made = await asyncio.wrap_future(job.future)
        except CannotFix as error:
            raise JsonRpcException(f"devicefix: not rewritten: {error}", REQUEST_FAILED) from None
        if not self.session.documents.is_current(checked.snapshot):
            raise JsonRpcContentModified
        return actions.workspace_edit(made, self.client, self.encoding)

    async def apply(self, label: str, edit: t.WorkspaceEdit) -> bool:
        """Have the editor make an edit."""
        params = t.ApplyWorkspaceEditParams(edit=edit, label=label)
        result = await self.workspace_apply_edit_async(params)
        return result.applied

    # -- settings ----------------------------------------------------------------------------------------------------

    def set_folders(self) -> None:
        """Read the folders of the workspace."""
        uris = [folder.uri for folder in self.workspace.folders.values()]
        if not uris and self.workspace.root_uri:
            uris = [self.workspace.root_uri]
        self.session.set_folders(path_of(uri) for uri in uris if uri.startswith("file:"))

    def take_initial(self, options: Any) -> None:
        """The settings that came with the first message; they hold until the editor sends others.

        ``positionEncoding`` is for editors that count bytes and do not say so (Vim's ALE).
        """
        self._initial = options
        if isinstance(options, dict) and "positionEncoding" in options:
            self.session.documents.encoding = encoding_of(options["positionEncoding"])

    async def read_settings(self, pushed: Any = None) -> None:
        """Ask the editor for its settings, or take those that it sent."""
        folders: list[Path | None] = [None, *self.session.folders]
        if pushed is not None:
            self._initial = pushed
        answers: list[Any] = [self._initial] * len(folders)
        if self.client.configuration:
            items = [
                t.ConfigurationItem(section=SECTION, scope_uri=folder.as_uri() if folder else None)
                for folder in folders
            ]
            try:
                asked = await self.workspace_configuration_async(t.ConfigurationParams(items))
            except JsonRpcException:
                asked = []
            if len(asked) == len(folders):
                answers = [a if a is not None else self._initial for a in asked]
        settings: dict[Path | None, ClientSettings] = {}
        for folder, answer in zip(folders, answers, strict=True):
            settings[folder] = read_settings(answer, folder or next(iter(self.session.folders), None))
            for problem in settings[folder].problems:
                self.tell(problem)
        self.session.set_settings(settings)


def create() -> DeviceFixServer:
    """A server with all its features."""
    from devicefix.lsp.features import register

    server = DeviceFixServer()
    register(server)
    return server


def main() -> None:
    """Serve the editor at the other end of standard input and output."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(Quiet())
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever is printed by accident must not end up between messages
    server = create()
    server.session.worker.submit(lambda stop: _warm_up())
    server.session.worker.collector = Collector()
    server.start_io(Resynchronising(stdin), stdout)  # type: ignore[arg-type]
    if server.exit_status:
        sys.exit(server.exit_status)


def _warm_up() -> None:
    """Load what the first check and the first fix need, before somebody waits for it."""
    import gc

    import devicefix.api
    import devicefix.engine.add_ignore
    import devicefix.engine.plan
    import devicefix.engine.selfcheck
    import devicefix.report.rule_page

    example = "import torch\n\n\ndef f(x: torch.Tensor, device):\n    x.to(device)\n    return torch.zeros(3) + x\n"
    devicefix.api.fix(example)
    gc.collect()
    gc.freeze()
