"""pygls' protocol with documents of our own, and an answer to every request however broken."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types as t
from pygls.exceptions import (
    JsonRpcContentModified,
    JsonRpcException,
    JsonRpcInvalidRequest,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

if TYPE_CHECKING:
    from devicefix.lsp.server import DeviceFixServer

log = logging.getLogger("devicefix")


class Broken:
    """Stands for a message that could not be read and has been answered."""


class Protocol(LanguageServerProtocol):
    """Documents go to the server's `Documents`; pygls' own copies would be wasted work, and lines differ there."""

    _server: DeviceFixServer

    # -- messages that cannot be read --------------------------------------------------------------------------------

    def structure_message(self, data: dict[str, Any]) -> Any:
        """As in pygls, but a request with wrong parameters gets an error instead of silence."""
        if "jsonrpc" not in data:
            return data
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            self._refuse(data, error)
            return Broken()

    def handle_message(self, message: Any) -> None:
        """Pass on what is a message; requests before ``initialize`` are refused as the specification says."""
        if isinstance(message, Broken):
            return
        if isinstance(message, dict) or not hasattr(message, "jsonrpc"):
            log.warning("ignored a message that is none")
            data = message if isinstance(message, dict) else {}
            self._refuse(data, JsonRpcInvalidRequest())
            return
        method = getattr(message, "method", None)
        if self._workspace is None and method not in (t.INITIALIZE, t.EXIT, None):
            identifier = getattr(message, "id", None)
            if identifier is not None:
                error = JsonRpcServerNotInitialized("the server is not initialized").to_response_error()
                self._send_response(identifier, error=error)
            return
        super().handle_message(message)

    def _refuse(self, data: dict[str, Any], error: JsonRpcException) -> None:
        identifier = data.get("id")
        if isinstance(identifier, (str, int)) and "method" in data:
            self._send_response(identifier, error=error.to_response_error())

    # -- documents ---------------------------------------------------------------------------------------------------

    @lsp_method(t.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: t.DidOpenTextDocumentParams) -> None:
        """A document was opened."""
        self._server.opened(params)

    @lsp_method(t.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: t.DidChangeTextDocumentParams) -> None:
        """A document was edited."""
        self._server.edited(params)

    @lsp_method(t.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: t.DidCloseTextDocumentParams) -> None:
        """A document was closed."""
        self._server.closed(params)

    @lsp_method(t.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: t.DidOpenNotebookDocumentParams) -> None:
        """A notebook was opened."""
        self._server.notebook_opened(params)

    @lsp_method(t.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: t.DidChangeNotebookDocumentParams) -> None:
        """A notebook was edited."""
        self._server.notebook_edited(params)

    @lsp_method(t.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: t.DidCloseNotebookDocumentParams) -> None:
        """A notebook was closed."""
        self._server.notebook_closed(params)


class Quiet(logging.Filter):
    """Results that are out of date and cancelled requests are daily business, not errors with a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, (JsonRpcContentModified, JsonRpcRequestCancelled))
