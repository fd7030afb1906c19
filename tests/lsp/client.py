"""An editor for the tests: recorded capabilities, and edits applied as the protocol says."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cattrs import Converter
from lsprotocol import converters
from lsprotocol import types as t
from pytest_lsp import ClientServerConfig, LanguageClient, make_test_lsp_client

CAPS = Path(__file__).parent / "caps"
EVERYTHING = t.Range(t.Position(0, 0), t.Position(100_000, 0))


def _new_client() -> LanguageClient:
    client = make_test_lsp_client()
    client.registered = []
    client.applied = []

    @client.feature(t.CLIENT_REGISTER_CAPABILITY)
    def register(params: t.RegistrationParams) -> None:
        client.registered.extend(registration.method for registration in params.registrations)

    @client.feature(t.WORKSPACE_APPLY_EDIT)
    def apply_edit(params: t.ApplyWorkspaceEditParams) -> t.ApplyWorkspaceEditResult:
        client.applied.append(params.edit)
        return t.ApplyWorkspaceEditResult(applied=True)

    return client


CONFIG = ClientServerConfig(
    server_command=[sys.executable, "-m", "devicefix", "server"],
    server_env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    client_factory=_new_client,
)


def recorded(name: str, encoding: str | None = None) -> t.InitializeParams:
    """What an editor really sent, with another position encoding if one is named."""
    data = json.loads((CAPS / f"{name}.json").read_text())
    if encoding is not None:
        data["capabilities"].setdefault("general", {})["positionEncodings"] = [encoding]
    converter: Converter = converters.get_converter()
    return converter.structure(
        {"processId": None, "rootUri": None, "workspaceFolders": None, **data}, t.InitializeParams
    )


class Editor:
    """One open connection, with the texts as an editor has them."""

    def __init__(self, client: LanguageClient, name: str) -> None:
        self.client = client
        self.name = name
        self.encoding = "utf-16"
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}

    async def start(self, params: t.InitializeParams, root: Path, options: Any = None) -> None:
        params.root_uri = root.as_uri()
        params.workspace_folders = [t.WorkspaceFolder(root.as_uri(), root.name)]
        params.initialization_options = options
        result = await self.client.initialize_session(params)
        chosen = result.capabilities.position_encoding
        self.encoding = str(getattr(chosen, "value", chosen) or "utf-16")

    @property
    def pulls(self) -> bool:
        return self.client.capabilities.text_document.diagnostic is not None

    # -- documents

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.texts[uri], self.versions[uri] = text, 1
        self.client.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(uri, language, 1, text)))

    def replace(self, uri: str, text: str) -> None:
        """Send a whole new text."""
        self._change(uri, text, [t.TextDocumentContentChangeWholeDocument(text=text)])

    def insert(self, uri: str, place: t.Position, text: str) -> None:
        """Send one incremental change."""
        old = self.texts[uri]
        at = offset(old, place, self.encoding)
        self._change(
            uri,
            old[:at] + text + old[at:],
            [t.TextDocumentContentChangePartial(range=t.Range(place, place), text=text)],
        )

    def _change(self, uri: str, text: str, changes: list[Any]) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        identifier = t.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        self.client.text_document_did_change(t.DidChangeTextDocumentParams(identifier, changes))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(t.DidCloseTextDocumentParams(t.TextDocumentIdentifier(uri)))

    # -- questions

    async def pull(self, uri: str, previous: str | None = None) -> Any:
        params = t.DocumentDiagnosticParams(t.TextDocumentIdentifier(uri), previous_result_id=previous)
        return await self.client.text_document_diagnostic_async(params)

    async def diagnostics(self, uri: str, count: int | None = None) -> list[t.Diagnostic]:
        """The diagnostics of the text as it is now; waits for ``count`` of them where they are pushed."""
        if self.pulls and "notebook-cell" not in uri:
            return list((await self.pull(uri)).items)

        def there() -> bool:
            found = self.client.diagnostics.get(uri)
            return found is not None and (count is None or len(found) == count)

        await until(there, f"{count} diagnostics for {uri}, have {self.client.diagnostics.get(uri)}")
        return list(self.client.diagnostics[uri])

    async def actions(
        self, uri: str, place: t.Range = EVERYTHING, only: list[str] | None = None, resolve: bool = True
    ) -> list[t.CodeAction]:
        context = t.CodeActionContext(diagnostics=[], only=only)
        params = t.CodeActionParams(t.TextDocumentIdentifier(uri), place, context)
        found = list(await self.client.text_document_code_action_async(params) or [])
        # lsprotocol takes an action with a command for a command; what becomes of those is tested without it.
        found = [a for a in found if isinstance(a, t.CodeAction)]
        if not resolve:
            return found
        lazy = [a.edit is None and a.command is None for a in found]
        return [await self.client.code_action_resolve_async(a) if z else a for a, z in zip(found, lazy, strict=True)]

    def apply(self, edit: t.WorkspaceEdit) -> dict[str, str]:
        """The texts after an edit; a version that is not the current one is an error, as it is in editors."""
        result = dict(self.texts)
        if edit.document_changes is not None:
            for change in edit.document_changes:
                document = change.text_document
                assert document.version in (None, self.versions[document.uri])
                result[document.uri] = apply(result[document.uri], change.edits, self.encoding)
        for uri, edits in (edit.changes or {}).items():
            result[uri] = apply(result[uri], edits, self.encoding)
        return result


def offset(text: str, place: t.Position, encoding: str) -> int:
    """Like an editor: lines end at ``\\n``, ``\\r\\n`` and ``\\r``."""
    at, line = 0, 0
    while line < place.line and at < len(text):
        if text[at] == "\r" and text[at + 1 : at + 2] == "\n":
            at += 1
        line += text[at] in "\r\n"
        at += 1
    rest = text[at:]
    codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
    head = rest.encode(codec, "surrogatepass")[: place.character * width]
    return at + len(head.decode(codec, "surrogatepass"))


def apply(text: str, edits: Any, encoding: str) -> str:
    """Apply text edits that do not overlap."""
    placed = [(offset(text, e.range.start, encoding), offset(text, e.range.end, encoding), e.new_text) for e in edits]
    last = len(text) + 1
    for start, end, new in sorted(placed, reverse=True):
        assert start <= end <= last, "edits overlap"
        text, last = text[:start] + new + text[end:], start
    return text


def edits_of(edit: t.WorkspaceEdit, uri: str) -> list[t.TextEdit]:
    if edit.document_changes is not None:
        return [e for change in edit.document_changes if change.text_document.uri == uri for e in change.edits]
    return list((edit.changes or {}).get(uri, ()))


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str, seconds: float = 30) -> None:
    for _ in range(int(seconds / 0.02)):
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"timeout: {what}")


def codes(found: list[t.Diagnostic]) -> list[str]:
    return [str(d.code) for d in found]
