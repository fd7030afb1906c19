"""DVF403: CUDA in a loader's workers, and calls that need a card."""

from __future__ import annotations

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding
from devicefix.settings import Settings

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, Dataset, IterableDataset\n\n\n"


def found(program: str) -> list[Finding]:
    result = check(HEAD + program)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == "DVF403"]


@pytest.mark.parametrize(
    "program",
    [
        "class D(Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2).cuda()\n",
        "class D(Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2).to('cuda:0')\n",
        "class D(Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2, device='cuda')\n",
        "class D(IterableDataset):\n    def __iter__(self):\n        yield torch.ones(2).cuda()\n",
        "class B(Dataset):\n    pass\n\n\nclass D(B):\n    def __getitem__(self, i):\n        return self.item(i)\n\n    def item(self, i):\n        return torch.ones(2).cuda()\n",
        "def c(rows):\n    return torch.stack(rows).cuda()\n\n\nloader = DataLoader([], collate_fn=c)\n",
        "def c(rows):\n    return torch.stack(rows).to('cuda')\n\n\ndef make(data):\n    return DataLoader(data, collate_fn=c)\n",
        "loader = DataLoader([], collate_fn=lambda rows: torch.stack(rows).cuda())\n",
        "class C:\n    def __call__(self, rows):\n        return torch.stack(rows).cuda()\n\n\nloader = DataLoader([], collate_fn=C())\n",
        ("def c(rows, device):\n    return torch.stack(rows).to(device)\n\n\n"
        "def make(data, device: torch.device):\n    return DataLoader(data, collate_fn=lambda rows: c(rows, device), pin_memory=True)\n"),
    ],
)  # fmt: skip
def test_cuda_in_workers_is_reported(program: str) -> None:
    (finding,) = found(program)
    assert finding.applicability is Applicability.REPORT
    assert "loop over the loader" in finding.note


@pytest.mark.parametrize(
    "program",
    [
        "class D(Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2)\n",
        "class D(Dataset):\n    def to_card(self):\n        self.x = self.x.cuda()\n",  # called by the user, not by workers
        "class D:\n    def __getitem__(self, i):\n        return torch.ones(2).cuda()\n",  # no data set
        "def c(rows):\n    return torch.stack(rows)\n\n\nloader = DataLoader([], collate_fn=c, pin_memory=True)\n",
        "class D(Dataset):\n    def __init__(self, device):\n        self.device = device\n\n    def __getitem__(self, i):\n        return torch.ones(2).to(self.device)\n",
        "def c(rows):\n    return torch.stack(rows).cpu()\n\n\nloader = DataLoader([], collate_fn=c)\n",
    ],
)  # fmt: skip
def test_workers_that_are_right(program: str) -> None:
    assert found(program) == []


CHOSEN = "def work(device: torch.device):\n    x = torch.ones(2, device=device)\n"


@pytest.mark.parametrize(
    "call",
    ["torch.cuda.synchronize()", "torch.cuda.Event(enable_timing=True)", "torch.cuda.current_device()",
     "print(torch.cuda.get_device_name())", "torch.cuda.reset_peak_memory_stats()", "torch.cuda.current_stream()"],
)  # fmt: skip
def test_calls_that_need_a_card_on_a_chosen_device(call: str) -> None:
    (finding,) = found(f"{CHOSEN}    {call}\n    return x\n")
    assert finding.applicability is Applicability.REPORT


def test_one_finding_per_function_names_the_others() -> None:
    (finding,) = found(
        f"{CHOSEN}    torch.cuda.synchronize()\n    y = x * 2\n    torch.cuda.synchronize()\n    return y\n"
    )
    assert "1 more call" in finding.message
    assert len(finding.related) == 1


def test_a_helper_that_is_called_with_the_chosen_device() -> None:
    program = "def timed(net, x):\n    torch.cuda.synchronize()\n    return net(x)\n\n\ndef work(device: torch.device):\n    return timed(nn.Linear(1, 1).to(device), torch.ones(1, device=device))\n"
    assert len(found(program)) == 1


def test_a_call_before_anything_is_placed() -> None:
    assert (
        len(
            found(
                "def work(device):\n    name = torch.cuda.get_device_name(0)\n    return nn.Linear(1, 1).to(device), name\n"
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    "call",
    ["torch.cuda.empty_cache()", "torch.cuda.manual_seed_all(0)", "torch.cuda.manual_seed(0)", "torch.cuda.memory_allocated()",
     "torch.cuda.device_count()", "torch.cuda.set_device(0)", "torch.cuda.is_available()"],
)  # fmt: skip
def test_what_pytorch_ignores_without_a_card_and_choosing_one(call: str) -> None:
    assert found(f"{CHOSEN}    {call}\n    return x\n") == []


@pytest.mark.parametrize(
    "body",
    [
        "    if torch.cuda.is_available():\n        torch.cuda.synchronize()\n",
        "    if device.type == 'cuda':\n        torch.cuda.synchronize()\n",
        "    if not torch.cuda.is_available():\n        return x\n    torch.cuda.synchronize()\n",
        "    assert torch.cuda.is_available()\n    torch.cuda.synchronize()\n",
        "    torch.cuda.synchronize() if torch.cuda.is_available() else None\n",
        "    torch.cuda.is_available() and torch.cuda.synchronize()\n",
        "    try:\n        torch.cuda.synchronize()\n    except AssertionError:\n        pass\n",
    ],
)
def test_guarded_calls(body: str) -> None:
    assert found(f"{CHOSEN}{body}    return x\n") == []


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    torch.cuda.synchronize()\n    return x.cuda()\n",  # for the card only
        "def f():\n    return torch.cuda.current_device()\n",
        "def f(x):\n    rank = torch.cuda.current_device()\n    return x.to(f'cuda:{rank}')\n",
        "def f(x, kind):\n    rank = torch.cuda.current_device()\n    return x.to(dtype=kind), rank\n",
        "def cuda_time(device: torch.device):\n    x = torch.ones(1, device=device)\n    torch.cuda.synchronize()\n    return x\n",
    ],
)
def test_code_for_the_card_only(program: str) -> None:
    assert found(program) == []


@pytest.mark.parametrize("imports", ["import tensorrt as trt\n", "from triton import language\n", "import cupy.cuda\n"])
def test_libraries_that_run_on_cards_alone(imports: str) -> None:
    body = "    return torch.cuda.current_stream(), x\n"
    assert len(found(CHOSEN + body)) == 1
    assert found(imports + "\n\n" + CHOSEN + body) == []


def test_nothing_is_rewritten() -> None:
    program = HEAD + "class D(Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2).cuda()\n"
    assert fix(program, unsafe=True, settings=Settings(select=("DVF403",))).new_text == program


FALLBACKS = {
    "global": 'DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n\n\ndef banner():\n    print(torch.cuda.get_device_name(0))\n',
    "module level": 'print(torch.cuda.get_device_name(0))\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n',
    "statement": (
        "def main():\n    if torch.cuda.is_available():\n        device = 'cuda:0'\n    else:\n        device = 'cpu'\n"
        "    print(torch.cuda.memory_summary(), device)\n"
    ),
    "flag of the parser": (
        "def main(parser):\n    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')\n"
        "    print(torch.cuda.get_device_properties(0).name)\n"
    ),
    "class": (
        "class Trainer:\n    def __init__(self, device=None):\n        self.device = device or ('cuda' if torch.cuda.is_available() else 'cpu')\n\n"
        "    def peak(self):\n        torch.cuda.reset_peak_memory_stats()\n"
    ),
    "default": "def bench(model, device='cpu'):\n    model.to(device)\n    torch.cuda.synchronize()\n",
    "default of the constructor": "class Bench:\n    def __init__(self, device='cpu'):\n        self.device = device\n\n    def run(self):\n        torch.cuda.synchronize()\n",
    "other names": "import torch.cuda as tc\nfrom torch.cuda import get_device_name as name_of\n\n\ndef bench(model, device='cpu'):\n    tc.synchronize()\n    return name_of()\n",
}


@pytest.mark.parametrize("name", FALLBACKS)
def test_code_that_falls_back_to_the_cpu(name: str) -> None:
    (finding,) = found(FALLBACKS[name])
    assert finding.applicability is Applicability.REPORT


@pytest.mark.parametrize(
    "program",
    [
        "DEVICE = torch.device('cuda')\n\n\ndef banner():\n    print(torch.cuda.get_device_name(0))\n",  # no fallback
        "def pick():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n\n\ndef other():\n    torch.cuda.synchronize()\n",
        "def names(device: torch.device):\n    x = torch.ones(1, device=device)\n    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())], x\n",
        "def names(device: torch.device):\n    x = torch.ones(1, device=device)\n    for i in range(torch.cuda.device_count()):\n        print(torch.cuda.get_device_name(i), x)\n",
        "def names(device: torch.device):\n    x = torch.ones(1, device=device)\n    ok = torch.cuda.is_available()\n    if ok:\n        torch.cuda.synchronize()\n    return x\n",
        "def names(device: torch.device):\n    x = torch.ones(1, device=device)\n    ok = torch.cuda.is_available()\n    if not ok:\n        return x\n    torch.cuda.synchronize()\n    return x\n",
        "class T:\n    def __init__(self, device='cpu'):\n        self.ok = device != 'cpu'\n\n    def wait(self):\n        if self.ok:\n            torch.cuda.synchronize()\n",
    ],
)  # fmt: skip
def test_no_fallback_or_a_guard_under_another_name(program: str) -> None:
    assert found(program) == []
