"""DVF102: an in-place operation on the copy that a move returns."""

from __future__ import annotations

import pytest

from rules.programs import added, found, levels, lines, marked, program, source

CODE = "DVF102"

ASSIGNED = [
    pytest.param("x = torch.ones(2)\nx.to(device).fill_(0)  # !\nreturn x", ["x = x.to(device).fill_(0)  # !"], id="fill"),
    pytest.param("x = torch.ones(2)\nx.cuda().zero_()  # !\nreturn x", ["x = x.cuda().zero_()  # !"], id="cuda"),
    pytest.param("x = torch.ones(2)\nx.to(device).add_(1, alpha=2,)  # !\nreturn x", ["x = x.to(device).add_(1, alpha=2,)  # !"], id="comma"),
    pytest.param("x = torch.ones(2)\nif device: x.to(device).mul_(2); y = x  # !\nreturn x", ["if device: x = x.to(device).mul_(2); y = x  # !"], id="one-line-if"),
    pytest.param("d = {'a': torch.ones(2)}\nd['a'].to(device).fill_(0)  # !\nreturn d", ["d['a'] = d['a'].to(device).fill_(0)  # !"], id="item"),
    pytest.param("x = torch.ones(2)\nx.to(\n    device,  # the card\n).copy_(torch.zeros(2))\nreturn x", ["x = x.to("], id="lines"),
    pytest.param("ümlaut = torch.ones(2)\n'ß'; ümlaut.to(device).fill_(0)  # !\nreturn ümlaut", ["'ß'; ümlaut = ümlaut.to(device).fill_(0)  # !"], id="unicode"),
    pytest.param("x = torch.ones(2)\nx.to(device).uniform_(*(0, 1))  # !\nreturn x", ["x = x.to(device).uniform_(*(0, 1))  # !"], id="star-args"),
    pytest.param("x = torch.ones(2)\nx.to(device).requires_grad_()  # !\nreturn x", ["x = x.to(device).requires_grad_()  # !"], id="requires-grad"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ASSIGNED)
def test_the_result_is_assigned(body: str, expected: list[str]) -> None:
    text = program(body)
    assert levels(text, CODE) == ["safe"]
    assert lines(text, CODE) == (marked(text) or [8])
    assert added(text, CODE) == expected
    assert found(text, "DVF101") == []


def test_an_attribute_in_a_method() -> None:
    text = source(
        "class Counter:\n    def __init__(self):\n        self.n = torch.zeros(2)\n\n"
        "    async def reset(self, device):\n        self.n.to(device).fill_(0)  # !\n        return self.n"
    )
    assert lines(text, CODE) == marked(text)
    assert added(text, CODE) == ["self.n = self.n.to(device).fill_(0)  # !"]


REPORTS = [
    pytest.param("x = torch.ones(2)\ndef run(device):\n    x.to(device).fill_(0)  # !\n    return x + 1", "outer scope", id="global"),
    pytest.param("def reset(x: torch.Tensor, device):\n    x.to(device).fill_(0)  # !", "caller", id="caller-keeps-it"),
    pytest.param("def run(device):\n    x = torch.ones(2, requires_grad=True)\n    x.to(device).mul_(2)  # !\n    return x", "leaf", id="leaf"),
    pytest.param("class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('b', torch.ones(2))\n        self.b.to('cuda').zero_()  # !", "registered", id="buffer"),
    pytest.param("def run(device):\n    t = (torch.ones(2),)\n    t[0].to(device).fill_(0)  # !\n    return t", "tuple", id="tuple-item"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "note"), REPORTS)
def test_what_cannot_be_assigned_is_reported(text: str, note: str) -> None:
    text = source(text)
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")
    assert note in finding.note
    assert added(text, CODE, unsafe=True) == []


SILENT = [
    pytest.param("x = torch.ones(2)\nx.add_(1).mul_(2)\nreturn x", id="no-move"),
    pytest.param("x = torch.ones(2)\nx = x.to(device).fill_(0)\nreturn x", id="assigned"),
    pytest.param("x = torch.ones(2)\ny = x.to(device).fill_(0)\nreturn x, y", id="assigned-elsewhere"),
    pytest.param("return torch.ones(2).to(device).fill_(0)", id="returned"),
    pytest.param("x = torch.ones(2)\nx.half().fill_(0)\nreturn x", id="no-device-involved"),
    pytest.param("x = torch.ones(2)\nx.to(torch.float64).add_(1)\nreturn x", id="dtype-only"),
    pytest.param("w = torch.ones(2)\nw.data.add_(w).to(torch.float64)\nreturn w", id="in-place-before-the-move"),
    pytest.param("m = nn.Linear(2, 2)\nm.to(device).requires_grad_(False)\nreturn m", id="module"),
    pytest.param("x = torch.ones(2)\nx.to(device).share_memory_()\nreturn x", id="share-memory"),
    pytest.param("torch.zeros(2).to(device).fill_(1)\nreturn 1", id="probe"),
    pytest.param("x = torch.ones(2)\nx.to(device).sum()\nreturn x", id="no-change-in-place"),
    pytest.param("from unseen import thing\nx = thing()\nx.to(device).fill_(0)\nreturn x", id="unknown"),
    pytest.param("xs = []\nxs.append(torch.ones(2).to(device).fill_(0))\nreturn xs", id="argument"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(program(body), CODE) == []
