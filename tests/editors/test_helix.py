"""Open, diagnose, fix, save, compare: in a real Helix, with the keys that a person presses.

Helix has no batch mode, so it runs in a pseudo-terminal. What it and its servers say to each other stands in its log,
which tells when the next key can be pressed.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from editors.families import cases
from lsp import programs

pytestmark = pytest.mark.editor
ROOT = Path(__file__).parents[2]
INSTALLED = Path(os.environ.get("DEVICEFIX_EDITORS", Path.home() / ".cache" / "devicefix-editors"))
#: the configurations on the page: alone, beside another server, settings
ALONE, BESIDE, SETTINGS = re.findall(r"```toml\n(.+?)```", (ROOT / "docs/editors/helix.md").read_text(), re.DOTALL)
MESSAGE = re.compile(r"helix_lsp::transport \[INFO\] ([\w-]+) (->|<-) (\{.*\})$")
PATIENCE = 60  #: seconds for anything
ESCAPE = "\x1b[27u"  # as one key in one piece: a bare ESC and the next key could be taken for Alt and that key
UP, ENTER = "\x1b[A", "\r"

Json = dict[str, Any]


class Helix:
    """A running Helix: its keyboard, and what it and the language servers told each other."""

    def __init__(self, program: str, folder: Path, languages: str) -> None:
        self.folder = folder
        self.said: list[tuple[str, str, Json]] = []  #: server, direction, message
        (folder / "pyproject.toml").touch()
        home = folder / ".home"
        (home / "helix").mkdir(parents=True)
        (home / "helix" / "languages.toml").write_text(languages)
        command = home / "bin" / "devicefix"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m devicefix "$@"\n')
        command.chmod(0o755)
        path = [str(command.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": str(ROOT / "src"),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "XDG_CACHE_HOME": str(home),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        self._log = home / "helix.log"
        self._log.touch()
        self._unread = self._log.open(encoding="utf-8")
        self._line = ""
        self._screen = b""
        self._terminal, inside = pty.openpty()
        tty.setraw(inside)  # before Helix does it: what is typed meanwhile arrives as it is
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            [program, "-v", "--log", str(self._log)],
            cwd=folder,
            env=environment,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)

    # -- keyboard and log --------------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self._terminal, key.encode())

    def paste(self, text: str) -> None:
        self.press(f"\x1b[200~{text}\x1b[201~")

    def look(self) -> None:
        """Take in what was drawn and logged."""
        while select.select([self._terminal], [], [], 0)[0]:
            try:
                drawn = os.read(self._terminal, 65536)
            except OSError:  # it has ended
                break
            self._screen = (self._screen + drawn)[-3000:]
            if b"\x1b[c" in drawn:  # "which terminal is this?": it waits for an answer
                self.press("\x1b[?62c")
        for piece in self._unread:
            self._line += piece
            if self._line.endswith("\n"):
                match = MESSAGE.search(self._line.rstrip("\n"))
                self._line = ""
                if match and '"jsonrpc"' in match[3]:
                    self.said.append((match[1], match[2], json.loads(match[3])))

    def holds(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Whether it becomes true in time."""
        end = time.monotonic() + seconds
        while True:
            self.look()
            if condition():
                return True
            if self.process.poll() is not None or time.monotonic() > end:
                return False
            time.sleep(0.02)

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        if not self.holds(condition, PATIENCE):
            pytest.fail(f"{what}\n{self._remains()}")

    def rest(self) -> None:
        """Give Helix time to draw what it has just been told."""
        self.holds(lambda: False, 0.2)

    def _remains(self) -> str:
        drawn = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[─ ]{3,}", " ", self._screen.decode(errors="replace"))
        return f"the log ends with\n{self._log.read_text()[-4000:]}\nthe screen with\n{drawn}"

    def quit(self) -> None:
        if self.process.poll() is None:
            self.press(ESCAPE, ":quit-all!", ENTER)
            if not self.holds(lambda: self.process.poll() is not None, 15):
                self.process.kill()
        self.process.wait()
        self._unread.close()
        os.close(self._terminal)

    # -- what was said -----------------------------------------------------------------------------------------------

    def heard(self, method: str, since: int = 0) -> list[Json]:
        """What Helix asked devicefix, or told it."""
        return [m for s, way, m in self.said[since:] if (s, way, m.get("method")) == ("devicefix", "->", method)]

    def answer(self, request: Json) -> Json | None:
        """What devicefix answered."""
        for server, way, message in self.said:
            if (server, way, message.get("id")) == ("devicefix", "<-", request["id"]) and "method" not in message:
                return message
        return None

    def diagnostics(self, path: Path, server: str = "devicefix") -> Json:
        """What was last told about a file; empty if nothing was."""
        last: Json = {}
        for name, way, message in self.said:
            if (name, way, message.get("method")) == (server, "<-", "textDocument/publishDiagnostics"):
                last = message["params"] if message["params"]["uri"] == path.as_uri() else last
        return last

    def codes(self, path: Path, server: str = "devicefix") -> list[str]:
        return [found["code"] for found in self.diagnostics(path, server).get("diagnostics", [])]

    # -- what a person does ------------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        self.press(f":open {path.relative_to(self.folder)}", ENTER)

        def is_open() -> bool:
            opened = self.heard("textDocument/didOpen")
            return any(message["params"]["textDocument"]["uri"] == path.as_uri() for message in opened)

        self.wait(f"{path.name} is not opened", is_open)

    def fix(self, *ways: str) -> tuple[list[Json], Json]:
        """Go to a finding and take the first entry of the menu: what devicefix offers there, and what was taken."""
        return self._choose(ways, "", lambda offered: offered[0]["kind"] == "quickfix")

    def fix_all(self) -> tuple[list[Json], Json]:
        """Take the last entry of the menu: going up from the first leads there."""
        return self._choose((), UP, lambda offered: offered[-1]["kind"] == "source.fixAll.devicefix")

    def _choose(self, ways: tuple[str, ...], menu: str, right: Callable[[list[Json]], bool]) -> tuple[list[Json], Json]:
        """Keys can come before a finding or the menu is drawn. None of these does harm then: all of it is done again."""
        for _ in range(20):
            before = len(self.said)
            self.press(ESCAPE, "gg", *ways, " a")
            if not self.holds(lambda start=before: self._answered("textDocument/codeAction", start), 10):
                continue
            offered = self.answer(self.heard("textDocument/codeAction", before)[-1])
            actions = (offered or {}).get("result") or []
            self.rest()
            if not actions or not right(actions):
                continue
            self.press(menu, ENTER)
            if not self.holds(lambda start=before: bool(self.heard("codeAction/resolve", start)), 5):
                continue
            self.wait("the edit", lambda start=before: self._answered("codeAction/resolve", start))
            request = self.heard("codeAction/resolve", before)[-1]
            if "result" in (self.answer(request) or {}):  # else the file was checked again meanwhile
                return actions, request["params"]
        pytest.fail(f"no action was taken\n{self._remains()}")

    def _answered(self, method: str, since: int) -> bool:
        requests = self.heard(method, since)
        return bool(requests) and self.answer(requests[-1]) is not None

    def save(self, path: Path, expected: bytes) -> None:
        self.press(ESCAPE, ":write", ENTER)
        self.holds(lambda: path.exists() and path.read_bytes() == expected, 30)
        assert path.read_bytes() == expected, path.name


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Helix]]:
    program = os.environ.get("DEVICEFIX_HX") or shutil.which("hx") or shutil.which(INSTALLED / "helix" / "hx")
    if not program:
        pytest.skip("Helix is not installed (scripts/install_editors.sh --helix installs it)")
    running = []

    def started(languages: str) -> Helix:
        running.append(Helix(program, tmp_path, languages))
        return running[-1]

    yield started
    for helix in running:
        helix.quit()


def diagnosed(helix: Helix, path: Path, *codes: str) -> None:
    helix.wait(f"not {codes} in {path.name}", lambda: helix.codes(path) == list(codes))
    helix.rest()


def test_the_first_entry_fixes_the_finding(start: Callable[[str], Helix], tmp_path: Path):
    helix = start(ALONE)
    path = tmp_path / "menu.py"
    path.write_text(programs.MOVE)
    helix.open(path)
    diagnosed(helix, path, "DVF101")
    offered, taken = helix.fix("]d")
    assert taken["title"] == offered[0]["title"] == "devicefix: assign the result to `x`"
    asked = helix.heard("textDocument/codeAction")[-1]["params"]["range"]
    column = len('    print("é😀"); '.encode())  # Helix counts bytes, and says so
    assert asked["start"] == {"line": 4, "character": column}
    assert asked["end"] == {"line": 4, "character": column + len("x.to(device)")}
    diagnosed(helix, path)
    helix.save(path, programs.MOVE_FIXED.encode())


def test_every_family(start: Callable[[str], Helix], tmp_path: Path):
    helix = start(ALONE)
    for case in cases():
        for line_end in ("\n", "\r\n"):
            path = case.write(tmp_path, line_end)
            helix.open(path)
            helix.wait(f"no findings in {path.name}", lambda p=path, c=case: len(helix.codes(p)) == c.findings)
            _, taken = helix.fix_all()
            assert taken["kind"] == "source.fixAll.devicefix"
            helix.save(path, case.expected(line_end))


def test_an_edit_that_is_not_saved(start: Callable[[str], Helix], tmp_path: Path):
    helix = start(ALONE)
    path = tmp_path / "edited.py"
    before = programs.MOVE.replace("\n", "\r\n").encode()
    path.write_bytes(before)
    helix.open(path)
    diagnosed(helix, path, "DVF101")
    helix.press("gg", "O")
    # Helix 25.01 may send two changes that follow at once in the wrong order.
    helix.wait("no new line", lambda: bool(helix.heard("textDocument/didChange")))
    helix.paste("# é😀")
    helix.press(ESCAPE)

    def moved() -> bool:
        found = helix.diagnostics(path)["diagnostics"]
        return bool(found) and found[0]["range"]["start"]["line"] == 5

    helix.wait("the finding has not moved down", moved)
    helix.rest()
    helix.fix("]d")
    assert path.read_bytes() == before
    helix.save(path, ("# é😀\n" + programs.MOVE_FIXED).replace("\n", "\r\n").encode())


def test_a_file_that_was_never_saved(start: Callable[[str], Helix], tmp_path: Path):
    helix = start(ALONE)
    path = tmp_path / "new.py"
    helix.open(path)
    helix.press("i")
    helix.paste(programs.MOVE.rstrip("\n"))  # an empty buffer has a line end
    helix.press(ESCAPE)
    diagnosed(helix, path, "DVF101")
    helix.fix("]d")
    assert not path.exists()
    helix.save(path, programs.MOVE_FIXED.encode())


def test_the_page_of_the_rule(start: Callable[[str], Helix], tmp_path: Path):
    helix = start(ALONE)
    path = tmp_path / "hover.py"
    path.write_text(programs.MOVE)
    helix.open(path)
    diagnosed(helix, path, "DVF101")

    def shown() -> bool:
        answers = [helix.answer(request) or {} for request in helix.heard("textDocument/hover")]
        return any("DVF101" in json.dumps(answer.get("result")) for answer in answers)

    for _ in range(10):
        helix.press(ESCAPE, "gg", "]d", " k")
        if helix.holds(shown, 5):
            break
    assert shown()


@pytest.mark.parametrize("table", ["config", "config.devicefix"])
def test_settings(start: Callable[[str], Helix], tmp_path: Path, table: str):
    written = SETTINGS.replace("config]", f"{table}]").replace("DVF401", "DVF301")
    helix = start(ALONE + written)
    path = tmp_path / "net.py"
    path.write_text(programs.NET)
    helix.open(path)
    diagnosed(helix, path, "DVF201")


def test_another_server_beside_it(start: Callable[[str], Helix], tmp_path: Path):
    if not shutil.which("ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])):
        pytest.skip("ruff is not installed")
    helix = start(BESIDE)
    path = tmp_path / "both.py"
    path.write_text("import os\n" + programs.MOVE)
    helix.open(path)
    helix.wait("ruff finds no unused import", lambda: "F401" in helix.codes(path, "ruff"))
    diagnosed(helix, path, "DVF101")
    _, taken = helix.fix("]D")  # the last finding
    assert taken["title"] == "devicefix: assign the result to `x`"
    helix.save(path, ("import os\n" + programs.MOVE_FIXED).encode())
