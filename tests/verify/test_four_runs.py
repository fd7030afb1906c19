"""`verify`: confirmed, refuted, cannot tell."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from devicefix.verify.commands import verify_files
from devicefix.verify.four_runs import CANNOT_TELL, CONFIRMED, REFUTED, Verdict, state_changes, verify
from devicefix.verify.jobs import Job, Workshop
from devicefix.verify.programs import python_of_cell
from devicefix.verify.values import HALF, SAME_MACHINE, Leaf, difference, flatten

BEFORE = """
import torch
def run(device):
    torch.manual_seed(0)
    x = torch.randn(3).to(device)
    return x + torch.ones(3)
"""
AFTER = BEFORE.replace("torch.ones(3)", "torch.ones(3, device=x.device)")


@pytest.fixture(scope="module")
def workshop() -> Any:
    with Workshop() as shop:
        yield shop


def judge(tmp_path: Path, shop: Workshop, before: str, after: str, **options: Any) -> Verdict:
    (tmp_path / "before.py").write_text(textwrap.dedent(before))
    (tmp_path / "after.py").write_text(textwrap.dedent(after))
    return verify(tmp_path / "before.py", tmp_path / "after.py", device="simulated", workshop=shop, **options)


@pytest.mark.parametrize(
    ("before", "after", "expected", "words"),
    [
        (BEFORE, AFTER, CONFIRMED, "before raises a device error on the simulated accelerator"),
        (BEFORE, BEFORE, REFUTED, "after fails on the simulated accelerator"),
        (AFTER, AFTER, REFUTED, "nothing to repair"),
        (BEFORE, AFTER.replace("ones", "zeros"), REFUTED, "other values than before"),
        (BEFORE, AFTER + "    return y", CONFIRMED, ""),
        (BEFORE, AFTER.replace("x +", "x.double() +"), REFUTED, "dtype torch.float32 and torch.float64"),
        (BEFORE, AFTER.replace("return x", "return x.sum()"), REFUTED, ""),
        (BEFORE, AFTER.replace("return", "return device, "), REFUTED, ""),
        (BEFORE, "def run(device):\n    syntax error", REFUTED, "SyntaxError"),
        (BEFORE, AFTER.replace("def run", "def other"), CANNOT_TELL, "no function 'run'"),
        ("import nothing_of_this_name\n" + BEFORE, AFTER, CANNOT_TELL, "for another reason than devices"),
        (BEFORE.replace("torch.manual_seed(0)", "torch.seed()"), AFTER, CANNOT_TELL, "other values in every run"),
        (
            "import torch\ndef run(d):\n    return torch.ones(2).cuda() * 2",
            "import torch\ndef run(d):\n    return torch.ones(2).to(d) * 2",
            CONFIRMED,
            "before raises a device error on the CPU",
        ),
        (
            "import torch\ndef run(d):\n    return torch.ones(2).cuda(1) * torch.ones(2).cuda(0)",
            "import torch\ndef run(d):\n    return torch.ones(2).cuda(1) * torch.ones(2).cuda(1)",
            CANNOT_TELL,
            "neither runs on the CPU",
        ),
        (
            "import torch\ndef run(d):\n    torch.ones(2).to(d) + torch.ones(2)",
            "import torch\ndef run(d):\n    torch.cuda.CUDAGraph()",
            CANNOT_TELL,
            "CUDA graphs",
        ),
    ],
)
def test_verdicts(tmp_path: Path, workshop: Workshop, before: str, after: str, expected: str, words: str) -> None:
    verdict = judge(tmp_path, workshop, before, after)
    assert verdict.verdict == expected, verdict.as_text()
    assert words in verdict.as_text()


def test_a_program_that_does_not_end(tmp_path: Path, workshop: Workshop) -> None:
    verdict = judge(tmp_path, workshop, BEFORE, "import time\ndef run(d):\n    time.sleep(60)", timeout=1.0)
    assert verdict.verdict == CANNOT_TELL
    assert "does not end in time" in verdict.reason


def test_a_program_that_kills_its_process(tmp_path: Path, workshop: Workshop) -> None:
    verdict = judge(tmp_path, workshop, BEFORE, "import os\ndef run(d):\n    os._exit(3)")
    assert verdict.verdict == REFUTED
    assert "crashes" in verdict.as_text()


def test_output_of_the_program_does_no_harm(tmp_path: Path, workshop: Workshop) -> None:
    noisy = AFTER.replace("torch.manual_seed(0)", "torch.manual_seed(0); import os; os.write(1, b'x' * 100000)")
    assert judge(tmp_path, workshop, BEFORE, noisy).verdict == CONFIRMED


def test_sixteen_bits(tmp_path: Path, workshop: Workshop) -> None:
    both = """
    import torch
    def scale(x):
        return x * torch.ones(3{DEVICE})
    def run(device):
        return scale(torch.full((3,), 2.0).to(device))
    def run_bf16(device):
        y = scale(torch.full((3,), 2.0).to(device, torch.bfloat16))
        assert y.dtype == torch.bfloat16, y.dtype
        return y
    """
    before, half_right = both.replace("{DEVICE}", ""), both.replace("{DEVICE}", ", device=x.device")
    right = both.replace("{DEVICE}", ", device=x.device, dtype=x.dtype")
    assert judge(tmp_path, workshop, before, right, bf16_entry="run_bf16").verdict == CONFIRMED
    assert judge(tmp_path, workshop, before, half_right).verdict == CONFIRMED
    verdict = judge(tmp_path, workshop, before, half_right, bf16_entry="run_bf16")
    assert verdict.verdict == REFUTED
    assert "in run_bf16" in verdict.reason


def test_changes_of_the_state_dict_are_told(tmp_path: Path, workshop: Workshop) -> None:
    before = """
    import torch
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(2)
        def forward(self, x):
            return x * self.scale
    def run(device):
        return Net().to(device)(torch.ones(2).to(device))
    """
    quiet = before.replace(
        "self.scale = torch.ones(2)", "self.register_buffer('scale', torch.ones(2), persistent=False)"
    )
    loud = before.replace("self.scale = torch.ones(2)", "self.register_buffer('scale', torch.ones(2))")
    assert judge(tmp_path, workshop, before, quiet).state_changes == []
    assert judge(tmp_path, workshop, before, loud).verdict == CONFIRMED


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "before.py").write_text(BEFORE.replace("def run", "def main"))
    (tmp_path / "after.py").write_text(AFTER.replace("def run", "def main"))
    status = verify_files(
        tmp_path / "before.py", tmp_path / "after.py", entry="main", device="simulated", output_format="json"
    )
    report = json.loads(capsys.readouterr().out)
    assert status == report["exit_status"] == 0
    assert report["verdict"] == "confirmed"
    assert report["runs"]["before on the accelerator"]["device_error"]
    assert verify_files(tmp_path / "before.py", tmp_path / "after.py", device="tpu") == 2


def test_state_changes() -> None:
    old = [("Net", {"a": "parameter float32 [2]", "b": "buffer float32 [1]"})]
    assert state_changes(old, old) == []
    assert state_changes(old, [("Net", {"a": "parameter float16 [2]", "c": "buffer float32 [1]"})]) == [
        "Net lost b (buffer float32 [1])",
        "Net gained c (buffer float32 [1])",
        "Net.a was parameter float32 [2], is parameter float16 [2]",
    ]
    assert "became" in state_changes(old, [])[0]


def test_difference() -> None:
    import torch

    def compare(one: Any, other: Any, tolerance: Any = SAME_MACHINE) -> str | None:
        return difference(flatten(one), flatten(other), tolerance)

    value = {"a": torch.ones(2), "b": [1, "x", None, torch.tensor([True])], "c": torch.tensor(1 + 2j)}
    assert compare(value, value) is None
    assert compare(torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")])) is None
    assert "shape" in str(compare(torch.ones(2), torch.ones(1, 2)))
    assert "dtype" in str(compare(torch.ones(2), torch.ones(2).half()))
    assert "1 of 2 elements differ" in str(compare(torch.ones(2), torch.tensor([1.0, 2.0])))
    assert "different parts" in str(compare([1], [1, 2]))
    assert "result['a']" in str(compare({"a": 1}, {"a": 2}))
    assert compare(torch.tensor([1.0]).bfloat16(), torch.tensor([1.01]).bfloat16()) is None
    assert compare(1.0, 1.0 + 1e-12) is None
    assert compare(10**17, 10**17 + 1) is not None
    assert compare(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)) is not None
    assert compare(torch.ones(2).to_sparse(), torch.ones(2).to_sparse()) is None
    assert Leaf("", "tensor", ((), [1.0])) == Leaf("", "tensor", ((), [1.0]))
    assert HALF > SAME_MACHINE


def test_notebooks(tmp_path: Path, workshop: Workshop) -> None:
    cells = [
        "%matplotlib inline\n!pip install x\nimport torch\ntorch.nn.Linear?",
        "%%bash\nnot python",
        "%%time\nif True:\n    %time\nresult = torch.ones(2) * 3",
    ]
    book = {"cells": [{"cell_type": "markdown", "source": "text"}]}
    book["cells"] += [{"cell_type": "code", "source": cell} for cell in cells]
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps(book))
    result = workshop.run(Job(path, "simulated", "cuda"))
    assert result.ok, result.output
    assert result.leaves[0].value == ((2,), [3.0, 3.0])
    assert python_of_cell("%%html\n<b>") == ""


@pytest.mark.gpu
def test_on_a_real_card(tmp_path: Path, workshop: Workshop) -> None:
    (tmp_path / "before.py").write_text(BEFORE)
    (tmp_path / "after.py").write_text(AFTER)
    verdict = verify(tmp_path / "before.py", tmp_path / "after.py", device="cuda", workshop=workshop)
    assert verdict.verdict == CONFIRMED, verdict.as_text()
