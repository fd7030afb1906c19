"""DVF101: the result of a tensor's move is dropped."""

from __future__ import annotations

import pytest

from rules.programs import added, found, levels, lines, marked, program, repaired, source

CODE = "DVF101"

ASSIGNED = [
    pytest.param("x = torch.ones(2)\nx.to(device)  # !\nreturn x", ["x = x.to(device)  # !"], id="to"),
    pytest.param("x = torch.ones(2)\nx.cuda()  # !\nreturn x", ["x = x.cuda()  # !"], id="cuda"),
    pytest.param("x = torch.ones(2, device=device)\nx.cpu()  # !\nreturn x", ["x = x.cpu()  # !"], id="cpu"),
    pytest.param("x = torch.ones(2)\nx.to(device, non_blocking=True,)  # !\nreturn x", ["x = x.to(device, non_blocking=True,)  # !"], id="comma"),
    pytest.param("x = torch.ones(2)\nx . to ( device )  # !\nreturn x", ["x = x . to ( device )  # !"], id="spaces"),
    pytest.param("x = torch.ones(2)\nx.to(device); y = x  # !\nreturn y", ["x = x.to(device); y = x  # !"], id="semicolon-before"),
    pytest.param("x = torch.ones(2); x.to(device)  # !\nreturn x", ["x = torch.ones(2); x = x.to(device)  # !"], id="semicolon-after"),
    pytest.param("x = torch.ones(2)\nif device: x.to(device)  # !\nreturn x", ["if device: x = x.to(device)  # !"], id="one-line-if"),
    pytest.param("x = torch.ones(2)\nwith torch.no_grad(): x.to(device)  # !\nreturn x", ["with torch.no_grad(): x = x.to(device)  # !"], id="one-line-with"),
    pytest.param("x = y = torch.ones(2)\nx.to(device)  # !\nreturn x", ["x = x.to(device)  # !"], id="chained"),
    pytest.param("größe = torch.ones(2)\n'äöü'; größe.to(device)  # !\nreturn größe", ["'äöü'; größe = größe.to(device)  # !"], id="unicode-before"),
    pytest.param("x = torch.ones(2)\n(x.to(device))  # !\nreturn x", ["x = (x.to(device))  # !"], id="parentheses"),
    pytest.param("x = torch.ones(2)\nx.to(*[device])  # !\nreturn x", ["x = x.to(*[device])  # !"], id="star-args"),
    pytest.param("x = torch.ones(2)\nx.to(**{'device': device})  # !\nreturn x", ["x = x.to(**{'device': device})  # !"], id="star-kwargs"),
    pytest.param("x = torch.ones(2)\nx.to(f'cuda:{0}')  # !\nreturn x", ["x = x.to(f'cuda:{0}')  # !"], id="f-string"),
    pytest.param("x = torch.ones(2)\nx.to(  # why  # !\n    device,  # the card\n)\nreturn x", ["x = x.to(  # why  # !"], id="lines-and-comments"),
    pytest.param("x, y = torch.ones(2), torch.ones(2)\nx.to(device), y.to(device)  # !\nreturn x + y", ["x, y = x.to(device), y.to(device)  # !"], id="tuple"),
    pytest.param("d = {'a': torch.ones(2)}\nd['a'].to(device)  # !\nreturn d", ["d['a'] = d['a'].to(device)  # !"], id="item"),
    pytest.param(
        "d = {'a': torch.ones(2)}\nfor k, v in d.items():\n    v.to(device)  # !\nreturn d", ["d[k] = v.to(device)  # !"], id="items-loop"
    ),
    pytest.param(
        "d = [torch.ones(2)]\nfor i, v in enumerate(d):\n    v.to(device)  # !\nreturn d", ["d[i] = v.to(device)  # !"], id="enumerate-loop"
    ),
    pytest.param(
        "ts = [torch.ones(2), torch.ones(2)]\nfor t in ts:\n    t.to(device)  # !\nreturn ts", ["ts = [t.to(device) for t in ts]  # !"], id="list-loop"
    ),
    pytest.param(
        "ts = [torch.ones(2), torch.ones(2)]\n[t.to(device) for t in ts]  # !\nreturn ts", ["ts = [t.to(device) for t in ts]  # !"], id="comprehension"
    ),
    pytest.param("if (x := torch.ones(2)) is not None:\n    x.to(device)  # !\nreturn x", ["x = x.to(device)  # !"], id="walrus"),
    pytest.param("try:\n    x = torch.ones(2)\nfinally:\n    x.to(device)  # !\nreturn x", ["x = x.to(device)  # !"], id="finally"),
    pytest.param("x = torch.ones(2)\nwhile device:\n    x.to(device)  # !\n    device = x.sum()\nreturn x", ["x = x.to(device)  # !"], id="while"),
    pytest.param("x = torch.from_numpy(device)\nx.to('cuda')  # !\nreturn x", ["x = x.to('cuda')  # !"], id="from-numpy"),
    pytest.param("x = torch.ones(2)\n(x.to(device) if device else x.cpu())  # !\nreturn x", ["x = (x.to(device) if device else x.cpu())  # !"], id="both-arms"),
    pytest.param("d = {'a': torch.ones(2), \"b\": 1}\nd[\"a\"].to(device)  # !\nreturn d", ["d[\"a\"] = d[\"a\"].to(device)  # !"], id="double-quotes"),
    pytest.param("d = {'a': torch.ones(2)}\nd['a'].to(device)  # !\nreturn d", ["d['a'] = d['a'].to(device)  # !"], id="single-quotes"),
    pytest.param("x = torch.ones(2)\nx.float().to(device)\nx.t().to(device)\nreturn x", [], id="views-have-no-name"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ASSIGNED)
def test_the_result_is_assigned(body: str, expected: list[str]) -> None:
    text = program(body)
    assert sorted(set(lines(text, CODE))) == marked(text)
    assert (
        set(levels(text, CODE)) <= {"safe", "report"}
        if "x.to(device), y" in body
        else set(levels(text, CODE)) <= {"safe"}
    )
    assert added(text, CODE) == expected


OTHER_SCOPES = [
    pytest.param("async def run(x: torch.Tensor, device):\n    x.to(device)  # !\n    return x", "x = x.to(device)  # !", id="async"),
    pytest.param("@torch.no_grad()\ndef run(device):\n    x = torch.ones(2)\n    x.to(device)  # !\n    return x", "x = x.to(device)  # !", id="decorated"),
    pytest.param("def outer(device):\n    def inner():\n        x = torch.ones(2)\n        x.to(device)  # !\n        return x\n    return inner()", "x = x.to(device)  # !", id="nested"),
    pytest.param("class Run:\n    def go(self, device):\n        self.x = torch.ones(2)\n        self.x.to(device)  # !\n        return self.x", "self.x = self.x.to(device)  # !", id="attribute"),
    pytest.param("class Run:\n    x = torch.ones(2)\n    x.to('cuda')  # !", "x = x.to('cuda')  # !", id="class-body", marks=pytest.mark.xfail(reason="the statements of a class body are evaluated on demand, one attribute at a time", strict=True)),
    pytest.param("x = torch.ones(2)\nx.to('cuda')  # !\nprint(x)", "x = x.to('cuda')  # !", id="module-level"),
    pytest.param("def gen(device):\n    x = torch.ones(2)\n    x.to(device)  # !\n    yield x", "x = x.to(device)  # !", id="generator"),
    pytest.param("def run(device, /, *, x: torch.Tensor):\n    x.to(device)  # !\n    return x * 2", "x = x.to(device)  # !", id="keyword-only"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), OTHER_SCOPES)
def test_everywhere_that_code_stands(text: str, expected: str) -> None:
    text = source(text)
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]


def test_line_endings_and_tabs_stay() -> None:
    text = (
        program("x = torch.ones(2)\nif device:\n    x.to(device)\nreturn x").replace("    ", "\t").replace("\n", "\r\n")
    )
    assert repaired(text, CODE) == text.replace("\t\tx.to", "\t\tx = x.to")


UNSAFE = [
    pytest.param("x = torch.ones(2)\nx.half()  # !\nreturn x", "x = x.half()  # !", id="half"),
    pytest.param("x = torch.ones(2)\nx.to(device, torch.float64)  # !\nreturn x", "x = x.to(device, torch.float64)  # !", id="dtype-too"),
    pytest.param("x = torch.ones(2)\nx.long()  # !\nreturn x", "x = x.long()  # !", id="long"),
    pytest.param("x = torch.ones(2)\nx.type(torch.int64)  # !\nreturn x", "x = x.type(torch.int64)  # !", id="type"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), UNSAFE)
def test_a_change_of_dtype_is_unsafe(body: str, expected: str) -> None:
    text = program(body)
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "unsafe")
    assert "dtype" in finding.fix.reason  # type: ignore[union-attr]
    assert added(text, CODE) == []
    assert added(text, CODE, unsafe=True) == [expected]


def test_a_tensor_by_its_uses_alone_is_unsafe() -> None:
    text = source(
        "def run(batch, device):\n    batch.to(device)\n    return batch.unsqueeze(0).permute(1, 0) @ torch.ones(3)"
    )
    assert set(levels(text, CODE)) <= {"unsafe"}
    assert added(text, CODE) == []


REPORTS = [
    pytest.param("x = torch.ones(2)\ndef run(device):\n    x.to(device)  # !\n    return x + 1", "outer scope", id="global"),
    pytest.param("x = torch.ones(2)\ndef run(device):\n    global x\n    x.to(device)  # !\n    return x + 1", "outer scope", id="declared-global"),
    pytest.param("def run(device):\n    x = torch.ones(2)\n    def inner():\n        x.to(device)  # !\n    inner()\n    return x", "outer scope", id="closure"),
    pytest.param("def move(x: torch.Tensor, device):\n    x.to(device)  # !", "caller", id="caller-keeps-it"),
    pytest.param("def run(device):\n    x = torch.ones(2, requires_grad=True)\n    x.to(device)  # !\n    return x", "leaf", id="leaf"),
    pytest.param("class A:\n    @property\n    def x(self):\n        return torch.ones(2)\n    def go(self, device):\n        self.x.to(device)  # !", "property", id="property"),
    pytest.param("class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.ones(2))\n        self.w.to('cuda')  # !", "leaf", id="parameter"),
    pytest.param("class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('b', torch.ones(2))\n        self.b.to('cuda')  # !", "registered", id="buffer"),
    pytest.param("def run(device):\n    m = nn.Linear(2, 2)\n    m.weight.data.to(device)  # !\n    return m", "", id="data"),
    pytest.param("def run(device):\n    t = (torch.ones(2), torch.ones(2))\n    t[0].to(device)  # !\n    return t", "tuple", id="tuple-item"),
    pytest.param("from typing import NamedTuple\nclass P(NamedTuple):\n    x: torch.Tensor\ndef run(device):\n    p = P(torch.ones(2))\n    p.x.to(device)  # !\n    return p", "named tuple", id="named-tuple"),
    pytest.param("from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef run(device):\n    p = P(torch.ones(2), 1)\n    p.x.to(device)  # !\n    return p", "named tuple", id="namedtuple-by-function"),
    pytest.param("from collections import namedtuple\nclass P(namedtuple('B', ['x'])):\n    pass\ndef run(device):\n    p = P(torch.ones(2))\n    p.x.to(device)  # !\n    return p", "named tuple", id="class-of-a-namedtuple"),
    pytest.param("def run(device):\n    x = torch.ones(2)\n    device and x.to(device)  # !\n    return x", "condition", id="and"),
    pytest.param("def run(device):\n    x = torch.ones(2)\n    x.to(device) if device else None  # !\n    return x", "condition", id="one-arm"),
    pytest.param("def run(device):\n    ts = [torch.ones(2)]\n    [t.to(device) for t in ts if t.sum() > 0]  # !\n    return ts", "name", id="filtered-comprehension"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "note"), REPORTS)
def test_what_cannot_be_assigned_is_reported(text: str, note: str) -> None:
    text = source(text)
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")
    assert note in finding.note
    assert added(text, CODE, unsafe=True) == []


SILENT = [
    pytest.param("m = nn.Linear(2, 2)\nm.to(device)\nreturn m", id="module"),
    pytest.param("m = nn.Sequential(nn.Linear(2, 2))\nm.eval().to(device)\nreturn m", id="module-chain"),
    pytest.param("ms = [nn.Linear(2, 2)]\nfor m in ms:\n    m.to(device)\nreturn ms", id="list-of-modules"),
    pytest.param("ms = {'a': nn.Linear(2, 2)}\nfor m in ms.values():\n    m.cuda()\nreturn ms", id="dict-of-modules"),
    pytest.param("loss = nn.CrossEntropyLoss()\nloss.to(device)\nreturn loss", id="criterion"),
    pytest.param("m = nn.Linear(2, 2)\nm.half()\nm.double()\nm.cpu()\nreturn m", id="module-conversions"),
    pytest.param("torch.zeros(1).to(device)\nreturn 1", id="probe"),
    pytest.param("try:\n    torch.Tensor(0).to(device)\nexcept RuntimeError:\n    device = 'cpu'\nreturn device", id="probe-in-try"),
    pytest.param("x = torch.ones(2)\nx = x.to(device)\nreturn x", id="assigned"),
    pytest.param("x = torch.ones(2)\ny = x.to(device)\nreturn y", id="assigned-elsewhere"),
    pytest.param("x = torch.ones(2)\nprint(x.to(device))\nreturn x", id="argument"),
    pytest.param("x = torch.ones(2)\nreturn x.to(device)", id="returned"),
    pytest.param("x = torch.ones(2)\nassert x.to(device) is not None\nreturn x", id="asserted"),
    pytest.param("fs = []\nfs.append(torch.ones(2).to(device))\nreturn fs", id="collected"),
    pytest.param("x = torch.ones(2)\nx.add_(1).to(device).sum().backward()\nreturn x", id="used-in-a-chain"),
    pytest.param("import unseen\nb = unseen.batch()\nb.to(device)\nreturn b", id="unknown"),
    pytest.param("from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('a')\nb = t('x', return_tensors='pt')\nb.to(device)\nreturn b", id="encoding"),
    pytest.param("from torch_geometric.data import Data\nd = Data(x=torch.ones(2))\nd.to(device)\nreturn d.x", id="graph"),
    pytest.param("f = lambda x: x.to(device)\nreturn f(torch.ones(2))", id="lambda"),
    pytest.param("x = nn.Parameter(torch.ones(2))\nx.requires_grad_()\nx.detach_()\nreturn x", id="in-place"),
    pytest.param("x = torch.ones(2)\nif device:\n    x = nn.Linear(2, 2)\nx.to(device)\nreturn x", id="module-on-one-path"),
    pytest.param("x = str(device)\nx.format(1)\nreturn x", id="string"),
    pytest.param("import numpy as np\nx = np.ones(2)\nx.astype(int)\nreturn x", id="numpy"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(program(body), CODE) == []


CONTAINERS = """
class Batch:
    def __init__(self):
        self.x = torch.ones(2)

    def to(self, device):
        {body}


def run(device):
    b = Batch()
    b.to(device)
    return b
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("self.x = self.x.to(device)\n        return self", [], id="in-place"),
        pytest.param("self.x = self.x.to(device)", [], id="returns-nothing"),
        pytest.param("b = Batch()\n        b.x = self.x.to(device)\n        return b", ["b = b.to(device)"], id="copies"),
        pytest.param("return unseen(self, device)", [], id="unknown"),
    ],
)  # fmt: skip
def test_a_container_moves_as_its_own_method_says(body: str, expected: list[str]) -> None:
    assert added(source(CONTAINERS.format(body=body)), CODE) == expected
