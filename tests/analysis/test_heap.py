"""Modules: what `.to` moves, and what it leaves where it was."""

from __future__ import annotations

import pytest

from analysis.running import code, codes, facts_of, names_of, value_of
from devicefix.analysis.devices import DEFAULT, Device, same

CUDA = Device("cuda")


def net(init: str, forward: str, move: str = "m = Net().to('cuda')") -> str:
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    return code(
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n    def forward(self, x):\n        return {forward}\n\n\n"
        f"{move}\nm(torch.ones(2, 3, device='cuda'))"
    )


MOVED = [
    pytest.param("self.w = nn.Parameter(torch.ones(3))", "x + self.w", id="parameter"),
    pytest.param("self.register_parameter('w', nn.Parameter(torch.ones(3)))", "x + self.w", id="register-parameter"),
    pytest.param("self.register_buffer('w', torch.ones(3))", "x + self.w", id="buffer"),
    pytest.param("self.register_buffer('w', torch.ones(3), persistent=False)", "x + self.w", id="non-persistent"),
    pytest.param("self.w = nn.Buffer(torch.ones(3))", "x + self.w", id="nn-buffer"),
    pytest.param("self.fc = nn.Linear(3, 3)", "self.fc(x)", id="submodule"),
    pytest.param("self.fc = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))", "self.fc(x)", id="sequential"),
    pytest.param("self.fcs = nn.ModuleList([nn.Linear(3, 3)])", "self.fcs[0](x)", id="module-list"),
    pytest.param("self.fcs = nn.ModuleDict({'a': nn.Linear(3, 3)})", "self.fcs['a'](x)", id="module-dict"),
    pytest.param("self.add_module('fc', nn.Linear(3, 3))", "self.fc(x)", id="add-module"),
    pytest.param("self.ws = nn.ParameterList([nn.Parameter(torch.ones(3))])", "x + self.ws[0]", id="parameter-list"),
    pytest.param("fc = nn.Linear(3, 3)\nself.fc = self.alias = fc", "self.alias(self.fc(x))", id="two-names"),
    pytest.param("self.fc = nn.Linear(3, 3)", "x + self.fc.weight.sum(0)", id="weight-of-a-layer"),
    pytest.param("self.bn = nn.BatchNorm1d(3)", "x - self.bn.running_mean", id="running-mean"),
]  # fmt: skip


@pytest.mark.parametrize(("init", "forward"), MOVED)
@pytest.mark.parametrize(
    "move",
    [
        pytest.param("m = Net().to('cuda')", id="result"),
        pytest.param("m = Net()\nm.cuda()", id="in-place"),
        pytest.param("m = Net()\nm = nn.Sequential(m).to('cuda')", id="through-its-owner"),
        pytest.param("m = Net()\nfor p in [m]:\n    p.to('cuda')", id="through-a-list"),
        pytest.param("m = Net()\nm.eval().requires_grad_(False).cuda()", id="chain"),
    ],
)  # fmt: skip
def test_what_is_registered_moves(init: str, forward: str, move: str) -> None:
    assert codes(net(init, forward, move)) in ([], ["DVF401"], ["DVF401", "DVF401"])


LEFT = [
    pytest.param("self.t = torch.ones(3)", "x + self.t", {"DVF301"}, id="plain-attribute"),
    pytest.param("self.ts = [torch.ones(3)]", "x + self.ts[0]", {"DVF305"}, id="list-of-tensors"),
    pytest.param("self.ts = {'a': torch.ones(3)}", "x + self.ts['a']", {"DVF305"}, id="dict-of-tensors"),
    pytest.param("self.fcs = [nn.Linear(3, 3)]", "self.fcs[0](x)", {"DVF302"}, id="list-of-modules"),
    pytest.param("self.fcs = {'a': nn.Linear(3, 3)}", "self.fcs['a'](x)", {"DVF302"}, id="dict-of-modules"),
    pytest.param("self.ws = [nn.Parameter(torch.ones(3))]", "x + self.ws[0]", {"DVF303"}, id="list-of-parameters"),
    pytest.param("self.fc = nn.Linear(3, 3)", "self.fc(x) + torch.ones(3)", {"DVF201"}, id="made-in-forward"),
]  # fmt: skip


@pytest.mark.parametrize(("init", "forward", "expected"), LEFT)
def test_what_is_not_registered_stays(init: str, forward: str, expected: set[str]) -> None:
    assert set(codes(net(init, forward))) - {"DVF401"} == expected


def test_a_module_is_moved_in_place_and_a_tensor_is_not() -> None:
    names = names_of(code("m = nn.Linear(2, 2)\nm.to('cuda')\nx = torch.ones(2)\ny = x.to('cuda')"))
    assert names["m"].data.device == CUDA
    assert names["x"].device == DEFAULT
    assert names["y"].device == CUDA


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("x = nn.Linear(2, 2).cuda().cpu()", Device("cpu"), id="moved-back"),
        pytest.param("x = nn.Linear(2, 2, device='cuda')", CUDA, id="made-there"),
        pytest.param("x = nn.Linear(2, 2).to(torch.float16)", None, id="dtype-only"),
        pytest.param("x = nn.Linear(2, 2).half().eval().train()", None, id="no-move"),
    ],
)  # fmt: skip
def test_where_a_module_is(body: str, expected: Device | None) -> None:
    device = value_of(body).data.device
    assert (
        device == expected
        or (expected is not None and same(device, expected))
        or (expected is None and (device is None or device.host))
    )


def test_after_a_dropped_move_the_name_counts_as_moved() -> None:
    text = code("x = torch.ones(2)\nx.to('cuda')\ny = x + torch.ones(2, device='cuda')")
    assert names_of(text)["x"].device == CUDA  # one fault, one finding
    assert codes(text).count("DVF101") == 1
    assert "DVF201" not in codes(text)


def test_the_output_of_a_module_is_where_the_module_is() -> None:
    assert value_of("m = nn.Linear(2, 2).cuda()\nx = m(torch.ones(1, 2, device='cuda'))").device == CUDA


def test_two_instances_are_two_objects() -> None:
    names = names_of(code("a, b = nn.Linear(2, 2), nn.Linear(2, 2)\na.cuda()"))
    assert names["a"].data.device == CUDA
    assert names["b"].data.device != CUDA


def test_moves_and_writes_are_recorded() -> None:
    facts = facts_of(
        code(
            "class A:\n    def __init__(self):\n        self.x = torch.ones(3)\n        self.x = self.x.cuda()\n\n\nA()"
        )
    )
    assert [w.name for w in facts.records.writes][:2] == ["x", "x"]
    assert [m.method for m in facts.records.moves] == ["cuda"]
