"""The commands that run the user's code, as plain functions: each prints its report and returns an exit status.

The command line is a thin layer over this module. Nothing is imported from torch before a command is called.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from devicefix.verify import report
from devicefix.verify._torch import TorchMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

USAGE_ERROR = 2


def _complain(message: str) -> int:
    print(f"devicefix: {message}", file=sys.stderr)
    return USAGE_ERROR


def run_program(
    argv: Sequence[str],
    *,
    module: bool = False,
    device: str = "auto",
    count: int = 1,
    keep_going: bool = False,
    output_format: str = "text",
) -> int:
    """``devicefix run``: 1 on a device mismatch, else the program's status; 2 where the run could not begin.

    As text the report goes to standard error and the program keeps standard output for itself. As json or sarif the
    report is all there is on standard output, and what the program prints goes to standard error.
    """
    from devicefix.verify import runner

    if output_format not in report.FORMATS:
        return _complain(f"unknown format {output_format!r}: choose from {', '.join(report.FORMATS)}")
    try:
        with _standard_output_for_report(output_format != "text") as write:
            outcome = runner.run(argv, module=module, device=device, count=count, keep_going=keep_going)
            sys.stdout.flush()
            if output_format == "json":
                write(
                    report.mismatches_as_json(
                        outcome.log,
                        device=outcome.device,
                        torch=outcome.torch,
                        program_status=outcome.program_status,
                        exit_status=outcome.status,
                    )
                )
            elif output_format == "sarif":
                write(report.mismatches_as_sarif(outcome.mismatches))
            elif outcome.mismatches:
                sys.stderr.write("\n" + report.mismatches_as_text(outcome.log))
    except (TorchMissingError, runner.UsageError) as error:
        return _complain(str(error))
    return outcome.status


class _Writer:
    """Writes to what was standard output before the program's output was sent elsewhere."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor

    def __call__(self, text: str) -> None:
        if self.descriptor is None:
            sys.stdout.write(text)
            return
        data = text.encode("utf-8")
        while data:
            data = data[os.write(self.descriptor, data) :]


@contextlib.contextmanager
def _standard_output_for_report(reserved: bool) -> Iterator[_Writer]:
    """Keep standard output free of the program's own output, including that of its child processes and C code."""
    if not reserved:
        yield _Writer(None)
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield _Writer(saved)
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def verify_files(
    before: Path,
    after: Path,
    *,
    entry: str = "run",
    device: str = "auto",
    count: int = 2,
    bf16_entry: str | None = None,
    device_argument: str = "cuda",
    timeout: float = 120.0,
    output_format: str = "text",
) -> int:
    """``devicefix verify before.py after.py --entry run``: 0 confirmed, 1 refuted, 3 cannot tell, 2 could not begin."""
    from devicefix.verify import runner

    try:
        from devicefix.verify.four_runs import verify

        verdict = verify(
            before,
            after,
            entry=entry,
            device=device,
            count=count,
            bf16_entry=bf16_entry,
            device_argument=device_argument,
            timeout=timeout,
        )
    except (TorchMissingError, runner.UsageError) as error:
        return _complain(str(error))
    if output_format == "json":
        sys.stdout.write(verdict.as_json())
    elif output_format == "text":
        sys.stdout.write(verdict.as_text())
    else:
        return _complain(f"unknown format {output_format!r}: choose from text, json")
    return verdict.status


def inspect_target(spec: str, *, output_format: str = "text", color: bool = False) -> int:
    """``devicefix inspect module:factory``: 0 whatever the table shows; 2 where there is no such model."""
    if output_format not in ("text", "json"):
        return _complain(f"unknown format {output_format!r}: choose from text, json")
    try:
        from devicefix.verify.inspect_model import BadTargetError, inspect, load_target
    except TorchMissingError as error:
        return _complain(str(error))
    try:
        inventory = inspect(load_target(spec))
    except BadTargetError as error:
        return _complain(str(error))
    sys.stdout.write(inventory.as_json() if output_format == "json" else inventory.as_text(color=color))
    return 0
