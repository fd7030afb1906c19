"""Signals that wait until files are whole again."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupts:
    """Turns the signals that end a process into `KeyboardInterrupt`, so that files are restored on the way out - but
    not in the middle of writing them: within `held` a signal waits."""

    def __init__(self) -> None:
        self.pending: int | None = None
        self._depth = 0

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Where the signals that end a process raise `KeyboardInterrupt`."""
        if threading.current_thread() is not threading.main_thread():  # signals are delivered to the main thread alone
            yield
            return
        numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        saved = {number: signal.signal(number, self._arrived) for number in numbers}
        try:
            yield
        finally:
            for number, handler in saved.items():
                signal.signal(number, handler)

    def _arrived(self, number: int, frame: Any) -> None:
        if self._depth:
            self.pending = number
        else:
            raise KeyboardInterrupt(f"signal {number}")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Where they wait until the end."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if self.pending is not None and not self._depth:
            number, self.pending = self.pending, None
            raise KeyboardInterrupt(f"signal {number}")
