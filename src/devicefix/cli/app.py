"""The full command line, loaded only when the quick parser does not know what to do."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from devicefix.cli.check import FAILED, run_check
from devicefix.cli.choices import BufferStyle, Color, DeviceExpression, OutputFormat, VerifyOn
from devicefix.cli.options import CheckOptions, split_list


class DefaultGroup(TyperGroup):
    """A group that hands everything which begins with no command name to the hidden command ``check``."""

    default = "check"
    own_options = ("--help", "-h", "--version", "-V", "--install-completion", "--show-completion")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``check`` in front where no command is named."""
        if not args or (args[0] not in self.commands and args[0] not in self.own_options):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of ``check`` are shown on the front page."""
        own = super().get_params(ctx)
        if not getattr(self, "_helping", False):
            return own
        names = {param.name for param in own}
        return [param for param in self.commands[self.default].params if param.name not in names] + own

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Help with the options of ``check``."""
        self._helping = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._helping = False

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line of both forms."""
        return ["[OPTIONS] [PATH]...", "|", "COMMAND [ARGS]..."]


app: typer.Typer = typer.Typer(
    cls=DefaultGroup,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from devicefix import __version__

        print(f"devicefix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find and repair PyTorch device mismatches in source code.

    Without --diff or --write nothing is changed. Exit status: 0 nothing to report, 1 findings (or a diff),
    2 something failed.
    """


Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PATH]...", help="Files, folders, or - for standard input; default: this folder."),
]
Selectors = list[str] | None
SETTINGS = "Settings (instead of, or on top of, those of a file)"


@app.command("check", hidden=True)
def check(
    paths: Paths = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes as a diff; write nothing.")] = False,
    write: Annotated[bool, typer.Option("--write", "-w", help="Make the safe fixes in the files.")] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="With --write: show each fix and ask whether to make it.")
    ] = False,
    unsafe_fixes: Annotated[
        bool | None,
        typer.Option("--unsafe-fixes/--no-unsafe-fixes", help="Also make fixes that could not be shown to be safe."),
    ] = None,
    select: Annotated[Selectors, typer.Option(metavar="RULES", help="Only these codes, prefixes or names.")] = None,
    ignore: Annotated[Selectors, typer.Option(metavar="RULES", help="Not these.")] = None,
    extend_select: Annotated[Selectors, typer.Option(metavar="RULES", help="These as well.")] = None,
    exclude: Annotated[Selectors, typer.Option(metavar="PATTERNS", help="Leave these paths out.")] = None,
    output_format: Annotated[OutputFormat | None, typer.Option(help="How findings are printed.")] = None,
    stdin_filename: Annotated[str | None, typer.Option(metavar="NAME", help="What to call standard input.")] = None,
    statistics: Annotated[bool, typer.Option("--statistics", help="Count the findings by rule.")] = False,
    show_fixes: Annotated[bool, typer.Option("--show-fixes", help="List the fixes that were made.")] = False,
    add_ignore: Annotated[bool, typer.Option("--add-ignore", help="Write a suppression for every finding.")] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 even if there are findings.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print findings and errors, nothing else.")] = False,
    silent: Annotated[bool, typer.Option("--silent", "-s", help="Print errors only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more about what is done.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=0, help="Processes; 0: as many as pay.")] = None,
    color: Annotated[Color, typer.Option(help="Colours in the output.")] = Color.auto,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="Read the settings from this file.")] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no settings file.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")] = False,
    cache_dir: Annotated[str | None, typer.Option(metavar="FOLDER", help="Where the cache is.")] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Hide the findings that this file lists.")
    ] = None,
    write_baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="List the findings in this file, to be hidden from now on.")
    ] = None,
    changed_only: Annotated[
        bool, typer.Option("--changed-only", help="Only findings on lines that git says were added.")
    ] = False,
    base: Annotated[
        str | None, typer.Option(metavar="REF", help="With --changed-only: since this commit, not since HEAD.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever a file changes.")] = False,
    verify: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="With --write: run this before and after, and roll back fixes that break it."
        ),
    ] = None,
    verify_on: Annotated[VerifyOn, typer.Option(help="Where the command of --verify runs.")] = VerifyOn.here,
    per_file_ignores: Annotated[
        Selectors,
        typer.Option(metavar="PATTERN:RULES", help="Not these rules in files that fit.", rich_help_panel=SETTINGS),
    ] = None,
    extend_safe_fixes: Annotated[
        Selectors, typer.Option(metavar="RULES", help="Their unsafe fixes count as safe.", rich_help_panel=SETTINGS)
    ] = None,
    extend_unsafe_fixes: Annotated[
        Selectors, typer.Option(metavar="RULES", help="Their safe fixes count as unsafe.", rich_help_panel=SETTINGS)
    ] = None,
    unfixable: Annotated[
        Selectors, typer.Option(metavar="RULES", help="Report them, do not fix them.", rich_help_panel=SETTINGS)
    ] = None,
    torch_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The oldest torch that the code must run on.", rich_help_panel=SETTINGS),
    ] = None,
    buffer_style: Annotated[
        BufferStyle | None, typer.Option(help="How a buffer is written.", rich_help_panel=SETTINGS)
    ] = None,
    device_expression: Annotated[
        DeviceExpression | None, typer.Option(help="How a new device is chosen.", rich_help_panel=SETTINGS)
    ] = None,
    persistent_buffers: Annotated[
        bool | None,
        typer.Option(
            "--persistent-buffers/--no-persistent-buffers",
            help="New buffers go into checkpoints.",
            rich_help_panel=SETTINGS,
        ),
    ] = None,
    modules: Annotated[
        Selectors, typer.Option(metavar="CLASSES", help="Classes that are modules.", rich_help_panel=SETTINGS)
    ] = None,
    in_place_containers: Annotated[
        Selectors, typer.Option(metavar="CLASSES", help="Their `to` moves the object.", rich_help_panel=SETTINGS)
    ] = None,
    copying_containers: Annotated[
        Selectors, typer.Option(metavar="CLASSES", help="Their `to` returns a moved copy.", rich_help_panel=SETTINGS)
    ] = None,
) -> None:
    """Check PATHs (the command that is meant when none is named)."""
    lists = {
        "per_file_ignores": list(per_file_ignores or []),
        "extend_safe_fixes": _flat(extend_safe_fixes),
        "extend_unsafe_fixes": _flat(extend_unsafe_fixes),
        "unfixable": _flat(unfixable),
        "modules": _flat(modules),
        "in_place_containers": _flat(in_place_containers),
        "copying_containers": _flat(copying_containers),
    }
    single = {
        "torch_version": torch_version,
        "buffer_style": buffer_style.value if buffer_style else None,
        "device_expression": device_expression.value if device_expression else None,
        "persistent_buffers": None if persistent_buffers is None else str(persistent_buffers),
    }
    given: dict[str, str | list[str]] = {name: values for name, values in lists.items() if values}
    given.update((name, value) for name, value in single.items() if value is not None)
    options = CheckOptions(
        paths=list(paths or []),
        diff=diff,
        write=write,
        interactive=interactive,
        unsafe_fixes=unsafe_fixes,
        select=_flat(select),
        ignore=_flat(ignore),
        extend_select=_flat(extend_select),
        exclude=_flat(exclude),
        output_format=output_format.value if output_format else None,
        stdin_filename=stdin_filename,
        statistics=statistics,
        show_fixes=show_fixes,
        add_ignore=add_ignore,
        exit_zero=exit_zero,
        quiet=quiet,
        silent=silent,
        verbose=verbose,
        jobs=jobs,
        color=color.value,
        config=config,
        isolated=isolated,
        no_cache=no_cache,
        cache_dir=cache_dir,
        baseline=baseline,
        write_baseline=write_baseline,
        changed_only=changed_only,
        base=base,
        watch=watch,
        verify=verify,
        verify_on=verify_on.value,
        fields=given,
    )
    if options.problem:
        raise typer.BadParameter(options.problem)
    raise typer.Exit(run_check(options))


def _flat(values: Selectors) -> list[str]:
    return [part for value in values or [] for part in split_list(value)]


def run_app(arguments: list[str]) -> int:
    """Run the full command line. Returns the exit status; usage errors are one line on stderr."""
    from devicefix.cli.check import complain

    _add_commands()
    command = typer.main.get_command(app)
    try:
        status = command.main(arguments, prog_name="devicefix", standalone_mode=False)
    except _usage_error() as error:
        complain(error.format_message().replace("\n", " "))
        return FAILED
    except typer.Abort:
        print("devicefix: interrupted", file=sys.stderr)
        return 130
    return status if isinstance(status, int) else 0


def _usage_error() -> Any:
    """The class of usage errors: typer brings its own copy of click since 0.20 or so, and needed click before."""
    import importlib

    try:
        module = importlib.import_module("typer._click.exceptions")
    except ImportError:
        module = importlib.import_module("click.exceptions")
    return module.ClickException


def _add_commands() -> None:
    """The commands live in modules of their own; importing a module registers its commands."""
    from devicefix.cli import explain, keep, prove, serve  # noqa: F401
