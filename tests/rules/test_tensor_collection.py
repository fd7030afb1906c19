"""DVF305: collections of tensors, class-level tensors, second names for buffers."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check
from devicefix.findings import Applicability, Finding

HEAD = "import torch\nfrom torch import nn\n\n\n"


def module(init: str, forward: str, top: str = "") -> str:
    def body(text: str, depth: int) -> str:
        return textwrap.indent(textwrap.dedent(text).strip(), " " * depth) + "\n"

    return (
        HEAD + "class Net(nn.Module):\n" + (body(top, 4) if top else "") + "    def __init__(self):\n        super().__init__()\n"
        + body(init, 8) + "\n    def forward(self, x: torch.Tensor, feats: list[torch.Tensor], i=0):\n" + body(forward, 8)
    )  # fmt: skip


def found(program: str) -> list[Finding]:
    result = check(program)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == "DVF305"]


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.t = [torch.ones(2), torch.ones(3)]", "return x + self.t[i]"),
        ("self.t = [torch.ones(n) for n in (2, 3)]", "return [x + t for t in self.t]"),
        ("self.t = []\nfor n in (2, 3):\n    self.t.append(torch.ones(n))", "return x * self.t[i]"),
        ("self.t = (torch.ones(2), torch.ones(2))", "a, b = self.t\nreturn x * a + b"),
        ('self.t = {"a": torch.ones(2)}', 'return x * self.t["a"]'),
        ("self.t = {k: torch.ones(k) for k in (1, 2)}", "return sum(x * t for t in self.t.values())"),
        ("self.t = {}\nself.t['a'] = torch.ones(2)", "return torch.cat([x, self.t['a']])"),
        ("self.t = [[torch.ones(2)], [torch.ones(3)]]", "return x + self.t[0][0]"),
    ],
)
def test_collections_that_meet_the_input_are_reported(init: str, forward: str) -> None:
    (finding,) = found(module(init, forward))
    assert finding.applicability is Applicability.REPORT
    assert "`self.t`" in finding.message
    assert "register" in finding.note


def test_a_tensor_of_the_class_is_reported() -> None:
    (finding,) = found(module("pass", "return x - self.mean", "mean = torch.tensor([0.5, 0.4])"))
    assert "`Net.mean`" in finding.message
    assert "refuses" in finding.note


def test_a_second_name_for_a_buffer_is_reported() -> None:
    helper = "class Helper:\n    def __init__(self, value):\n        self.value = value\n\n    def shift(self, x):\n        return x - self.value\n\n\n"
    program = module(
        'self.register_buffer("c", torch.zeros(2))\nself.helper = Helper(self.c)', "return self.helper.shift(x)"
    )
    (finding,) = found(program.replace("class Net", helper + "class Net"))
    assert "`self.value`" in finding.message


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.t = [torch.ones(2)]", "return [x + t.to(x.device) for t in self.t]"),
        ("self.t = [torch.ones(2)]", "self.t = [t.to(x.device) for t in self.t]\nreturn x + self.t[0]"),
        ("self.t = [torch.tensor(2.0), torch.tensor(3.0)]", "return x * self.t[i]"),  # no dimensions
        ("self.t = [2.0, 3.0]", "return x * self.t[i]"),
        ("self.t = []", "self.t.append(x)\nreturn self.t[0] + x"),
        ("self.t = {}", "self.t['last'] = x\nreturn self.t['last'] * x"),
        ("self.t = [torch.randperm(4)]", "return x[self.t[0]]"),  # an index
        ("self.t = [torch.ones(2)]", "return [int(t.sum()) for t in self.t]"),  # read on the host
        ("self.t = {'cache': torch.tensor([])}", "return x + self.t['cache']"),  # a placeholder
        ("self.t = nn.ParameterList([nn.Parameter(torch.ones(2))])", "return x + self.t[0]"),
        ("self.t = nn.ModuleList([nn.Linear(2, 2)])", "return self.t[0](x)"),
    ],
)
def test_silent(init: str, forward: str) -> None:
    assert found(module(init, forward)) == []


def test_a_class_that_moves_its_collection_is_silent() -> None:
    program = module("self.t = [torch.ones(2)]", "return x + self.t[0]")
    moves = "\n    def _apply(self, fn):\n        super()._apply(fn)\n        self.t = [fn(t) for t in self.t]\n        return self\n"
    assert found(program + moves) == []
