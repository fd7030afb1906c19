"""What loaders yield, and what moves a batch."""

from __future__ import annotations

import pytest

from analysis.running import code, codes, facts_of

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, Dataset, TensorDataset\n"


def loop(
    head: str, body: str, *, items: str = "TensorDataset(torch.ones(8, 3), torch.ones(8, 2))", extra: str = ""
) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{HEAD}{extra}\n\ndef run(device):\n    model = nn.Linear(3, 2).to(device)\n    loader = DataLoader({items}, batch_size=2)\n    {head}:\n{lines}\n"


YIELDED = [
    pytest.param("for x, y in loader", "model(x)", id="unpacked"),
    pytest.param("for (x, y) in loader", "model(x)", id="parentheses"),
    pytest.param("for batch in loader", "model(batch[0])", id="by-position"),
    pytest.param("for i, (x, y) in enumerate(loader)", "model(x)", id="enumerate"),
    pytest.param("for x, *rest in loader", "model(x)", id="starred"),
    pytest.param("for batch in iter(loader)", "x, y = batch\nmodel(x)", id="iter"),
    pytest.param("for (x, y), (a, b) in zip(loader, loader)", "model(x + a)", id="zip"),
    pytest.param("for _ in range(2)", "x, y = next(iter(loader))\nmodel(x)", id="next"),
    pytest.param("for b in [b for b in loader]", "model(b[0])", id="comprehension"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "body"), YIELDED)
def test_a_batch_is_on_the_cpu(head: str, body: str) -> None:
    assert "DVF501" in codes(loop(head, body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x = x.to(device)\nmodel(x)", id="to"),
        pytest.param("x, y = x.to(device), y.to(device)\nmodel(x)", id="pair"),
        pytest.param("x, y = (t.to(device) for t in (x, y))\nmodel(x)", id="generator"),
        pytest.param("x, y = [t.to(device) for t in (x, y)]\nmodel(x)", id="list"),
        pytest.param("x, y = map(lambda t: t.to(device), (x, y))\nmodel(x)", id="map"),
        pytest.param("x, y = unseen(x, y)\nmodel(x)", id="unknown-helper"),
        pytest.param("model(x.to(device))", id="at-the-use"),
        pytest.param("print(x.mean(), y.sum())", id="statistics"),
        pytest.param("model.cpu()(x)", id="model-on-the-cpu"),
    ],
)  # fmt: skip
def test_a_moved_batch_is_where_it_was_moved(body: str) -> None:
    assert codes(loop("for x, y in loader", body)) == []


ITEMS = {
    "tuple": ("return torch.ones(3), 1", "for x, y in loader", "model(x)"),
    "tensor": ("return torch.ones(3)", "for x in loader", "model(x)"),
    "dict": ("return {'x': torch.ones(3), 'name': 'a'}", "for b in loader", "model(b['x'])"),
    "nested": ("return (torch.ones(3), torch.ones(3)), 0", "for (x, z), y in loader", "model(x + z)"),
    "list": ("return [torch.ones(3), torch.ones(3)]", "for b in loader", "model(b[1])"),
}


@pytest.mark.parametrize("name", ITEMS)
def test_what_a_data_set_gives_is_collated(name: str) -> None:
    item, head, body = ITEMS[name]
    rows = f"\n\nclass Rows(Dataset):\n    def __len__(self):\n        return 4\n\n    def __getitem__(self, i):\n        {item}\n"
    assert "DVF501" in codes(loop(head, body, items="Rows()", extra=rows))


def test_every_loop_keeps_the_state_of_its_scope() -> None:
    facts = facts_of(loop("for x, y in loader", "model(x)"))
    (scopes,) = [s for node, s in facts.records.scopes.items() if type(node).__name__ == "For"]
    assert {"model", "loader", "device"} <= set(scopes[0].names)


def test_a_loader_in_a_plain_list_of_tensors_is_no_loader() -> None:
    assert (
        codes(
            code(
                "def run(device):\n    x = torch.ones(3, device=device)\n    for y in [x, x]:\n        y = y + x\n    return y"
            )
        )
        == []
    )


GRAPHS = """
import torch
from torch import nn
from torch_geometric.loader import DataLoader, NeighborLoader


def run(data, device):
    net = nn.Linear(3, 2).to(device)
    for batch in {loader}:
        {body}
"""


@pytest.mark.parametrize("loader", ["DataLoader(data)", "NeighborLoader(data, num_neighbors=[2])"])
@pytest.mark.parametrize("body", ["net(batch.x)", "loss = net(batch.x) + batch.y", "print(net(batch.x[batch.mask]))"])
def test_graphs_are_moved_as_a_whole(loader: str, body: str) -> None:
    from devicefix import fix

    text = GRAPHS.format(loader=loader, body=body)
    assert codes(text) == ["DVF501"]
    assert f"for batch in {loader}:\n        batch = batch.to(device)\n        {body}" in fix(text).new_text


@pytest.mark.parametrize(
    "body",
    [
        "batch.to(device); net(batch.x)",
        "batch = batch.to(device); net(batch.x)",
        "net(batch.x.to(device))",
        "prepare(batch); net(batch.x)",
        "sizes = batch.x.shape, batch.num_graphs",
        "net(batch.x.float())",
    ],
)
def test_graphs_that_are_moved_or_not_used_there(body: str) -> None:
    assert codes(GRAPHS.format(loader="DataLoader(data)", body=body)) == []


def test_graphs_of_placed_data() -> None:
    assert codes(GRAPHS.format(loader="DataLoader([d.to(device) for d in data])", body="net(batch.x)")) == []
    assert codes(GRAPHS.format(loader="NeighborLoader(data.to(device))", body="net(batch.x)")) == []


def test_attributes_of_a_batch_of_another_kind_are_reported() -> None:
    from devicefix import fix

    text = GRAPHS.format(loader="DataLoader(data)", body="net(batch.x)").replace(
        "torch_geometric.loader", "torch.utils.data"
    )
    text = text.replace(", NeighborLoader", "")
    assert codes(text) == ["DVF501"]
    assert fix(text, unsafe=True).new_text == text


@pytest.mark.parametrize("name", ["T", "mT", "data", "real", "shape"])
def test_an_attribute_that_tensors_have_says_nothing_of_the_batch(name: str) -> None:
    text = GRAPHS.format(loader="DataLoader(data)", body=f"y = batch.{name}").replace(
        "torch_geometric.loader", "torch.utils.data"
    )
    assert codes(text.replace(", NeighborLoader", "")) == []
