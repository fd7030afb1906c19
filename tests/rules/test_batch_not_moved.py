"""DVF501: batches of loaders and outputs of tokenizers that meet a module elsewhere."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding

CODE = "DVF501"
HEAD = """
import torch
from itertools import islice
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from tqdm import tqdm
"""
RUN = """
def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    loader = DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 2)), batch_size=4)
    return work(model, loader, device)
"""


def program(
    body: str, *, data: str = "", more: str = "", signature: str = "model, loader, device", run: str = RUN
) -> str:
    """A function ``work`` with a body that collects ``losses``, and its caller.

    ``data`` is the item of a data set ``Rows`` that takes the place of the plain one.
    """
    if data:
        more += f"\n\nclass Rows(Dataset):\n    def __len__(self):\n        return 4\n\n    def __getitem__(self, i):\n        return {data}\n"
        run = run.replace("TensorDataset(torch.randn(8, 3), torch.randn(8, 2))", "Rows()")
    work = f"def work({signature}):\n    losses = []\n{textwrap.indent(textwrap.dedent(body).strip(), ' ' * 4)}\n    return torch.stack(losses)\n"
    return f"{HEAD.strip()}\n{textwrap.dedent(more)}\n\n{work}\n{run}"


def found(source: str) -> list[Finding]:
    result = check(source)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == CODE]


def added(source: str) -> list[str]:
    """The lines that the rewrite has and the source has not, without indentation; nothing must be left to report."""
    result = fix(source)
    assert [f for f in result.remaining if f.code == CODE] == []
    old = source.splitlines()
    return [line.strip() for line in result.new_text.splitlines() if line not in old]


LOSS = "losses.append(nn.functional.mse_loss(model(x), y))"
BOTH = ["x, y = x.to(device), y.to(device)"]

LOOPS = {
    "plain": (f"for x, y in loader:\n    {LOSS}", BOTH),
    "enumerate and tqdm": (f"for i, (x, y) in enumerate(tqdm(loader), 1):\n    {LOSS}", BOTH),
    "islice": (f"for x, y in islice(loader, 2):\n    {LOSS}", BOTH),
    "zip": (f"for (x, y), k in zip(loader, range(3)):\n    {LOSS}", BOTH),
    "unpacked inside": (f"for batch in loader:\n    x, y = batch\n    {LOSS}", BOTH),
    "two loaders": (
        "for i, ((a, _), (b, y)) in enumerate(zip(loader, loader)):\n    losses.append(nn.functional.mse_loss(model(a) + model(b), y))",
        ["a, b, y = a.to(device), b.to(device), y.to(device)"],
    ),
    "next": (f"x, y = next(iter(loader))\n{LOSS}", BOTH),
    "next of a named iterator": (f"it = iter(loader)\nfor _ in range(2):\n    x, y = next(it)\n    {LOSS}", BOTH),
    "next, indexed": ("x = next(iter(loader))[0]\nlosses.append(model(x).sum())", ["x = next(iter(loader))[0].to(device)"]),
    "by position": (
        f"for batch in loader:\n    x = batch[0]\n    y = batch[1]\n    {LOSS}",
        ["x = batch[0].to(device)", "y = batch[1].to(device)"],
    ),
    "comprehension": (
        "losses = [nn.functional.mse_loss(model(x), y) for x, y in loader]",
        ["losses = [nn.functional.mse_loss(model(x.to(device)), y.to(device)) for x, y in loader]"],
    ),
    "on one line": (
        f"for x, y in loader: {LOSS}", ["for x, y in loader: losses.append(nn.functional.mse_loss(model(x.to(device)), y.to(device)))"],
    ),
    "only the input": ("for x, y in loader:\n    losses.append(model(x).sum() * len(y))", ["x = x.to(device)"]),
    "only the target": ("for x, y in loader:\n    losses.append(nn.functional.mse_loss(model(x.to(device)), y))", ["y = y.to(device)"]),
    "behind the neighbour": (f"for x, y in loader:\n    x = x.to(device)\n    {LOSS}", ["y = y.to(device)"]),
    "style of the neighbour": (
        f"for x, y in loader:\n    x = x.to(device, non_blocking=True)\n    {LOSS}", ["y = y.to(device, non_blocking=True)"],
    ),
    "a name compared on the CPU as well": (
        "for x, y in loader:\n    out = model(x.to(device))\n    losses.append(nn.functional.mse_loss(out, y) + (out.cpu() - y).abs().mean().item())",
        ["losses.append(nn.functional.mse_loss(out, y.to(device)) + (out.cpu() - y).abs().mean().item())"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), LOOPS.values(), ids=LOOPS)
def test_what_meets_the_model_is_moved(body: str, expected: list[str]) -> None:
    source = program(body)
    assert {f.applicability for f in found(source)} == {Applicability.SAFE}
    assert added(source) == expected


CONTAINERS = {
    "nested tuples": (
        "(torch.ones(3), torch.ones(2)), torch.zeros(2)",
        "for (x, extra), y in loader:\n    losses.append(nn.functional.mse_loss(model(x) + extra, y))",
        ["x, extra, y = x.to(device), extra.to(device), y.to(device)"],
    ),
    "dict with text": (
        '{"x": torch.ones(3), "y": torch.ones(2), "name": "a"}',
        'for batch in loader:\n    losses.append(nn.functional.mse_loss(model(batch["x"]), batch["y"]))',
        ["batch = {k: v.to(device) if torch.is_tensor(v) else v for k, v in batch.items()}"],
    ),
    "dict handed on": (
        '{"x": torch.ones(3), "y": torch.ones(2)}',
        "for batch in loader:\n    losses.append(gap(model, **batch).mean())",
        ["batch = {k: v.to(device) for k, v in batch.items()}"],
    ),
    "one key of a dict": (
        '{"x": torch.ones(3), "n": torch.tensor(3)}',
        'for batch in loader:\n    out = model(batch["x"])\n    losses.append(out.sum() * batch["n"].sum().item())',
        ['out = model(batch["x"].to(device))'],
    ),
    "another key is needed on the CPU": (
        '{"x": torch.ones(3), "h": torch.ones(2)}',
        'for batch in loader:\n    h = batch["h"] + torch.ones(2)\n    losses.append((model(batch["x"]) + model(batch["x"])).sum() * h.sum().item())',
        ['losses.append((model(batch["x"].to(device)) + model(batch["x"].to(device))).sum() * h.sum().item())'],
    ),
    "in the style of the neighbour": (
        '{"x": torch.ones(3), "y": torch.ones(2)}',
        'for batch in loader:\n    losses.append(nn.functional.mse_loss(model(batch["x"].to(device)), batch["y"]))',
        ['losses.append(nn.functional.mse_loss(model(batch["x"].to(device)), batch["y"].to(device)))'],
    ),
    "unknown data set": (
        "unseen(i)",
        'for batch in loader:\n    losses.append(nn.functional.mse_loss(model(batch["x"]), batch["y"]))',
        ['losses.append(nn.functional.mse_loss(model(batch["x"].to(device)), batch["y"].to(device)))'],
    ),
}
GAP = "\n\ndef gap(model, x, y):\n    return model(x) - y\n"


@pytest.mark.parametrize(("item", "body", "expected"), CONTAINERS.values(), ids=CONTAINERS)
def test_containers_are_moved_by_what_is_known_of_them(item: str, body: str, expected: list[str]) -> None:
    source = program(body, data=item, more=GAP)
    assert found(source)
    assert added(source) == expected


def test_the_style_of_the_training_loop_is_copied() -> None:
    train = f"for x, y in loader:\n    x = x.to(device)\n    y = y.to(device)\n    {LOSS}\n"
    assert added(program(f"{train}for x, y in loader:\n    {LOSS}")) == []  # the same two lines again
    source = program(f"{train}for x, y in loader:\n    {LOSS}")
    assert fix(source).new_text.count("        y = y.to(device)\n") == 2


def test_without_a_device_variable_the_module_says_where() -> None:
    lines = added(program(f"for x, y in loader:\n    {LOSS}", signature="model, loader, _"))
    assert lines == ["device = next(model.parameters()).device", *BOTH]


def test_a_name_that_is_taken_is_not_used() -> None:
    lines = added(
        program(
            f"for x, y in loader:\n    {LOSS}", signature="model, loader, _", more="\n\nfrom somewhere import device\n"
        )
    )
    place = "next(model.parameters()).device"
    assert lines == [f"x, y = x.to({place}), y.to({place})"]


HELPER = """

def to_device(obj, device):
    if torch.is_tensor(obj):
        return obj.to(device)
    return [to_device(v, device) for v in obj]
"""
SILENT = {
    "moved": f"for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    {LOSS}",
    "moved by a comprehension": f"for batch in loader:\n    x, y = [t.to(device) for t in batch]\n    {LOSS}",
    "moved by a generator": f"for batch in loader:\n    x, y = tuple(t.to(device) for t in batch)\n    {LOSS}",
    "moved by map": f"for batch in loader:\n    x, y = map(lambda t: t.to(device), batch)\n    {LOSS}",
    "moved by a helper": f"for batch in loader:\n    x, y = to_device(batch, device)\n    {LOSS}",
    "moved by unseen code": f"for batch in loader:\n    x, y = unseen(batch, device)\n    {LOSS}",
    "scattered": "model = nn.DataParallel(model)\nfor x, y in loader:\n    losses.append(nn.functional.mse_loss(model(x), y.to(device)))",
    "perhaps scattered": "if torch.cuda.device_count() > 1:\n    model = nn.DataParallel(model)\nfor x, y in loader:\n"
    "    losses.append(nn.functional.mse_loss(model(x), y.to(device)))",
    "never meets the model": "for x, y in loader:\n    losses.append((x.mean() - y.mean()).abs())",
    "compared on the CPU": "for x, y in loader:\n    losses.append((model(x.to(device)).cpu() - y).abs().mean())",
    "model back on the CPU": f"model = model.cpu()\nfor x, y in loader:\n    {LOSS}",
    "lengths only": "for x, y in loader:\n    n = y.size(1)\n    losses.append(model(x.to(device)).sum() / n)",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(program(body, more=HELPER)) == []


UNKNOWN = {
    "items set one by one": 'for batch in loader:\n    batch["x"] = batch["x"].to(device)\n    losses.append(model(batch["x"]).sum())',
    "items set in a loop": "for batch in loader:\n    for k, v in batch.items():\n        if torch.is_tensor(v):\n            batch[k] = v.to(device)\n"
    '    losses.append(model(batch["x"]).sum())',
    "moved in place": 'for batch in loader:\n    batch.to(device)\n    losses.append(model(batch["x"]).sum())',
    "changed and returned by a function": 'for batch in loader:\n    batch = placed(batch, device)\n    losses.append(model(batch["x"]).sum())',
    "moved in place by a function": 'for batch in loader:\n    unseen(batch)\n    losses.append(model(batch["x"]).sum())',
}


PLACED = """

def placed(batch, device):
    batch.update({"x": batch["x"].to(device)})
    return batch
"""


@pytest.mark.parametrize("body", UNKNOWN.values(), ids=UNKNOWN)
def test_containers_of_unknown_kind_may_be_moved_in_place(body: str) -> None:
    assert found(program(body, data="unseen(i)", more=PLACED)) == []


def test_data_sets_on_the_device_and_collations_that_move_are_silent() -> None:
    on_device = RUN.replace(
        "torch.randn(8, 3), torch.randn(8, 2)", "torch.randn(8, 3).to(device), torch.randn(8, 2, device=device)"
    )
    assert found(program(f"for x, y in loader:\n    {LOSS}", run=on_device)) == []
    moving = RUN.replace(
        "batch_size=4",
        "batch_size=4, collate_fn=lambda rows: [t.to(device) for t in torch.utils.data.default_collate(rows)]",
    )
    assert found(program(f"for x, y in loader:\n    {LOSS}", run=moving)) == []
    unseen = RUN.replace("batch_size=4", "batch_size=4, collate_fn=unseen")
    assert found(program(f"for x, y in loader:\n    {LOSS}", run=unseen)) == []


def test_a_module_that_moves_its_inputs_is_silent() -> None:
    more = """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, x):
        return self.inner(x.to(next(self.parameters()).device))
"""
    body = "for x, y in loader:\n    losses.append(nn.functional.mse_loss(model(x), y.to(device)))"
    assert found(program(body, more=more, run=RUN.replace("nn.Linear(3, 2)", "Net()"))) == []


def test_names_that_cannot_be_told_apart_are_moved_where_they_meet() -> None:
    source = program("for x, *rest in loader:\n    losses.append(nn.functional.mse_loss(model(x), rest[0]))")
    moved = fix(source).new_text
    assert moved == source.replace("model(x), rest[0]", "model(x.to(device)), rest[0].to(device)")


def test_names_that_cannot_be_told_apart_are_reported_only_if_they_meet_in_two_functions() -> None:
    more = """
def loss(y, parts):
    return nn.functional.mse_loss(y, parts[0])
"""
    body = "for x, *rest in loader:\n    losses.append(loss(model(x), rest))"
    source = program(body, more=more)
    assert [f.applicability for f in found(source)] == [Applicability.REPORT]
    assert not fix(source, unsafe=True).changed


def test_the_message_names_both_sides() -> None:
    [finding] = found(
        program('for batch in loader:\n    losses.append(model(batch["x"]).sum())', data='{"x": torch.ones(3)}')
    )
    assert finding.message.startswith('`batch["x"]` comes from the loader at line')
    assert "on the CPU, but meets `model`, whose parameters are on the chosen device" in finding.message


TRANSFORMERS = """
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

{device}tokenizer = AutoTokenizer.from_pretrained("some/model")
model = AutoModelForCausalLM.from_pretrained("some/model").to({where})


def complete(text):
    inputs = {call}
    return model.generate({use})
"""
ENCODINGS = {
    "device variable": ('device = "cuda" if torch.cuda.is_available() else "cpu"\n', "device", 'tokenizer(text, return_tensors="pt")', "**inputs", ".to(device)"),
    "no variable": ("", '"cuda"', 'tokenizer(text, return_tensors="pt")', "**inputs", ".to(model.device)"),
    "one of its tensors": ("", '"cuda"', 'tokenizer(text, return_tensors="pt")', "inputs.input_ids", ".to(model.device)"),
    "ids only": ("", '"cuda"', 'tokenizer.encode(text, return_tensors="pt")', "inputs", ".to(model.device)"),
}  # fmt: skip


@pytest.mark.parametrize(("device", "where", "call", "use", "move"), ENCODINGS.values(), ids=ENCODINGS)
def test_encodings_are_moved_behind_the_call(device: str, where: str, call: str, use: str, move: str) -> None:
    source = TRANSFORMERS.format(device=device, where=where, call=call, use=use).lstrip()
    assert len(found(source)) == 1
    assert f"    inputs = {call}{move}\n" in fix(source).new_text


@pytest.mark.parametrize(
    ("call", "use"),
    [
        ('tokenizer(text, return_tensors="pt").to(model.device)', "**inputs"),
        ('{k: v.to(model.device) for k, v in tokenizer(text, return_tensors="pt").items()}', "**inputs"),
        ('tokenizer(text, return_tensors="np")', "torch.as_tensor(inputs['input_ids'], device=model.device)"),
        ('tokenizer.encode(text, return_tensors="pt").to("cuda")', "inputs"),
    ],
)
def test_encodings_that_are_moved_are_silent(call: str, use: str) -> None:
    assert found(TRANSFORMERS.format(device="", where='"cuda"', call=call, use=use).lstrip()) == []


OBJECTS = """
from dataclasses import dataclass


@dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor

    def to(self, device):
        return Batch(self.x.to(device), self.y.to(device))


def collate(rows):
    return Batch(torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows]))
"""
OBJECT_RUN = """

def run(device):
    torch.manual_seed(0)
    rows = [(torch.ones(3), torch.tensor(i % 2)) for i in range(4)]
    loader = DataLoader(rows, batch_size=2, collate_fn=collate)
    return work(nn.Linear(3, 2).to(device), loader, device)
"""


@pytest.mark.parametrize("moved", [False, True])
def test_objects_of_a_collation_are_reported_where_nobody_moves_them(moved: bool) -> None:
    move = "    b = b.to(device)\n" if moved else ""
    body = f"for b in loader:\n{move}    loss = nn.functional.cross_entropy(model(b.x), b.y)\n    print(loss.item())\nreturn loss"
    source = program(body, more=OBJECTS, run=OBJECT_RUN)
    findings = found(source)
    if moved:
        assert findings == []
        return
    [finding] = findings
    assert finding.applicability is Applicability.REPORT
    assert "`b.x` and `b.y`" in finding.message
    assert fix(source, unsafe=True).new_text == source
