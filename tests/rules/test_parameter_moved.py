"""DVF304: a parameter, or another leaf, that is moved right after it was made."""

from __future__ import annotations

import pytest

from rules.programs import added, found, levels, lines, marked, program, repaired, source

CODE = "DVF304"


def in_module(init: str) -> str:
    init = "\n".join(f"        {line}" for line in init.splitlines())
    return source(
        f"class Net(nn.Module):\n    def __init__(self, device, n=3):\n        super().__init__()\n{init}\n\n    def forward(self, x):\n        return x * self.w"
    )


PARAMETERS = [
    pytest.param("self.w = nn.Parameter(torch.ones(3)).to(device)  # !", "self.w = nn.Parameter(torch.ones(3).to(device))  # !", id="to"),
    pytest.param("self.w = nn.Parameter(torch.ones(3)).cuda()  # !", "self.w = nn.Parameter(torch.ones(3).cuda())  # !", id="cuda"),
    pytest.param("self.w = nn.Parameter(torch.ones(3)).to(device, non_blocking=True)  # !", "self.w = nn.Parameter(torch.ones(3).to(device, non_blocking=True))  # !", id="keyword"),
    pytest.param("self.w = nn.Parameter(torch.ones(3), requires_grad=True,).to(device=device)  # !", "self.w = nn.Parameter(torch.ones(3).to(device=device), requires_grad=True,)  # !", id="other-arguments"),
    pytest.param("self.w = torch.nn.Parameter(torch.ones(*(3,))).to(device)  # !", "self.w = torch.nn.Parameter(torch.ones(*(3,)).to(device))  # !", id="long-name"),
    pytest.param("t = torch.ones(3)\nself.w = nn.Parameter(t).to(device)  # !", "self.w = nn.Parameter(t.to(device))  # !", id="data-by-name"),
    pytest.param("t = torch.ones(3)\nself.w = nn.Parameter(t * 2 + 1).to(device)  # !", "self.w = nn.Parameter((t * 2 + 1).to(device))  # !", id="arithmetic-in-parentheses"),
    pytest.param("'ß'; self.w = nn.Parameter(torch.ones(3)).to(device)  # !", "'ß'; self.w = nn.Parameter(torch.ones(3).to(device))  # !", id="unicode"),
    pytest.param("if n: self.w = nn.Parameter(torch.ones(3)).to(device)  # !", "if n: self.w = nn.Parameter(torch.ones(3).to(device))  # !", id="one-line-if"),
    pytest.param("self.w = nn.ParameterList([nn.Parameter(torch.ones(3)).to(device)])[0]  # !", "self.w = nn.ParameterList([nn.Parameter(torch.ones(3).to(device))])[0]  # !", id="in-a-list"),
]  # fmt: skip


@pytest.mark.parametrize(("init", "expected"), PARAMETERS)
def test_the_data_is_moved_inside(init: str, expected: str) -> None:
    text = in_module(init)
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]


def test_lines_and_comments_stay() -> None:
    text = in_module("self.w = nn.Parameter(  # !\n    torch.ones(3),  # start\n).to(\n    device\n)")
    new = repaired(text, CODE)
    assert lines(text, CODE) == marked(text)
    assert "# start" in new or new == text
    assert new.count("# !") == 1


LEAVES = [
    pytest.param("w = torch.ones(3, requires_grad=True).to(device)  # !\no = torch.optim.SGD([w], lr=1)\nreturn o", "w = torch.ones(3, requires_grad=True, device=device)  # !", id="optimized"),
    pytest.param("w = torch.randn(3, requires_grad=True).cuda()  # !\no = torch.optim.SGD([w], lr=1)\nreturn o", 'w = torch.randn(3, requires_grad=True, device="cuda")  # !', id="cuda"),
    pytest.param("w = torch.ones(3, requires_grad=True).to(device=device)  # !\nw.sum().backward()\nreturn w.grad", "w = torch.ones(3, requires_grad=True, device=device)  # !", id="gradient-read"),
    pytest.param("ws = [torch.ones(3, requires_grad=True).to(device) for _ in range(2)]  # !\nreturn torch.optim.SGD(ws, lr=1)", "ws = [torch.ones(3, requires_grad=True, device=device) for _ in range(2)]  # !", id="comprehension"),
    pytest.param("return torch.ones(3, requires_grad=True).to(device)  # !", "return torch.ones(3, requires_grad=True, device=device)  # !", id="returned"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), LEAVES)
def test_another_leaf_is_made_on_the_device(body: str, expected: str) -> None:
    text = program(body)
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]


REPORTS = [
    pytest.param("w = torch.ones(3, requires_grad=True).to(device, torch.float64)  # !\nreturn torch.optim.SGD([w], lr=1)", id="dtype-too"),
    pytest.param("w = torch.ones(3, requires_grad=True).cuda(1)  # !\nreturn torch.optim.SGD([w], lr=1)", id="number-of-a-card"),
    pytest.param("import numpy as np\nw = nn.Parameter(*[torch.ones(3)]).to(device)  # !\nreturn w", id="star-args"),
]  # fmt: skip


@pytest.mark.parametrize("body", REPORTS)
def test_what_cannot_be_rewritten_is_reported(body: str) -> None:
    text = program(body)
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")
    assert finding.note
    assert repaired(text, CODE, unsafe=True) == text


SILENT = [
    pytest.param("return nn.Parameter(torch.ones(3).to(device))", id="moved-before"),
    pytest.param("return nn.Parameter(torch.ones(3, device=device))", id="made-there"),
    pytest.param("w = nn.Parameter(torch.ones(3))\nreturn w", id="not-moved"),
    pytest.param("w = nn.Parameter(torch.ones(3))\ny = w.to(device) * 2\nreturn y", id="moved-at-the-use"),
    pytest.param("w = torch.ones(3, requires_grad=True)\nreturn (w.to(device) * 2).sum()", id="leaf-moved-at-the-use"),
    pytest.param("return torch.ones(3).to(device).requires_grad_()", id="leaf-after-the-move"),
    pytest.param("return torch.ones(3).to(device)", id="no-leaf"),
    pytest.param("m = nn.Linear(3, 3).to(device)\nreturn m", id="module"),
    pytest.param("return nn.ParameterList([nn.Parameter(torch.ones(3))]).to(device)", id="list-of-parameters"),
    pytest.param("x = torch.ones(3, requires_grad=True).to(device)\nreturn x.sum().item()", id="input-that-needs-grad"),
    pytest.param("return nn.Parameter(torch.ones(3)).half()", id="dtype-only"),
    pytest.param("return nn.Parameter(torch.ones(3)).detach().to(device)", id="detached"),
    pytest.param("return nn.Parameter(torch.ones(3)).data.to(device)", id="data"),
    pytest.param("return nn.Parameter(torch.ones(3), requires_grad=False).sum().to(device)", id="computed"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(program(body), CODE) == []
