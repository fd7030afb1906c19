"""DVF401: accelerators named here and there instead of in one device variable."""

from __future__ import annotations

import pytest

from rules.programs import HEAD, added, codes, found, levels, lines, marked, repaired, source

CODE = "DVF401"
CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def script(body: str, choice: str = CHOICE) -> str:
    """A function that works beside a device variable of the file."""
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD.rstrip()}\n\n{choice}\n\n\ndef run(n):\n    model = nn.Linear(3, 3).to(device)\n{indented}\n"


USED = [
    pytest.param("x = torch.ones(3).cuda()  # !\nreturn model(x)", ["x = torch.ones(3).to(device)  # !"], id="cuda"),
    pytest.param("x = torch.ones(3).cuda(non_blocking=True)  # !\nreturn model(x)", ["x = torch.ones(3).to(device, non_blocking=True)  # !"], id="non-blocking"),
    pytest.param("x = torch.ones(3).cuda(None, True)  # !\nreturn model(x)", ["x = torch.ones(3).to(device, non_blocking=True)  # !"], id="positional-non-blocking"),
    pytest.param("x = torch.ones(3).cuda(0)  # !\nreturn model(x)", ["x = torch.ones(3).to(device)  # !"], id="index"),
    pytest.param("x = torch.ones(3).cuda(device=0)  # !\nreturn model(x)", ["x = torch.ones(3).to(device)  # !"], id="index-by-keyword"),
    pytest.param("x = torch.ones(3).to('cuda')  # !\nreturn model(x)", ["x = torch.ones(3).to(device)  # !"], id="to"),
    pytest.param("x = torch.ones(3).to(torch.device('cuda'), torch.float16,)  # !\nreturn x", ["x = torch.ones(3).to(device, torch.float16,)  # !"], id="to-device-call-and-comma"),
    pytest.param("x = torch.ones(3).to(device='cuda:0', dtype=torch.half)  # !\nreturn x", ["x = torch.ones(3).to(device=device, dtype=torch.half)  # !"], id="to-keyword"),
    pytest.param("x = torch.ones(3, device='cuda')  # !\nreturn model(x)", ["x = torch.ones(3, device=device)  # !"], id="keyword"),
    pytest.param("m = nn.Linear(3, 3, device='cuda')  # !\nreturn m", ["m = nn.Linear(3, 3, device=device)  # !"], id="layer"),
    pytest.param("x = model.weight.new_zeros(3, device='cuda')  # !\nreturn x", ["x = model.weight.new_zeros(3, device=device)  # !"], id="new-zeros"),
    pytest.param("'ß'; x = torch.ones(3).cuda(); y = x  # !\nreturn y", ["'ß'; x = torch.ones(3).to(device); y = x  # !"], id="unicode-and-semicolons"),
    pytest.param("if n: x = torch.ones(3).cuda()  # !\nelse: x = 1\nreturn x", ["if n: x = torch.ones(3).to(device)  # !"], id="one-line-if"),
    pytest.param("f = lambda y: y.cuda()  # !\nreturn f(torch.ones(3))", ["f = lambda y: y.to(device)  # !"], id="lambda"),
    pytest.param("return [t.cuda() for t in (torch.ones(3), torch.ones(3))]  # !", ["return [t.to(device) for t in (torch.ones(3), torch.ones(3))]  # !"], id="comprehension"),
    pytest.param("x = (torch.ones(3)\n     .cuda()  # card\n     .sum())\nreturn x", [".to(device)  # card"], id="chain-over-lines"),
    pytest.param("async def go(t):\n    return t.cuda()  # !\nreturn go(torch.ones(3))", ["return t.to(device)  # !"], id="nested-async"),
    pytest.param("x, y = torch.ones(3).cuda(), torch.ones(3).cuda()  # !\nreturn x, y", ["x, y = torch.ones(3).to(device), torch.ones(3).to(device)  # !"], id="two-in-a-line"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), USED)
def test_the_variable_that_is_there_is_used(body: str, expected: list[str]) -> None:
    text = script(body)
    assert sorted(set(lines(text, CODE))) == (marked(text) or [10])
    assert set(levels(text, CODE)) == {"safe"}
    assert added(text, CODE) == expected
    assert found(repaired(text, CODE), CODE) == []


NAMES = [
    pytest.param("DEVICE", 'DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")', id="upper-case"),
    pytest.param("gerät", 'gerät = torch.device("cuda" if torch.cuda.is_available() else "cpu")', id="german"),
    pytest.param("args.device", "import argparse\nargs = argparse.ArgumentParser().parse_args()", id="attribute"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "definition"), NAMES)
def test_whatever_the_variable_is_called(name: str, definition: str) -> None:
    text = f"{HEAD.rstrip()}\n\n{definition}\n\n\ndef run():\n    model = nn.Linear(3, 3).to({name})\n    return model(torch.ones(3).cuda())\n"
    assert added(text, CODE) == [f"return model(torch.ones(3).to({name}))"]


def test_the_variable_of_the_scope_wins() -> None:
    text = source(
        "def run(device):\n    model = nn.Linear(3, 3).to(device)\n    return model(torch.ones(3).cuda())  # !"
    )
    assert added(text, CODE) == ["return model(torch.ones(3).to(device))  # !"]


def test_the_attribute_of_the_instance() -> None:
    text = source(
        "class Trainer:\n    def __init__(self, device):\n        self.device = device\n        self.model = nn.Linear(3, 3).to(self.device)\n\n"
        "    def step(self):\n        return self.model(torch.ones(3).cuda())  # !"
    )
    assert added(text, CODE) == ["return self.model(torch.ones(3).to(self.device))  # !"]


def test_in_a_module_the_input_says_where() -> None:
    text = source(
        "class Net(nn.Module):\n    def forward(self, x):\n        return torch.relu(x) + torch.ones(3).cuda()  # !"
    )
    assert added(text, CODE) == ["return torch.relu(x) + torch.ones(3).to(x.device)  # !"]


NEW = [
    pytest.param("import torch\n\nx = torch.ones(3).cuda()\n", "cuda", "device", id="plain"),
    pytest.param('"""Doc."""\nimport torch\nimport os  # last\n\nx = torch.ones(3).cuda()\n', "cuda", "device", id="after-the-imports"),
    pytest.param("import torch\n\ndevice = 'phone'\nx = torch.ones(3).cuda()\nprint(device)\n", "cuda", "torch_device", id="free-name"),
    pytest.param("import torch\n\nx = torch.ones(3).cuda(1)\n", "cuda:1", "device", id="index-stays"),
    pytest.param("from __future__ import annotations\n\nimport torch\n\nx = torch.ones(3).to('cuda')\n", "cuda", "device", id="future"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "card", "name"), NEW)
def test_a_new_variable(text: str, card: str, name: str) -> None:
    new = repaired(text, CODE)
    assert levels(text, CODE) == ["safe"]
    assert f'{name} = torch.device("{card}" if torch.cuda.is_available() else "cpu")' in new
    assert f"x = torch.ones(3).to({name})" in new
    assert new.index("import torch") < new.index(f"{name} = torch.device") < new.index("x = ")
    assert found(new, CODE) == []


def test_guards_that_only_move_fold() -> None:
    text = source(
        "use_cuda = torch.cuda.is_available()\nmodel = nn.Linear(3, 3)\nif use_cuda:\n    model = model.cuda()\n"
        "x = torch.ones(3)\nif use_cuda:\n    x = x.cuda()\nmodel(x)"
    )
    assert repaired(text, CODE) == source(
        'use_cuda = torch.cuda.is_available()\ndevice = torch.device("cuda" if use_cuda else "cpu")\nmodel = nn.Linear(3, 3)\n'
        "model = model.to(device)\nx = torch.ones(3)\nx = x.to(device)\nmodel(x)"
    )


def test_an_alias_of_torch() -> None:
    new = repaired("import torch as th\n\nx = th.ones(3).cuda()\n", CODE)
    assert 'device = th.device("cuda" if th.cuda.is_available() else "cpu")' in new


def test_line_endings_stay() -> None:
    text = script("x = torch.ones(3).cuda()\nreturn model(x)").replace("\n", "\r\n").replace("    ", "\t")
    assert repaired(text, CODE) == text.replace(".cuda()\r", ".to(device)\r")


def test_the_file_runs_on_after_everything_is_fixed() -> None:
    text = "import torch\nfrom torch import nn\n\nmodel = nn.Linear(3, 3).cuda()\nx = torch.ones(3).cuda()\nmodel(x)\n"
    assert codes(repaired(text, CODE)) == []


REPORTS = [
    pytest.param("torch.cuda.set_device(0)\nx = torch.ones(3).cuda()  # !", "card", id="a-card-per-process"),
    pytest.param("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3).cuda()  # !\n\n    def forward(self, x):\n        return self.fc(x)", "constructor", id="in-a-constructor"),
    pytest.param("class Net(nn.Module):\n    def forward(self, n=3):\n        return torch.ones(n).cuda()  # !", "input", id="no-input"),
]  # fmt: skip


def test_a_card_per_process_is_said_to_be_chosen() -> None:
    (finding,) = found(source("torch.cuda.set_device(1)\nx = torch.ones(3).cuda()"), CODE)
    assert "chosen per process (line 6)" in finding.message


@pytest.mark.parametrize(("text", "note"), REPORTS)
def test_what_a_person_has_to_decide_is_reported(text: str, note: str) -> None:
    text = source(text)
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")
    assert note in finding.note
    assert repaired(text, CODE, unsafe=True) == text


SILENT = [
    pytest.param("def to_gpu(x):\n    return x.cuda() if torch.cuda.is_available() else x", id="one-guard"),
    pytest.param("x = torch.ones(3)\nif torch.cuda.is_available():\n    x = x.cuda()", id="guarded-statement"),
    pytest.param("x = torch.ones(3)\nif torch.cuda.is_available() and len(x):\n    x = x.cuda()", id="guarded-and"),
    pytest.param("def f(x):\n    if not torch.cuda.is_available():\n        return x\n    return x.cuda()", id="left-early"),
    pytest.param("x = torch.ones(3).to('cuda:0')\ny = torch.ones(3).to('cuda:1')", id="two-cards"),
    pytest.param("x = torch.ones(3).cuda(0)\ny = torch.ones(3).cuda(1)", id="two-cards-by-integers"),
    pytest.param("x = torch.ones(3, device=torch.device('cuda', 0))\ny = torch.ones(3).to(1)", id="two-cards-by-devices"),
    pytest.param("xs = [torch.ones(3).to(f'cuda:{i % 2}') for i in range(4)]\ny = torch.ones(3, device='cuda:0')", id="cards-in-turn"),
    pytest.param("y = torch.ones(3).cuda()\nfor i in range(2):\n    x = torch.ones(3).cuda(i)", id="cards-in-a-loop"),
    pytest.param("x = torch.ones(3)\nprint(x.is_cuda, 'cuda')", id="is-cuda-and-strings"),
    pytest.param("row = {'cuda': 1}\nrow.get('cuda')", id="keys"),
    pytest.param("class Batch:\n    def cuda(self):\n        return self\n\n\nBatch().cuda()", id="own-method"),
    pytest.param("class Net(nn.Module):\n    def cuda(self, *a):\n        return super().cuda(*a)", id="override"),
    pytest.param("x = torch.load('a.pt', map_location=lambda storage, loc: storage.cuda(0))", id="map-location"),
    pytest.param("def collate(items):\n    return torch.stack(items).cuda()", id="collate"),
    pytest.param("class Rows(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2).cuda()", id="dataset"),
    pytest.param("dtype = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor\nx = torch.ones(3).type(dtype)", id="type-idiom"),
    pytest.param("try:\n    x = torch.ones(3).cuda()\nexcept RuntimeError:\n    x = torch.ones(3)", id="tried"),
    pytest.param("x = torch.ones(3).to(torch.float32)", id="dtype"),
    pytest.param("x = torch.ones(3).to('cpu')", id="cpu"),
    pytest.param("with torch.autocast('cuda', enabled=False):\n    x = torch.ones(3)", id="autocast"),
    pytest.param("@pytest.mark.skipif(not torch.cuda.is_available(), reason='')\ndef f(x):\n    return x.cuda()", id="skipped"),
]  # fmt: skip


@pytest.mark.parametrize("text", SILENT)
def test_what_is_right_is_silent(text: str) -> None:
    assert found(source(text), CODE) == []
