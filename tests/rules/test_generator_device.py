"""DVF203: generators and the devices that numbers are drawn on."""

from __future__ import annotations

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding
from devicefix.settings import Settings

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, RandomSampler, random_split\n\n\n"


def found(program: str) -> list[Finding]:
    result = check(HEAD + program)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == "DVF203"]


@pytest.mark.parametrize(
    "draw",
    [
        "torch.randn(2, generator=g, device=x.device)",
        "torch.rand(x.shape, device=x.device, generator=g)",
        "torch.randint(0, 9, (2,), generator=g, device=x.device)",
        "torch.randperm(4, generator=g, device=x.device)",
        "torch.bernoulli(x, generator=g)",
        "torch.multinomial(x, 2, generator=g)",
        "torch.empty_like(x).normal_(generator=g)",
        "x.clone().uniform_(0, 1, generator=g)",
    ],
)
def test_a_cpu_generator_that_draws_on_the_inputs_device_is_created_there(draw: str) -> None:
    program = f"def noise(x: torch.Tensor):\n    g = torch.Generator().manual_seed(3)\n    return {draw}\n"
    (finding,) = found(program)
    assert finding.applicability is Applicability.SAFE
    assert "torch.Generator(device=x.device).manual_seed(3)" in fix(HEAD + program).new_text


@pytest.mark.parametrize("created", ['torch.Generator("cpu")', 'torch.Generator(device="cpu")', "torch.Generator()"])
def test_however_the_generator_was_created(created: str) -> None:
    program = f"def noise(n, device: torch.device):\n    g = {created}\n    return torch.randn(n, generator=g, device=device)\n"
    assert "g = torch.Generator(device=device)\n" in fix(HEAD + program).new_text


def test_a_device_by_name_is_repeated() -> None:
    program = "def noise(n):\n    g = torch.Generator()\n    return torch.randn(n, generator=g, device='cuda')\n"
    assert 'torch.Generator(device="cuda")' in fix(HEAD + program, settings=Settings(select=("DVF203",))).new_text


def test_a_generator_that_goes_elsewhere_needs_unsafe_fixes() -> None:
    program = (
        "def noise(x: torch.Tensor, sink):\n    g = torch.Generator()\n    sink(g)\n"
        "    return torch.randn(2, generator=g, device=x.device)\n"
    )
    (finding,) = found(program)
    assert finding.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    "other",
    [
        "random_split(range(9), [4, 5], generator=g)",
        "torch.randperm(9, generator=g)",
        "DataLoader(range(9), generator=g)",
    ],
)
def test_a_generator_that_also_serves_the_cpu_is_only_reported(other: str) -> None:
    program = (
        f"def noise(x: torch.Tensor):\n    g = torch.Generator()\n    a = {other}\n"
        "    return a, torch.randn(2, generator=g, device=x.device)\n"
    )
    (finding,) = found(program)
    assert finding.applicability is Applicability.REPORT


def test_the_global_generator_is_only_reported() -> None:
    (finding,) = found(
        "def noise(x: torch.Tensor):\n    return torch.randn(2, generator=torch.manual_seed(1), device=x.device)\n"
    )
    assert finding.applicability is Applicability.REPORT


def test_a_generator_made_with_the_object_is_only_reported() -> None:
    program = (
        "class Noise(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.g = torch.Generator()\n\n"
        "    def forward(self, x: torch.Tensor):\n        return x + torch.randn(x.shape, generator=self.g, device=x.device)\n"
    )
    (finding,) = found(program)
    assert finding.applicability is Applicability.REPORT


@pytest.mark.parametrize(
    "program",
    [
        # on the CPU on purpose
        "def order(x):\n    g = torch.Generator().manual_seed(0)\n    return x[torch.randperm(len(x), generator=g)]\n",
        "def noise(x: torch.Tensor):\n    g = torch.Generator()\n    return torch.randn(x.shape, generator=g).to(x.device)\n",
        # already right
        "def noise(x: torch.Tensor):\n    g = torch.Generator(x.device)\n    return torch.randn(2, generator=g, device=x.device)\n",
        "def noise(x: torch.Tensor):\n    g = torch.Generator(device=x.device)\n    return torch.randn(2, generator=g, device=x.device)\n",
        # nothing is known of the generator, or there may be none
        "def noise(x: torch.Tensor, g):\n    return torch.randn(2, generator=g, device=x.device)\n",
        "def noise(x: torch.Tensor):\n    return torch.randn(2, generator=None, device=x.device)\n",
        # helpers that know how to draw on the CPU and move
        "def noise(x: torch.Tensor, randn_tensor):\n    g = torch.Generator()\n    return randn_tensor((2,), generator=g, device=x.device)\n",
        # samplers
        "def split(data):\n    g = torch.Generator()\n    return random_split(data, [1, 2], generator=g), RandomSampler(data, generator=g)\n",
        "def seed():\n    torch.manual_seed(0)\n    return DataLoader([1], shuffle=True, generator=torch.Generator())\n",
    ],
)
def test_silent(program: str) -> None:
    assert found(program) == []


# -- a changed default device ------------------------------------------------------------------------------------------

SET = 'if torch.cuda.is_available():\n    torch.set_default_device("cuda")\n\n\n'


@pytest.mark.parametrize(
    "call",
    ["DataLoader(data, shuffle=True)", "DataLoader(data, 4, True)", "RandomSampler(data)", "random_split(data, [1, 2])",
     "DataLoader(data, shuffle=True, generator=torch.Generator())"],
)  # fmt: skip
@pytest.mark.parametrize(
    "change",
    [SET, 'torch.set_default_device("cuda")\n', "torch.set_default_tensor_type(torch.cuda.FloatTensor)\n",
     "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\ntorch.set_default_device(device)\n"],
)  # fmt: skip
def test_samplers_under_an_accelerator_as_default(change: str, call: str) -> None:
    (finding,) = found(f"{change}\ndef loader(data):\n    return {call}\n")
    assert finding.applicability is Applicability.REPORT


@pytest.mark.parametrize(
    "program",
    [
        "def loader(data):\n    return DataLoader(data, shuffle=True)\n",
        'torch.set_default_device("cpu")\nloader = DataLoader([1], shuffle=True)\n',
        'torch.set_default_device("cuda")\ntorch.set_default_device("cpu")\nloader = DataLoader([1], shuffle=True)\n',
        SET + "loader = DataLoader([1], shuffle=False)\n",
        SET + "loader = DataLoader([1])\n",
        SET + "loader = DataLoader([1], shuffle=True, generator=torch.Generator(device='cuda'))\n",
        SET
        + "def loader(data, sampler, **options):\n    return DataLoader(data, sampler=sampler), DataLoader(data, **options)\n",
        # the default is set for another program
        'def main():\n    torch.set_default_device("cuda")\n\n\ndef other(data):\n    return DataLoader(data, shuffle=True)\n',
    ],
)
def test_samplers_that_are_right(program: str) -> None:
    assert found(program) == []


SAMPLERS = [
    "torch.utils.data.random_split(range(6), [4, 2], generator=g)",
    "random_split(range(6), [4, 2], g)",
    "RandomSampler(range(6), generator=g)",
    "RandomSampler(range(6), False, None, g)",
    "DataLoader([1, 2], shuffle=True, generator=g)",
    "torch.utils.data.WeightedRandomSampler([1.0, 2.0], 2, generator=g)",
    "torch.utils.data.SubsetRandomSampler([1, 2], g)",
    "torch.randperm(6, generator=g)",
]


@pytest.mark.parametrize("call", SAMPLERS)
def test_a_generator_on_the_device_given_to_what_draws_on_the_cpu(call: str) -> None:
    program = (
        f"def work(device: torch.device):\n    g = torch.Generator(device=device).manual_seed(1)\n    return {call}\n"
    )
    (finding,) = found(program)
    if call.startswith("torch.randperm"):  # it may draw on the device instead
        assert finding.applicability is Applicability.REPORT
        assert "torch.Generator()" in finding.note
    else:
        assert finding.applicability is Applicability.SAFE


@pytest.mark.parametrize("call", SAMPLERS)
def test_a_generator_on_the_device_that_goes_elsewhere_too(call: str) -> None:
    program = (
        "def work(device: torch.device, noise):\n    g = torch.Generator(device=device).manual_seed(1)\n"
        f"    noise(g)\n    return {call}\n"
    )
    (finding,) = found(program)
    assert finding.applicability is Applicability.REPORT


@pytest.mark.parametrize("call", SAMPLERS)
@pytest.mark.parametrize("created", ["torch.Generator()", 'torch.Generator("cpu")'])
def test_samplers_with_a_generator_on_the_cpu(call: str, created: str) -> None:
    assert found(f"def work(device: torch.device):\n    g = {created}\n    return {call}\n") == []


def test_samplers_draw_on_the_default_device_where_that_was_changed() -> None:
    program = (
        'torch.set_default_device("cuda")\n\n\ndef work():\n    g = torch.Generator(device="cuda")\n'
        "    return DataLoader([1, 2], shuffle=True, generator=g)\n\n\nwork()\n"
    )
    assert found(program) == []
