"""DVF506: tables on the CPU and indices on a device."""

from __future__ import annotations

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding
from devicefix.settings import Settings

HEAD = "import torch\nfrom torch import nn\n\n\n"
START = "def work(device: torch.device, x: torch.Tensor):\n    index = torch.tensor([1, 0], device=device)\n"


def found(program: str, code: str = "DVF506") -> list[Finding]:
    result = check(HEAD + program)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == code]


def rewritten(program: str, *, unsafe: bool = False) -> str:
    return fix(HEAD + program, unsafe=unsafe, settings=Settings(select=("DVF506",))).new_text


def test_a_local_table_is_moved_before_the_lookup() -> None:
    program = f"{START}    table = torch.arange(4.0)\n    return table[index].to(device) * 2\n"
    (finding,) = found(program)
    assert finding.applicability is Applicability.SAFE
    assert "table.to(device)[index] * 2" in rewritten(program)
    assert found(program, "DVF201") == []


@pytest.mark.parametrize(
    ("use", "after"),
    [
        ("return table[index].numpy()", "table[index.cpu()].numpy()"),
        ("return table[index].tolist()", "table[index.cpu()].tolist()"),
        ("table[index] = 0.0\n    return table", "table[index.cpu()] = 0.0"),
        ("return table[:, index].tolist()", "table[:, index.cpu()].tolist()"),
        ("return table[index > 0].tolist()", "table[(index > 0).cpu()].tolist()"),
        ("return table[index].to(device)", "table[index.cpu()].to(device)"),
    ],
)
def test_a_table_that_is_on_the_cpu_on_purpose_stays_there(use: str, after: str) -> None:
    program = f'{START}    table = torch.zeros(4, 4, device="cpu")\n    {use}\n'
    (finding,) = found(program)
    assert finding.applicability is Applicability.SAFE
    assert after in rewritten(program)


def test_a_stored_value_comes_along() -> None:
    program = f'{START}    table = torch.zeros(4, device="cpu")\n    table[index] = torch.ones(2, device=device)\n    return table\n'
    assert "table[index.cpu()] = torch.ones(2, device=device).cpu()" in rewritten(program)


def test_a_result_of_which_nothing_is_known_needs_unsafe_fixes() -> None:
    program = f'{START}    table = torch.zeros(4, device="cpu")\n    return table[index]\n'
    (finding,) = found(program)
    assert finding.applicability is Applicability.UNSAFE


def test_the_table_of_a_plain_class_is_reported_once() -> None:
    program = (
        "class Table:\n    def __init__(self):\n        self.t = torch.ones(3)\n\n    def look(self, i):\n        return self.t[i] + self.t[i]\n\n\n"
        "def work(device: torch.device):\n    return Table().look(torch.tensor([1], device=device))\n"
    )
    (finding,) = found(program)
    assert finding.applicability is Applicability.REPORT
    assert found(program, "DVF301") == []


@pytest.mark.parametrize(
    "body",
    [
        "return torch.ones(4, device=device)[index]",
        "return torch.ones(4, device=device)[torch.tensor([1])]",  # an index on the CPU is allowed
        "table = torch.ones(4, device='cpu')\n    return table[index.cpu()]",
        "table = torch.ones(4, device='cpu')\n    return table[int(index[0])]",
        "table = torch.ones(4, device='cpu')\n    return table[index.tolist()]",
        "table = torch.ones(4, device='cpu')\n    return table[1:], table[0], table[None]",
        "table = x.cpu()\n    return table[torch.tensor([1])]",
        "table = [1, 2]\n    return table[index[0]]",
    ],
)
def test_silent(body: str) -> None:
    assert found(f"{START}    {body}\n") == []


def test_who_calls_a_host_function_is_not_known() -> None:
    assert (
        found("def keep(boxes, index):\n    boxes = torch.zeros(4, device='cpu')\n    return boxes[index.long()]\n")
        == []
    )


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (f"{START}    table = torch.eye(4)\n    return table[index] + x\n", "DVF201"),
        (
            (
                "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.t = torch.ones(3)\n\n"
                "    def forward(self, ids: torch.Tensor):\n        return self.t[ids]\n"
            ),
            "DVF301",
        ),
    ],
)
def test_tables_that_other_rules_repair_are_theirs(program: str, code: str) -> None:
    assert len(found(program, code)) == 1
    assert found(program) == []


CALLER = (
    "\n\ndef run(device: torch.device):\n    net = nn.Linear(4, 3).to(device)\n    table = torch.tensor([2, 1, 0])\n"
    "    return work(net, torch.ones(5, 4, device=device), table)\n"
)


@pytest.mark.parametrize(
    "use",
    [
        "return table[best].tolist()",
        "return table[best].numpy()",
        "return [int(t) for t in table[best]]",
        'return ["abc"[i] for i in table[best]]',
        "picked = table[best]\n    return [str(p) for p in picked]",
        "return list(map(int, table[best]))",
        'return [f"{k}: {t}" for k, t in enumerate(table[best])]',
        "for b, t in zip(best, table[best]):\n        print(int(t))",
        "return table[best].squeeze().tolist()",
    ],
)
def test_the_table_of_a_caller_that_is_read_on_the_host_stays_there(use: str) -> None:
    program = f"def work(net, x, table):\n    best = net(x).argmax(1)\n    {use}\n{CALLER}"
    (finding,) = found(program)
    assert finding.applicability is Applicability.SAFE
    assert found(program, "DVF201") == found(program, "DVF505") == []
    assert "table[best.cpu()]" in rewritten(program)


@pytest.mark.parametrize(
    "use",
    ["return table[best]", "return table[best] + x[:, 0]", "picked = table[best]\n    print(picked)\n    return picked",
     "return [t for t in table[best]]", "table = table * 2\n    return table[best].tolist()"],
)  # fmt: skip
def test_what_may_be_needed_on_the_device_is_created_there(use: str) -> None:
    program = f"def work(net, x, table):\n    best = net(x).argmax(1)\n    {use}\n{CALLER}"
    assert found(program) == []
    assert len(found(program, "DVF201")) == 1
