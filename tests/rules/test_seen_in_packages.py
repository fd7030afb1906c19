"""Shapes of real packages that were false alarms or got a wrong fix, each beside one that has to be found."""

from __future__ import annotations

import pytest

from devicefix import check, fix
from devicefix.engine.check import check_source
from devicefix.source.text import SourceText
from rules.programs import added, codes, levels, lines, marked, repaired, source

MODULE = """
class Net(nn.Module):
    def __init__(self, n, flag=False):
        super().__init__()
        self.fc = nn.Linear(n, n)
        {0}

    def forward(self, x):
        return self.fc(x) + self.w
"""


@pytest.mark.parametrize(
    "value",
    [
        "nn.init.trunc_normal_(nn.Parameter(torch.empty(n)))",
        "nn.init.kaiming_uniform_(nn.Parameter(torch.Tensor(n, n)), a=5**0.5)",
        "nn.Parameter(torch.ones(n)).requires_grad_(False)",
        "nn.Parameter(torch.rand(n) * 2 - 1).requires_grad_(flag)",
        "nn.Parameter(torch.ones(n), requires_grad=False).zero_()",
        "nn.Parameter(torch.ones(n)).share_memory_()",
    ],
)
def test_what_works_in_place_gives_the_parameter_back(value: str) -> None:
    assert codes(source(MODULE.format(f"self.w = {value}"))) == []


@pytest.mark.parametrize(
    "value",
    ["nn.init.normal_(torch.empty(n))", "torch.ones(n).requires_grad_(False)", "torch.empty(n).fill_(2.0)"],
)
def test_what_works_in_place_makes_no_parameter(value: str) -> None:
    assert codes(source(MODULE.format(f"self.w = {value}"))) == ["DVF301"]


def test_a_parameter_in_one_branch_is_not_the_tensor_of_the_other() -> None:
    text = source(
        MODULE.format(
            "if flag:\n            self.w = nn.Parameter(torch.randn(n) * 0.02)\n"
            "        else:\n            self.w = torch.zeros(n)  # !"
        )
    )
    assert codes(text) == ["DVF301"]
    assert lines(text, "DVF301") == marked(text)
    assert added(text, "DVF301") == ['self.register_buffer("w", torch.zeros(n), persistent=False)  # !']


def test_a_branch_that_registers_the_buffer_makes_the_other_one_a_choice() -> None:
    text = source(
        MODULE.format(
            "w = torch.zeros(n)\n        if flag:\n            self.w = w\n"
            '        else:\n            self.register_buffer("w", w)'
        )
    )
    assert levels(text, "DVF301") == ["report"]
    assert "on purpose" in check(text).findings[0].note


NORMAL = """
def run(x, device):
    mean = torch.zeros(4, 3, device=device)
    z = {0}
    return torch.cat([z, mean, x.to(device)])
"""


@pytest.mark.parametrize(
    "call",
    [
        "torch.normal(mean, mean + 1)",
        "torch.normal(mean=mean, std=mean + 1)",
        "torch.normal(std=mean + 1, mean=0.0)",
        "torch.normal(mean, 1.0)",
        "torch.normal(unknown, 1.0)",
    ],
)
def test_a_draw_from_tensors_is_where_they_are(call: str) -> None:
    assert codes(source(NORMAL.format(call))) == []


@pytest.mark.parametrize("call", ["torch.normal(0.0, 1.0, (4, 3))", "torch.normal(mean=0.0, std=1.0, size=(4, 3))"])
def test_a_draw_from_numbers_is_on_the_cpu(call: str) -> None:
    [line] = added(source(NORMAL.format(call)), "DVF201")
    assert line.startswith(f"z = {call[:-1]}, device=mean.device")


SUM = """
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.steps = nn.ModuleList()
        self.last = nn.Linear(n, 2)

    def forward(self, xs):
        total = {0}
        for i, x in enumerate(xs):
            total = {1}
        return self.last(total)
"""


@pytest.mark.parametrize("step", ["total + self.steps[i](x)", "torch.add(total, self.steps[i](x))", "total + x"])
def test_a_sum_that_begins_with_a_number_is_where_the_rest_is(step: str) -> None:
    assert codes(source(SUM.format("torch.tensor(0.0)", step))) == []


def test_a_sum_that_begins_with_a_vector_is_not() -> None:
    assert codes(source(SUM.format("torch.zeros(3)", "total + self.last(x)"))) == ["DVF201"]


TRAINER = """
class Trainer:
    def __init__(self, model: nn.Module, processor: nn.Module, device):
        self.processor = processor.to(device)
        self.model = model.to(device)

    def fit(self, loader: torch.utils.data.DataLoader):
        for sample in loader:
            out = self.{0}(sample["x"])
"""


@pytest.mark.parametrize("call", ["processor.preprocess", "processor.prepare_batch", "model.load_batch"])
def test_methods_that_may_move_their_input(call: str) -> None:
    assert codes(source(TRAINER.format(call))) == []


@pytest.mark.parametrize("call", ["model", "model.encode"])
def test_methods_that_compute(call: str) -> None:
    assert codes(source(TRAINER.format(call))) == ["DVF501"]


KEPT = """
CACHE = {{}}


def build(n):
    if n not in CACHE:
        CACHE[n] = nn.Linear(n, n)
    return CACHE[n]


def run(n, device):
    {0}
    return build(n)(torch.ones(n, device=device))
"""


@pytest.mark.parametrize("first", ["build(n).to(device)", "prepare_everything(device)"])
def test_a_module_that_is_kept_for_everybody_may_be_moved_by_anybody(first: str) -> None:
    assert codes(source(KEPT.format(first))) == []


PROBED = """
class Tokenizer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv = nn.Conv2d(3, n, 3)

    def length(self, size=224):
        return self.forward(torch.zeros(1, 3, size, size)).shape[1]

    def forward(self, x):
        return self.conv(x)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.tokenizer = Tokenizer(n)
        self.fc = nn.Linear({0}, n)

    def forward(self, x):
        return self.fc({1}self.tokenizer(x))
"""


def test_a_method_that_only_a_constructor_calls_runs_on_the_cpu() -> None:
    assert codes(source(PROBED.format("self.tokenizer.length()", ""))) == []


def test_a_method_that_forward_calls_does_not() -> None:
    assert codes(source(PROBED.format("n", "self.tokenizer.length() + "))) == ["DVF201"]


SETTING = """
class Held:
    def __setattr__(self, name, value):
        if isinstance(value, torch.Tensor):
            value = value.to(self.device)
        super().__setattr__(name, value)


class Data({0}):
    def __init__(self, device):
        self.device = device
        self.table = torch.arange(9).float()

    def at(self, index):
        return self.table[index]


def run(device):
    return Data(device).at(torch.tensor([1, 2], device=device))
"""


def test_a_class_that_moves_what_it_is_given() -> None:
    assert codes(source(SETTING.format("Held"))) == []
    assert codes(source(SETTING.format("object"))) != []


def test_the_device_of_a_base_class_is_used() -> None:
    text = source(
        """
        from solvers import Base


        class Solver(Base):
            def step(self, batches, model):
                for batch in batches:
                    batch.to(self.device)
                    yield model(batch.reference.cuda())
        """
    )
    assert "yield model(batch.reference.to(self.device))" in fix(text).new_text


LOAD = """
def test_resume(tmp_path):
    model = nn.Linear(2, 1)
    train_and_save(model, tmp_path / "m.pt")
    model.load_state_dict(torch.load(tmp_path / "m.pt"))
"""


@pytest.mark.parametrize(("name", "expected"), [("test_resume.py", []), ("resume.py", ["DVF504"])])
def test_tests_load_what_they_have_saved(name: str, expected: list[str]) -> None:
    result = check_source(SourceText.from_text(source(LOAD), name))
    assert [finding.code for finding in result.findings] == expected


CAPTURED = """
{0}


def warm_up(module, example):
    x = torch.zeros_like(example).cuda()
    {1}
    return module(x)
"""


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("import tensorrt as trt", "pass"),
        ("", "graph = torch.cuda.CUDAGraph()"),
        ("", "module = torch.cuda.make_graphed_callables(module, (x,))"),
    ],
)
def test_code_that_has_no_use_without_a_card_need_not_run_without_one(head: str, line: str) -> None:
    assert "DVF401" not in codes(source(CAPTURED.format(head, line)))
    assert "DVF401" in codes(source(CAPTURED.format("import math", "pass")))


FAMILY = """
class Base(nn.Module):
    {0}

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.w = self.make()

    def make(self):
        return torch.ones(2)

    def forward(self, x):
        return self.fc(x) * self.w


class Derived(Base):
    {1}


def run(device):
    x = torch.ones(1, 2, device=device)
    return Base().to(device)(x), Derived().to(device)(x)
"""


@pytest.mark.parametrize(
    ("base", "derived"),
    [
        ("pass", "w = None"),
        (
            "pass",
            "@property\n    def w(self):\n        return 2.0\n\n    @w.setter\n    def w(self, value):\n        pass",
        ),
        ("pass", "def make(self):\n        return 3.0"),
        ("def __getstate__(self):\n        return {'w': self.w.tolist()}", "pass"),
    ],
)
def test_no_buffer_under_a_name_that_the_family_uses(base: str, derived: str) -> None:
    text = source(FAMILY.format(base, derived))
    assert "DVF301" in codes(text)
    assert levels(text, "DVF301") == ["report"]


def test_a_buffer_of_a_family_without_such_a_name() -> None:
    text = source(FAMILY.format("pass", "def make(self):\n        return torch.zeros(2)"))
    assert levels(text, "DVF301") == ["safe"]
    assert added(text, "DVF301") == ['self.register_buffer("w", self.make(), persistent=False)']


def test_attributes_that_another_object_may_answer_for() -> None:
    text = source(FAMILY.format("def __getattr__(self, name):\n        return getattr(self.inner, name)", "pass"))
    assert levels(text, "DVF301") == ["unsafe"]


def test_annotations_go_to_the_class_as_they_are_written() -> None:
    text = source(
        """
class Net(nn.Module):
    size: int

    def __init__(self):
        super().__init__(); self.v = torch.ones(2)
        self.w: "torch.Tensor | None" = torch.ones(2)
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x) * self.w + self.v
"""
    )
    assert added(text, "DVF301") == [
        'w: "torch.Tensor | None"',
        'super().__init__(); self.register_buffer("v", torch.ones(2), persistent=False)',
        'self.register_buffer("w", torch.ones(2), persistent=False)',
    ]


def test_the_device_of_a_main_block_is_chosen_there() -> None:
    text = """import torch
from torch import nn


def use(net, device):
    return net.to(device)


if __name__ == "__main__":
    net = nn.Linear(2, 2).cuda()
    print(net(torch.ones(1, 2).cuda()))
"""
    assert added(text, "DVF401") == [
        'torch_device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
        "net = nn.Linear(2, 2).to(torch_device)",
        "print(net(torch.ones(1, 2).to(torch_device)))",
    ]
    assert repaired(text, "DVF401").index("__main__") < repaired(text, "DVF401").index("torch_device")
    one_line = 'import torch\nfrom torch import nn\n\nif __name__ == "__main__": nn.Linear(2, 2).cuda()\n'
    assert added(one_line, "DVF401")[0] == 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    everywhere = repaired(text.replace("net.to(device)", "net.cuda()"), "DVF401")
    assert everywhere.index("torch_device") < everywhere.index("__main__")


@pytest.mark.parametrize(
    ("use", "safe"),
    [
        ("TABLE[i] = 1", False),
        ("TABLE[i] += 1", False),
        ("TABLE.view(-1)[i] = 1", False),
        ("x = x + TABLE[i].sum()", True),
    ],
)
def test_tables_that_are_written_into_are_not_moved(use: str, safe: bool) -> None:
    text = source(
        f"""
TABLE = torch.zeros(4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        x = self.fc(x)
        i = x.argmax(0)
        {use}
        return x
"""
    )
    assert ("TABLE.to(" in repaired(text, "DVF201", unsafe=True)) is safe


def test_numbers_that_metrics_add_up() -> None:
    text = source(
        """
from torchmetrics.aggregation import MeanMetric


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = MeanMetric()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        order = torch.arange(4)
        self.mean.update((order - order.flip(0)).abs().sum() / 2)
        return self.fc(x)
"""
    )
    assert codes(text) == []


@pytest.mark.parametrize(("asked", "expected"), [("requires_grad", []), ("True", ["DVF304"])])
def test_a_leaf_only_where_a_caller_wants_one(asked: str, expected: list[str]) -> None:
    text = source(
        f"""
        def to_torch(z, device, requires_grad=False):
            return torch.tensor(z, requires_grad={asked}).to(device)
        """
    )
    assert codes(text) == expected
