"""What lists hold that are filled and spread, and loops over unlike things to call."""

from __future__ import annotations

import textwrap

import pytest

from analysis.running import code, codes

TREE = """
class Tree(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.emb = nn.Embedding(9, d)

    def node(self, tree, ids):
        word, *children = tree
        states = [self.node(c, ids) for c in children]
{body}
        return torch.stack([self.emb(ids[word]), *states]).sum(0)

    def forward(self, tree, ids):
        return self.node(tree, ids)


def run(device):
    return Tree(2).to(device)((0, (1,), (2, (3,))), torch.tensor([4, 3, 2, 1]).to(device))
"""


def folded(body: str) -> list[str]:
    """Codes found where a list of recursive results is treated in some way."""
    return codes(code(TREE.replace("{body}", textwrap.indent(textwrap.dedent(body), " " * 8))))


FILL = "while len(states) < 2:\n    states.append(torch.zeros(self.d))\n"


@pytest.mark.parametrize(
    "body",
    [
        FILL,
        "if not states:\n    states.append(torch.zeros(self.d))\n",
        "for _ in range(2):\n    states.append(torch.zeros(self.d))\n",
        "states = states + [torch.zeros(self.d)] * 2\n",
        "states = [*states, torch.zeros(self.d)]\n",
    ],
)
def test_zeros_among_unknown_members(body: str) -> None:
    assert folded(body) == ["DVF201"]


@pytest.mark.parametrize(
    "body",
    [
        "pass\n",
        "while len(states) < 2:\n    states.append(torch.zeros(self.d, device=ids.device))\n",
        FILL + "states = [s.to(ids.device) for s in states]\n",
        FILL + "states = list(map(lambda s: s.to(ids.device), states))\n",
        FILL + "for i in range(len(states)):\n    states[i] = states[i].to(ids.device)\n",
        FILL + "for i, s in enumerate(states):\n    states[i] = s.to(ids.device)\n",
        FILL + "states[:] = [s.to(ids.device) for s in states]\n",
        FILL + "states = unseen(states)\n",
    ],
)
def test_members_that_are_moved(body: str) -> None:
    assert folded(body) == []


STEPS = """
class Noise:
    def __call__(self, x):
        return x + torch.randn(*x.shape)


class Home:
    def __call__(self, x):
        return x.cpu()


class Away:
    def __init__(self, place):
        self.place = place

    def __call__(self, x):
        return x.to(self.place)


class Clamp:
    def __call__(self, x):
        return x.clamp(0, 1)


class Compose:
    def __init__(self, *steps):
        self.steps = list(steps)

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Average:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        return torch.stack([step(x) for step in self.steps]).mean(0)


class First:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
            if x.sum() > 0:
                break
        return x


def run(device):
    net = nn.Linear(3, 1).to(device)
    return net({augment}(torch.rand(2, 3).to(device)))
"""


@pytest.mark.parametrize(
    ("augment", "expected"),
    [
        ("Compose(Noise(), lambda t: t.clamp(0, 1))", ["DVF201"]),
        ("Compose(torch.relu, Noise())", ["DVF201"]),
        ("Compose(Clamp(), Noise())", ["DVF201"]),
        ("Average(Clamp(), Noise(), torch.relu)", ["DVF201"]),
        ("Compose(nn.Linear(3, 3), torch.relu)", ["DVF502"]),
        ("Compose(Home(), Noise(), Away(device))", []),
        ("Compose(Clamp(), lambda t: t * 2, torch.relu)", []),
        ("Compose(nn.Linear(3, 3).to(device), torch.relu)", []),
        ("First(Home(), Away(device))", []),
    ],
)
def test_a_pipeline_of_unlike_steps(augment: str, expected: list[str]) -> None:
    assert codes(code(STEPS.replace("{augment}", augment))) == expected
