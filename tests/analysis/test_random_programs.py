"""Random programs: the analysis never fails, a fix settles and compiles, and on the CPU it changes no value."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from devicefix import check, fix

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
NAMES = st.sampled_from(["x", "y", "z", "device", "model", "self"])

# -- programs that need not make sense ---------------------------------------------------------------------------------

ATOMS = st.one_of(
    NAMES,
    st.sampled_from(["torch.zeros(3)", "torch.ones(2, 3)", "nn.Linear(3, 3)", "torch.device('cuda')", "'cuda'", "1", "0.5", "None", "True", "[]", "{}",
                     "torch.arange(3)", "torch.randn(3, device=device)", "torch.FloatTensor([1])", "nn.Parameter(torch.ones(3))", "torch", "nn", "..."]),
)  # fmt: skip
METHODS = st.sampled_from(["to(device)", "cuda()", "cpu()", "half()", "unsqueeze(0)", "sum()", "item()", "numpy()", "fill_(0)", "weight", "shape", "device",
                           "data", "T", "to('cuda')", "cuda", "parameters()", "items()", "append(x)"])  # fmt: skip


def expressions() -> st.SearchStrategy[str]:
    return st.recursive(
        ATOMS,
        lambda inner: st.one_of(
            st.builds(
                "({} {} {})".format, inner, st.sampled_from(["+", "*", "@", "-", "and", "==", "is", "in", "//"]), inner
            ),
            st.builds("{}.{}".format, inner.map(lambda e: f"({e})"), METHODS),
            st.builds(
                "{}({}, {})".format,
                st.sampled_from(
                    ["torch.cat", "torch.add", "F.linear", "print", "model", "x", "isinstance", "torch.stack"]
                ),
                inner,
                inner,
            ),
            st.builds("[{}, {}]".format, inner, inner),
            st.builds("({}, *{})".format, inner, inner),
            st.builds("{{'a': {}, **{}}}".format, inner, inner),
            st.builds("{}[{}]".format, inner.map(lambda e: f"({e})"), inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("(lambda x, *y: {})".format, inner),
            st.builds("[{} for x in {} if {}]".format, inner, inner, inner),
            st.builds("(y := {})".format, inner),
            st.builds("f'{{{}}}'".format, st.sampled_from(["x", "torch.zeros(3)"])),
        ),
        max_leaves=6,
    )


def indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def statements() -> st.SearchStrategy[str]:
    e = expressions()
    simple = st.one_of(
        st.builds("{} = {}\n".format, NAMES, e),
        st.builds("{}.t = {}\n".format, NAMES, e),
        st.builds("x['k'] = {}\n".format, e),
        st.builds("x, *y = {}\n".format, e),
        st.builds("x += {}\n".format, e),
        st.builds("{}\n".format, e),
        st.builds("{0}; x = {1}  # note\n".format, e, e),
        st.builds("assert {}\n".format, e),
        st.builds("if {}: x = {}\n".format, e, e),
        st.sampled_from(["del x\n", "pass\n", "global z\n", "import torch as th\n", "raise\n"]),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda c, b: f"if {c}:\n{indent(b)}else:\n{indent(b)}", e, inner),
            st.builds(lambda c, b: f"for x, y in {c}:\n{indent(b)}", e, inner),
            st.builds(lambda c, b: f"while {c}:\n{indent(b)}    break\n", e, inner),
            st.builds(lambda c, b: f"with {c} as z:\n{indent(b)}", e, inner),
            st.builds(lambda b: f"try:\n{indent(b)}except Exception as z:\n{indent(b)}finally:\n    x = 1\n", inner),
            st.builds(lambda b: f"def f(x, y=None, *z, device='cuda', **k):\n{indent(b)}    return x\n", inner),
            st.builds(lambda b: f"async def g(x: torch.Tensor):\n{indent(b)}    yield x\n", inner),
            st.builds(lambda b: f"class C(nn.Module):\n    def __init__(self):\n        super().__init__()\n{indent(indent(b))}    def forward(self, x):\n{indent(indent(b))}        return x\n", inner),
        ),
        max_leaves=6,
    )  # fmt: skip


def compiles(text: str) -> bool:
    try:
        compile(text, "p.py", "exec")
    except SyntaxError:
        return False
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(statements())
def test_no_program_breaks_the_analysis(body: str) -> None:
    text = f"{HEAD}def run(x, y, device, self, model):\n{indent(body)}    return x\n\n\n{body}"
    if not compiles(text):
        text = f"{HEAD}def run(x, y, device, self, model):\n{indent(body)}    return x\n"
        if not compiles(text):
            return
    result = check(text)
    assert result.errors == []
    fixed = fix(text, unsafe=True)
    assert fixed.errors == []
    assert compiles(fixed.new_text)
    assert fix(fixed.new_text, unsafe=True).new_text == fixed.new_text


# -- programs that run -------------------------------------------------------------------------------------------------

FACTORIES = (
    ["torch.zeros(2, 3)", "torch.ones(2, 3)", "torch.randn(2, 3)", "torch.rand(3)", "torch.arange(3)", "torch.eye(3)[:2]", "torch.full((2, 3), 0.5)",
     "torch.full((3,), 2)", "torch.tensor([1.0, 2.0, 3.0])", "torch.tensor([1, 2, 3])", "torch.linspace(0, 1, 3)", "torch.randint(0, 5, (2, 3))",
     "torch.FloatTensor([1, 2, 3])", "torch.Tensor([[1, 2, 3]])", "torch.ones(x.shape)", "torch.randn(*x.shape)", "torch.arange(x.size(1))",
     "torch.ones(2, 3, dtype=torch.float64)", "torch.normal(0.0, 1.0, (2, 3))", "torch.tril(torch.ones(3, 3))[:2]", "torch.tensor(0.5)"]
)  # fmt: skip
USES = (
    ["x + {t}", "{t} * x", "torch.cat([x, x * {t}])", "x.masked_fill({t} > 0.5, 0.0)", "x - {t}.float()", "torch.where({t} > 0, x, x * 2)", "torch.max(x, ({t} + x * 0))",
     "x * {t}.unsqueeze(0).sum(0)", "(x * {t}).sum()", "F.relu(x + {t})", "torch.stack([x, x + {t}])", "x.add({t})"]
)  # fmt: skip
SPELLINGS = (
    ["t = {f}\nr = {u}", "t = {f}  # made here\nr = ({u})  # used here", "t = {f}; r = {u}", "if len(x): t = {f}\nr = {u}", "t = (\n    {f}  # one\n)\nr = {u}",
     "t = {f}\nt.to(device)\nr = {u}", "make = lambda: {f}\nt = make()\nr = {u}", "def make():\n    return {f}\nt = make()\nr = {u}", "ts = [{f}, 1]\nt = ts[0]\nr = {u}",
     "d = {{'t': {f}}}\nt = d['t']\nr = {u}", "t = {f}\nfor _ in range(2):\n    r = {u}", "t, n = {f}, 1\nr = {u}", "h = Held({f})\nt = h.t\nr = {u}",
     "first = t = {f}\nt = t.to(device)\nr = ({u}) + 0 * first.sum().item()"]
)  # fmt: skip
FRAMES = (
    ["def run(device):\n    torch.manual_seed(0)\n    x = torch.randn(2, 3, device=device)\n{body}    return r\n",
     "def work(x, device):\n{body}    return r\n\n\ndef run(device):\n    torch.manual_seed(0)\n    return work(torch.randn(2, 3, device=device), device)\n",
     ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n\n    def forward(self, x):\n        device = x.device\n        x = self.fc(x)\n{body2}        return r\n\n\n"
      "def run(device):\n    torch.manual_seed(0)\n    return Net().to(device)(torch.randn(2, 3, device=device)).detach()\n")]
)  # fmt: skip
HELD = "class Held:\n    def __init__(self, t):\n        self.t = t\n\n\n"


def assembled(frame: str, spelling: str, factory: str, use: str) -> str:
    body = spelling.format(f=factory, u=use.format(t="t"))
    return HEAD + HELD + frame.format(body=indent(body), body2=indent(indent(body)))


def run(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "p.py", "exec"), names)
    return names["run"]("cpu")


@settings(max_examples=120, deadline=None)
@given(st.builds(assembled, *map(st.sampled_from, (FRAMES, SPELLINGS, FACTORIES, USES))))
@example(f"{HEAD}def run(device):\n    x = torch.ones(3, device=device)\n    return x + torch.zeros(3)\n")
def test_a_fix_changes_no_value_on_the_cpu(text: str) -> None:
    torch = pytest.importorskip("torch")
    try:
        before = run(text)
    except RuntimeError:
        return  # shapes or dtypes that do not go together
    fixed = fix(text)
    assert fixed.errors == []
    again = fix(fixed.new_text)
    assert again.new_text == fixed.new_text
    assert fixed.new_text.count("# ") == text.count("# ")
    after = run(fixed.new_text)
    assert after.dtype == before.dtype
    assert torch.equal(after, before)


@pytest.mark.slow
def test_a_fixed_program_runs_on_the_simulated_accelerator(tmp_path: Path) -> None:
    """Where a fix is made and nothing is left to report, the program runs; where nothing is found, it ran before."""
    pytest.importorskip("torch")
    from devicefix.verify.jobs import Job, Workshop

    choose = random.Random(0).choice
    changed = 0
    with Workshop() as shop:
        for _ in range(25):
            text = assembled(*map(choose, (FRAMES, SPELLINGS, FACTORIES, USES)))
            path = tmp_path / "program.py"
            path.write_text(text, encoding="utf-8")
            if not shop.run(Job(path, "cpu", "cpu")).ok:
                continue
            ran = shop.run(Job(path, "simulated", "cuda")).ok
            fixed = fix(text)
            path.write_text(fixed.new_text, encoding="utf-8")
            result = shop.run(Job(path, "simulated", "cuda"))
            assert not (ran and fixed.changed), text
            assert result.ok or not fixed.changed or fixed.remaining, fixed.new_text
            changed += fixed.changed
    assert changed > 8
