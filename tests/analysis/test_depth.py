"""Large, deep and recursive programs end, in bounded time, and are still understood."""

from __future__ import annotations

import ast
import time

import pytest

from analysis.running import code, codes, found
from devicefix import check, fix

SUM = "x = torch.ones(3, device=device)\n    y = " + " + ".join(["x"] * 1500)
NESTED_IFS = "".join(f"{'    ' * i}if flag:\n" for i in range(1, 90)) + "    " * 90 + "y = x + torch.zeros(3)\n"
CALLS = "x.unsqueeze(0)" + ".unsqueeze(0)" * 300
PARENTHESES = "torch.abs(" * 80 + "x + torch.zeros(3)" + ")" * 80
WIDE = "{" + ", ".join(f"'k{i}': {i}" for i in range(20_000)) + "}"
ROWS = "[" + ", ".join("[1, 2, 3, 4]" for _ in range(5_000)) + "]"


def elifs(n: int) -> str:
    return "if flag == 0:\n        x = x + 1\n" + "".join(
        f"    elif flag == {i}:\n        x = x + {i}\n" for i in range(1, n)
    )


PROGRAMS = [
    pytest.param(f"def run(device):\n    {SUM}\n    return y + torch.zeros(3)", ["DVF201"], id="sum-of-1500"),
    pytest.param(f"def run(device):\n    x = torch.ones(3, device=device)\n    return {' @ '.join(['x'] * 1000)} + torch.zeros(3, 3)", None, id="product-of-1000"),
    pytest.param(f"def run(device, flag):\n    x = torch.ones(3, device=device)\n{NESTED_IFS}", ["DVF201"], id="nested-ifs"),
    pytest.param(f"def run(device, flag):\n    x = torch.ones(3, device=device)\n    {elifs(200)}\n    return x + torch.zeros(3)", ["DVF201"], id="200-elifs"),
    pytest.param(f"def run(x: torch.Tensor):\n    return {CALLS} + torch.zeros(3)", ["DVF201"], id="300-chained-calls"),
    pytest.param(f"def run(x: torch.Tensor):\n    return {PARENTHESES}", ["DVF201"], id="80-nested-calls"),
    pytest.param(f"TABLE = {WIDE}\n\n\ndef run(x: torch.Tensor):\n    return x + torch.zeros(3)", ["DVF201"], id="huge-dict"),
    pytest.param(f"def run(x: torch.Tensor):\n    return x + torch.tensor({ROWS})", ["DVF201"], id="huge-list"),
    pytest.param("def run(x: torch.Tensor):\n" + "    x = x * 2\n" * 3000 + "    return x + torch.zeros(3)", ["DVF201"], id="3000-statements"),
    pytest.param("".join(f"def f{i}(x):\n    return f{i + 1}(x)\n\n\n" for i in range(300)) + "def f300(x):\n    return x.unsqueeze(0) + torch.zeros(3)", ["DVF201"], id="chain-of-300-functions"),
    pytest.param("".join(f"class C{i}(C{i - 1} if False else nn.Module):\n    pass\n\n\n" for i in range(1, 100)) + "def f(x: torch.Tensor):\n    return x + torch.zeros(3)", ["DVF201"], id="odd-bases"),
    pytest.param("class C0(nn.Module):\n    pass\n\n\n" + "".join(f"class C{i}(C{i - 1}):\n    pass\n\n\n" for i in range(1, 30)) + "class Net(C29):\n    def __init__(self):\n        super().__init__()\n        self.t = torch.ones(3)\n\n    def forward(self, x):\n        return x.unsqueeze(0) + self.t", ["DVF301"], id="30-levels-of-bases"),
    pytest.param("def run(x: torch.Tensor):\n" + "".join(f"{'    ' * (i + 1)}def g{i}():\n" for i in range(18)) + "    " * 19 + "return x + torch.zeros(3)\n" + "".join(f"{'    ' * (i + 1)}return g{i}()\n" for i in reversed(range(18))), None, id="18-nested-functions"),
    pytest.param("def run(x: torch.Tensor):\n" + "".join(f"{'    ' * (i + 1)}for a{i} in range(2):\n" for i in range(15)) + "    " * 16 + "x = x + torch.zeros(3)\n    return x", ["DVF201"], id="15-nested-loops"),
    pytest.param("f = " + "lambda x: " * 60 + "x + torch.zeros(3)", None, id="60-lambdas"),
    pytest.param("def run(x: torch.Tensor):\n    return " + "(" * 60 + "x" + " if x is None else x)" * 60 + " + torch.zeros(3)", None, id="60-conditionals"),
    pytest.param("def run(x: torch.Tensor):\n    return " + "[" * 60 + "x + torch.zeros(3)" + "]" * 60, ["DVF201"], id="60-lists"),
    pytest.param("def run(x: torch.Tensor):\n    return " + "[x + torch.zeros(3) " + "".join(f"for a{i} in range(2) " for i in range(30)) + "]", ["DVF201"], id="comprehension-of-30"),
]  # fmt: skip

RECURSIVE = [
    pytest.param("def f(x):\n    return f(x.unsqueeze(0)) + torch.zeros(3)\n\n\nf(torch.ones(3, device='cuda'))", id="itself"),
    pytest.param("def f(x):\n    return g(x) + torch.zeros(3)\n\n\ndef g(x):\n    return f(x.unsqueeze(0))", id="mutual"),
    pytest.param("f = lambda x: f(x) + torch.zeros(3)", id="lambda"),
    pytest.param("class A(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n        self.child = A(d - 1) if d else nn.Linear(3, 3)\n\n    def forward(self, x):\n        return self.child(x) + torch.zeros(3)\n\n\nA(3).cuda()(torch.ones(3, device='cuda'))", id="module-in-itself"),
    pytest.param("x = []\nx.append(x)\nfor y in x:\n    x = x + [y]\nprint(x[0][0][0], torch.zeros(3))", id="list-in-itself"),
    pytest.param("d = {}\nd['d'] = d\nd['d']['d']['x'] = torch.zeros(3)", id="dict-in-itself"),
    pytest.param("class Node:\n    def __init__(self):\n        self.next = self\n        self.t = torch.zeros(3)\n\n    def go(self, device):\n        return self.next.next.t + torch.ones(3, device=device)", id="object-in-itself"),
    pytest.param("def gen(x):\n    yield x.unsqueeze(0) + torch.zeros(3)\n    yield from gen(x)\n\n\nlist(gen(torch.ones(3, device='cuda')))", id="generator"),
    pytest.param("async def f(x):\n    return await f(x.unsqueeze(0) + torch.zeros(3))", id="async"),
    pytest.param("class A:\n    @property\n    def t(self):\n        return self.t + torch.zeros(3)\n\n    def go(self, device):\n        return self.t + torch.ones(3, device=device)", id="property"),
    pytest.param("class A:\n    def __getattr__(self, name):\n        return getattr(self, name)\n\n    def go(self, device):\n        return self.x + torch.ones(3, device=device)", id="getattr"),
    pytest.param("class A(A):\n    t = torch.zeros(3)", id="class-of-itself"),
    pytest.param("def deco(f):\n    return deco(f)\n\n\n@deco\ndef g(x):\n    return x.unsqueeze(0) + torch.zeros(3)", id="decorator"),
    pytest.param("x = torch.zeros(3)\nwhile True:\n    x = (x, x)\n    x = x[0] if x else [x]", id="growing-in-a-loop"),
    pytest.param("def f(x, n):\n    ts = [x]\n    for _ in range(n):\n        ts = [ts, ts]\n    return ts", id="doubling-in-a-loop"),
    pytest.param("def f(g):\n    return g(g)\n\n\nf(f)", id="applied-to-itself"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PROGRAMS)
def test_large_programs(text: str, expected: list[str] | None) -> None:
    program = code(text)
    start = time.process_time()
    result = codes(program)
    assert time.process_time() - start < 10
    assert expected is None or result == expected


@pytest.mark.parametrize("text", RECURSIVE)
def test_recursive_programs(text: str) -> None:
    program = code(text)
    start = time.process_time()
    found(program)
    assert time.process_time() - start < 5


def test_what_python_itself_cannot_parse_is_an_error_and_no_crash() -> None:
    result = check(
        code(f"def run(device):\n    x = torch.ones(3, device=device)\n    return {' + '.join(['x'] * 30_000)}")
    )
    assert len(result.errors) == 1
    assert "deep" in str(result.errors[0])


def test_a_large_program_is_fixed_as_well() -> None:
    result = fix(code("def run(x: torch.Tensor):\n" + "    x = x * 2\n" * 500 + "    return x + torch.zeros(3)"))
    assert (
        result.new_text.endswith("return x + torch.zeros(3, device=x.device)\n") or "dtype=x.dtype)" in result.new_text
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("\n", id="blank"),
        pytest.param("# torch.cuda\n", id="comment"),
        pytest.param('"""torch.cuda"""\n', id="docstring"),
        pytest.param("import torch", id="no-newline-at-the-end"),
        pytest.param("import torch\nx = torch.zeros(3) if 0 else ...\nx[...]\n", id="ellipsis"),
        pytest.param("import torch\nx: torch.Tensor\nx = x\n", id="declared-only"),
        pytest.param("import torch\ndel torch\ntorch.zeros(3)\n", id="deleted"),
        pytest.param("import torch\nfor torch.x in [1]: pass\nwith torch as (a, b): a.to(b)\n", id="odd-targets"),
        pytest.param("import torch\n(torch.zeros(3))[0], *torch.y = 1, 2\n", id="odd-assignment"),
        pytest.param("import torch\ndef f(a, /, b, *c, d, **e):\n    return torch.zeros(3).to(a, *c, **e)\nf(*f(1, 2, d=3), **{})\n", id="every-kind-of-parameter"),
        pytest.param("import torch\ntry:\n    pass\nexcept* ValueError as e:\n    torch.zeros(3).to(e)\n", id="except-star"),
        pytest.param("import torch\nmatch torch.zeros(3):\n    case [a, *b] | (a, b): a.to(b)\n    case {'x': x, **r}: x.to(r)\n    case str() as s: s.to(s)\n", id="match"),
    ],
)  # fmt: skip
def test_odd_programs(text: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError:
        pytest.skip("not a program in this version of Python")
    found(text)
    fix(text, unsafe=True)
