"""`run_program`: unmodified programs on an accelerator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

SOURCE = Path(__file__).parents[2] / "src"
CARD = torch.cuda.is_available()

MODEL = """
import sys, torch
from torch import nn
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)
    def forward(self, x):
        h = torch.zeros(1, x.size(0), 4{FIX})
        return self.out(self.rnn(x, (h, h))[0][:, -1])
if __name__ == "__main__":
    torch.manual_seed(0)
    net = Net().to(dev)
    print(sys.argv, __file__, round(net(torch.randn(2, 3, 3).to(dev)).sum().item(), 4))
"""
FIX = ", device=x.device"


def devicefix_run(folder: Path, argv: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    options.setdefault("device", "simulated")
    call = (
        f"import sys; from devicefix.verify.commands import run_program; sys.exit(run_program({argv!r}, **{options!r}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run([sys.executable, "-c", call], cwd=folder, capture_output=True, text=True, env=environment)


def write(path: Path, text: str) -> None:
    path.write_text(textwrap.dedent(text))


def test_a_script_without_a_mismatch_shows_only_its_own_output(tmp_path: Path) -> None:
    write(tmp_path / "s.py", MODEL.replace("{FIX}", FIX))
    plain = subprocess.run([sys.executable, "s.py", "a", "b"], cwd=tmp_path, capture_output=True, text=True)
    ours = devicefix_run(tmp_path, ["s.py", "a", "b"])
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, plain.stdout, plain.stderr)


def test_a_mismatch_is_explained(tmp_path: Path) -> None:
    write(tmp_path / "s.py", MODEL.replace("{FIX}", ""))
    done = devicefix_run(tmp_path, ["s.py"])
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback (most recent call last)" in done.stderr
    assert "devicefix/verify" not in done.stderr.replace("\\", "/")
    assert "s.py:11: device mismatch: Input and hidden tensors are not at the same device" in done.stderr
    assert "the cpu tensor comes from s.py:10 `" in done.stderr
    assert "devicefix --diff s.py" in done.stderr
    assert done.stderr.count("the cpu tensor comes from") == 1


def test_continue_reports_all(tmp_path: Path) -> None:
    write(
        tmp_path / "s.py",
        "import torch\nx = torch.ones(2).cuda()\na = x + torch.ones(2)\nb = x * torch.ones(2)\nprint('end')\n",
    )
    done = devicefix_run(tmp_path, ["s.py"], keep_going=True)
    assert (done.returncode, done.stdout) == (1, "end\n")
    assert "s.py:3: device mismatch" in done.stderr
    assert "s.py:4: device mismatch" in done.stderr
    assert "2 device mismatches" in done.stderr


def test_json(tmp_path: Path) -> None:
    write(tmp_path / "s.py", "import torch\nprint('noise')\ntorch.ones(2).cuda() + torch.ones(2)\n")
    done = devicefix_run(tmp_path, ["s.py"], output_format="json")
    report = json.loads(done.stdout)
    assert "noise" in done.stderr
    assert report["exit_status"] == done.returncode == 1
    (mismatch,) = report["mismatches"]
    assert mismatch["where"]["line"] == 3
    assert mismatch["rules"] == ["DVF201"]
    assert mismatch["repair"] == "s.py"


def test_sarif(tmp_path: Path) -> None:
    write(tmp_path / "s.py", "import torch\ntorch.ones(2).cuda() + torch.ones(2)\n")
    report = json.loads(devicefix_run(tmp_path, ["s.py"], output_format="sarif").stdout)
    assert report["version"] == "2.1.0"
    (result,) = report["runs"][0]["results"]
    assert result["ruleId"] == "DVF201"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    assert result["relatedLocations"]
    clean = tmp_path / "clean.py"
    write(clean, "print(1)\n")
    assert json.loads(devicefix_run(tmp_path, ["clean.py"], output_format="sarif").stdout)["runs"][0]["results"] == []


def test_a_module_with_arguments(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    write(tmp_path / "pkg" / "__init__.py", "")
    write(tmp_path / "pkg" / "other.py", "value = 5\n")
    write(tmp_path / "pkg" / "train.py", "import sys\nfrom .other import value\nprint(sys.argv[1:], value, __name__)\n")
    done = devicefix_run(tmp_path, ["pkg.train", "--lr", "1"], module=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['--lr', '1'] 5 __main__\n", "")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import sys; sys.exit(7)", 7),
        ("raise SystemExit", 0),
        ("import sys; sys.exit('sorry')", 1),
        ("1/0", 1),
        ("pass", 0),
    ],
)
def test_the_exit_status_is_that_of_the_program(tmp_path: Path, text: str, status: int) -> None:
    write(tmp_path / "s.py", text)
    plain = subprocess.run([sys.executable, "s.py"], cwd=tmp_path, capture_output=True, text=True)
    ours = devicefix_run(tmp_path, ["s.py"])
    assert (ours.returncode, plain.returncode) == (status, status)
    assert ours.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]


def test_a_handled_mismatch_is_still_reported(tmp_path: Path) -> None:
    write(
        tmp_path / "s.py",
        """
        import torch
        try:
            torch.ones(2).cuda() + torch.ones(2)
        except RuntimeError:
            print("handled")
        """,
    )
    done = devicefix_run(tmp_path, ["s.py"])
    assert (done.returncode, done.stdout) == (1, "handled\n")
    assert "s.py:4: device mismatch" in done.stderr


def test_an_error_inside_a_loader_worker(tmp_path: Path) -> None:
    write(
        tmp_path / "s.py",
        """
        import torch
        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                return torch.ones(2), i
        if __name__ == "__main__":
            net = torch.nn.Linear(2, 1).cuda()
            for x, _ in torch.utils.data.DataLoader(Data(), 2, num_workers=1):
                net(x)
        """,
    )
    done = devicefix_run(tmp_path, ["s.py"])
    assert done.returncode == 1
    assert "as part of a batch" in done.stderr
    assert "DVF501" in done.stderr


def test_main_can_be_pickled(tmp_path: Path) -> None:
    write(
        tmp_path / "s.py",
        """
        import atexit, io, torch
        class Net(torch.nn.Module):
            pass
        atexit.register(lambda: print("atexit", Net.__name__))
        buffer = io.BytesIO()
        torch.save(Net().cuda(), buffer)
        buffer.seek(0)
        print(type(torch.load(buffer, weights_only=False)) is Net)
        """,
    )
    assert devicefix_run(tmp_path, ["s.py"]).stdout == "True\natexit Net\n"


def test_what_cannot_begin_says_so_in_one_line(tmp_path: Path) -> None:
    for argv, options in (
        (["nowhere.py"], {}),
        ([], {}),
        (["no.such.module"], {"module": True}),
        (["s.py"], {"device": "tpu"}),
        (["s.py"], {"count": 0}),
        (["s.py"], {"output_format": "xml"}),
    ):
        done = devicefix_run(tmp_path, argv, **options)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stderr.startswith("devicefix: ")


@pytest.mark.skipif(CARD, reason="there is a card")
def test_a_card_that_is_not_there(tmp_path: Path) -> None:
    write(tmp_path / "s.py", "pass")
    done = devicefix_run(tmp_path, ["s.py"], device="cuda")
    assert done.returncode == 2
    assert "no CUDA device" in done.stderr


def test_what_is_not_simulated_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "s.py", "import torch\ntorch.cuda.CUDAGraph()\n")
    done = devicefix_run(tmp_path, ["s.py"])
    assert done.returncode == 1
    assert "NotSimulatedError" in done.stderr
    assert "CUDA graphs" in done.stderr


def test_nothing_imports_torch_before_it_is_needed() -> None:
    code = "import sys, devicefix.verify, devicefix.verify.commands; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SOURCE)}).returncode == 0


def test_without_torch_one_line(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    code = "from devicefix.verify.commands import run_program as r; raise SystemExit(r(['s.py']))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SOURCE)])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (2, "devicefix: torch is not installed; pip install 'devicefix[torch]'\n")


@pytest.mark.gpu
def test_on_a_real_card(tmp_path: Path) -> None:
    write(tmp_path / "s.py", MODEL.replace("{FIX}", ""))
    done = devicefix_run(tmp_path, ["s.py"], device="cuda")
    assert done.returncode == 1
    assert "the cpu tensor comes from s.py:10" in done.stderr
