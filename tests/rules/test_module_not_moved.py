"""DVF502: the inputs are on a device, the module is not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from devicefix import check, fix
from devicefix.engine.check import check_source
from devicefix.findings import Applicability, Finding
from devicefix.source import read_source

HEAD = "import torch\nfrom torch import nn\n\n\n"

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.head = nn.Linear(3, 2)
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x):
        return self.head(self.body(x + self.shift))


"""


def program(code: str) -> str:
    return HEAD + textwrap.dedent(code).strip("\n") + "\n"


def found(code: str) -> list[Finding]:
    result = check(code)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == "DVF502"]


def fixed(code: str, *, unsafe: bool = False) -> str:
    result = fix(code, unsafe=unsafe)
    assert result.errors == []
    return result.new_text


def test_a_network_is_one_finding_and_not_one_per_layer() -> None:
    code = program(NET + "def run(device):\n    net = Net()\n    x = torch.ones(2, 3).to(device)\n    return net(x)\n")
    result = check(code)
    (finding,) = result.findings
    assert (finding.code, finding.applicability) == ("DVF502", Applicability.SAFE)
    assert "net = Net().to(device)\n" in fixed(code)


MOVED = {
    "device variable": (
        (
            "def run(name):\n    device = torch.device(name)\n    loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
            "    x = torch.ones(2, 3).to(device)\n    return loss(x, torch.zeros(2, dtype=torch.long).to(device))\n"
        ),
        "loss = nn.CrossEntropyLoss(weight=torch.ones(3)).to(device)",
    ),
    "args.device": (
        "def run(args):\n    net = nn.Linear(3, 3)\n    return net(torch.ones(2, 3).to(args.device))\n",
        "net = nn.Linear(3, 3).to(args.device)",
    ),
    "a tensor that is there": (
        "def run(device):\n    return late(torch.ones(2, 3).to(device))\n\n\ndef late(x):\n    net = nn.Linear(3, 3)\n    return net(x)\n",
        "net = nn.Linear(3, 3).to(x.device)",
    ),
    "self.device": (
        (
            "class Trainer:\n    def __init__(self, device):\n        self.device = device\n        self.net = nn.Linear(3, 3)\n\n"
            "    def step(self, x):\n        x = x.to(self.device)\n        return self.net(x)\n\n\n"
            "def run(device):\n    return Trainer(device).step(torch.ones(2, 3))\n"
        ),
        "self.net = nn.Linear(3, 3).to(device)",
    ),
    "eval follows": (
        "def run(device):\n    net = nn.Linear(3, 3).eval()\n    return net(torch.ones(2, 3).to(device))\n",
        "net = nn.Linear(3, 3).to(device).eval()",
    ),
    "a list of networks": (
        (
            "def run(device):\n    nets = [nn.Linear(3, 3) for _ in range(2)]\n    x = torch.ones(2, 3).to(device)\n"
            "    for net in nets:\n        x = net(x)\n    return x\n"
        ),
        "nets = [nn.Linear(3, 3).to(device) for _ in range(2)]",
    ),
    "a helper without a device": (
        "def make():\n    return nn.Linear(3, 3)\n\n\ndef run(device):\n    net = make()\n    return net(torch.ones(2, 3).to(device))\n",
        "net = make().to(device)",
    ),
    "a helper that others use as well": (
        (
            "def make(device):\n    return nn.Linear(3, 3)\n\n\ndef run(device):\n    host = make(device)\n    y = host(torch.ones(2, 3))\n"
            "    net = make(device)\n    return net(torch.ones(2, 3).to(device)), y\n"
        ),
        "net = make(device).to(device)",
    ),
    "by name": (
        "def run():\n    net = nn.Linear(3, 3)\n    return net(torch.ones(2, 3).cuda())\n",
        "net = nn.Linear(3, 3).cuda()",
    ),
    "by name and number": (
        'def run():\n    net = nn.Linear(3, 3)\n    return net(torch.ones(2, 3).to("cuda:1"))\n',
        'net = nn.Linear(3, 3).to("cuda:1")',
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_it_is_moved_where_it_is_built(name: str) -> None:
    code, line = MOVED[name]
    (finding,) = found(program(code))
    assert finding.applicability is Applicability.SAFE
    result = check(program(code))
    assert [f.code for f in result.findings if f.code == "DVF502"] == ["DVF502"]
    changed = finding.fix.title if finding.fix else ""
    assert changed
    from devicefix.settings import Settings

    only = fix(program(code), settings=Settings(select=("DVF502",)))
    assert line in only.new_text
    assert [f for f in only.remaining if f.code == "DVF502"] == []


REPORTED = {
    "the device comes later": "loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n\n\ndef run(device):\n    x = torch.ones(2, 3).to(device)\n"
    "    return loss(x, torch.zeros(2, dtype=torch.long).to(device))\n",
    "built in forward": "class Net(nn.Module):\n    def forward(self, x):\n        return nn.Linear(3, 3)(x)\n\n\n"
    "def run(device):\n    return Net().to(device)(torch.ones(2, 3).to(device))\n",
    "built in forward, without a caller": "class Net(nn.Module):\n    def forward(self, x):\n        fc = nn.Linear(3, 3)\n        return fc(x.unsqueeze(0))\n",
    "built and kept at the first call": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.w = nn.Parameter(torch.ones(3))\n        self.fc = None\n\n    def forward(self, x):\n"
    "        if self.fc is None:\n            self.fc = nn.Sequential(nn.Linear(3, 3))\n        return self.fc(x) * self.w\n\n\n"
    "def run(device):\n    return Net().to(device)(torch.ones(2, 3).to(device))\n",
    "built below forward": "class Net(nn.Module):\n    def forward(self, x):\n        return self.mix(x)\n\n    def mix(self, x):\n"
    "        return nn.Linear(3, 3)(x)\n\n\ndef run(device):\n    return Net().to(device)(torch.ones(2, 3).to(device))\n",
}


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    (finding,) = found(program(REPORTED[name]))
    assert finding.applicability is Applicability.REPORT
    assert finding.note
    assert fixed(program(REPORTED[name]), unsafe=True) == program(REPORTED[name])


def test_a_loss_that_forward_builds_follows_its_input() -> None:
    code = program("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, y):
        loss = nn.CrossEntropyLoss(weight=torch.ones(3))
        return loss(self.fc(x), y)
""")
    (finding,) = found(code)
    assert finding.applicability is Applicability.SAFE
    assert "weight=torch.ones(3)).to(" in fixed(code)


SILENT = {
    "moved": "def run(device):\n    net = nn.Linear(3, 3)\n    net.to(device)\n    return net(torch.ones(2, 3).to(device))\n",
    "moved with its owner": NET
    + "def run(device):\n    net = Net()\n    net.to(device)\n    return net(torch.ones(2, 3).to(device))\n",
    "both on the CPU": NET + "def run(device):\n    return Net()(torch.ones(2, 3))\n",
    "nothing to move": "def run(device):\n    x = torch.ones(2, 3).to(device)\n    return nn.MSELoss()(nn.Softmax(dim=1)(nn.ReLU()(x)), x)\n",
    "a weight on the device": "def run(device):\n    x = torch.ones(2, 3).to(device)\n    loss = nn.BCEWithLogitsLoss(pos_weight=torch.ones(3, device=device))\n"
    "    return loss(x, x)\n",
    "a number as weight": "def run(device):\n    x = torch.ones(2, 3).to(device)\n    loss = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))\n"
    "    return loss(x, x)\n",
    "built on the device": "def run(device):\n    net = nn.Linear(3, 3, device=device)\n    return net(torch.ones(2, 3).to(device))\n",
    "a default device": "def run(device):\n    torch.set_default_device(device)\n    net = nn.Linear(3, 3)\n    return net(torch.ones(2, 3).to(device))\n",
    "DataParallel": "def run(device):\n    net = nn.DataParallel(nn.Linear(3, 3))\n    return net(torch.ones(2, 3).to(device))\n",
    "prepared": "from accelerate import Accelerator\n\n\ndef run(device):\n    accelerator = Accelerator()\n    net = accelerator.prepare(nn.Linear(3, 3))\n"
    "    return net(torch.ones(2, 3).to(accelerator.device))\n",
    "given to unseen code": "from elsewhere import place\n\n\ndef run(device):\n    net = nn.Linear(3, 3)\n    place(net, device)\n"
    "    return net(torch.ones(2, 3).to(device))\n",
    "given to an unseen method": "def run(engine, device):\n    net = nn.Linear(3, 3)\n    engine.setup(net)\n    return net(torch.ones(2, 3).to(device))\n",
    "in a list for unseen code": "from elsewhere import place\n\n\ndef run(device):\n    nets = [nn.Linear(3, 3), nn.Linear(3, 3)]\n    place(nets, device)\n"
    "    return nets[0](torch.ones(2, 3).to(device))\n",
    "host copies": "def run(device):\n    net = nn.Linear(3, 3)\n    x = torch.ones(2, 3).to(device)\n    return net(x.cpu()).to(device)\n",
    "only perhaps moved": "def run(flag):\n    net = nn.Linear(3, 3)\n    x = torch.ones(2, 3)\n    if flag:\n        net = net.cuda()\n        x = x.cuda()\n"
    "    return net(x)\n",
    "a parameter": "def run(net, device):\n    return net(torch.ones(2, 3).to(device))\n",
    "a function that builds and feeds": "def embed(x):\n    net = nn.Linear(3, 3)\n    return net(x)\n",
    "a device map": "from transformers import AutoModel\n\n\ndef run(ids):\n    model = AutoModel.from_pretrained('a', device_map='auto')\n"
    "    return model(ids.to('cuda'))\n",
    "a step of Lightning": "import lightning as L\n\n\nclass Net(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n"
    "        self.loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n        self.fc = nn.Linear(3, 3)\n\n    def training_step(self, batch):\n"
    "        x, y = batch\n        return self.loss(self.fc(x), y)\n",
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert found(program(SILENT[name])) == []


def test_a_pretrained_model_and_a_metric_of_other_libraries() -> None:
    code = program("""
from torchmetrics import Accuracy
from torchvision.models import resnet18


def run(device):
    net = resnet18()
    metric = Accuracy(task="multiclass", num_classes=10)
    x = torch.ones(2, 3, 8, 8).to(device)
    y = torch.zeros(2, dtype=torch.long).to(device)
    net(x)
    metric.update(y, y)
""")
    assert len(found(code)) == 2
    text = fixed(code)
    assert "net = resnet18().to(device)" in text
    assert "num_classes=10).to(device)" in text


def test_a_move_by_name_under_a_condition_is_unsafe() -> None:
    code = program(
        "def run(flag):\n    net = nn.Linear(3, 3)\n    x = torch.ones(2, 3)\n    if flag:\n        return net(x.cuda())\n    return net(x)\n"
    )
    (finding,) = found(code)
    assert finding.applicability is Applicability.UNSAFE


def test_a_module_built_in_another_file_is_moved_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text("from torch import nn\n\n\ndef build():\n    return nn.Linear(3, 3)\n")
    main = tmp_path / "main.py"
    main.write_text(
        "import torch\nfrom nets import build\n\n\ndef run(device):\n    net = build()\n    return net(torch.ones(2, 3).to(device))\n"
    )
    (finding,) = [f for f in check_source(read_source(main)).findings if f.code == "DVF502"]
    assert finding.span.start.line == 6
    assert check_source(read_source(tmp_path / "nets.py")).findings == []


PLACED = {
    "data of each parameter": "for p in self.parameters():\n    p.data = p.data.to(device)",
    "data by name": "for _, p in self.named_parameters():\n    p.data = p.data.to(device)",
    "data of one layer": "self.layer.weight.data = self.layer.weight.data.to(device)\nself.layer.bias.data = self.layer.bias.data.to(device)",
    "cuda by name": "for p in self.layer.parameters():\n    p.data = p.data.cuda()",
    "parameters replaced": "self.layer.weight = nn.Parameter(self.layer.weight.to(device))\nself.layer.bias = nn.Parameter(self.layer.bias.to(device))",
    "children": "for child in self.children():\n    child.to(device)",
    "named modules": "for _, part in self.named_modules():\n    part.to(device)",
    "applied": "self.apply(lambda part: part.to(device))",
    "itself": "self.to(device)",
}


@pytest.mark.parametrize("name", PLACED)
def test_a_class_that_places_its_own_parameters(name: str) -> None:
    body = textwrap.indent(PLACED[name], " " * 8)
    code = program(
        "class Placed(nn.Module):\n    def __init__(self, device):\n        super().__init__()\n        self.layer = nn.Linear(3, 3)\n"
        f"{body}\n\n    def forward(self, x):\n        return self.layer(x)\n\n\n"
        "def main():\n    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "    net = Placed(device)\n    return net(torch.ones(2, 3).to(device))\n\n\nmain()\n"
    )
    assert found(code) == []


@pytest.mark.parametrize(
    "body",
    ["pass", "for p in self.parameters():\n    p.data = p.data * 2", "self.layer.weight.data = torch.ones(3, 3)"],
)
def test_data_that_stays_on_the_cpu_places_nothing(body: str) -> None:
    code = program(
        "class Placed(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(3, 3)\n"
        f"{textwrap.indent(body, ' ' * 8)}\n\n    def forward(self, x):\n        return self.layer(x)\n\n\n"
        "def main():\n    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "    net = Placed()\n    return net(torch.ones(2, 3).to(device))\n\n\nmain()\n"
    )
    assert len(found(code)) == 1
