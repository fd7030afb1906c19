"""DVF202: constructors that cannot follow a device."""

from __future__ import annotations

import pytest

from rules.programs import added, found, levels, lines, marked, repaired, source

CODE = "DVF202"


def work(body: str, signature: str = "x") -> str:
    """A function that is given a tensor on the chosen device."""
    body = "\n".join(f"    {line}" for line in body.splitlines())
    return source(
        f"def work({signature}):\n{body}\n\n\ndef run(device):\n    return work(torch.ones(2, 3, device=device))"
    )


FIXED = [
    pytest.param("return x * torch.FloatTensor([1, 2, 3])  # !", "return x * torch.tensor([1, 2, 3], dtype=torch.float32, device=x.device)  # !", id="data"),
    pytest.param("w = torch.FloatTensor([i for i in range(3)])  # !\nreturn x * w", "w = torch.tensor([i for i in range(3)], dtype=torch.float32, device=x.device)  # !", id="comprehension"),
    pytest.param("w = torch.Tensor([1, 2, 3])  # !\nreturn x * w", "w = torch.Tensor([1, 2, 3]).to(x.device)  # !", id="Tensor"),
    pytest.param("w = torch.DoubleTensor([1, 2, 3])  # !\nreturn x * w", "w = torch.tensor([1, 2, 3], dtype=torch.float64, device=x.device)  # !", id="double"),
    pytest.param("i = torch.LongTensor([[0, 1, 2]])  # !\nreturn x.gather(1, i)", "i = torch.tensor([[0, 1, 2]], dtype=torch.int64, device=x.device)  # !", id="long"),
    pytest.param("w = torch.FloatTensor(2, 3).fill_(1)  # !\nreturn x + w", "w = torch.FloatTensor(2, 3).to(x.device).fill_(1)  # !", id="sizes"),
    pytest.param("w = torch.FloatTensor(*x.shape).zero_()  # !\nreturn x + w", "w = torch.FloatTensor(*x.shape).to(x.device).zero_()  # !", id="star-args"),
    pytest.param("f = lambda y: y * torch.Tensor([1, 2, 3])  # !\nreturn f(x)", "f = lambda y: y * torch.Tensor([1, 2, 3]).to(y.device)  # !", id="lambda"),
    pytest.param("'ß'; w = torch.Tensor([1, 2, 3]); x = x * w  # !\nreturn x", "'ß'; w = torch.Tensor([1, 2, 3]).to(x.device); x = x * w  # !", id="unicode"),
    pytest.param("if len(x): x = x * torch.Tensor([1, 2, 3])  # !\nreturn x", "if len(x): x = x * torch.Tensor([1, 2, 3]).to(x.device)  # !", id="one-line-if"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), FIXED)
def test_the_modern_factory_or_a_move(body: str, expected: str) -> None:
    text = work(body)
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]


def test_lines_and_comments_stay() -> None:
    text = work(
        "w = torch.FloatTensor(  # !\n    [\n        0.2,  # first\n        0.3,\n        0.5,\n    ],\n)\nreturn x * w"
    )
    new = repaired(text, CODE)
    assert "torch.tensor(  # !" in new
    assert "# first" in new
    assert "dtype=torch.float32" in new
    assert "device=x.device" in new


def test_an_alias_of_torch() -> None:
    text = "import torch as th\n\n\ndef run(device):\n    x = th.ones(3, device=device)\n    return x * th.IntTensor([1, 2, 3])\n"
    assert added(text, CODE) == ["return x * th.tensor([1, 2, 3], dtype=th.int32, device=x.device)"]


def test_a_name_imported_from_torch_is_moved() -> None:
    text = "import torch\nfrom torch import FloatTensor\n\n\ndef run(device):\n    x = torch.ones(3, device=device)\n    return x * FloatTensor([1, 2, 3])\n"
    assert added(text, CODE) == ["return x * FloatTensor([1, 2, 3]).to(x.device)"]


CUDA = [
    pytest.param("return torch.cuda.FloatTensor([len(x), 2, 3]) * x  # !", "return torch.tensor([len(x), 2, 3], dtype=torch.float32, device=x.device) * x  # !", None, id="data"),
    pytest.param("n = torch.cuda.LongTensor(x.size(0))  # !\nreturn n", "n = torch.empty(x.size(0), dtype=torch.int64, device=x.device)  # !", None, id="size"),
    pytest.param("n = torch.cuda.FloatTensor(unseen)  # !\nreturn n", None, "", id="unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected", "note"), CUDA)
def test_constructors_on_the_first_card(body: str, expected: str | None, note: str | None) -> None:
    text = work(body)
    (finding,) = found(text, CODE)
    assert finding.span.start.line == marked(text)[0]
    assert added(text, CODE) == ([] if expected is None else [expected])
    assert (finding.fix is None) == (expected is None)
    assert bool(finding.note) == (expected is None)


def test_a_global_is_moved_where_one_function_uses_it() -> None:
    text = source(
        "W = torch.FloatTensor([1, 2, 3])  # !\n\n\ndef run(device):\n    return torch.ones(3, device=device) * W"
    )
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == ["return torch.ones(3, device=device) * W.to(device)"]


def test_a_global_for_several_functions_is_reported() -> None:
    users = "".join(f"\n\n\ndef run{i}(device):\n    return torch.ones(3, device=device) * W" for i in range(2))
    text = source(f"W = torch.FloatTensor([1, 2, 3])  # !{users}")
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")


SILENT = [
    pytest.param("return torch.FloatTensor([1, 2]).mean().item()", id="number"),
    pytest.param("return x * torch.FloatTensor([1, 2, 3]).to(x.device)", id="moved"),
    pytest.param("w = torch.FloatTensor([1, 2, 3])\nw = w.to(x)\nreturn x * w", id="moved-later"),
    pytest.param("return x * torch.FloatTensor([1, 2, 3]).type_as(x)", id="type-as"),
    pytest.param("return x * torch.tensor([1.0, 2.0, 3.0], device=x.device)", id="modern"),
    pytest.param("return x[torch.LongTensor([0, 1])]", id="index"),
    pytest.param("return x.cpu() * torch.FloatTensor([1, 2, 3])", id="on-the-cpu"),
    pytest.param("w = torch.FloatTensor([1, 2, 3])\nreturn x", id="never-meets"),
    pytest.param("return isinstance(x, torch.FloatTensor)", id="isinstance"),
    pytest.param("return x.type(torch.FloatTensor)", id="type"),
    pytest.param("if torch.cuda.is_available():\n    return torch.cuda.FloatTensor([1, 2, 3])\nreturn x", id="guarded"),
    pytest.param("T = torch.cuda.FloatTensor if x.is_cuda else torch.FloatTensor\nreturn x * T([1, 2, 3])", id="choice"),
    pytest.param("w = torch.FloatTensor([1, 2, 3])\nx[0].copy_(w)\nreturn x", id="copy"),
    pytest.param("class FloatTensor(list):\n    pass\nreturn FloatTensor([1, 2])", id="another-class"),
    pytest.param("return nn.Parameter(torch.FloatTensor(3))", id="parameter"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(work(body), CODE) == []
