"""What a function is passed over for, by its looks: harmless calls do not count, and every disguise of a factory does."""

from __future__ import annotations

import ast

import pytest

from analysis.running import code
from devicefix.analysis.entry import analyse
from devicefix.analysis.project import Project
from devicefix.analysis.relevance import Relevance
from devicefix.rules import all_rules
from devicefix.settings import Settings
from devicefix.source.load import load_source


def matters(text: str) -> bool:
    return bool(Relevance(ast.parse(code(text))).functions)


HARMLESS = [
    pytest.param("def f(x):\n    for i in range(3):\n        x = x + i\n    return x", id="range"),
    pytest.param("import numpy as np\ndef f(x):\n    return np.zeros(3)", id="numpy"),
    pytest.param("import random\ndef f(x):\n    return random.randint(0, 3)", id="random"),
    pytest.param("def f(x: torch.Tensor) -> torch.Tensor:\n    return x", id="annotation"),
    pytest.param("def f(x):\n    return isinstance(x, torch.Tensor)", id="isinstance"),
    pytest.param("def f(x):\n    return torch.zeros(3, device=x.device)", id="placed"),
    pytest.param("def f(x):\n    return torch.arange(3).unsqueeze(0).to(x.device)", id="moved-at-once"),
    pytest.param("def f(x):\n    return torch.tensor([1]).type_as(x)", id="type-as"),
    pytest.param("def f(x):\n    return torch.randint(0, 3, (1,)).item()", id="read-at-once"),
    pytest.param("def f(x):\n    raise ValueError(torch.zeros(3))", id="error"),
    pytest.param("class Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.n = n\n        self.sizes = [1, 2]\n        self.a = nn.Linear(n, n)\n    def forward(self, x):\n        return self.a(x)", id="plain-module"),
    pytest.param("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('m', torch.ones(3))\n        self.w = nn.Parameter(torch.zeros(3))", id="registered"),
    pytest.param("def f(x, generator):\n    return torch.randn(2, generator=generator, device=x.device)", id="generator-of-a-caller"),
    pytest.param("def f(x, g=None):\n    return [torch.randn(2, generator=g[i], device=x.device) for i in range(2)]", id="generators-of-a-caller"),
    pytest.param("def f(x):\n    with torch.autocast('cuda'):\n        return x * 2", id="autocast"),
    pytest.param("def f(x):\n    with torch.amp.autocast(device_type='cuda'):\n        return x * 2", id="device-type"),
    pytest.param("def f(x):\n    return x * 2 if x.device.type == 'cuda' else x", id="compared"),
    pytest.param("def f(x):\n    return x * 2 if x.device.type.startswith('cuda') else x", id="prefix"),
    pytest.param("def f(net, x, batch_size):\n    return [net(x) for i in range(batch_size)]", id="range-of-batches"),
    pytest.param("def f(net, x, batches):\n    for i in tqdm(range(batches)):\n        net(x)", id="progress-of-numbers"),
    pytest.param("def f(x, d):\n    CHECK_SHAPE(x, ['B', 'N'])\n    return x.to(d)", id="built-and-dropped"),
    pytest.param("class Net(nn.Module):\n    def __init__(self, sizes: tuple[int, int], n: int):\n        super().__init__()\n        self.sizes = sizes\n        self.a = nn.Linear(n, n)\n    def forward(self, x):\n        return self.a(x).view(self.sizes[0], -1)\nnet = Net((1, 2), 3)", id="numbers-by-annotation"),
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_looks(text: str) -> None:
    assert not matters(text)


DISGUISES = [
    pytest.param("from torch import zeros\ndef f(x):\n    return x.unsqueeze(0) + zeros(3)", id="imported"),
    pytest.param("from torch import zeros as z\ndef f(x):\n    return x.unsqueeze(0) + z(3)", id="renamed"),
    pytest.param("from torch import *\ndef f(x):\n    return x.unsqueeze(0) + zeros(3)", id="star"),
    pytest.param("xp = torch\ndef f(x):\n    return x.unsqueeze(0) + xp.zeros(3)", id="module-alias"),
    pytest.param("import torch as t\ndef f(x):\n    return x.unsqueeze(0) + t.zeros(3)", id="module-renamed"),
    pytest.param("T = torch.FloatTensor if True else torch.DoubleTensor\ndef f(x):\n    return x.unsqueeze(0) + T([1.0])", id="either"),
    pytest.param("from functools import partial\nmake = partial(torch.zeros, 3)\ndef f(x):\n    return x.unsqueeze(0) + make()", id="partial"),
    pytest.param("def f(x):\n    return x.unsqueeze(0) + torch.zeros(3, device=None)", id="device-none"),
    pytest.param("def f(x):\n    return x.unsqueeze(0) + torch.zeros(3, device='cpu')", id="device-cpu"),
    pytest.param("def f(x):\n    return x.unsqueeze(0) + torch.zeros(3).to(torch.float64)", id="to-dtype"),
    pytest.param("def f(x):\n    return (torch.zeros(3) + x.unsqueeze(0)).to(x.device)", id="mixed-before-the-move"),
    pytest.param("def f(x):\n    return torch.zeros(3).add(x.unsqueeze(0)).to(x.device)", id="mixed-in-the-chain"),
    pytest.param("def f(d):\n    return torch.ones(3, requires_grad=True).to(d)", id="leaf"),
    pytest.param("SCALE = torch.ones(3)\ndef f(d):\n    return torch.ones(3, device=d) * SCALE", id="global"),
    pytest.param("def f(x):\n    return torch.randn(2, generator=torch.manual_seed(1), device=x.device)", id="generator"),
    pytest.param("def f(d):\n    g = torch.Generator(device=d)\n    return torch.randperm(6, generator=g)", id="generator-placed"),
    pytest.param("def draw(d, g):\n    return torch.randn(2, generator=g, device=d)\ndef f(d):\n    return draw(d, torch.Generator())", id="generator-handed-on"),
    pytest.param("from seeds import make\ndef f(d):\n    g = make()\n    return torch.randn(2, generator=g, device=d)", id="generator-from-elsewhere"),
    pytest.param("def f(loader, net):\n    for x in loader[range(2)]:\n        net(x)", id="range-inside"),
    pytest.param("class Net(nn.Module):\n    def __init__(self, layers: list[nn.Module]):\n        super().__init__()\n        self.layers = layers\n        self.a = nn.Linear(2, 2)\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return self.a(x)\nnet = Net([nn.Linear(2, 2)])", id="modules-by-annotation"),
    pytest.param("class Net(nn.Module):\n    def __init__(self, layers: 'list'):\n        super().__init__()\n        self.layers = layers\n        self.a = nn.Linear(2, 2)\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return self.a(x)\nnet = Net([nn.Linear(2, 2)])", id="list-by-annotation"),
    pytest.param("def late(x):\n    net = nn.Linear(3, 3)\n    return net(x)\ndef run(d):\n    return late(torch.ones(2, 3).to(d))", id="built-in-another"),
    pytest.param("def make():\n    return nn.Linear(3, 3)\ndef run(d):\n    net = make()\n    return net(torch.ones(2, 3, device=d))", id="built-by-another"),
    pytest.param("def run(d):\n    nets = [nn.Linear(3, 3) for _ in range(2)]\n    x = torch.ones(2, 3, device=d)\n    for net in nets:\n        x = net(x)\n    return x", id="list-of-modules"),
    pytest.param("class Holder:\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n    def use(self, x):\n        return x.unsqueeze(0) * self.w", id="parameter-of-a-plain-class"),
    pytest.param("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        t = torch.ones(3)\n        u = t * 2\n        self.m = u\n    def forward(self, x):\n        return x.unsqueeze(0) + self.m", id="through-locals"),
    pytest.param("class Net(nn.Module):\n    def __init__(self, layers):\n        super().__init__()\n        self.layers = layers\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\nnet = Net([nn.Linear(3, 3)]).to('cuda')\nnet(torch.ones(1, 3).cuda())", id="list-given-by-the-caller"),
]  # fmt: skip


@pytest.mark.parametrize("text", DISGUISES)
def test_disguises_are_seen_through(text: str) -> None:
    def findings(*, everything: bool) -> list[tuple[str, object]]:
        source = load_source(code(text).encode(), "program.py")
        facts = analyse(source, project=Project(), settings=Settings(), everything=everything)
        return sorted((f.code, f.span) for rule in all_rules() for f in rule.check(facts))

    assert findings(everything=False) == findings(everything=True)
