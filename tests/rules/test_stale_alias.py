"""DVF104: a second name for the tensor from before it was moved."""

from __future__ import annotations

import pytest

from rules.programs import codes, found, lines, marked, program, repaired, source

CODE = "DVF104"

FOUND = [
    pytest.param("x = torch.ones(2)\nfirst = x\nx = x.to(device)\nreturn x + first  # !", id="name"),
    pytest.param("x = torch.ones(4)\nhead = x[:2]\nx = x.to(device)\nreturn x[2:] + head  # !", id="slice"),
    pytest.param("x = torch.ones(2)\ny = x\nx = x.to(device)\nreturn torch.stack([x, y])  # !", id="stack"),
    pytest.param("x = torch.ones(2)\nd = {'x': x}\nx = x.to(device)\nreturn d['x'] * x  # !", id="in-a-dict"),
    pytest.param("x = torch.ones(2)\ny = x\nx = x.cuda()\nreturn x @ y  # !", id="cuda"),
    pytest.param("x = y = torch.ones(2)\nx = x.to(device)\nreturn x - y  # !", id="chained-assignment"),
    pytest.param("größe = torch.ones(2)\nälter = größe\ngröße = größe.to(device)\n'ß'; z = größe + älter  # !\nreturn z", id="unicode"),
    pytest.param("x = torch.ones(2)\ny = x\nx = x.to(\n    device,  # the card\n)\nreturn torch.cat(  # !\n    [x, y],\n)", id="lines"),
]  # fmt: skip


@pytest.mark.parametrize("body", FOUND)
def test_the_older_name_is_reported(body: str) -> None:
    text = program(body)
    (finding,) = found(text, CODE)
    assert finding.span.start.line in (marked(text)[0], marked(text)[0] + 1)
    assert finding.applicability.value == "report"
    assert finding.note
    assert [r.span.start.line for r in finding.related]
    assert repaired(text, CODE, unsafe=True) == text
    assert "DVF201" not in codes(text)  # the factory is not the fault


def test_in_an_async_method() -> None:
    text = source(
        "class Loop:\n    async def go(self, x: torch.Tensor, device):\n        x = torch.ones(2)\n        first = x\n        x = x.to(device)\n        return first + x  # !"
    )
    assert lines(text, CODE) == marked(text)


def test_an_alias_in_an_attribute_is_repaired_where_the_tensor_is_made() -> None:
    text = source(
        "class Loop:\n    def go(self, device):\n        x = torch.ones(2)\n        self.first = x\n        x = x.to(device)\n        return self.first + x"
    )
    assert codes(text) == ["DVF201"]


SILENT = [
    pytest.param("x = torch.ones(2)\nx = x.to(device)\nfirst = x\nreturn first + x", id="taken-after"),
    pytest.param("x = torch.ones(2)\nfirst = x\nx = x.to(device)\nfirst = first.to(device)\nreturn first + x", id="both-moved"),
    pytest.param("x = torch.ones(2)\nfirst = x.clone()\nx = x.to(device)\nreturn first.to(device) + x", id="moved-at-the-use"),
    pytest.param("x = torch.ones(2)\nfirst = x\nx = x.to(device)\nreturn first + torch.zeros(2), x", id="never-meet"),
    pytest.param("x = torch.ones(2)\nhost = x\nx = x.to(device)\nreturn x.cpu() + host", id="meets-on-the-cpu"),
    pytest.param("x = torch.ones(2)\nn = x.sum().item()\nx = x.to(device)\nreturn x * n", id="number"),
    pytest.param("x = torch.ones(())\nscale = x\nx = x.to(device)\nreturn torch.ones(2, device=device) * scale", id="zero-dim"),
    pytest.param("m = nn.Linear(2, 2)\nsame = m\nm = m.to(device)\nreturn same(torch.ones(2, device=device))", id="module"),
    pytest.param("x = torch.arange(2)\ni = x\nx = x.to(device)\nreturn x[i]", id="index"),
    pytest.param("x = torch.ones(2)\ny = x\nx = x.to(device)\nx.copy_(y)\nreturn x", id="copy"),
    pytest.param("x = torch.ones(2)\ny = x\nx = x.to('cpu')\nreturn x + y", id="to-the-cpu"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(program(body), CODE) == []
