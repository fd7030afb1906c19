"""The language server on standard input and output."""

from __future__ import annotations


def serve() -> int:
    """Run until the editor closes the connection. Returns the exit status."""
    from devicefix.cli.check import FAILED, OK, complain

    try:
        from devicefix.lsp import main
    except ImportError as error:
        complain(f"the language server needs `pip install devicefix[lsp]` ({error})")
        return FAILED
    main()
    return OK
