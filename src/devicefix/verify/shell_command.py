"""Runs of a shell command, and whether a device error ended them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devicefix.verify.mismatch import is_device_message

_ERROR_LINE = re.compile(r"^(?:E\s+)?(?:[\w.]+\.)?(\w+): (.*)$")
_INJECTED = Path(__file__).with_name("inject")


@dataclass
class CommandRun:
    """One run of the command."""

    label: str
    status: int  # -1: it did not end in time
    device_error: bool
    simulated: bool  # whether the simulated accelerator was really used
    tail: str  # the end of its output

    @property
    def passed(self) -> bool:
        """Whether the command exited with status 0."""
        return self.status == 0

    def in_words(self) -> str:
        """``passed`` or how it failed."""
        if self.passed:
            return "passed"
        how = "did not end in time" if self.status == -1 else f"failed with status {self.status}"
        return how + (" (a device error)" if self.device_error else "")


def run_command(
    command: str, label: str, *, folder: Path, where: str = "here", count: int = 2, timeout: float | None = None
) -> CommandRun:
    """Run a shell command to its end and look at its output for a device error."""
    with tempfile.TemporaryDirectory(prefix="devicefix-") as scratch:
        mark = Path(scratch, "simulated")
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # a compiled copy could outlive the version it belongs to
        if where == "simulated":
            root = str(Path(__file__).resolve().parents[2])
            environment.update(
                DEVICEFIX_SIMULATE=str(count),
                DEVICEFIX_SIMULATE_MARK=str(mark),
                PYTHONPATH=os.pathsep.join([str(_INJECTED), root, *filter(None, [os.environ.get("PYTHONPATH")])]),
            )
        with Path(scratch, "output").open("w+b") as output:
            process = subprocess.Popen(
                command,
                shell=True,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                status = -1
            finally:
                if process.poll() is None:
                    _end(process)
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        return CommandRun(
            label, status, status != 0 and shows_device_error(text), mark.exists(), "\n".join(text.splitlines()[-30:])
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def shows_device_error(output: str) -> bool:
    """Whether the last error line of a program's output is about devices."""
    errors = [
        found for line in output.splitlines() if (found := _ERROR_LINE.match(line)) and found[1].endswith("Error")
    ]
    return bool(errors) and is_device_message(errors[-1][1], errors[-1][2])
