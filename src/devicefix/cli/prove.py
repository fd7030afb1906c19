"""``devicefix run``, ``verify`` and ``inspect``: the commands that execute user code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from devicefix.cli.app import app
from devicefix.cli.choices import RuleFormat, RunFormat

Device = Annotated[str, typer.Option(help="auto, simulated or cuda.")]


@app.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", help="A script and its arguments.")],
    module: Annotated[bool, typer.Option("--module", "-m", help="PROGRAM is a module, as in python -m.")] = False,
    device: Device = "auto",
    count: Annotated[int, typer.Option(min=1, help="How many simulated cards there are.")] = 1,
    keep_going: Annotated[bool, typer.Option("--continue", "--keep-going", help="Go on after a mismatch.")] = False,
    output_format: Annotated[RunFormat, typer.Option(help="How the report is printed.")] = RunFormat.text,
) -> None:
    """Run a program on a simulated or real card and explain the first device mismatch."""
    from devicefix.verify.commands import run_program

    raise typer.Exit(
        run_program(
            program,
            module=module,
            device=device,
            count=count,
            keep_going=keep_going,
            output_format=output_format.value,
        )
    )


@app.command("verify")
def verify(
    before: Annotated[Path, typer.Argument(help="The program before the fix.")],
    after: Annotated[Path, typer.Argument(help="The program after the fix.")],
    entry: Annotated[str, typer.Option(help="The function that both define; it is called with the device.")] = "run",
    device: Device = "auto",
    count: Annotated[int, typer.Option(min=1, help="How many simulated cards there are.")] = 2,
    bf16_entry: Annotated[str | None, typer.Option(help="Another function, run in bfloat16 as well.")] = None,
    device_argument: Annotated[str, typer.Option(help="The device that the function is called with.")] = "cuda",
    timeout: Annotated[float, typer.Option(help="Seconds for each run.")] = 120.0,
    output_format: Annotated[RuleFormat, typer.Option(help="Text or JSON.")] = RuleFormat.text,
) -> None:
    """Prove a rewrite by four runs: it must fail before and pass after, with equal values on the CPU."""
    from devicefix.verify.commands import verify_files

    raise typer.Exit(
        verify_files(
            before,
            after,
            entry=entry,
            device=device,
            count=count,
            bf16_entry=bf16_entry,
            device_argument=device_argument,
            timeout=timeout,
            output_format=output_format.value,
        )
    )


@app.command("inspect")
def inspect(
    target: Annotated[str, typer.Argument(metavar="MODULE:FACTORY", help="What builds the model.")],
    output_format: Annotated[RuleFormat, typer.Option(help="Text or JSON.")] = RuleFormat.text,
) -> None:
    """Show every tensor of a model, where it lives and whether it moves with the model."""
    import sys

    from devicefix.report.style import use_color
    from devicefix.verify.commands import inspect_target

    color = use_color("auto", sys.stdout)
    raise typer.Exit(inspect_target(target, output_format=output_format.value, color=color))
