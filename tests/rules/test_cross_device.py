"""DVF601: two cards, and tensors that were brought to the CPU."""

from __future__ import annotations

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding

CODE = "DVF601"


def found(source: str) -> list[Finding]:
    result = check(source)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == CODE]


def split(forward: str, init: str = "") -> str:
    """A module with one half on each of two cards."""
    more = f"        {init}\n" if init else ""
    return f"""
import torch
from torch import nn


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3).to("cuda:0")
        self.b = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to("cuda:1")
{more}
    def forward(self, x):
        {forward}


def run(device):
    return Split()(torch.ones(2, 3, device="cuda:0"))
"""


MOVED = {
    "next half": ("return self.b(self.a(x))", "return self.b(self.a(x).to(next(self.b.parameters()).device))"),
    "residual": ('h = self.b(self.a(x).to("cuda:1")); return x + h', "return x + h.to(x.device)"),
    "residual, the other way round": ('h = self.b(self.a(x).to("cuda:1")); return h + x', "return h + x.to(h.device)"),
    "a call has no name": (
        'return self.b(self.a(x).to("cuda:1")) + x',
        'return self.b(self.a(x).to("cuda:1")).to(x.device) + x',
    ),
    "in place": ('h = self.b(self.a(x).to("cuda:1")); x += h; return x', "x += h.to(x.device)"),
    "in a list": (
        'h = self.b(self.a(x).to("cuda:1")); return torch.cat([x, h])',
        "return torch.cat([x, h.to(x.device)])",
    ),
}


@pytest.mark.parametrize(("forward", "line"), MOVED.values(), ids=MOVED)
def test_one_side_follows_the_other_by_relation(forward: str, line: str) -> None:
    source = split(forward)
    assert [f.applicability for f in found(source)] == [Applicability.SAFE]
    text = fix(source).new_text
    assert line in text
    assert found(text) == []


def test_a_parameter_without_dimensions_follows_the_activation() -> None:
    source = split(
        'h = self.b(self.a(x).to("cuda:1")); return self.scale * h',
        'self.scale = nn.Parameter(torch.tensor(0.5, device="cuda:0"))',
    )
    assert "return self.scale.to(h.device) * h" in fix(source).new_text


def test_labels_follow_the_logits() -> None:
    source = split("return x").replace("return x\n", 'y = torch.zeros(2, dtype=torch.long, device="cuda:0")\n        '
                                       'z = self.b(self.a(x).to("cuda:1"))\n        return nn.functional.cross_entropy(z, y)\n')  # fmt: skip
    assert "cross_entropy(z, y.to(z.device))" in fix(source).new_text


def test_without_a_name_on_either_side_a_weight_or_tensor_says_where() -> None:
    source = split('return self.b(self.a(x).to("cuda:1")) + self.a(x)')
    assert [f.applicability for f in found(source)] == [Applicability.SAFE]
    assert 'return self.b(self.a(x).to("cuda:1")).to(self.a.weight.device) + self.a(x)' in fix(source).new_text


def test_without_any_name_it_is_reported_only() -> None:
    source = """
import torch
from torch import nn


def both(left, right, n):
    return left(torch.ones(n, 3, device="cuda:0")) + right(torch.ones(n, 3, device="cuda:1"))


def run():
    return both(nn.Linear(3, 3).to("cuda:0"), nn.Linear(3, 3).to("cuda:1"), 2)
"""
    assert [f.applicability for f in found(source)] == [Applicability.REPORT]


SILENT = {
    "explicit copies": 'return self.b(self.a(x).to("cuda:1")).to("cuda:0") + x',
    "by relation": 'h = self.b(self.a(x).to("cuda:1")); return h + x.to(h.device)',
    "one card": "return self.a(self.a(x)) + x",
    "copied into place": 'h = torch.empty(2, 3, device="cuda:1"); h.copy_(x); return self.b(h)',
}


@pytest.mark.parametrize("forward", SILENT.values(), ids=SILENT)
def test_explicit_copies_are_silent(forward: str) -> None:
    assert found(split(forward)) == []


SCRATCH = """
import torch


def pooled(scores, size):
    out = torch.zeros(len(scores), device={device})
    return out + scores.sum(1)


def run(device):
    return pooled(torch.ones(4, 3, device=device), 4)
"""


def test_scratch_by_number_follows_the_inputs() -> None:
    source = SCRATCH.format(device='"cuda:0"')
    [finding] = found(source)
    assert finding.applicability is Applicability.SAFE
    assert "on cuda:0 whatever the card of the inputs is" in finding.message
    assert "torch.zeros(len(scores), device=scores.device)" in fix(source).new_text


@pytest.mark.parametrize("device", ["scores.device", '"cpu"', "size"])
def test_other_scratch_is_no_such_finding(device: str) -> None:
    assert found(SCRATCH.format(device=device)) == []


def test_a_script_that_names_its_one_card_everywhere_is_another_matter() -> None:
    source = """
import torch
from torch import nn

net = nn.Linear(3, 2).to("cuda:0")
x = torch.ones(2, 3, device="cuda:0")
print(net(x))
"""
    assert found(source) == []


STALE = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        self.device = device
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x.to(self.device))


def run(device):
    block = {build}
    return block(torch.ones(2, 3, device=device))
"""


def test_a_stale_device_attribute_is_reported() -> None:
    [finding] = found(STALE.format(build="Block().to(device)"))
    assert finding.applicability is Applicability.REPORT
    assert "`x.to(self.device)` moves to `self.device`" in finding.message
    assert "instead of `self.device`" in finding.note


@pytest.mark.parametrize("build", ["Block(device).to(device)", "Block()", "Block(device=device)"])
def test_a_device_attribute_that_is_right_is_silent(build: str) -> None:
    assert found(STALE.format(build=build)) == []


def test_what_was_brought_to_the_cpu_is_reported_where_it_meets_a_device() -> None:
    source = """
import torch
from torch import nn


def run(device):
    net = nn.Linear(3, 2).to(device)
    target = torch.ones(4, 2, device=device)
    out = net(torch.ones(4, 3, device=device)).cpu()
    return nn.functional.mse_loss(out, target)
"""
    [finding] = found(source)
    assert finding.applicability is Applicability.REPORT
    assert "`out` is on the CPU, brought there by" in finding.message
    assert found(source.replace("(out, target)", "(out, target.cpu())")) == []
    assert found(source.replace(").cpu()\n", ")\n")) == []
