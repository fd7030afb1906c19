"""Shapes that once led a rule astray: false alarms, broken rewrites, faults that went unseen."""

from __future__ import annotations

import ast
import textwrap

import pytest

from devicefix import check, fix
from devicefix.findings import Finding

HEAD = "import torch\nfrom torch import nn\n\n\n"


def program(code: str) -> str:
    return HEAD + textwrap.dedent(code).strip("\n") + "\n"


def found(code: str) -> list[Finding]:
    result = check(program(code))
    assert result.errors == []
    return list(result.findings)


def rewritten(code: str) -> str:
    """The program after all fixes, which must compile and be left alone by a second run."""
    text = fix(program(code), unsafe=True).new_text
    ast.parse(text)
    assert fix(text, unsafe=True).new_text == text
    return text


# -- rewrites --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "after"),
    [
        ("x.to(self.fc.weight.device),", "x = x.to(self.fc.weight.device)\n"),
        ("x.to(device=self.fc.weight.device),  # why", "x = x.to(device=self.fc.weight.device)  # why\n"),
        ("[x.to(self.fc.weight.device)]", "x, = [x.to(self.fc.weight.device)]\n"),
        (
            "x.to(\n            self.fc.weight.device\n        ),",
            "x, = x.to(\n            self.fc.weight.device\n        ),\n",
        ),
        (
            "x.to(self.fc.weight.device), y.to(self.fc.weight.device)",
            "x, y = x.to(self.fc.weight.device), y.to(self.fc.weight.device)\n",
        ),
    ],
)
def test_a_comma_by_mistake_makes_no_tuple_of_the_tensor(statement: str, after: str) -> None:
    code = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        {statement}
        return self.fc(x) + y
"""
    assert f"        {after}" in rewritten(code)


def test_a_class_method_has_no_parameters_of_an_instance() -> None:
    code = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    @classmethod
    def table(cls, n):
        return torch.arange(n).float()

    def forward(self, x: torch.Tensor):
        return self.fc(x) + self.table(3)
"""
    text = rewritten(code)
    assert "cls.parameters()" not in text
    assert "def table(cls, n, device=None):" in text
    assert "self.table(3, device=x.device)" in text


def test_a_model_that_was_moved_by_name_is_no_device_variable() -> None:
    code = """
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("m")
model = AutoModelForCausalLM.from_pretrained("m").to("cuda")


def complete(text):
    return model.generate(**tokenizer(text, return_tensors="pt"))
"""
    assert ".to(model)" not in rewritten(code)


def test_a_legacy_constructor_with_a_device_becomes_a_modern_one() -> None:
    code = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(4, 4)

    def forward(self, x: torch.Tensor):
        labels = torch.LongTensor([[1], [2]], device=x.device)
        return self.embed(labels) + x
"""
    assert "torch.tensor([[1], [2]], device=x.device, dtype=torch.int64)" in rewritten(code)


# -- false alarms ----------------------------------------------------------------------------------------------------

SILENT = {
    "brought to the CPU": """
        def target(agent, states, rewards, dones):
            support = torch.linspace(-1, 1, 5)
            values = agent.net(states).data.cpu() * support
            best = values.sum(2).argmax(1)[:, None, None].expand(values.size(0), 1, values.size(2))
            values = values.gather(1, best).squeeze(1)
            rewards = rewards.unsqueeze(-1).expand_as(values)
            shifted = (rewards + (1 - dones) * support).clamp(min=0)
            return values * shifted
    """,
    "to its own device": """
        def count(mats: list[torch.Tensor]):
            total = 0
            for i in range(len(mats)):
                device = mats[i].device
                total += int(mats[i].cpu().sum())
                mats[i].to(device)
            return total


        count([torch.ones(2)])
    """,
    "replaced at the first turn": """
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)

            def forward(self, x: torch.Tensor):
                out, first = torch.zeros(1), True
                for _ in range(3):
                    x = self.fc(x)
                    if first:
                        out = x
                        first = False
                    else:
                        out = torch.cat((out, x))
                return out
    """,
    "a parameter under a second name": """
        class Owner:
            def __init__(self, net):
                self.weight = net.weight
                self.own = nn.Parameter(torch.ones(2))

            def __call__(self, x):
                return x * self.weight.sum() + self.own


        def main():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = nn.Linear(2, 2)
            owner = Owner(net)
            net.to(device)
            return owner(torch.ones(1, 2, device=device))


        main()
    """,
    "a base of another library": """
        from fastai.basics import Module


        class CenterLoss(Module):
            def __init__(self, n):
                self.centers = nn.Parameter(torch.randn(n, n))

            def forward(self, x: torch.Tensor):
                return x @ self.centers
    """,
    "for the card by name": "def move_state_to_gpu(state):\n    for key in state:\n        state[key] = state[key].cuda()\n",
    "there and back": """
        def profile(net, x, device):
            net.to("cuda")
            out = net(x)
            net.to(device)
            return out
    """,
    "targets of CTCLoss": """
        class Aligner(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.ctc = nn.CTCLoss()

            def forward(self, x: torch.Tensor, lengths):
                scores = self.fc(x).log_softmax(-1)
                return self.ctc(scores, torch.arange(1, 3).unsqueeze(0), lengths, torch.tensor([2]))
    """,
    "perhaps scattered": """
        def main():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = nn.Linear(2, 2).to(device)
            if torch.cuda.device_count() > 1:
                net = nn.DataParallel(net)
            return net(torch.ones(4, 2))
    """,
}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_right(name: str) -> None:
    assert found(SILENT[name]) == []


def test_processes_with_a_card_each_are_reported_only() -> None:
    code = """
def agree(value):
    total = torch.tensor(value).cuda()
    torch.distributed.all_reduce(total)
    return total
"""
    assert [f.code for f in found(code)] == ["DVF401"]
    assert rewritten(code) == program(code)


# -- faults that went unseen -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layers",
    [
        "[nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)]",
        "[nn.Linear(3, 3) if i % 2 else nn.Identity() for i in range(4)]",
        "[nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1)), nn.Tanh()]",
    ],
)
def test_a_list_of_different_layers(layers: str) -> None:
    code = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = {layers}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
    assert [f.code for f in found(code)] == ["DVF302"]
    assert f"self.layers = nn.ModuleList({layers})" in rewritten(code)


def test_alternatives_that_are_registered_are_moved() -> None:
    code = """
class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.body = nn.Linear(3, 3) if deep else nn.Bilinear(3, 3, 3)
        self.norms = nn.ModuleList([nn.Linear(3, 3) if deep else nn.LayerNorm(3), nn.Linear(3, 3)])

    def forward(self, x):
        for norm in self.norms:
            x = norm(x)
        return self.body(x)
"""
    assert found(code) == []


def test_two_factories_of_which_one_is_chosen() -> None:
    code = """
def shift(x: torch.Tensor):
    offset = torch.tensor([1.0] * x.size(1)) if x.size(0) > 1 else torch.zeros(x.size(1))
    return x + offset
"""
    assert [f.code for f in found(code)] == ["DVF201", "DVF201"]
    assert rewritten(code).count("device=x.device") == 2


@pytest.mark.parametrize("move", ['net.to("cuda")', 'net.to(device="cuda")', "net.cuda()"])
def test_a_move_to_the_card_only_is_reported_however_it_is_written(move: str) -> None:
    assert [f.code for f in found(f"def profile(net, x):\n    {move}\n    return net(x)\n")] == ["DVF401"]
