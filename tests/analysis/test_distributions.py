"""Objects of ``torch.distributions`` hold tensors, and what they draw and compute is where those are."""

from __future__ import annotations

import pytest

from analysis.running import code, codes, found, value_of
from devicefix.analysis.devices import CUDA, DEFAULT
from devicefix.analysis.distributions import MADE_OF, PARAMETERS
from devicefix.analysis.values import DType, Kind

HEAD = "import torch\nimport torch.distributions as D\nfrom torch import nn\n\n"


def in_function(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}\ndef run(device):\n    net = nn.Linear(3, 3).to(device)\n    y = net(torch.ones(2, 3, device=device))\n{lines}\n"


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_the_table_says_what_torch_says(name: str) -> None:
    torch = pytest.importorskip("torch")
    import inspect

    names = [p for p in inspect.signature(getattr(torch.distributions, name).__init__).parameters if p != "self"]
    for position, parameter in enumerate(PARAMETERS[name]):
        assert parameter in ("", names[position])


@pytest.mark.parametrize("name", sorted(MADE_OF))
def test_distributions_made_of_others_are_known_as_such(name: str) -> None:
    torch = pytest.importorskip("torch")
    import inspect

    names = [p for p in inspect.signature(getattr(torch.distributions, name).__init__).parameters if p != "self"]
    assert tuple(names[: len(MADE_OF[name])]) == MADE_OF[name]


VALUES = {
    "cpu": ("D.Normal(torch.zeros(3), torch.ones(3)).sample()", DEFAULT),
    "card": ("D.Normal(torch.zeros(3).cuda(), 1.0).rsample((2,))", CUDA),
    "one of two": ("D.Beta(torch.ones(3).cuda(), torch.ones(3).cuda()).log_prob(0.5)", CUDA),
    "nested": ("D.Independent(D.Normal(torch.zeros(3).cuda(), torch.ones(3).cuda()), 1).entropy()", CUDA),
    "mixture": (
        "D.MixtureSameFamily(D.Categorical(torch.ones(2).cuda()), D.Normal(torch.ones(2).cuda(), 1.0)).sample()",
        CUDA,
    ),
    "numbers": ("D.Normal(0.0, 1.0).sample((3,))", DEFAULT),
    "parameter": ("D.Gumbel(torch.zeros(3).cuda(), torch.ones(3).cuda()).loc", CUDA),
    "statistic": ("D.Poisson(rate=torch.ones(3).cuda()).mean", CUDA),
    "divergence": ("D.kl_divergence(D.Normal(torch.ones(3).cuda(), 1), D.Normal(torch.ones(3).cuda(), 2))", CUDA),
    "expanded": ("D.Dirichlet(torch.ones(3).cuda()).expand((4,)).sample()", CUDA),
}


@pytest.mark.parametrize(("expression", "device"), VALUES.values(), ids=VALUES)
def test_results_are_where_the_parameters_are(expression: str, device: object) -> None:
    value = value_of(f"import torch.distributions as D\nx = {expression}")
    assert value.is_tensor
    assert value.device == device


UNKNOWN = {
    "a parameter of unknown kind": "D.Normal(torch.zeros(3), given()).sample()",
    "splat": "D.Normal(*given()).sample()",
    "a class that is not known": "D.Something(torch.zeros(3)).sample()",
}


@pytest.mark.parametrize("expression", UNKNOWN.values(), ids=UNKNOWN)
def test_where_a_parameter_is_unknown_so_is_the_result(expression: str) -> None:
    value = value_of(f"import torch.distributions as D\nfrom elsewhere import given\nx = {expression}")
    assert value.device is None


def test_categories_are_integers_and_scalars_have_no_dimension() -> None:
    drawn = value_of("import torch.distributions as D\nx = D.Categorical(torch.ones(3)).sample()")
    assert drawn.dtype is DType.INT
    assert value_of("import torch.distributions as D\nx = D.Normal(0.0, 1.0).sample()").rank == 0
    assert value_of("import torch.distributions as D\nx = D.Normal(0.0, 1.0)").kind is Kind.OBJECT


MEETING = {
    "log_prob": "return D.Normal(torch.zeros(3), torch.ones(3)).log_prob(y)",
    "cdf by keyword": "return D.Laplace(torch.zeros(3), 1.0).cdf(value=y)",
    "two parameters": "return D.Normal(y, torch.ones(3)).rsample()",
    "a 0-dim parameter is expanded": "return D.Normal(y, torch.tensor(1.0)).rsample()",
    "a draw": "return y + D.Uniform(torch.zeros(3), torch.ones(3)).sample()",
    "a draw from numbers": "return y + D.Exponential(1.0).sample(y.shape)",
    "divergence": "return D.kl_divergence(D.Normal(y, 1.0), D.Normal(torch.zeros(3), torch.ones(3)))",
    "covariance": "return D.MultivariateNormal(torch.zeros(3), torch.eye(3)).log_prob(y)",
}


@pytest.mark.parametrize("body", MEETING.values(), ids=MEETING)
def test_parameters_on_the_cpu_meet_the_device(body: str) -> None:
    assert set(codes(in_function(body))) == {"DVF201"}


ALLOWED = {
    "numbers in arithmetic": "return D.Normal(0.0, 1.0).log_prob(y)",
    "0-dim parameters in arithmetic": "return D.Normal(torch.tensor(0.0), torch.tensor(1.0)).log_prob(y)",
    "a number beside a tensor": "return D.Normal(y, 1.0).log_prob(y.detach())",
    "one draw": "return y * D.Beta(2.0, 2.0).sample()",
    "moved": "return y + D.Normal(torch.zeros(3), torch.ones(3)).sample().to(device)",
    "parameters moved": "p = D.Normal(torch.zeros(3).to(device), torch.ones(3).to(device))\nreturn p.log_prob(y)",
    "after the input": "return D.kl_divergence(D.Normal(y, 1.0), D.Normal(torch.zeros_like(y), 1.0))",
    "on the host on purpose": "return D.Normal(torch.zeros(3), torch.ones(3)).log_prob(y.cpu())",
    "a context": "with torch.device(device):\n    p = D.Normal(torch.zeros(3), torch.ones(3))\nreturn p.log_prob(y)",
    "either": "p = D.Normal(torch.zeros(3), 1.0)\nif device:\n    p = D.Normal(torch.zeros(3, device=device), 1.0)\n"
    "return p.log_prob(y)",
    "set anew": "p = D.Normal(0, 1)\np.loc = p.loc.to(device)\np.scale = p.scale.to(device)\nreturn y + p.sample(y.shape)",
}


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_what_torch_allows_is_silent(body: str) -> None:
    assert codes(in_function(body)) == []


ATTRIBUTE = """
class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        {set}

    def forward(self, x):
        return self.base.log_prob(self.fc(x))
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("self.base = D.Normal(torch.zeros(3), torch.ones(3))", ["DVF305"]),
        ("self.base = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)", ["DVF305"]),
        ("self.base = D.Normal(0.0, 1.0)", []),
        ("self.base = D.Normal(nn.Parameter(torch.zeros(3)), 1.0)", []),
    ],
)
def test_a_module_leaves_its_distribution_behind(line: str, expected: list[str]) -> None:
    text = code(ATTRIBUTE.replace("{set}", line), head=HEAD)
    assert [c for c, _ in found(text)] == expected
