"""Classes that move what they hold by methods of their own, and methods of that name that do not."""

from __future__ import annotations

import textwrap

import pytest

from analysis.running import code, codes
from devicefix import fix

GRID = """
def bring(module, device):
    for name in ("xs", "ys"):
        setattr(module, name, getattr(module, name).to(device))


class Grid(nn.Module):
    TABLES = ("xs", "ys")

    def __init__(self, n):
        super().__init__()
        self.xs = torch.arange(n).float()
        self.ys = torch.linspace(0, 1, n)
        self.fc = nn.Linear(n, n)

{method}
    def forward(self, x):
        return self.fc(x) + self.xs - self.ys
"""
RUN = """

def run(device):
    net = Grid(3)
    {use}
    return net(torch.rand(2, 3).to(device))
"""


def grid(body: str, use: str = "") -> list[str]:
    """Codes found in a module with a method ``place(self, device)``, used in some way or not at all."""
    method = f"def place(self, device):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n    return self.to(device)\n"
    text = GRID.replace("{method}", textwrap.indent(method, "    ") if body else "")
    return codes(code(text + (RUN.replace("{use}", use) if use else "")))


MOVING = [
    "self.xs = self.xs.to(device)\nself.ys = self.ys.to(device)",
    "self.xs, self.ys = self.xs.to(device), self.ys.to(device)",
    "for n in self.TABLES:\n    setattr(self, n, getattr(self, n).to(device))",
    "for n in self.TABLES:\n    t = getattr(self, n).to(device)\n    setattr(self, n, t)",
    "for n, v in list(vars(self).items()):\n    if torch.is_tensor(v):\n        setattr(self, n, v.to(device))",
    "for n, v in self.__dict__.items():\n    if torch.is_tensor(v):\n        self.__dict__[n] = v.to(device)",
    "self.__dict__.update({k: v.to(device) for k, v in self.__dict__.items() if torch.is_tensor(v)})",
    "self.__dict__.update(xs=self.xs.to(device), ys=self.ys.to(device))",
    "vars(self).update(xs=self.xs.to(device), ys=self.ys.to(device))",
    "bring(self, device)",
]


@pytest.mark.parametrize("body", MOVING)
def test_a_method_that_moves_the_tables(body: str) -> None:
    assert grid(body, "net = net.place(device)") == []
    assert grid(body, "net.place(device)") == []
    assert grid(body) == [], "whoever makes one may have called it"


@pytest.mark.parametrize("body", MOVING)
def test_a_method_that_is_not_called(body: str) -> None:
    assert set(grid(body, "net = net.to(device)")) == {"DVF301"}


@pytest.mark.parametrize(
    ("body", "use"),
    [
        ("", "net.to(device)"),
        ("self.xs = self.xs.to(device)", "net.place(device)"),
        ("self.xs = self.xs.to(torch.float64)\nself.ys = self.ys.to(self.xs.dtype)", "net.place(device)"),
        ("setattr(self, 'xs', self.xs.to(device))", "net.place(device)"),
    ],
)
def test_tables_that_stay_behind(body: str, use: str) -> None:
    assert set(grid(body, use)) == {"DVF301"}


def test_tables_that_no_code_of_the_file_moves() -> None:
    assert set(codes(code(GRID.partition("\n\n\n")[2].replace("{method}", "")))) == {"DVF301"}


ROW = """
class {name}:
    def __init__(self, x):
        self.x = x

    def to(self, {parameters}):
        {body}


{below}
def run(device):
    net = nn.Linear(2, 1).to(device)
    row = Row(torch.ones(1, 2))
    print(row.to("cuda"))
    return net(torch.ones(1, 2).to(device))
"""


def row(parameters: str, body: str, *, below: str = "", name: str = "Row") -> list[str]:
    """Codes found where ``row.to("cuda")`` calls a method of the program."""
    text = ROW.replace("{parameters}", parameters).replace("{body}", body).replace("{name}", name)
    return codes(code(text.replace("{below}", below)))


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("unit", "return 3.5 if unit == 'cuda' else 0.0"),
        ("unit, digits=2", "return round(self.x.sum().item() * FACTORS[unit], digits)"),
        ("name", "return {name: self.x}"),
        ("fmt", "return self.x.numpy().astype(fmt)"),
    ],
)
def test_a_method_that_means_something_else(parameters: str, body: str) -> None:
    assert row(parameters, body) == []
    assert row(parameters, body, name="Base", below="class Row(Base):\n    pass\n\n\n") == []


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("device", "return Row(self.x.to(device))"),
        ("t", "return Row(self.x.to(t))"),
        ("t", "return Row(send_to(self.x, t))"),
        ("t", "self.device = t"),
        ("t", "return Row(torch.zeros_like(self.x, device=t))"),
        ("*args, **kwargs", "return Row(self.x.to(*args, **kwargs))"),
    ],
)
def test_a_method_that_moves(parameters: str, body: str) -> None:
    assert row(parameters, body) == ["DVF401"]


FORWARD = """
class Pad(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(3, 3)

    def forward(self, x):
        tail = {make}
        return {use}
"""


@pytest.mark.parametrize("use", ["self.c(torch.cat((x, tail)))", "self.c(x) + tail", "torch.relu(x) * tail"])
@pytest.mark.parametrize(
    ("make", "after"),
    [
        ('torch.zeros(1, 3, device="cuda")', "torch.zeros(1, 3, device=x.device)"),
        ('torch.zeros(1, 3, device=torch.device("cuda"))', "torch.zeros(1, 3, device=x.device)"),
        ("torch.zeros(1, 3).cuda()", "torch.zeros(1, 3).to(x.device)"),
        ('torch.zeros(1, 3).to("cuda")', "torch.zeros(1, 3).to(x.device)"),
    ],
)
@pytest.mark.parametrize("called", [True, False])
def test_new_tensors_in_forward_follow_the_input(make: str, after: str, use: str, *, called: bool) -> None:
    text = FORWARD.replace("{make}", make).replace("{use}", use)
    if called:
        text += "\n\ndef run(device):\n    return Pad().to(device)(torch.rand(2, 3).to(device))\n"
    if use.startswith("self.c(x)") and "torch.device" in make and not called:
        return  # without a caller nothing says that the argument is a tensor
    assert f"tail = {after}\n" in fix(code(text)).new_text


@pytest.mark.parametrize(
    ("parameters", "use", "called"),
    [
        ("x: torch.Tensor", "(x * w).sum()", ""),
        ("net, x", "(net(x) * w).sum()", "f(nn.Linear(2, 3).to(device), torch.ones(1, 2).to(device))"),
        ("x", "x * w", "f(torch.ones(3, device=CFG['device']))"),
    ],
)
def test_cuda_constructors_follow_what_they_meet(parameters: str, use: str, called: str) -> None:
    text = f"CFG = {{'device': 'cpu'}}\ndef f({parameters}):\n    w = torch.cuda.FloatTensor([1, 2, 3])\n    return {use}\n"
    if called:
        text += f"def run(device):\n    CFG['device'] = device\n    return {called}\n"
    assert "torch.tensor([1, 2, 3], dtype=torch.float32, device=x.device)" in fix(code(text)).new_text


def test_cuda_constructors_that_meet_nothing_are_reported() -> None:
    text = code("def f():\n    return torch.cuda.FloatTensor([1, 2, 3])\n")
    assert codes(text) == ["DVF202"]
    assert fix(text).new_text == text
