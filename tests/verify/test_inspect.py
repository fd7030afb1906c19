"""`inspect`: everything in a model that has a device."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from devicefix.verify import inspect
from devicefix.verify.commands import inspect_target
from devicefix.verify.inspect_model import BadTargetError, load_target


class Net(nn.Module):
    anchors = torch.ones(2)

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.register_buffer("steps", torch.zeros(2), persistent=False)
        self.alias = self.steps
        self.same = [self.fc.weight]
        self.mask = torch.ones(3, 3, dtype=torch.bool)
        self.layers = [nn.Linear(2, 2), nn.BatchNorm1d(2)]
        self.tables = {"a": torch.zeros(1), "n": [nn.Parameter(torch.ones(2))]}
        self.also = [self.fc]
        self.options = types.SimpleNamespace(weights=torch.ones(4), name="x")
        self.cycle = [self.tables]


@pytest.fixture
def found() -> dict[str, Any]:
    return {entry.name: entry for entry in inspect(Net()).entries}


@pytest.mark.parametrize(
    ("name", "kind", "moves"),
    [
        ("fc.weight", "parameter", True),
        ("fc.bias", "parameter", True),
        ("steps", "buffer", True),
        ("alias", "attribute", False),
        ("same[0]", "in a list", True),
        ("mask", "attribute", False),
        ("layers[0].weight", "parameter of a module outside the tree", False),
        ("layers[1].running_mean", "buffer of a module outside the tree", False),
        ("tables['a']", "in a dict", False),
        ("tables['n'][0]", "parameter in a list", False),
        ("options.weights", "in an object", False),
        ("anchors", "class attribute", False),
    ],
)
def test_what_is_found(found: dict[str, Any], name: str, kind: str, moves: bool) -> None:
    assert (found[name].kind, found[name].moves) == (kind, moves)


def test_nothing_else_is_found(found: dict[str, Any]) -> None:
    assert len(found) == 12 + 5  # and the rest of the two layers outside the tree
    assert not any(name.startswith(("also", "cycle")) for name in found)


def test_facts(found: dict[str, Any]) -> None:
    mask = found["mask"]
    assert (mask.device, mask.dtype, mask.shape) == ("cpu", "bool", (3, 3))
    assert "second name of the buffer steps" in found["alias"].note
    assert "not in the state_dict" in found["steps"].note


def test_it_tells_the_truth(sim: Any) -> None:
    """What it says would be left behind is what .to() leaves behind."""
    model = Net()
    said = {entry.name for entry in inspect(model).left_behind}
    model.to("cuda")
    stayed = {entry.name for entry in inspect(model).entries if entry.device == "cpu"}
    assert said - {"alias"} == stayed - {"alias"}
    assert "alias" in stayed


class Careful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(1, 1)
        self.table = torch.ones(2)
        self.forgotten = torch.ones(2)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        self.table = fn(self.table)
        return self


def test_a_module_with_its_own_apply() -> None:
    model = Careful()
    moves = {entry.name: entry.moves for entry in inspect(model).entries}
    assert moves == {"fc.weight": True, "fc.bias": True, "table": True, "forgotten": False}
    assert model.table.device.type == "cpu"


def test_lazy_modules() -> None:
    (entry,) = [e for e in inspect(nn.LazyLinear(3)).entries if e.name == "weight"]
    assert entry.note == "not initialised yet"


def test_table_and_json() -> None:
    inventory = inspect(Net())
    plain, painted = inventory.as_text(), inventory.as_text(color=True)
    assert "\033[" not in plain
    assert "\033[31m" in painted
    assert plain.splitlines()[-1] == "17 tensors in Net, 13 would be left behind by .to()"
    assert json.loads(inventory.as_json())["left_behind"] == [entry.name for entry in inventory.left_behind]
    assert "none would be left behind" in inspect(nn.Linear(1, 1)).as_text()


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "some_models.py").write_text(
        "import torch\ndef make(): return torch.nn.Linear(1, 1)\nready = make()\nclass Box:\n    net = ready\nnumber = 3\n"
    )
    for spec in ("some_models:make", "some_models:ready", "some_models:Box.net", "some_models.py:make"):
        assert isinstance(load_target(spec), nn.Linear)
    for spec in (
        "some_models",
        "some_models:",
        "no_such_module:x",
        "some_models:nope",
        "some_models:number",
        "nope.py:x",
    ):
        with pytest.raises(BadTargetError):
            load_target(spec)
    assert inspect_target("some_models:make", output_format="json") == 0
    assert json.loads(capsys.readouterr().out)["model"] == "Linear"
    assert inspect_target("some_models:nope") == 2
    assert inspect_target("some_models:make", output_format="xml") == 2


def test_only_modules() -> None:
    with pytest.raises(BadTargetError, match="not a torch"):
        inspect(torch.ones(1))
