"""``devicefix server``."""

from __future__ import annotations

import typer

from devicefix.cli.app import app


@app.command("server")
def server() -> None:
    """Run the language server on standard input and output."""
    from devicefix.cli.server import serve

    raise typer.Exit(serve())
