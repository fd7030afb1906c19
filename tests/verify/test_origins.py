"""Where tensors come from, as told by a mismatch."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import pytest
import torch
from torch import nn

from devicefix.verify import simulated_accelerator
from devicefix.verify.origins import attached_to

exact_columns = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python tells columns from 3.11 on")


def mismatch_of(function: Any, *args: Any) -> Any:
    """The explanation attached to the error that a call raises."""
    with pytest.raises((RuntimeError, TypeError)) as caught:
        function(*args)
    found = attached_to(caught.value)
    assert found is not None
    return found


def by_device(mismatch: Any) -> dict[str, Any]:
    return {tensor.device: tensor for tensor in mismatch.tensors}


def test_made_and_moved(sim: Any) -> None:
    x = torch.ones(3)
    x = x.to("cuda")
    h = torch.zeros(3)
    mismatch = mismatch_of(lambda: x + h)
    tensors = by_device(mismatch)
    assert "torch.zeros(3)" in tensors["cpu"].made.text
    assert tensors["cpu"].moved is None
    assert "torch.ones(3)" in tensors["cuda:0"].made.text
    assert 'x.to("cuda")' in tensors["cuda:0"].moved.text
    assert tensors["cpu"].made.function == "test_made_and_moved"
    assert mismatch.where.path == __file__


@exact_columns
def test_the_message(sim: Any) -> None:
    x = torch.ones(3, device="cuda")
    h = torch.zeros(3)
    lines = mismatch_of(lambda: x + h).explanation()
    assert lines[0].startswith("the cpu tensor comes from ")
    assert "`torch.zeros(3)` (in test_the_message), the cuda:0 tensor from " in lines[0]
    assert lines[1].startswith("repaired by DVF201 (factory-device); see: devicefix --diff ")
    assert lines[1].endswith("test_origins.py")


def test_the_error_keeps_the_wording_of_torch(sim: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, device="cuda") + torch.ones(2)
    expected = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    assert str(caught.value) == expected
    if sys.version_info >= (3, 11):
        assert any("the cpu tensor comes from" in line for line in caught.value.__notes__)


def test_results_name_their_root(sim: Any) -> None:
    base = torch.arange(4.0)
    derived = (base.view(2, 2) * 2 + 1).float().t()[0]
    mismatch = mismatch_of(lambda: derived + torch.ones(2, device="cuda"))
    assert "torch.arange(4.0)" in by_device(mismatch)["cpu"].made.text


def test_results_on_the_card_name_the_move(sim: Any) -> None:
    x = torch.ones(2).cuda()
    y = torch.relu(x * 3)
    mismatch = mismatch_of(lambda: y + torch.ones(2))
    assert ".cuda()" in by_device(mismatch)["cuda:0"].moved.text


def test_parameters_name_the_line_of_the_module(sim: Any) -> None:
    layer = nn.Linear(2, 2)
    mismatch = mismatch_of(layer, torch.ones(1, 2, device="cuda"))
    cpu = by_device(mismatch)["cpu"]
    assert "nn.Linear(2, 2)" in cpu.made.text
    assert mismatch.rules == ("DVF302", "DVF502")


def test_a_dropped_move_is_seen(sim: Any) -> None:
    x = torch.ones(2)
    x.to("cuda")
    mismatch = mismatch_of(lambda: x + torch.ones(2, device="cuda"))
    assert mismatch.rules == ("DVF101",)
    assert any("but that copy is not what is used here" in line for line in mismatch.explanation())


def test_a_stale_alias_is_seen(sim: Any) -> None:
    x = torch.ones(2)
    y = x.to("cuda")
    assert mismatch_of(lambda: x + y).rules == ("DVF104",)


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scale = torch.ones(2)
        self.layers = [nn.Linear(2, 2)]
        self.tables = {"a": torch.ones(2)}
        self.gains = [nn.Parameter(torch.ones(2))]

    def use(self, what: str, x: Any) -> Any:
        if what == "attribute":
            return x * self.scale
        if what == "modules":
            return self.layers[0](x)
        if what == "dict":
            return x * self.tables["a"]
        return x * self.gains[0]


@pytest.mark.parametrize(
    ("what", "rule"),
    [("attribute", "DVF301"), ("modules", "DVF302"), ("dict", "DVF305"), ("parameters", "DVF303")],
)
def test_what_a_module_holds_names_its_rule(sim: Any, what: str, rule: str) -> None:
    model = Holder().cuda()
    assert mismatch_of(model.use, what, torch.ones(1, 2, device="cuda")).rules == (rule,)


def test_a_batch_names_the_loop(sim: Any) -> None:
    data = torch.utils.data.TensorDataset(torch.ones(4, 2))
    model = nn.Linear(2, 1).cuda()
    for (batch,) in torch.utils.data.DataLoader(data, 2):
        mismatch = mismatch_of(model, batch)
        break
    cpu = by_device(mismatch)["cpu"]
    assert cpu.how == "batch"
    assert "DataLoader" in cpu.made.text or "for (batch,)" in cpu.made.text
    assert mismatch.rules == ("DVF501",)


def test_a_loaded_tensor_says_so(sim: Any, tmp_path: Any) -> None:
    torch.save(torch.ones(2), tmp_path / "t.pt")
    loaded = torch.load(tmp_path / "t.pt")
    mismatch = mismatch_of(lambda: loaded + torch.ones(2, device="cuda"))
    assert by_device(mismatch)["cpu"].how == "loaded"
    assert mismatch.rules == ("DVF504",)


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (lambda: torch.ones(2, device="cuda") + torch.FloatTensor([1.0, 2.0]), "DVF202"),
        (lambda: torch.ones(2, device="cuda").numpy(), "DVF505"),
        (lambda: torch.ones(2)[torch.tensor([0], device="cuda")], "DVF506"),
        (lambda: torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1"), "DVF601"),
        (lambda: torch.rand(2, device="cuda", generator=torch.Generator()), "DVF203"),
    ],
)
def test_rules(sim: Any, function: Any, rule: str) -> None:
    assert mismatch_of(function).rules[0] == rule


def test_origins_in_a_file_of_the_user(sim: Any, tmp_path: Any) -> None:
    program = tmp_path / "model.py"
    program.write_text(
        textwrap.dedent(
            """
            import torch

            class Net(torch.nn.Module):
                def forward(self, x):
                    h = torch.zeros(
                        1, x.size(0),
                    )
                    return x + h
            """
        )
    )
    space: dict[str, Any] = {}
    exec(compile(program.read_text(), str(program), "exec"), space)
    mismatch = mismatch_of(space["Net"](), torch.ones(1, 1, device="cuda"))
    cpu = by_device(mismatch)["cpu"]
    assert cpu.made.path == str(program)
    assert cpu.made.line == 6
    assert mismatch.where.line == 9
    if sys.version_info >= (3, 11):
        assert cpu.made.text == "torch.zeros( 1, x.size(0), )"
        assert cpu.made.function == "Net.forward"


def test_keep_going_records_everything() -> None:
    with simulated_accelerator("cuda", keep_going=True, even_with_card=True) as simulation:
        x = torch.ones(2, device="cuda")
        for _ in range(3):
            y = x + torch.ones(2)
        nn.Linear(2, 2).cuda()(torch.ones(1, 2))
        y.numpy()
        assert y.is_cuda
    assert len(simulation.mismatches) == 3
    assert simulation.log.times(simulation.mismatches[0]) == 3


def test_recording_explains_errors_on_any_device() -> None:
    """The bookkeeping for real cards, tried with the one other device that every machine has."""
    from devicefix.verify.recording import recorded_origins

    with recorded_origins() as log:
        x = torch.ones(2)
        moved = (x * 2).to("meta")
        with pytest.raises(RuntimeError, match="not on the expected device"):
            moved * 3 + torch.zeros(2)
    (mismatch,) = log.mismatches
    tensors = by_device(mismatch)
    assert "torch.zeros(2)" in tensors["cpu"].made.text
    assert "torch.ones(2)" in tensors["meta"].made.text
    assert '.to("meta")' in tensors["meta"].moved.text


@pytest.mark.gpu
def test_recording_on_a_real_card() -> None:
    from devicefix.verify.recording import recorded_origins

    with recorded_origins() as log:
        x = torch.ones(2).to("cuda")
        h = torch.zeros(2)
        with pytest.raises(RuntimeError):
            x + h
    (mismatch,) = log.mismatches
    tensors = by_device(mismatch)
    assert "torch.zeros(2)" in tensors["cpu"].made.text
    assert '.to("cuda")' in tensors["cuda:0"].moved.text
