"""One run of a program in its own process, and the server that starts such processes quickly.

Importing torch takes seconds, forking takes milliseconds. `Workshop` therefore starts one fresh interpreter, which
imports torch, computes nothing, and forks for every job. (A process that has computed gradients must not fork:
torch's autograd refuses to work in the child. That is why the caller's own process is not used.) Where there is no
fork, each job gets a fresh interpreter instead.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from devicefix.verify.values import Leaf, flatten

if TYPE_CHECKING:
    from devicefix.verify.mismatch import Mismatch


@dataclass
class Job:
    """Run ``entry`` of ``path`` with the argument ``argument`` on "cpu", "simulated" or "cuda"."""

    path: Path
    on: str
    argument: str
    entry: str = "run"
    count: int = 2
    timeout: float = 120.0


@dataclass
class Result:
    """How it went."""

    status: str  # "ok", "error", "crash", "timeout"
    leaves: list[Leaf] = field(default_factory=list)
    error_kind: str = ""
    message: str = ""
    device_error: bool = False
    not_simulated: bool = False
    drew_on_card: bool = False  # random numbers were drawn on a real card
    explanation: list[str] = field(default_factory=list)  # origins, for a device error
    modules: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # class and state_dict of every root module
    output: str = ""

    @property
    def ok(self) -> bool:
        """Whether the program ran to its end."""
        return self.status == "ok"

    def in_words(self) -> str:
        """``passes`` or what went wrong, on one line."""
        if self.ok:
            return "passes"
        if self.status == "timeout":
            return "does not end in time"
        if self.status == "crash":
            return f"crashes: {self.message}"
        return f"{self.error_kind}: {self.message.splitlines()[0] if self.message else ''}"


# ---------------------------------------------------------------- in the child


def execute(job: Job) -> Result:
    """Run the job in this process; everything that can go wrong in it is part of the result."""
    from devicefix.verify._torch import require_torch
    from devicefix.verify.mismatch import Log, is_device_error

    if job.on == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a real card must not help the run on the CPU
    torch = require_torch()
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # values are going to be compared
    log = Log()
    try:
        if job.on == "cpu":
            return _run(job, torch)
        from devicefix.verify.runner import accelerator

        with accelerator(job.on, job.count, log):
            return _run(job, torch)
    except (Exception, SystemExit) as error:
        return _failed(error, is_device_error(error), log)


def _run(job: Job, torch: Any) -> Result:
    from devicefix.verify.programs import run_entry

    with _recorded_modules(torch) as modules:
        value = run_entry(job.path, job.entry, job.argument)
        drew = job.on == "cuda" and _drew_on_card(torch)
        return Result("ok", flatten(value), drew_on_card=drew, modules=_states(modules))


def _failed(error: BaseException, device_error: bool, log: Any) -> Result:
    from devicefix.verify.recording import explain_uncaught

    mismatch: Mismatch | None = None
    with contextlib.suppress(Exception):
        mismatch = explain_uncaught(error, log)
    return Result(
        "error",
        error_kind=type(error).__name__,
        message=str(error),
        device_error=device_error,
        not_simulated=type(error).__name__ == "NotSimulatedError",
        explanation=mismatch.explanation() if mismatch else [],
        output="".join(traceback.format_exception(type(error), error, error.__traceback__)),
    )


def _drew_on_card(torch: Any) -> bool:
    """A CUDA generator's state ends in its offset, which is 0 as long as nothing was drawn."""
    return any(bool(generator.get_state()[8:].any()) for generator in torch.cuda.default_generators)


@contextlib.contextmanager
def _recorded_modules(torch: Any) -> Any:
    """Collect every module that is created."""
    created: list[Any] = []
    original = torch.nn.Module.__init__

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        created.append(self)

    torch.nn.Module.__init__ = initialise
    try:
        yield created
    finally:
        torch.nn.Module.__init__ = original


def _states(modules: list[Any]) -> list[tuple[str, dict[str, str]]]:
    """Class name and state_dict layout of each module that is not part of another."""
    inner = {id(child) for module in modules for child in module.children()}
    states = []
    for module in modules:
        if id(module) in inner:
            continue
        layout = {}
        with contextlib.suppress(Exception):  # a state_dict of the user's own may do anything
            parameters = {name for name, _ in module.named_parameters()}
            for name, value in module.state_dict().items():
                kind = "parameter" if name in parameters else "buffer"
                layout[name] = f"{kind} {value.dtype} {list(value.shape)}" if hasattr(value, "dtype") else kind
        if layout:
            states.append((type(module).__qualname__, layout))
    return states


# ---------------------------------------------------------------- the server


def _send(stream: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    size = struct.unpack("<Q", head)[0]
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer jobs until the other side closes the pipe."""
    from devicefix.verify import recording, runner, simulator  # noqa: F401  (import torch once, before any fork)

    _send(replies, "ready")
    while True:
        try:
            job = _receive(requests)
        except EOFError:
            return
        _send(replies, _run_forked(job))


def _run_forked(job: Job) -> Result:
    with tempfile.TemporaryDirectory(prefix="devicefix-") as folder:
        reply, output = Path(folder, "reply"), Path(folder, "output")
        child = os.fork()
        if child == 0:
            _child(job, reply, output)
        status = _wait(child, job.timeout)
        text = output.read_text("utf-8", "replace") if output.exists() else ""
        if status is None:
            return Result("timeout", message=f"no end after {job.timeout:g} s", output=text)
        if not reply.exists():
            return Result("crash", message=f"the process ended with status {status}", output=text)
        result = pickle.loads(reply.read_bytes())
        assert isinstance(result, Result)
        result.output = text + result.output
        return result


def _child(job: Job, reply: Path, output: Path) -> None:
    """Never returns. The reply appears under its name only when it is complete."""
    status = 1
    try:
        os.setpgid(0, 0)  # so that a timeout ends its data loader workers, too
        sink = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        result = execute(job)
        half = reply.with_suffix(".half")
        half.write_bytes(pickle.dumps(result))
        half.rename(reply)
        sys.stdout.flush()
        sys.stderr.flush()
        status = 0
    finally:
        os._exit(status)


def _wait(child: int, timeout: float) -> int | None:
    """Exit status, or None after a timeout, when the child and its children have been ended."""
    deadline = time.monotonic() + timeout
    pause = 0.001
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


class Workshop:
    """A context in which jobs can be run. One server process serves any number of jobs, one after the other."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            server, self._server = self._server, None
            for stream in (server.stdin, server.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def run(self, job: Job) -> Result:
        """Run one job to its end."""
        try:
            server = self._ready_server()
            assert server.stdin is not None
            assert server.stdout is not None
            _send(server.stdin, job)
            reply = _receive(server.stdout)
        except (EOFError, BrokenPipeError):
            self.close()
            return Result("crash", message="the process that runs programs has ended")
        except BaseException:
            self.close()  # interrupted: the reply would be out of step
            raise
        if not hasattr(os, "fork"):
            self.close()  # the job was run in the server itself
        assert isinstance(reply, Result)
        return reply

    def _ready_server(self) -> subprocess.Popen[bytes]:
        if self._server is None:
            root = str(Path(__file__).resolve().parents[2])
            search = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
            self._server = subprocess.Popen(
                [sys.executable, "-c", "from devicefix.verify.jobs import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": search},
            )
            assert self._server.stdout is not None
            _receive(self._server.stdout)
        return self._server


def main() -> None:
    """The server's process: replies go to a copy of standard output, which no program can then disturb."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    if hasattr(os, "fork"):
        serve(requests, replies)
    else:
        _send(replies, "ready")
        _send(replies, execute(_receive(requests)))
