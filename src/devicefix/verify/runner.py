"""Running an unmodified program on an accelerator, real or simulated, and telling what went wrong with devices."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import traceback
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devicefix.verify._torch import require_torch
from devicefix.verify.mismatch import Log, Mismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DEVICES = ("auto", "simulated", "cuda")
NOTE = "devicefix: "
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class UsageError(ValueError):
    """The run was asked for in a way that cannot work; the message is one line for the user."""


@dataclass
class Outcome:
    """How a run ended."""

    device: str  # "simulated" or "cuda"
    torch: str
    program_status: int = 0
    log: Log = field(default_factory=Log)

    @property
    def mismatches(self) -> list[Mismatch]:
        """Each different mismatch of the run, in order."""
        return self.log.mismatches

    @property
    def status(self) -> int:
        """1 on a mismatch, else the program's own."""
        return 1 if self.mismatches else self.program_status


def choose_device(device: str) -> str:
    """``auto`` is the real accelerator where there is one."""
    if device not in DEVICES:
        raise UsageError(f"unknown device {device!r}: choose from {', '.join(DEVICES)}")
    torch = require_torch()
    available = bool(torch.cuda.is_available())
    if device == "cuda" and not available:
        raise UsageError("--device cuda: this machine has no CUDA device that torch can use; try --device simulated")
    return ("cuda" if available else "simulated") if device == "auto" else device


@contextlib.contextmanager
def accelerator(device: str, count: int, log: Log) -> Iterator[None]:
    """Either kind of accelerator, with origins."""
    if device == "simulated":
        from devicefix.verify.simulator import simulated_accelerator

        with simulated_accelerator("cuda", count, log=log, even_with_card=True):
            yield
    else:
        from devicefix.verify.recording import recorded_origins

        with recorded_origins(log):
            yield


def run(
    argv: Sequence[str], *, module: bool = False, device: str = "auto", count: int = 1, keep_going: bool = False
) -> Outcome:
    """Run ``argv`` (a script or, with ``module``, a module, and its arguments) as ``python`` would.

    The program's own traceback is printed as usual. The outcome says which mismatches there were; printing them is
    left to the caller.
    """
    if not argv:
        raise UsageError("nothing to run")
    chosen = choose_device(device)
    if keep_going and chosen != "simulated":
        raise UsageError("--continue needs the simulated accelerator: on a real one nothing can go on after a mismatch")
    if count < 1:
        raise UsageError("--count must be at least 1")
    torch = require_torch()
    execute = _module(argv) if module else _script(argv)
    outcome = Outcome(chosen, str(torch.__version__), log=Log(keep_going))
    with accelerator(chosen, count, outcome.log):
        outcome.program_status = _run_to_the_end(execute, outcome.log)
    return outcome


def _run_to_the_end(execute: Callable[[], None], log: Log) -> int:
    """The status with which Python would have exited."""
    try:
        execute()
    except SystemExit as stop:
        return _status_of(stop)
    except UsageError:
        raise
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        from devicefix.verify.recording import explain_uncaught

        with contextlib.suppress(Exception):  # an explanation must never hide the program's error
            explain_uncaught(error, log)
        show_traceback(error)
        return 1
    return 0


def _status_of(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1


def show_traceback(error: BaseException) -> None:
    """Print an uncaught exception as Python would, without the frames and notes of devicefix itself."""
    _drop_notes(error)
    error.__traceback__ = _after_own_frames(error.__traceback__)
    if sys.excepthook is not sys.__excepthook__:  # the program has its own way to show errors
        sys.excepthook(type(error), error, error.__traceback__)
        return
    shown: traceback.TracebackException | None = traceback.TracebackException.from_exception(error)
    top = shown
    while shown is not None:
        shown.stack[:] = [frame for frame in shown.stack if not os.path.abspath(frame.filename).startswith(_HERE)]
        shown = shown.__cause__ or shown.__context__
    if top is not None:
        sys.stderr.write("".join(top.format()))
        sys.stderr.flush()


def _drop_notes(error: BaseException) -> None:
    """The report says the same in full."""
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [note for note in notes if not note.startswith(NOTE)]


def _after_own_frames(trace: types.TracebackType | None) -> types.TracebackType | None:
    while trace is not None and os.path.abspath(trace.tb_frame.f_code.co_filename).startswith(_HERE):
        trace = trace.tb_next
    return trace


def _script(argv: Sequence[str]) -> Callable[[], None]:
    path = argv[0]
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        return lambda: _as_main(argv, os.path.abspath(path), lambda: runpy.run_path(path, run_name="__main__"))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None

    def execute() -> None:
        full = os.path.abspath(path)
        code = compile(source, full, "exec", dont_inherit=True)
        main = _new_main(__file__=full)
        _as_main(argv, os.path.dirname(full), lambda: exec(code, vars(main)), main)

    return execute


def _module(argv: Sequence[str]) -> Callable[[], None]:
    def execute() -> None:
        sys.path.insert(0, os.getcwd())
        try:
            details: Any = runpy._get_module_details  # type: ignore[attr-defined]
            _, spec, code = details(argv[0])
        except ImportError as error:
            raise UsageError(str(error)) from None
        finally:
            sys.path.pop(0)
        main = _new_main(__file__=code.co_filename, __spec__=spec, __package__=spec.parent)
        _as_main([code.co_filename, *argv[1:]], os.getcwd(), lambda: exec(code, vars(main)), main)

    return execute


def _new_main(**attributes: Any) -> types.ModuleType:
    main = types.ModuleType("__main__")
    vars(main).update(__builtins__=__builtins__, **attributes)
    return main


def _as_main(argv: Sequence[str], folder: str, body: Callable[[], Any], main: types.ModuleType | None = None) -> None:
    """Run ``body`` with the command line, import path and ``__main__`` that the program expects."""
    saved_argv, saved_path, saved_main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = list(argv)
    sys.path.insert(0, folder)
    if main is not None:
        sys.modules["__main__"] = main
    try:
        body()
    finally:
        sys.argv, sys.modules["__main__"] = saved_argv, saved_main
        sys.path[:] = saved_path
