"""Helpers that make tensors of numbers alone: their results are moved where a device has a name."""

from __future__ import annotations

import pytest

from devicefix import fix

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


def values(n):
    return {made}


def shaped(n):
    return values(n).unsqueeze(0)


{user}


def run(device):
    net = nn.Linear(3, 3).to(device)
    return use(net(torch.ones(2, 3).to(device)), torch.ones(2, 3).to(device))
"""
USER = "def use(a, b):\n    w = shaped(3)\n    return F.linear(a, w) + F.linear(b, w)"


@pytest.mark.parametrize(
    "made", ["torch.Tensor([1.0 * i for i in range(n)])", "torch.FloatTensor(n, 3).fill_(1)", "torch.arange(3) * 1.0"]
)
def test_two_helpers_deep(made: str) -> None:
    text = PROGRAM.format(made=made, user=USER)
    assert fix(text).new_text == text.replace("w = shaped(3)", "w = shaped(3).to(a.device)")


def test_used_by_a_third_function() -> None:
    user = "def applied(a, w):\n    return a * w\n\n\ndef use(a, b):\n    w = shaped(3)\n    return applied(a, w) + b"
    text = PROGRAM.format(made="torch.FloatTensor([1.0, 2.0, 3.0])", user=user)
    assert fix(text).new_text == text.replace("w = shaped(3)", "w = shaped(3).to(a.device)")


def test_two_tensors_in_one_result_are_moved_once() -> None:
    text = PROGRAM.format(made="torch.FloatTensor([1.0, 2.0, 3.0]) * torch.Tensor([3.0, 2.0, 1.0])", user=USER)
    assert fix(text).new_text == text.replace("w = shaped(3)", "w = shaped(3).to(a.device)")


WHERE_USED = [
    pytest.param("def use(a, b):\n    w, n = shaped(3), 1\n    return a * {w} * n", "w", id="part-of-a-tuple"),
    pytest.param("def use(a, b):\n    w = {{'w': shaped(3)}}\n    return a * {w}", "w['w']", id="in-a-dict"),
    pytest.param(
        "def both(n):\n    return shaped(n), n\n\n\ndef use(a, b):\n    w, n = both(3)\n    return a * {w}",
        "w",
        id="tuple-of-results",
    ),
]


@pytest.mark.parametrize(("user", "use"), WHERE_USED)
def test_results_that_are_no_tensor_are_moved_where_they_are_used(user: str, use: str) -> None:
    made = "torch.FloatTensor([1.0, 2.0, 3.0])"
    result = fix(PROGRAM.format(made=made, user=user.format(w=use)))
    assert result.new_text == PROGRAM.format(made=made, user=user.format(w=f"{use}.to(a.device)"))


OTHERWISE = [
    pytest.param(
        "def one(a, w):\n    return a * w[0]\n\n\ndef two(a, w):\n    return a + w[0]\n\n\n"
        "def use(a, b):\n    w = (shaped(3), 1)\n    return one(a, w) + two(b, w)",
        id="in-two-functions",
    ),
    pytest.param("def use(a, b):\n    w = [shaped(3)]\n    w[0] += a\n    return w[0]", id="changed-in-place"),
]


@pytest.mark.parametrize("user", OTHERWISE)
def test_results_that_are_no_tensor_stay(user: str) -> None:
    result = fix(PROGRAM.format(made="torch.FloatTensor([1.0, 2.0, 3.0])", user=user))
    assert [finding.code for finding in (*result.applied, *result.remaining)] == ["DVF202"]
    assert not result.changed


def test_moved_already() -> None:
    user = "def use(a, b):\n    w = shaped(3)\n    w = w.to(a.device)\n    return a * w"
    result = fix(PROGRAM.format(made="torch.FloatTensor([1.0, 2.0, 3.0])", user=user))
    assert (result.applied, result.remaining) == ([], [])
