"""DVF103: a move method that is used without being called."""

from __future__ import annotations

import pytest

from rules.programs import found, lines, marked, program, repaired, source

CODE = "DVF103"

FOUND = [
    pytest.param("x = torch.ones(2)\nreturn x.cuda  # !", id="returned"),
    pytest.param("x = torch.ones(2)\nx = x.cuda  # !\nreturn x", id="assigned"),
    pytest.param("x = torch.ones(2)\nreturn x.cuda if device else x  # !", id="conditional"),
    pytest.param("x = torch.ones(2)\nreturn x.cpu, 1  # !", id="in-a-tuple"),
    pytest.param("x = torch.ones(2)\ny = x.cuda + 1  # !\nreturn y", id="arithmetic"),
    pytest.param("m = nn.Linear(2, 2)\nm.cuda  # !\nreturn m", id="statement"),
    pytest.param("m = nn.Linear(2, 2)\nm = m.cuda if device else m  # !\nreturn m", id="module"),
    pytest.param("x = torch.ones(2)\nyield x.cuda  # !", id="yielded"),
    pytest.param("x = torch.ones(2)\nif device: x = x.cuda  # !\nreturn x", id="one-line-if"),
    pytest.param("größe = torch.ones(2)\n'ä'; return_ = größe.cpu  # !\nreturn return_", id="unicode"),
]  # fmt: skip


@pytest.mark.parametrize("body", FOUND)
def test_the_parentheses_are_missing(body: str) -> None:
    text = program(body)
    (finding,) = found(text, CODE)
    assert lines(text, CODE) == marked(text)
    assert finding.applicability.value == "report"
    assert finding.note
    assert repaired(text, CODE, unsafe=True) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("async def run(x: torch.Tensor):\n    return x.cuda  # !", id="async"),
        pytest.param("class A:\n    def __init__(self):\n        self.x = torch.ones(2)\n\n    def get(self):\n        return self.x.cuda  # !", id="attribute"),
        pytest.param("def outer(x: torch.Tensor):\n    def inner():\n        return x.cuda  # !\n    return inner()", id="closure"),
    ],
)  # fmt: skip
def test_in_other_scopes(text: str) -> None:
    text = source(text)
    assert lines(text, CODE) == marked(text)


SILENT = [
    pytest.param("x = torch.ones(2)\nmove = x.to\nreturn move(device)", id="called-later"),
    pytest.param("x = torch.ones(2)\nreturn x.cuda()", id="called"),
    pytest.param("x = torch.ones(2)\nreturn list(map(x.to, [device]))", id="handed-on"),
    pytest.param("x = torch.ones(2)\nmoves = {'cuda': x.cuda}\nreturn moves['cuda']()", id="table-of-methods"),
    pytest.param("x = torch.ones(2)\nreturn (x.cuda if device else x.cpu)()", id="choice-of-methods"),
    pytest.param("x = torch.ones(2)\nif hasattr(x, 'cuda'):\n    return 1\nreturn 0", id="hasattr"),
    pytest.param("x = torch.ones(2)\nreturn x.is_cuda", id="is-cuda"),
    pytest.param("return torch.cuda", id="torch-cuda"),
    pytest.param("import unseen\nreturn unseen.thing().cuda", id="unknown"),
    pytest.param("def f(args):\n    return args.cuda\nreturn f(device)", id="flag"),
    pytest.param("x = torch.ones(2)\nimport functools\nreturn functools.partial(x.to, device)", id="partial"),
    pytest.param("class Batch:\n    cuda = False\nb = Batch()\nreturn b.cuda", id="own-attribute"),
    pytest.param("x = torch.ones(2)\nassert x.cuda is not None\nreturn x", id="compared"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(program(body), CODE) == []
