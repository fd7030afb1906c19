"""``devicefix config`` and ``devicefix clean``: what is in force, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from devicefix.cli.app import app
from devicefix.cli.check import FAILED, complain
from devicefix.cli.choices import RuleFormat

if TYPE_CHECKING:
    from devicefix.config.resolve import Configuration


@app.command("config")
def config(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="A file or folder; default: this folder.")] = ".",
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="Read the settings from this file.")
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no settings file.")] = False,
    output_format: Annotated[RuleFormat, typer.Option(help="Text or JSON.")] = RuleFormat.text,
) -> None:
    """Show the settings that are in force for a file, where each comes from, and the rules that run."""
    from devicefix.config.errors import ConfigError
    from devicefix.config.resolve import Configuration
    from devicefix.engine.errors import UnknownRule

    file = Path(path)
    if not file.exists():
        complain(f"{path}: there is no such file or folder")
        raise typer.Exit(FAILED)
    configuration = Configuration(file=Path(config) if config else None, isolated=isolated)
    try:
        rows = configuration.explained(file)
        running = _running(file, configuration)
    except UnknownRule as error:
        complain(f"{configuration.origin_of(error.selector)}: {error}")
        raise typer.Exit(FAILED) from None
    except ConfigError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    if output_format is RuleFormat.json:
        settings = [{"key": key, "value": value, "from": origin} for key, value, origin in rows]
        print(json.dumps({"path": path, "settings": settings, "rules": running}, indent=2, ensure_ascii=False))
        return
    width = max(len(f"{key} = {_shown(value)}") for key, value, _ in rows)
    for key, value, origin in rows:
        print(f"{f'{key} = {_shown(value)}':<{min(width, 60)}}  # {origin}")
    print(f"# rules that run: {', '.join(running) or 'none'}")


def _running(path: Path, configuration: Configuration) -> list[str]:
    """The codes of the rules that run on a file, or on the files of a folder where nothing else is said for them."""
    from devicefix.engine.check import known_rules
    from devicefix.engine.run import check_selectors
    from devicefix.engine.selection import ignored_for, selected_rules

    settings, rules = configuration.for_path(path), known_rules()
    check_selectors(settings, None)
    off = ignored_for(path, settings, rules)
    return [rule.code for rule in selected_rules(settings, rules) if path.is_dir() or rule.code not in off]


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
