"""What the server answers to."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lsprotocol import types as t
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.uris import to_fs_path

from devicefix.config.load import FILE_NAMES
from devicefix.lsp.actions import KINDS, Offer, offers
from devicefix.lsp.capabilities import Client
from devicefix.lsp.client_settings import SECTION
from devicefix.lsp.diagnostics import diagnostics
from devicefix.lsp.documents import path_of
from devicefix.lsp.positions import encoding_of
from devicefix.lsp.server import ACTION_COMMAND, FIX_ALL_COMMAND, WATCHED, DeviceFixServer

if TYPE_CHECKING:
    from devicefix.lsp.checker import Checked


def register(server: DeviceFixServer) -> None:
    """Give a server its features."""
    feature, command = server.feature, server.command
    feature(t.INITIALIZE)(initialize)
    feature(t.INITIALIZED)(initialized)
    feature(t.SHUTDOWN)(shutdown)
    feature(t.EXIT)(leave)
    feature(t.WORKSPACE_DID_CHANGE_CONFIGURATION)(configuration_changed)
    feature(t.WORKSPACE_DID_CHANGE_WATCHED_FILES)(files_changed)
    feature(t.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(folders_changed)
    feature(t.TEXT_DOCUMENT_DID_SAVE)(saved)
    feature(t.TEXT_DOCUMENT_DIAGNOSTIC, t.DiagnosticOptions(
        identifier=SECTION, inter_file_dependencies=True, workspace_diagnostics=False
    ))(pull)  # fmt: skip
    feature(t.TEXT_DOCUMENT_CODE_ACTION, t.CodeActionOptions(
        code_action_kinds=list(KINDS), resolve_provider=True
    ))(code_action)  # fmt: skip
    feature(t.CODE_ACTION_RESOLVE)(resolve)
    feature(t.TEXT_DOCUMENT_HOVER)(hover)
    command(FIX_ALL_COMMAND)(apply_fix_all)
    command(ACTION_COMMAND)(apply_action)


# -- life cycle and settings ------------------------------------------------------------------------------------------


def initialize(ls: DeviceFixServer, params: t.InitializeParams) -> None:
    """Learn what the editor can do."""
    ls.client = Client.of(params.capabilities)
    ls.session.documents.encoding = encoding_of(ls.workspace.position_encoding)
    ls.set_folders()
    ls.take_initial(params.initialization_options)


async def initialized(ls: DeviceFixServer, params: t.InitializedParams) -> None:
    """Ask to be told about changes, then read the settings."""
    wishes = []
    if ls.client.registers_configuration:
        options = t.DidChangeConfigurationRegistrationOptions(section=SECTION)
        wishes.append(t.Registration("settings", t.WORKSPACE_DID_CHANGE_CONFIGURATION, options))
    if ls.client.registers_watchers:
        watchers = t.DidChangeWatchedFilesRegistrationOptions([t.FileSystemWatcher(pattern) for pattern in WATCHED])
        wishes.append(t.Registration("files", t.WORKSPACE_DID_CHANGE_WATCHED_FILES, watchers))
    if wishes:
        # It said that it could. If not, changes are noticed when something is opened or saved.
        with suppress(JsonRpcException):
            await ls.client_register_capability_async(t.RegistrationParams(wishes))
    await ls.read_settings()


def shutdown(ls: DeviceFixServer, params: Any) -> None:
    """Stop working."""
    ls.was_shut_down = True
    ls.session.close()


def leave(ls: DeviceFixServer, params: Any) -> None:
    """The last message; without the one before it the protocol calls that an error."""
    ls.exit_status = 0 if ls.was_shut_down else 1


async def configuration_changed(ls: DeviceFixServer, params: t.DidChangeConfigurationParams) -> None:
    """The editor's settings changed; some send them, some want to be asked."""
    await ls.read_settings(params.settings)


def files_changed(ls: DeviceFixServer, params: t.DidChangeWatchedFilesParams) -> None:
    """Files changed on disk."""
    paths = [path_of(change.uri) for change in params.changes if to_fs_path(change.uri)]
    if any(path.name in FILE_NAMES for path in paths):
        ls.session.reread_settings()
    if any(path.suffix == ".py" for path in paths):
        ls.session.changed_on_disk(paths)


async def folders_changed(ls: DeviceFixServer, params: t.DidChangeWorkspaceFoldersParams) -> None:
    """Folders came to the workspace or left it."""
    ls.set_folders()
    await ls.read_settings()


def saved(ls: DeviceFixServer, params: t.DidSaveTextDocumentParams) -> None:
    """A document was saved: a sign of changes on disk that every editor gives, also one whose watcher misses some."""
    path = path_of(params.text_document.uri)
    if path.name in FILE_NAMES:
        ls.session.reread_settings()
    else:
        ls.session.look_at_disk()


# -- diagnostics and hovers -------------------------------------------------------------------------------------------


async def pull(ls: DeviceFixServer, params: t.DocumentDiagnosticParams) -> t.DocumentDiagnosticReport:
    """Diagnostics for an editor that asks for them."""
    uri = params.text_document.uri
    document = ls.session.documents.get(uri)
    if document is not None and document.notebook:
        return t.RelatedFullDocumentDiagnosticReport(items=[])  # cells are pushed
    checked = await ls.checked(uri)
    name = str(checked.number)
    if params.previous_result_id == name:
        return t.RelatedUnchangedDocumentDiagnosticReport(result_id=name)
    ls.report(checked)
    found = diagnostics(checked, ls.client, ls.encoding).get(uri, [])
    return t.RelatedFullDocumentDiagnosticReport(items=found, result_id=name)


async def hover(ls: DeviceFixServer, params: t.HoverParams) -> t.Hover | None:
    """The page of the rule under the cursor."""
    from devicefix.lsp.hover import hover as at

    checked = await ls.checked(params.text_document.uri)
    return at(checked, params, ls.client, ls.encoding)


# -- actions ----------------------------------------------------------------------------------------------------------


async def code_action(ls: DeviceFixServer, params: t.CodeActionParams) -> list[t.CodeAction] | None:
    """What can be done at a place."""
    uri = params.text_document.uri
    checked = await ls.checked(uri)
    made = []
    for offer in offers(checked, params, ls.client, ls.encoding):
        action = await _action(ls, checked, uri, offer, asked=bool(params.context.only))
        if action is not None:
            made.append(action)
    return made or None


async def _action(ls: DeviceFixServer, checked: Checked, uri: str, offer: Offer, *, asked: bool) -> t.CodeAction | None:
    what = {"uri": uri, "number": checked.number, **offer.what}
    action = t.CodeAction(
        title=offer.title,
        kind=offer.kind,
        diagnostics=[offer.diagnostic] if offer.diagnostic else None,
        is_preferred=True if offer.preferred else None,
        data=what,
    )
    if ls.client.resolves:
        return action
    if offer.rare or (offer.whole_file and not asked):
        # Too much work for a menu that may be closed again: the editor gets a command instead of an edit.
        action.command = t.Command(title=offer.title, command=ACTION_COMMAND, arguments=[what])
        return action
    try:
        action.edit = await ls.edit(uri, checked.number, offer.what)
    except JsonRpcException:
        return None
    return action


async def resolve(ls: DeviceFixServer, action: t.CodeAction) -> t.CodeAction:
    """The edit of an action that was chosen."""
    uri, number, what = _parts(action.data)
    action.edit = await ls.edit(uri, number, what)
    return action


async def apply_action(ls: DeviceFixServer, what: Any) -> bool:
    """Make an action that was offered as a command."""
    uri, number, rest = _parts(what)
    return await ls.apply("devicefix", await ls.edit(uri, number, rest))


async def apply_fix_all(ls: DeviceFixServer, uri: str) -> bool:
    """Make all safe fixes in a file or notebook; a cell stands for its notebook."""
    checked = await ls.checked(uri)
    edit = await ls.edit(uri, checked.number, {"do": "all"})
    if not (edit.changes or edit.document_changes):
        return False
    return await ls.apply("devicefix: make all safe fixes", edit)


def _parts(data: Any) -> tuple[str, int, dict[str, Any]]:
    if not isinstance(data, dict) or not isinstance(data.get("uri"), str) or not isinstance(data.get("number"), int):
        raise JsonRpcInvalidParams("not an action of devicefix")
    rest = {key: value for key, value in data.items() if key not in ("uri", "number")}
    return data["uri"], data["number"], rest
