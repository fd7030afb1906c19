"""DVF503: the order in which a model is moved, copied and given to an optimizer."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding
from devicefix.settings import Settings

HEAD = "import copy\n\nimport torch\nfrom torch import nn\n\n\n"
ONLY = Settings(select=("DVF503",))


def run(body: str, before: str = "", parameters: str = "device, saved=None, flag=True") -> str:
    """A program whose ``run`` has the given body."""
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{textwrap.dedent(before)}def run({parameters}):\n{inner}\n"


def found(code: str) -> list[Finding]:
    result = check(code, settings=ONLY)
    assert result.errors == []
    return list(result.findings)


def fixed(code: str, *, unsafe: bool = False) -> str:
    return fix(code, unsafe=unsafe, settings=ONLY).new_text


TRAIN = """
net(torch.ones(2, 3).to(device)).sum().backward()
opt.step()
"""

#: bodies before and after, and a word of the message
MOVED = {
    "assigned": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nnet = net.to(device)",
        "net = nn.Linear(3, 1)\nnet = net.to(device)\nopt = torch.optim.Adam(net.parameters())",
        "documentation",
    ),
    "in place": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet.cuda()",
        "net = nn.Linear(3, 1)\nnet.cuda()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)",
        "documentation",
    ),
    "filtered parameters": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()))\nnet.to(device)",
        "net = nn.Linear(3, 1)\nnet.to(device)\nopt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()))",
        "documentation",
    ),
    "groups": (
        'net = nn.Linear(3, 1)\nopt = torch.optim.Adam([{"params": net.parameters(), "lr": 0.1}])\nnet.to(device)',
        'net = nn.Linear(3, 1)\nnet.to(device)\nopt = torch.optim.Adam([{"params": net.parameters(), "lr": 0.1}])',
        "documentation",
    ),
    "scheduler and mode in between": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nplan = torch.optim.lr_scheduler.StepLR(opt, 1)\nnet.train()\nnet.to(device)",
        "net = nn.Linear(3, 1)\nnet.to(device)\nopt = torch.optim.Adam(net.parameters())\nplan = torch.optim.lr_scheduler.StepLR(opt, 1)\nnet.train()",
        "documentation",
    ),
    "a choice of optimizers": (
        "net = nn.Linear(3, 1)\nif flag:\n    opt = torch.optim.Adam(net.parameters())\nelse:\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet.to(device)",
        "net = nn.Linear(3, 1)\nnet.to(device)\nif flag:\n    opt = torch.optim.Adam(net.parameters())\nelse:\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)",
        "documentation",
    ),
    "a guarded move": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nif torch.cuda.is_available():\n    net.cuda()",
        "net = nn.Linear(3, 1)\nif torch.cuda.is_available():\n    net.cuda()\nopt = torch.optim.Adam(net.parameters())",
        "documentation",
    ),
    "Adagrad": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.Adagrad(net.parameters())\nnet.to(device)" + TRAIN,
        "net = nn.Linear(3, 1)\nnet.to(device)\nopt = torch.optim.Adagrad(net.parameters())" + TRAIN,
        "Adagrad",
    ),
    "resumed": (
        "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nopt.load_state_dict(saved)\nnet.to(device)"
        + TRAIN,
        "net = nn.Linear(3, 1)\nnet.to(device)\nopt = torch.optim.Adam(net.parameters())\nopt.load_state_dict(saved)"
        + TRAIN,
        "loaded",
    ),
    "a helper that builds the optimizer": (
        "net = nn.Linear(3, 1)\nopt = optimizer(net)\nnet.to(device)",
        "net = nn.Linear(3, 1)\nnet.to(device)\nopt = optimizer(net)",
        "documentation",
    ),
    "a copy": (
        "net = nn.Linear(3, 1)\nmean = copy.deepcopy(net)\nnet.to(device)\nfor a, b in zip(mean.parameters(), net.parameters()):\n    a.data.add_(b.data)",
        "net = nn.Linear(3, 1)\nnet.to(device)\nmean = copy.deepcopy(net)\nfor a, b in zip(mean.parameters(), net.parameters()):\n    a.data.add_(b.data)",
        "copied",
    ),
}

HELPER = "def optimizer(net):\n    return torch.optim.Adam(net.parameters())\n\n\n"


@pytest.mark.parametrize("name", MOVED)
def test_the_move_comes_first(name: str) -> None:
    before, after, word = MOVED[name]
    helper = HELPER if "helper" in name else ""
    (finding,) = found(run(before, helper))
    assert finding.applicability is Applicability.SAFE
    assert word in finding.message
    assert ("fails" in finding.message) is (word in ("Adagrad", "loaded"))
    assert fixed(run(before, helper)) == run(after, helper)


SILENT = {
    "right order": "net = nn.Linear(3, 1)\nnet.to(device)\nopt = torch.optim.Adagrad(net.parameters())",
    "moved where it is built": "net = nn.Linear(3, 1).to(device)\nopt = torch.optim.Adagrad(net.parameters())\nnet.to(device)",
    "another model": "net, other = nn.Linear(3, 1), nn.Linear(3, 1)\nopt = torch.optim.Adagrad(net.parameters())\nother.to(device)",
    "to the CPU": 'net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nnet.to("cpu")',
    "another dtype": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nnet.to(torch.float64)",
    "never moved": "net = nn.Linear(3, 1)\nopt = torch.optim.Adagrad(net.parameters())\nopt.load_state_dict(saved)",
    "loaded after the move": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nx = net(torch.ones(1, 3))\nnet.to(device)\nopt.load_state_dict(saved)",
    "another optimizer after the move": "net = nn.Linear(3, 1)\nopt = torch.optim.Adagrad(net.parameters())\nnet.to(device)\nopt = torch.optim.Adam(net.parameters())",
    "trained on the CPU first": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nnet(torch.ones(1, 3)).sum().backward()\nopt.step()\nnet.to(device)",
    "state moved by hand": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nopt.load_state_dict(saved)\nnet.to(device)\n"
    "for state in opt.state.values():\n    for k, v in state.items():\n        state[k] = v.to(device)",
    "works, and cannot simply move up": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\ndevice = torch.device(device)\nnet.to(device)",
    "works, in a loop": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nfor epoch in range(2):\n    net.to(device)\n    net(torch.ones(1, 3).to(device))",
    "works, and more than a move": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nnet = nn.DataParallel(net).to(device)",
    "a copy of a moved model": "net = nn.Linear(3, 1).to(device)\nmean = copy.deepcopy(net)\nfor a, b in zip(mean.parameters(), net.parameters()):\n    a.data.add_(b.data)",
    "a copy that is moved too": "net = nn.Linear(3, 1)\nmean = copy.deepcopy(net)\nnet.to(device)\nmean.to(device)\n"
    "for a, b in zip(mean.parameters(), net.parameters()):\n    a.data.add_(b.data)",
    "a copy that never meets the model": "net = nn.Linear(3, 1)\nbackup = copy.deepcopy(net)\nnet.to(device)",
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert found(run(SILENT[name])) == []


REPORTED = {
    "needs a name from between": "net = nn.Linear(3, 1)\nopt = torch.optim.Adagrad(net.parameters())\ndevice = torch.device(device)\nnet.to(device)"
    + TRAIN,
    "runs in between": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nopt.load_state_dict(saved)\nnet(torch.ones(1, 3))\nnet.to(device)"
    + TRAIN,
    "another block": "net = nn.Linear(3, 1)\nopt = torch.optim.Adagrad(net.parameters())\nfor epoch in range(2):\n    net.to(device)\n    net(torch.ones(1, 3).to(device))",
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_fails_is_reported_where_no_line_can_move(name: str) -> None:
    code = run(REPORTED[name])
    (finding,) = found(code)
    assert finding.applicability is Applicability.REPORT
    assert finding.note
    assert fixed(code, unsafe=True) == code


UNSAFE = {
    "handed to other code": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nprint(net)\nnet.to(device)",
    "asked where it is": "net = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\nplace = net.weight.device\nnet.to(device)",
}


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_where_something_in_between_may_notice(name: str) -> None:
    (finding,) = found(run(UNSAFE[name]))
    assert finding.applicability is Applicability.UNSAFE
    assert finding.fix is not None
    assert finding.fix.reason


def test_plain_sgd_has_no_state_to_lose() -> None:
    body = "net = nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nopt.load_state_dict(saved)\nnet.to(device)"
    (finding,) = found(run(body))
    assert "fails" not in finding.message
    (finding,) = found(run(body.replace("lr=0.1", "lr=0.1, momentum=0.9")))
    assert "fails" in finding.message


def test_the_attributes_of_a_trainer() -> None:
    code = (
        HEAD
        + textwrap.dedent("""
        class Trainer:
            def __init__(self, net, device):
                self.net = net
                self.opt = torch.optim.Adam(self.net.parameters())
                self.device = device
                self.net.to(device)  # late
                self.step = 0
    """).lstrip()
    )
    (finding,) = found(code)
    assert finding.applicability is Applicability.SAFE
    assert "self.net = net\n        self.net.to(device)  # late\n        self.opt" in fixed(code)


def test_which_optimizers_make_their_state_at_once() -> None:
    torch = pytest.importorskip("torch")
    from devicefix import torch_api

    for name in ("Adagrad", "Adam", "AdamW", "SGD", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"):
        optimizer = getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(2))], lr=0.1)
        fact = torch_api.optimizer_class(f"torch.optim.{name}")
        assert fact is not None
        assert fact.eager_state is bool(optimizer.state), name


SHADOWS = {
    "clones of parameters()": "ema = [p.detach().clone() for p in net.parameters()]\nnet.to(device)\n"
    "for s, p in zip(ema, net.parameters()):\n    s.sub_(p.detach())",
    "clones of named_parameters()": "ema = {}\nfor name, p in net.named_parameters():\n    ema[name] = p.data.clone()\nnet.to(device)\n"
    "for name, p in net.named_parameters():\n    ema[name] = 0.9 * ema[name] + 0.1 * p.data",
    "used too early": "y = net(torch.ones(1, 3).to(device))\nnet.to(device)",
}  # fmt: skip


@pytest.mark.parametrize("name", SHADOWS)
def test_what_is_taken_from_the_model_before_its_move(name: str) -> None:
    code = run(f"net = nn.Linear(3, 1)\n{SHADOWS[name]}")
    (finding,) = [f for f in check(code).findings if f.code in ("DVF502", "DVF503")]
    assert finding.code == "DVF503"
    if name == "used too early":
        assert finding.applicability is Applicability.REPORT
    else:
        assert finding.applicability is Applicability.SAFE
        assert "    net = nn.Linear(3, 1)\n    net.to(device)\n    ema" in fixed(code)
