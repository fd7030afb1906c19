"""The language server on standard input and output."""

from __future__ import annotations

import importlib


def serve() -> int:
    """Run until the editor closes the connection. Returns the exit status."""
    from devicefix.cli.check import FAILED, OK, complain

    try:
        server = importlib.import_module("devicefix.lsp.server")
    except ImportError as error:
        complain(f"the language server needs `pip install devicefix[lsp]` ({error})")
        return FAILED
    server.main()
    return OK
