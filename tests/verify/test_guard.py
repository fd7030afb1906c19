"""`write_verified`: what breaks the command is found and taken back; an interruption leaves no trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from devicefix.verify.guard import (
    CANNOT_TELL,
    ROLLED_BACK,
    STILL_FAILS,
    VERIFIED,
    GuardReport,
    write_verified,
)
from devicefix.verify.journal import PREFIX, ForeignChangeError, Journal, recover
from devicefix.verify.shell_command import shows_device_error

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Swap:
    """Replace one text of a file by another."""

    path: Path
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.old}->{self.new}"


class Project:
    """A folder with files and candidate changes."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.folder = folder
        self.original = {}
        for name, text in files.items():
            path = folder / f"{name}.py"
            path.write_text(textwrap.dedent(text))
            self.original[path] = path.read_bytes()

    def swap(self, name: str, old: str, new: str) -> Swap:
        return Swap(self.folder / f"{name}.py", old, new)

    def render(self, selected: Sequence[Swap]) -> Mapping[Path, bytes]:
        out: dict[Path, bytes] = {}
        for change in selected:
            present = out.get(change.path, self.original[change.path])
            out[change.path] = present.replace(change.old.encode(), change.new.encode())
        return out

    def write(self, command: str, changes: list[Swap], **options: object) -> GuardReport[Swap]:
        return write_verified(command, changes, self.render, folder=self.folder, **options)  # type: ignore[arg-type]

    @property
    def unchanged(self) -> bool:
        return self.clean and all(path.read_bytes() == data for path, data in self.original.items())

    @property
    def clean(self) -> bool:
        return not list(self.folder.glob(PREFIX + "*"))


CHECK = "import a, b\nassert a.v == 1\nassert b.v == 2\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, a="v = 1\nw = 0\n", b="v = 2\nw = 0\n", check=CHECK)


RUN = f'"{sys.executable}" check.py'


def test_all_is_well(project: Project) -> None:
    changes = [project.swap("a", "w = 0", "w = 5"), project.swap("b", "w = 0", "w = 6")]
    report = project.write(RUN, changes)
    assert (report.verdict, report.status, report.kept) == (VERIFIED, 0, changes)
    assert (project.folder / "a.py").read_text() == "v = 1\nw = 5\n"
    assert (project.folder / "b.py").read_text() == "v = 2\nw = 6\n"
    assert project.clean


@pytest.mark.parametrize("guilty", [{0}, {3}, {6}, {1, 2}, {0, 6}, {0, 1, 2, 3, 4, 5, 6}])
def test_the_guilty_are_rolled_back(tmp_path: Path, guilty: set[int]) -> None:
    project = Project(
        tmp_path,
        a="".join(f"v{i} = 0\n" for i in range(7)),
        check="import a\nassert not any(value == 'bad' for value in vars(a).values())\n",
    )
    changes = [project.swap("a", f"v{i} = 0", f"v{i} = 'bad'" if i in guilty else f"v{i} = 'good'") for i in range(7)]
    report = project.write(RUN, changes)
    assert report.verdict == ROLLED_BACK
    assert report.status == 1
    assert report.rolled_back == [changes[i] for i in sorted(guilty)]
    assert report.kept == [changes[i] for i in range(7) if i not in guilty]
    expected = "".join(f"v{i} = {0 if i in guilty else repr('good')}\n" for i in range(7))
    assert (tmp_path / "a.py").read_text() == expected
    assert project.clean
    assert str(report.rolled_back[0]) in report.as_text()
    assert json.loads(report.as_json())["rolled_back"] == [str(change) for change in report.rolled_back]


def test_a_command_that_fails_anyway(project: Project) -> None:
    report = project.write("exit 4", [project.swap("a", "w = 0", "w = 5")])
    assert (report.verdict, report.status) == (CANNOT_TELL, 3)
    assert project.unchanged


def test_a_command_that_is_not_reproducible(project: Project) -> None:
    flaky = "test ! -e ran; status=$?; touch ran; exit $status"
    report = project.write(flaky, [project.swap("a", "w = 0", "w = 5")])
    assert report.verdict == CANNOT_TELL
    assert "same result twice" in report.reason
    assert project.unchanged


def test_a_command_that_does_not_end(project: Project) -> None:
    (project.folder / "check.py").write_text("import a, time\nif a.w: time.sleep(60)\n")
    report = project.write(RUN, [project.swap("a", "w = 0", "w = 5")], timeout=3.0)
    assert report.verdict == ROLLED_BACK
    assert report.runs[1].status == -1


def test_somebody_else_changes_a_file(project: Project) -> None:
    command = f"""{RUN} && if grep -q 'w = 5' a.py; then echo '# mine' >> b.py; exit 1; fi"""
    report = project.write(command, [project.swap("a", "w = 0", "w = 5"), project.swap("b", "w = 0", "w = 6")])
    assert report.verdict == CANNOT_TELL
    assert "changed by somebody else" in report.reason
    assert (project.folder / "a.py").read_bytes() == project.original[project.folder / "a.py"]
    assert "# mine" in (project.folder / "b.py").read_text()


def test_modes_and_times_survive(project: Project) -> None:
    path = project.folder / "a.py"
    path.chmod(0o755)
    os.utime(path, (1_000_000, 1_000_000))
    project.write("exit 4", [project.swap("a", "w = 0", "w = 5")])
    project.write(f"{RUN} && ! grep -q 'w = 5' a.py", [project.swap("a", "w = 0", "w = 5")])
    assert project.unchanged
    assert path.stat().st_mtime == 1_000_000
    project.write(RUN, [project.swap("a", "w = 0", "w = 5")])
    assert path.stat().st_mode & 0o777 == 0o755


SESSION = """
import sys
sys.path.insert(0, {tests!r})
import importlib.util
spec = importlib.util.spec_from_file_location("test_guard", {file!r})
module = importlib.util.module_from_spec(spec)
sys.modules["test_guard"] = module
spec.loader.exec_module(module)
from pathlib import Path
folder = Path({folder!r})
project = module.Project.__new__(module.Project)
project.folder = folder
project.original = {{path: path.read_bytes() for path in folder.glob("[ab].py")}}
report = project.write({command!r}, [project.swap("a", "w = 0", "w = 5"), project.swap("b", "w = 0", "w = 6")])
print(report.verdict)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted(project: Project, number: int) -> None:
    """The command waits until it sees the rewritten file; then the whole thing is interrupted."""
    command = f"{RUN} && if grep -q 'w = 5' a.py; then touch waiting; sleep 60; fi"
    text = SESSION.format(tests=str(Path(__file__).parent), file=__file__, folder=str(project.folder), command=command)
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # in the background a shell has it ignored
    )
    deadline = time.monotonic() + 60
    while not (project.folder / "waiting").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not project.unchanged
    process.send_signal(number)
    assert process.wait(30) != 0
    if number == signal.SIGKILL:
        assert not project.unchanged  # nobody could do anything; the journal is still there
        assert {path.name for path in recover(project.folder)} == {"a.py", "b.py"}
    assert project.unchanged


def test_the_report_is_announced_when_the_files_are_final(project: Project) -> None:
    seen: list[tuple[str, str, bool]] = []

    def announce(report: GuardReport[Swap]) -> None:
        seen.append((report.verdict, (project.folder / "a.py").read_text(), project.clean))

    project.write(RUN, [project.swap("a", "w = 0", "w = 5")], announce=announce)
    assert seen == [(VERIFIED, "v = 1\nw = 5\n", True)]


def test_a_signal_while_the_report_is_announced_comes_too_late(project: Project) -> None:
    def announce(report: GuardReport[Swap]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    report = project.write(RUN, [project.swap("a", "w = 0", "w = 5")], announce=announce)
    assert report.verdict == VERIFIED
    assert "w = 5" in (project.folder / "a.py").read_text()


def test_journal_refuses_unknown_files(project: Project) -> None:
    journal = Journal(project.folder, [project.folder / "a.py"])
    with pytest.raises(ValueError, match="not in the journal"):
        journal.apply({project.folder / "b.py": b""})
    (project.folder / "a.py").write_text("mine")
    with pytest.raises(ForeignChangeError):
        journal.apply({project.folder / "a.py": b"yours"})
    journal.close()


def test_journal_removes_new_files(tmp_path: Path) -> None:
    journal = Journal(tmp_path, [tmp_path / "new.py"])
    journal.apply({tmp_path / "new.py": b"x"})
    assert (tmp_path / "new.py").exists()
    journal.restore()
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_shows_device_error() -> None:
    device = (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )
    assert shows_device_error(f"Traceback\n{device}\n")
    assert shows_device_error(f"E       {device}\n")
    assert not shows_device_error(f"{device}\nNameError: name 'x' is not defined\n")
    assert not shows_device_error("all is well: no error\n")


PROGRAM = """
import torch
def scale(x):
    return x * torch.full((3,), 2.0)
def offset(x):
    return x + 1
x = torch.ones(3, device="cuda" if torch.cuda.is_available() else "cpu")
print(offset(scale(x)))
"""


def test_on_the_simulated_accelerator(tmp_path: Path) -> None:
    project = Project(tmp_path, program=PROGRAM)
    good = project.swap("program", "2.0)", "2.0, device=x.device)")
    bad = project.swap("program", "x + 1", "x + one")
    report = project.write(f'"{sys.executable}" program.py', [bad, good], where="simulated")
    assert report.verdict == ROLLED_BACK
    assert report.runs[0].device_error
    assert report.rolled_back == [bad]
    assert "device=x.device" in (tmp_path / "program.py").read_text()


def test_still_failing_with_a_device_error(tmp_path: Path) -> None:
    project = Project(tmp_path, program=PROGRAM)
    report = project.write(
        f'"{sys.executable}" program.py', [project.swap("program", "x + 1", "x + 2")], where="simulated"
    )
    assert (report.verdict, report.status) == (STILL_FAILS, 1)
    assert "x + 2" in (tmp_path / "program.py").read_text()


def test_a_command_without_torch_is_not_simulated(project: Project) -> None:
    report = project.write(RUN, [project.swap("a", "w = 0", "w = 5")], where="simulated")
    assert report.verdict == CANNOT_TELL
    assert "never imported torch" in report.reason
    assert project.unchanged
