"""Which binding a name means: locals, closures, globals, class bodies, comprehensions."""

from __future__ import annotations

import pytest

from analysis.running import code, codes, found

MEETS = "    return torch.ones(3, device=device) + t\n"

FOUND = [
    pytest.param("def run(device):\n    t = torch.zeros(3)\n" + MEETS, id="local"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n" + MEETS, id="global"),
    pytest.param("def run(device):\n    t = torch.zeros(3)\n    def inner():\n        return torch.ones(3, device=device) + t\n    return inner()", id="closure"),
    pytest.param("def run(device):\n    t = torch.zeros(3)\n    def a():\n        def b():\n            return torch.ones(3, device=device) + t\n        return b()\n    return a()\n", id="two-levels-up"),
    pytest.param("def run(device):\n    t = torch.zeros(3)\n    return (lambda: torch.ones(3, device=device) + t)()", id="lambda"),
    pytest.param("def run(device):\n    t = None\n    def inner():\n        nonlocal t\n        t = torch.zeros(3)\n    inner()\n" + MEETS, id="nonlocal"),
    pytest.param("t = None\ndef set_up():\n    global t\n    t = torch.zeros(3)\nset_up()\ndef run(device):\n" + MEETS, id="set-through-global"),
    pytest.param("def make():\n    return torch.zeros(3)\ndef run(device):\n    t = make()\n" + MEETS, id="returned"),
    pytest.param("def run(device, t=torch.zeros(3)):\n" + MEETS + "run('cuda')", id="default-argument"),
    pytest.param("def add(a, b):\n    return a + b\ndef run(device):\n    return add(torch.ones(3, device=device), torch.zeros(3))", id="arguments"),
    pytest.param("def add(*ts):\n    return ts[0] + ts[1]\ndef run(device):\n    return add(torch.ones(3, device=device), torch.zeros(3))", id="star-parameter"),
    pytest.param("def add(**ts):\n    return ts['a'] + ts['b']\ndef run(device):\n    return add(a=torch.ones(3, device=device), b=torch.zeros(3))", id="keyword-parameter"),
    pytest.param("def add(a, b):\n    return a + b\ndef run(device):\n    ts = (torch.ones(3, device=device), torch.zeros(3))\n    return add(*ts)", id="star-argument"),
    pytest.param("def run(device):\n    return [torch.ones(3, device=device) + t for t in [torch.zeros(3)]]", id="comprehension"),
    pytest.param("def run(device):\n    a, (b, *c) = torch.ones(3, device=device), (torch.zeros(3), 1, 2)\n    return a + b", id="unpacked"),
    pytest.param("def run(device):\n    if (t := torch.zeros(3)) is not None:\n    " + MEETS, id="walrus"),
    pytest.param("async def run(device):\n    t = torch.zeros(3)\n" + MEETS, id="async"),
    pytest.param("class A:\n    t = torch.zeros(3)\n    def run(self, device):\n        return torch.ones(3, device=device) + self.t\n", id="class-attribute"),
    pytest.param("class A:\n    @staticmethod\n    def make():\n        return torch.zeros(3)\n    def run(self, device):\n        return torch.ones(3, device=device) + self.make()\n", id="static-method"),
    pytest.param("class A:\n    @property\n    def t(self):\n        return torch.zeros(3)\n    def run(self, device):\n        return torch.ones(3, device=device) + self.t\n", id="property"),
    pytest.param("def run(device):\n    match device:\n        case 'cuda':\n            t = torch.zeros(3)\n        case _:\n            t = torch.zeros(3)\n" + MEETS, id="match"),
]  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_the_binding_is_followed(text: str) -> None:
    assert [c for c in codes(code(text)) if c in ("DVF201", "DVF305")]


SILENT = [
    pytest.param("t = torch.zeros(3)\ndef set_up(device):\n    global t\n    t = t.to(device)\ndef run(device):\n" + MEETS + "set_up('cuda')\nrun('cuda')", id="moved-through-global"),
    pytest.param("def run(device):\n    t = torch.zeros(3)\n    def inner():\n        nonlocal t\n        t = t.to(device)\n    inner()\n" + MEETS, id="moved-through-nonlocal"),
    pytest.param("def run(device):\n    t = torch.zeros(3)\n    def a():\n        def b():\n            nonlocal t\n            t = t.to(device)\n        b()\n    a()\n" + MEETS, id="moved-two-levels-down"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    t = torch.zeros(3, device=device)\n    def a():\n        def b():\n            return torch.ones(3, device=device) + t\n        return b()\n    return a()\n", id="two-levels-up-hides-the-global"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    t = torch.zeros(3, device=device)\n" + MEETS, id="shadowed-by-a-local"),
    pytest.param("t = torch.zeros(3)\ndef run(device, t):\n" + MEETS, id="shadowed-by-a-parameter"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    return [torch.ones(3, device=device) + t for t in unseen()]", id="shadowed-in-a-comprehension"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    for t in unseen():\n        print(torch.ones(3, device=device) + t)", id="shadowed-by-a-loop"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    import somewhere as t\n" + MEETS, id="shadowed-by-an-import"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    with unseen() as t:\n    " + MEETS, id="shadowed-by-with"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    try:\n        pass\n    except E as t:\n    " + MEETS, id="shadowed-by-except"),
    pytest.param("t = torch.zeros(3)\ndef run(device):\n    match device:\n        case t:\n        " + MEETS, id="shadowed-by-match"),
    pytest.param("class A:\n    t = torch.zeros(3)\ndef run(device, t):\n" + MEETS, id="class-scope-is-not-seen-outside"),
    pytest.param("def run(device):\n    t = torch.zeros(3)\n    del t\n    from somewhere import t\n" + MEETS, id="deleted-and-imported"),
    pytest.param("def make(device):\n    return torch.zeros(3, device=device)\ndef run(device):\n    t = make(device)\n" + MEETS, id="made-on-the-device"),
    pytest.param("def run(device):\n    def torch_zeros():\n        return torch.zeros(3, device=device)\n    t = torch_zeros()\n" + MEETS, id="closure-knows-the-device"),
]  # fmt: skip


@pytest.mark.parametrize("text", SILENT)
def test_another_binding_is_not_confused_with_it(text: str) -> None:
    assert codes(code(text)) == []


def test_one_function_called_with_different_devices() -> None:
    text = code(
        "def add(a, b):\n    return a + b\ndef run(device):\n    x = torch.ones(3, device=device)\n    add(x, x)\n    add(torch.ones(3), torch.ones(3))\n    return add(x, torch.zeros(3))"
    )
    assert found(text) == [("DVF201", 11)]


def test_a_global_that_is_moved_before_the_call() -> None:
    assert (
        codes(
            code(
                "t = torch.zeros(3)\nt = t.to('cuda' if torch.cuda.is_available() else 'cpu')\ndef run(x):\n    return x.unsqueeze(0) + t"
            )
        )
        == []
    )
