"""The command as users start it: a process of its own, with the built-in rules."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import devicefix

FAULT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 3)
        return self.fc(x) + h
"""
FIXED = FAULT.replace("x.shape[0], 3)", "x.shape[0], 3, device=x.device, dtype=x.dtype)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(devicefix.__file__).parents[1]))
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "devicefix", *arguments]


def start(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*arguments), input=stdin, capture_output=True, check=False, timeout=300)


def test_a_fault_is_found_shown_and_repaired() -> None:
    Path("m.py").write_text(FAULT)
    found = start("m.py")
    assert found.returncode == 1
    assert b"m.py:11:13: DVF201" in found.stdout
    shown = start("--diff", "m.py")
    assert shown.returncode == 1
    assert b"+        h = torch.zeros(x.shape[0], 3, device=x.device, dtype=x.dtype)" in shown.stdout
    assert Path("m.py").read_text() == FAULT
    assert start("--write", "m.py").returncode == 0
    assert Path("m.py").read_text() == FIXED
    assert start("m.py").returncode == 0
    assert start("--diff", "m.py").stdout == b""


def test_standard_input_to_standard_output() -> None:
    done = start("--write", "-", stdin=FAULT.replace("\n", "\r\n").encode())
    assert done.stdout == FIXED.replace("\n", "\r\n").encode()


def test_nothing_heavy_is_loaded_for_what_finds_nothing() -> None:
    Path("a.py").write_text("import os\n")
    code = (
        "import sys\nfrom devicefix.__main__ import run\n"
        "status = run(sys.argv[1:])\n"
        "heavy = {'libcst', 'typer', 'rich', 'torch', 'difflib', 'pathspec', 'pydantic', 'numpy', 'tomllib'} & set(sys.modules)\n"
        "print(status, sorted(heavy), 'devicefix.rules' in sys.modules)\n"
    )
    for arguments in (["--version"], ["a.py"], ["."]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "0 [] False", arguments


def test_a_check_with_findings_does_not_load_the_rewriter() -> None:
    Path("a.py").write_text(FAULT)
    code = (
        "import sys\nfrom devicefix.__main__ import run\nstatus = run(sys.argv[1:])\n"
        "print(status, sorted({'libcst', 'typer', 'rich', 'torch', 'pydantic', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, "a.py"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 []"


def test_a_reader_that_goes_away_is_no_crash() -> None:
    for number in range(300):
        Path(f"m{number}.py").write_text(FAULT)
    with Path("err").open("wb") as err:
        process = subprocess.Popen(command("."), stdout=subprocess.PIPE, stderr=err)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=300)
    assert b"Traceback" not in Path("err").read_bytes()


def _heed_interrupts() -> None:
    """A shell starts what it puts into the background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_leaves_only_whole_files(jobs: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    count = 600
    for number in range(count):
        Path(f"m{number:03}.py").write_text(FAULT)
    errors = tmp_path_factory.mktemp("out") / "err"
    with errors.open("wb") as err:
        process = subprocess.Popen(
            command("-q", "--write", "--jobs", jobs, "."), stderr=err, preexec_fn=_heed_interrupts
        )
        deadline = time.time() + 120
        while Path("m000.py").read_text() == FAULT and time.time() < deadline and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        status = process.wait(timeout=120)
    assert status == 130
    assert b"Traceback" not in errors.read_bytes()
    assert b"interrupted" in errors.read_bytes()
    texts = [path.read_text() for path in sorted(Path().glob("m*.py"))]
    assert len(texts) == count
    assert set(texts) <= {FAULT, FIXED}
    assert FIXED in texts
    assert sorted(os.listdir()) == [f"m{number:03}.py" for number in range(count)]


def test_workers_give_the_same_answer_in_the_same_order() -> None:
    for number in range(80):
        Path(f"m{number}.py").write_text(FAULT if number % 3 else "x = 1\n")
    Path("broken.py").write_text("import torch\ndef f(:\n")
    one, two = (start("--output-format", "json", "--jobs", jobs, ".") for jobs in ("1", "2"))
    assert one.returncode == two.returncode == 2
    assert one.stdout == two.stdout
    assert one.stderr == two.stderr
    assert start("--write", "--jobs", "2", ".").returncode == 2
    assert {Path(f"m{number}.py").read_text() for number in range(80)} == {FIXED, "x = 1\n"}


def test_settings_files_hold_for_what_is_below_them() -> None:
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "m.py").write_text(FAULT)
    Path("a/devicefix.toml").write_text('ignore = ["factory-device"]\n')
    done = start("--output-format", "concise", ".")
    assert b"b/m.py" in done.stdout
    assert b"a/m.py" not in done.stdout
    Path("a/devicefix.toml").write_text('ignore = ["factory-devise"]\n')
    done = start("a", "b")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"did you mean `factory-device`" in done.stderr
    Path("a/devicefix.toml").write_text("jbos = 1\n")
    done = start("a")
    assert done.returncode == 2
    assert b"a/devicefix.toml:1: unknown key `jbos`; did you mean `jobs`?" in done.stderr


def _running_in_group(group: int) -> list[str]:
    """The processes of a group that are not merely waiting to be buried."""
    done = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [row.split(maxsplit=2) for row in done.stdout.splitlines()]
    return [row[2] for row in rows if row[0] == str(group) and not row[1].startswith("Z") and len(row) == 3]


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_a_request_to_end_reaches_the_workers(tmp_path_factory: pytest.TempPathFactory) -> None:
    count = 600
    for number in range(count):
        Path(f"m{number:03}.py").write_text(FAULT)
    errors = tmp_path_factory.mktemp("out") / "err"
    with errors.open("wb") as err:
        process = subprocess.Popen(command("-q", "--write", "--jobs", "2", "."), stderr=err, start_new_session=True)
        deadline = time.time() + 120
        while Path("m000.py").read_text() == FAULT and time.time() < deadline and process.poll() is None:
            time.sleep(0.01)
        process.terminate()
        assert process.wait(timeout=120) == 128 + signal.SIGTERM
    deadline = time.time() + 20
    while (left := _running_in_group(process.pid)) and time.time() < deadline:
        time.sleep(0.05)
    assert not left
    texts = {path.read_text() for path in Path().glob("m*.py")}
    assert texts == {FAULT, FIXED}
    assert sorted(os.listdir()) == [f"m{number:03}.py" for number in range(count)]
