"""What each setting changes in what is found and written."""

from __future__ import annotations

import dataclasses

import pytest

from devicefix import Settings, check, fix

BUFFER = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.table = torch.zeros(3)

    def forward(self, x):
        return self.fc(x) + self.table
"""
CUDA = "import torch\n\nx = torch.ones(3).cuda()\ny = torch.ones(3).cuda()\n"
DROPPED = "import torch\n\n\ndef f(device):\n    x = torch.ones(3)\n    x.to(device)\n    return x + torch.ones(3, device=device)\n"


def fixed(code: str, **settings: object) -> str:
    return fix(code, settings=Settings(**settings)).new_text  # type: ignore[arg-type]


def codes(code: str, **settings: object) -> set[str]:
    return {f.code for f in check(code, settings=Settings(**settings)).findings}  # type: ignore[arg-type]


def test_buffers_as_usual() -> None:
    assert 'self.register_buffer("table", torch.zeros(3), persistent=False)\n' in fixed(BUFFER)


def test_persistent_buffers() -> None:
    assert 'self.register_buffer("table", torch.zeros(3))\n' in fixed(BUFFER, persistent_buffers=True)


@pytest.mark.parametrize("version", [None, (2, 5), (2, 13), (3, 0)])
def test_buffer_style(version: tuple[int, int] | None) -> None:
    got = fixed(BUFFER, buffer_style="nn.Buffer", torch_version=version)
    assert "self.table = nn.Buffer(torch.zeros(3), persistent=False)\n" in got


@pytest.mark.parametrize("version", [(1, 6), (2, 0), (2, 4)])
def test_nn_buffer_came_with_2_5(version: tuple[int, int]) -> None:
    got = fixed(BUFFER, buffer_style="nn.Buffer", torch_version=version)
    assert 'self.register_buffer("table", torch.zeros(3), persistent=False)\n' in got


def test_before_1_6_a_buffer_changes_checkpoints() -> None:
    old = {"torch_version": (1, 5)}
    assert fixed(BUFFER, **old) == BUFFER
    [finding] = check(BUFFER, settings=Settings(torch_version=(1, 5))).findings
    assert finding.fix is not None
    assert "state_dict" in finding.fix.reason
    assert 'self.register_buffer("table", torch.zeros(3))\n' in fixed(BUFFER, unsafe_fixes=True, **old)
    assert 'self.register_buffer("table", torch.zeros(3))\n' in fixed(BUFFER, persistent_buffers=True, **old)


@pytest.mark.parametrize(
    ("version", "accelerator"), [(None, True), ((2, 6), True), ((2, 5), False), ((1, 13), False), ((2, 10), True)]
)
def test_accelerators_came_with_2_6(version: tuple[int, int] | None, accelerator: bool) -> None:
    got = fixed(CUDA, device_expression="accelerator", torch_version=version)
    assert ("torch.accelerator.current_accelerator() if torch.accelerator.is_available()" in got) is accelerator
    assert ("torch.cuda.is_available()" in got) is not accelerator


def test_the_rewrites_run(capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    for settings in ({}, {"device_expression": "accelerator"}):
        exec(compile(fixed(CUDA, **settings), "t.py", "exec"), {})
    for settings in ({}, {"buffer_style": "nn.Buffer"}, {"persistent_buffers": True}):
        names: dict[str, type] = {}
        exec(compile(fixed(BUFFER, **settings), "t.py", "exec"), names)
        net = names["Net"]()
        assert "table" in dict(net.named_buffers())
        assert ("table" in net.state_dict()) is bool(settings.get("persistent_buffers"))
        assert net(torch.ones(3)).shape == (3,)


def test_select_ignore_and_what_counts_as_safe() -> None:
    both = BUFFER + "\n\n" + DROPPED
    assert codes(both) == {"DVF301", "DVF101"}
    assert codes(both, select=("DVF3",)) == {"DVF301"}
    assert codes(both, ignore=("dropped-move",)) == {"DVF301"}
    assert codes(both, select=("DVF3",), extend_select=("DVF101",)) == {"DVF301", "DVF101"}
    assert "x = x.to" not in fixed(both, extend_unsafe_fixes=("DVF101",))
    assert "x = x.to" in fixed(both, extend_unsafe_fixes=("DVF101",), unsafe_fixes=True)
    assert fixed(both, unfixable=("ALL",)) == both
    [note] = [f.note for f in check(DROPPED, settings=Settings(unfixable=("DVF1",))).findings]
    assert "settings" in note


CONTAINER = """\
import torch
from mylib.data import Sample


def f(device):
    sample = Sample(torch.ones(3))
    sample.to(device)
    return sample
"""


@pytest.mark.parametrize("name", ["mylib.data.Sample", "Sample", "mylib.Sample"])
def test_containers_that_copy(name: str) -> None:
    assert codes(CONTAINER) == set()
    assert codes(CONTAINER, copying_containers=(name,)) == {"DVF101"}
    assert "    sample = sample.to(device)\n" in fixed(CONTAINER, copying_containers=(name,))
    assert codes(CONTAINER, in_place_containers=(name,)) == set()


@pytest.mark.parametrize("name", ["otherlib.Sample", "mylib.data.Samples", "sample"])
def test_other_containers_are_not_meant(name: str) -> None:
    assert codes(CONTAINER, copying_containers=(name,)) == set()


MODULE = """\
import torch
from mylib.layers import Block
from torch import nn


class Net(Block):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.table = torch.zeros(3)

    def forward(self, x):
        return self.fc(x) + self.table
"""


@pytest.mark.parametrize("name", ["mylib.layers.Block", "Block", "mylib.Block", "Net"])
def test_classes_that_are_modules(name: str) -> None:
    assert codes(MODULE) == set()
    assert codes(MODULE, modules=(name,)) == {"DVF301"}


def test_every_setting_is_in_the_cache_s_name_or_known_not_to_matter() -> None:
    from devicefix.engine.cache.fingerprint import _IRRELEVANT, of_settings

    changed = {
        "select": ("DVF1",), "ignore": ("DVF1",), "extend_select": ("DVF1",), "per_file_ignores": (("a", ("ALL",)),),
        "extend_safe_fixes": ("DVF1",), "extend_unsafe_fixes": ("DVF1",), "unfixable": ("DVF1",), "torch_version": (2, 0),
        "buffer_style": "nn.Buffer", "device_expression": "accelerator", "persistent_buffers": True, "modules": ("A",),
        "in_place_containers": ("A",), "copying_containers": ("A",),
    }  # fmt: skip
    names = {f.name for f in dataclasses.fields(Settings)}
    assert names == changed.keys() | _IRRELEVANT
    usual = of_settings(Settings())
    for name, value in changed.items():
        assert of_settings(dataclasses.replace(Settings(), **{name: value})) != usual, name
