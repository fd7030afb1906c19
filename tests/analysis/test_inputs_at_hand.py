"""Which inputs of ``forward`` are surely tensors that a constant may follow."""

from __future__ import annotations

import pytest

from devicefix import fix

PROGRAM = """
import torch
from torch import nn


class Layer(nn.Module):
    def forward(self, {parameters}):
        {body}
"""

SURE = [
    pytest.param("t", "return t[:, None] * torch.ones(4).cuda()", "t", id="new-axis"),
    pytest.param("a, t", "rates = torch.ones(4).cuda()\n        return a, t[..., 0] * rates", "t", id="ellipsis"),
    pytest.param("t", "return t[None] * torch.ones(4).cuda()", "t", id="none"),
    pytest.param("x", "return x + torch.ones(4).cuda()", "x", id="arithmetic"),
    pytest.param("x", "noise = torch.randn(4).cuda()\n        return noise * x", "x", id="arithmetic-by-name"),
]


@pytest.mark.parametrize(("parameters", "body", "owner"), SURE)
def test_it_follows_the_input(parameters: str, body: str, owner: str) -> None:
    text = PROGRAM.format(parameters=parameters, body=body)
    new = fix(text).new_text
    assert new == text.replace(".cuda()", f".to({owner}.device)")


UNSURE = [
    pytest.param("a, k", "return k * torch.ones(4).cuda()", id="second-input"),
    pytest.param("n", "return n * torch.ones(n).cuda()", id="a-size"),
    pytest.param("x=None", "return x + torch.ones(3).cuda()", id="optional"),
    pytest.param("x=2", "return x * torch.ones(3).cuda()", id="number"),
    pytest.param("sizes", "return torch.ones(*sizes[1:]).cuda()", id="part-of-a-list"),
    pytest.param("x", "return 2 * torch.ones(3).cuda()", id="not-met"),
]


@pytest.mark.parametrize(("parameters", "body"), UNSURE)
def test_nothing_says_that_it_is_a_tensor(parameters: str, body: str) -> None:
    text = PROGRAM.format(parameters=parameters, body=body)
    result = fix(text)
    assert not result.changed
    assert [finding.code for finding in result.remaining] == ["DVF401"]
