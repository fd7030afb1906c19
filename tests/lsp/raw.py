"""A connection that sends and receives plain JSON (or anything else), and shares nothing with the server's code."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CAPS = Path(__file__).parent / "caps"


class Timeout(AssertionError):
    pass


class RawClient:
    """One running server."""

    def __init__(self, command: list[str] | None = None) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = command or [sys.executable, "-m", "devicefix", "server"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.notifications: list[dict[str, Any]] = []
        self.diagnostics: dict[str, dict[str, Any]] = {}
        self.settings: Any = None
        self.asked_again = 0
        self.errors: list[bytes] = []
        self._answers: dict[Any, dict[str, Any]] = {}
        self._next = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    # -- wire

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                self.messages.put(None)
                return
            self.messages.put(json.loads(stream.read(length)))

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)

    def send_bytes(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request_later(self, method: str, params: Any = None) -> int:
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def request(self, method: str, params: Any = None, seconds: float = 30) -> Any:
        answer = self.answer(self.request_later(method, params), seconds)
        if "error" in answer:
            raise ServerError(answer["error"])
        return answer["result"]

    def answer(self, number: Any, seconds: float = 30) -> dict[str, Any]:
        self.pump(lambda: number in self._answers, f"an answer to {number}", seconds)
        return self._answers.pop(number)

    def pump(self, done: Callable[[], bool], what: str, seconds: float = 30) -> None:
        """Handle messages until something is so."""
        end = time.monotonic() + seconds
        while not done():
            try:
                message = self.messages.get(timeout=max(end - time.monotonic(), 0))
            except queue.Empty:
                raise Timeout(what) from None
            if message is None:
                raise Timeout(f"{what}: the server is gone: {b''.join(self.errors)[-2000:]!r}")
            self._handle(message)

    def _handle(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._answers[message["id"]] = message
        elif "id" in message:
            result: Any = None
            if method == "workspace/configuration":
                result = [self.settings] * len(message["params"]["items"])
            elif method == "workspace/applyEdit":
                self.notifications.append(message)
                result = {"applied": True}
            elif method == "workspace/diagnostic/refresh":
                self.asked_again += 1
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self.notifications.append(message)
            if method == "textDocument/publishDiagnostics":
                self.diagnostics[message["params"]["uri"]] = message["params"]

    # -- sessions

    def start(self, editor: str = "neovim-0.7.2", root: Path | None = None, options: Any = None) -> Any:
        data = json.loads((CAPS / f"{editor}.json").read_text())
        folders = [{"uri": root.as_uri(), "name": root.name}] if root else None
        params = {"processId": os.getpid(), "rootUri": root.as_uri() if root else None, "workspaceFolders": folders}
        result = self.request("initialize", {**params, **data, "initializationOptions": options})
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, language: str = "python") -> None:
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, text: str, place: dict[str, Any] | None = None) -> None:
        change = {"text": text} if place is None else {"text": text, "range": place}
        identifier = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})

    def wait_for(self, uri: str, version: int | None = None, seconds: float = 30) -> list[dict[str, Any]]:
        """The diagnostics that were pushed for a version of a document."""

        def there() -> bool:
            known = self.diagnostics.get(uri)
            return known is not None and (version is None or known.get("version") == version)

        self.pump(there, f"diagnostics of {uri}", seconds)
        return self.diagnostics[uri]["diagnostics"]

    def actions(self, uri: str, only: list[str] | None = None, place: dict[str, Any] | None = None) -> Any:
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": 100_000, "character": 0}}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        params = {"textDocument": {"uri": uri}, "range": place or everything, "context": context}
        return self.request("textDocument/codeAction", params) or []

    def memory(self) -> int:
        """Resident bytes of the server (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def processor_time(self) -> float:
        """Seconds of processor time that the server has used (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """Shut it down as editors do; the exit status."""
        if self.process.poll() is None:
            try:
                self.request("shutdown")
                self.notify("exit")
                self.process.wait(10)
            except (Timeout, OSError, subprocess.TimeoutExpired):
                self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        return self.process.wait(10)


class ServerError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
