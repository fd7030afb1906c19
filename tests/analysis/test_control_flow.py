"""Paths that meet: a claim holds only if it holds on each of them."""

from __future__ import annotations

import pytest

from analysis.running import code, codes, value_of
from devicefix.analysis.values import DType, Kind


def run(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return code(f"def run(device, flag):\n    x = torch.ones(3, device=device)\n{lines}\n    return x + t\n")


FOUND = [
    pytest.param("t = torch.zeros(3)\nif flag:\n    pass", id="if-without-effect"),
    pytest.param("if flag:\n    t = torch.zeros(3)\nelse:\n    t = torch.ones(3)", id="both-branches"),
    pytest.param("t = torch.zeros(3) if flag else torch.ones(3)", id="expression"),
    pytest.param("t = torch.zeros(3)\nfor _ in range(3):\n    t = t + 1", id="loop"),
    pytest.param("t = torch.zeros(3)\nwhile flag:\n    t = t * 2\n    flag = t.sum()", id="while"),
    pytest.param("try:\n    t = torch.zeros(3)\nexcept ValueError:\n    t = torch.ones(3)", id="try"),
    pytest.param("try:\n    t = torch.zeros(3)\nfinally:\n    print(1)", id="finally"),
    pytest.param("with open('a'):\n    t = torch.zeros(3)", id="with"),
    pytest.param("if flag:\n    raise ValueError\nt = torch.zeros(3)", id="after-raise"),
    pytest.param("if flag:\n    t = torch.zeros(3, device=device)\n    return t\nt = torch.zeros(3)", id="after-return"),
    pytest.param("for _ in range(2):\n    t = torch.zeros(3)\n    if flag:\n        break\nelse:\n    t = torch.ones(3)", id="for-else"),
    pytest.param("for _ in range(2):\n    if flag:\n        continue\n    t = torch.zeros(3)", id="continue"),
]  # fmt: skip


@pytest.mark.parametrize("body", FOUND)
def test_what_holds_on_every_path_is_known(body: str) -> None:
    assert "DVF201" in codes(run(body))


SILENT = [
    pytest.param("if flag:\n    t = torch.zeros(3)\nelse:\n    t = unseen()", id="unknown-on-one-branch"),
    pytest.param("t = torch.zeros(3)\nif flag:\n    t = t.to(device)\nelse:\n    t = t.to(device)", id="moved-on-both-branches"),
    pytest.param("t = torch.zeros(3)\nfor _ in range(2):\n    t = t.to(device)", id="moved-in-a-loop"),
    pytest.param("try:\n    t = torch.zeros(3).to(device)\nexcept RuntimeError:\n    raise", id="try"),
    pytest.param("if flag:\n    t = torch.zeros(3)\n    return t\nt = torch.zeros(3, device=device)", id="other-path-left"),
    pytest.param("if flag:\n    t = torch.zeros(3)\n    raise ValueError(t)\nelse:\n    t = torch.zeros(3, device=device)", id="other-path-raised"),
    pytest.param("t = torch.zeros(3)\nif t.device != x.device:\n    t = t.to(x.device)", id="moved-if-needed"),
    pytest.param("t = 1.0\nif flag:\n    t = 2.0", id="numbers"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_holds_on_some_paths_is_not_claimed(body: str) -> None:
    assert codes(run(body)) == []


@pytest.mark.parametrize(
    ("body", "kind", "dtype", "rank"),
    [
        pytest.param("x = torch.ones(2, 3)", Kind.TENSOR, DType.FLOAT, 2, id="ones"),
        pytest.param("x = torch.arange(3)", Kind.TENSOR, DType.INT, 1, id="arange"),
        pytest.param("x = torch.tensor(1.0)", Kind.TENSOR, DType.FLOAT, 0, id="zero-dim"),
        pytest.param("x = torch.ones(3) > 0", Kind.TENSOR, DType.BOOL, 1, id="comparison"),
        pytest.param("x = torch.ones(3).long()", Kind.TENSOR, DType.INT, 1, id="converted"),
        pytest.param("x = torch.arange(3) / 2", Kind.TENSOR, DType.FLOAT, 1, id="division"),
        pytest.param("x = torch.ones(3).sum()", Kind.TENSOR, DType.FLOAT, 0, id="sum"),
        pytest.param("x = torch.ones(2, 3).sum(0)", Kind.TENSOR, DType.FLOAT, 1, id="sum-of-one-dimension"),
        pytest.param("x = torch.ones(2, 3).sum((0, 1))", Kind.TENSOR, DType.FLOAT, 0, id="sum-of-both-dimensions"),
        pytest.param("x = torch.ones(2, 3).mean(dim=(0, 1), keepdim=True)", Kind.TENSOR, DType.FLOAT, 2, id="kept-dimensions"),
        pytest.param("x = torch.ones(3).sum(0, keepdim=False)", Kind.TENSOR, DType.FLOAT, 0, id="not-kept"),
        pytest.param("x = torch.ones(2, 3).unsqueeze(0)", Kind.TENSOR, DType.FLOAT, 3, id="unsqueeze"),
        pytest.param("x = torch.ones(2, 3)[None, 0]", Kind.TENSOR, DType.FLOAT, 2, id="none-and-number"),
        pytest.param("x = torch.ones(2, 3).view(6)", Kind.TENSOR, DType.FLOAT, 1, id="view"),
        pytest.param("x = torch.ones(3).sum().item()", Kind.NUMBER, None, None, id="item"),
        pytest.param("x = torch.ones(3).numpy()", Kind.NDARRAY, None, None, id="numpy"),
        pytest.param("x = torch.ones(3).shape", Kind.SIZE, None, None, id="shape"),
        pytest.param("x = torch.ones(3) if unseen else torch.arange(3)", Kind.TENSOR, DType.UNKNOWN, 1, id="two-dtypes"),
        pytest.param("x = torch.ones(3) if unseen else 'text'", Kind.UNKNOWN, None, None, id="two-kinds"),
        pytest.param("x = torch.ones(3)\nif unseen:\n    x = None", Kind.TENSOR, DType.FLOAT, 1, id="or-none"),
        pytest.param("x = nn.Linear(2, 2)", Kind.OBJECT, None, None, id="module"),
        pytest.param("x = [torch.ones(3), torch.ones(3)]", Kind.SEQUENCE, None, None, id="list"),
        pytest.param("x = {'a': torch.ones(3)}", Kind.MAPPING, None, None, id="dict"),
        pytest.param("x = {'a': torch.ones(3)}['a']", Kind.TENSOR, DType.FLOAT, 1, id="item-of-dict"),
        pytest.param("x, y = torch.ones(3), 1", Kind.TENSOR, DType.FLOAT, 1, id="unpacked"),
        pytest.param("x = torch.device('cpu')", Kind.DEVICE, None, None, id="device"),
        pytest.param("x = torch.float16", Kind.DTYPE, DType.FLOAT, None, id="dtype"),
        pytest.param("x = torch.Generator()", Kind.GENERATOR, None, None, id="generator"),
        pytest.param("x = unseen()", Kind.UNKNOWN, None, None, id="unknown"),
    ],
)  # fmt: skip
def test_values(body: str, kind: Kind, dtype: DType | None, rank: int | None) -> None:
    value = value_of(body)
    assert value.kind is kind
    if dtype is not None:
        assert value.dtype is dtype
    if rank is not None:
        assert value.rank == rank
