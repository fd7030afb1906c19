"""``devicefix config`` and ``devicefix clean``: what is in force, and what is kept."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from devicefix.cli.app import app
from devicefix.cli.check import FAILED, complain
from devicefix.cli.choices import RuleFormat


@app.command("config")
def config(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="A file or folder; default: this folder.")] = ".",
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="Read the settings from this file.")
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no settings file.")] = False,
    output_format: Annotated[RuleFormat, typer.Option(help="Text or JSON.")] = RuleFormat.text,
) -> None:
    """Show the settings that are in force for a file, and where each comes from."""
    from pathlib import Path

    from devicefix.config.errors import ConfigError
    from devicefix.config.resolve import Configuration
    from devicefix.engine.errors import UnknownRule
    from devicefix.engine.run import check_selectors

    configuration = Configuration(file=Path(config) if config else None, isolated=isolated)
    try:
        rows = configuration.explained(path)
        check_selectors(configuration.for_path(path), None)
    except (ConfigError, UnknownRule) as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    if output_format is RuleFormat.json:
        print(
            json.dumps([{"key": k, "value": v, "from": origin} for k, v, origin in rows], indent=2, ensure_ascii=False)
        )
        return
    width = max(len(f"{key} = {_shown(value)}") for key, value, _ in rows)
    for key, value, origin in rows:
        print(f"{f'{key} = {_shown(value)}':<{min(width, 60)}}  # {origin}")


def _shown(value: Any) -> str:
    """A value as TOML, as far as settings need it."""
    if value is None:
        return "(not set)"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_shown(v)}" for k, v in value.items()) + " }" if value else "{}"
    return json.dumps(value, ensure_ascii=False)


@app.command("clean")
def clean(
    cache_dir: Annotated[str | None, typer.Option(metavar="FOLDER", help="Where the cache is.")] = None,
) -> None:
    """Remove the cache."""
    from devicefix.engine.cache.places import cache_folder, remove

    folder = cache_folder(cache_dir)
    try:
        size = remove(folder)
    except (OSError, ValueError) as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    print(f"removed {folder} ({size / 1e6:.1f} MB)" if size else f"nothing to remove in {folder}")
