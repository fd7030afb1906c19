"""DVF402: the device variable knows only CUDA."""

from __future__ import annotations

import pytest

from rules.programs import HEAD, added, found, levels, lines, marked, repaired, source

CODE = "DVF402"
USE = "\n\n\ndef run():\n    return torch.ones(2, device=device)\n"


def script(definition: str, use: str = USE) -> str:
    return f"{HEAD}{definition}{use}"


FIXED = [
    pytest.param('device = torch.device("cuda")  # !', 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")  # !', id="device"),
    pytest.param('device = torch.device("cuda:0")  # !', 'device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")  # !', id="index-stays"),
    pytest.param("device = torch.device('cuda')  # !", "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')  # !", id="quotes-stay"),
    pytest.param('device = "cuda"  # !', 'device = "cuda" if torch.cuda.is_available() else "cpu"  # !', id="string"),
    pytest.param('device: str = "cuda"  # !', 'device: str = "cuda" if torch.cuda.is_available() else "cpu"  # !', id="annotated"),
    pytest.param('device = torch.device("cuda",)  # !', 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu",)  # !', id="trailing-comma"),
    pytest.param('"ß"; device = "cuda"; n = 1  # !', '"ß"; device = "cuda" if torch.cuda.is_available() else "cpu"; n = 1  # !', id="unicode-and-semicolons"),
    pytest.param("device = torch.device(  # why\n    'cuda',  # the card\n)", "'cuda' if torch.cuda.is_available() else 'cpu',  # the card", id="lines-and-comments"),
    pytest.param("if __name__ == '__main__': device = torch.device('cuda')  # !", "if __name__ == '__main__': device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')  # !", id="one-line-if"),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "expected"), FIXED)
def test_the_test_for_cuda_is_added(definition: str, expected: str) -> None:
    text = script(definition)
    assert lines(text, CODE) == (marked(text) or [6])
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]
    assert lines(repaired(text, CODE), CODE) == []


OTHER_SCOPES = [
    pytest.param("def run():\n    dev = torch.device('cuda')  # !\n    return torch.ones(2).to(dev)", id="local"),
    pytest.param("async def run():\n    dev = 'cuda'  # !\n    return torch.ones(2, device=dev)", id="async"),
    pytest.param("class T:\n    def __init__(self):\n        self.device = torch.device('cuda')  # !\n\n    def go(self):\n        return torch.ones(2, device=self.device)", id="attribute"),
    pytest.param("def outer():\n    gerät = torch.device('cuda')  # !\n    return lambda: torch.ones(2, device=gerät)", id="closure"),
]  # fmt: skip


@pytest.mark.parametrize("text", OTHER_SCOPES)
def test_in_other_scopes(text: str) -> None:
    text = source(text)
    assert lines(text, CODE) == marked(text)
    (line,) = added(text, CODE)
    assert "'cuda' if torch.cuda.is_available() else 'cpu'" in line


def test_an_alias_of_torch() -> None:
    text = 'import torch as th\n\ndevice = th.device("cuda")\nx = th.ones(2, device=device)\n'
    assert added(text, CODE) == ['device = th.device("cuda" if th.cuda.is_available() else "cpu")']


def test_without_the_name_torch_it_is_reported() -> None:
    text = 'from torch import device, ones\n\ndev = device("cuda")\nx = ones(2, device=dev)\n'
    assert levels(text, CODE) == ["report"]
    assert added(text, CODE, unsafe=True) == []


def test_line_endings_stay() -> None:
    text = script('device = torch.device("cuda")').replace("\n", "\r\n")
    assert repaired(text, CODE) == text.replace('("cuda")', '("cuda" if torch.cuda.is_available() else "cpu")')


REPORTS = [
    pytest.param("def f(x, device='cuda'):  # !\n    return x.to(device)", "signature", id="default"),
    pytest.param("def f(x, *, device='cuda:0'):  # !\n    return x.to(device)", "signature", id="keyword-only-default"),
    pytest.param("class A:\n    def __init__(self, device='cuda'):  # !\n        self.x = torch.ones(2, device=device)", "signature", id="constructor"),
    pytest.param("device = torch.cuda.device('cuda:0')  # !\nx = torch.ones(2).to(device)", "torch.device", id="context-manager"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "note"), REPORTS)
def test_what_is_not_ours_to_change_is_reported(text: str, note: str) -> None:
    text = source(text)
    (finding,) = found(text, CODE)
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")
    assert note in finding.note
    assert repaired(text, CODE, unsafe=True) == text


SILENT = [
    pytest.param('device = torch.device("cuda" if torch.cuda.is_available() else "cpu")', id="chosen"),
    pytest.param('if torch.cuda.is_available():\n    device = torch.device("cuda")\nelse:\n    device = torch.device("cpu")', id="statement"),
    pytest.param('device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"', id="raised-from-the-cpu"),
    pytest.param('device = torch.device("cpu")', id="cpu"),
    pytest.param('device = torch.device("mps")', id="other-accelerator"),
    pytest.param('import os\ndevice = torch.device(os.environ.get("DEVICE", "cuda"))', id="environment"),
    pytest.param('device = torch.device("cuda:0")\nsecond = torch.device("cuda:1")', id="two-cards"),
    pytest.param('assert torch.cuda.is_available()\ndevice = torch.device("cuda")', id="asserted"),
    pytest.param('if not torch.cuda.is_available():\n    raise SystemExit("no card")\ndevice = torch.device("cuda")', id="left-early"),
    pytest.param('def pair(x, y, first="cuda:0", second="cuda:1"):\n    return x.to(first), y.to(second)', id="two-cards-as-defaults"),
    pytest.param('torch.cuda.set_device(0)\ndevice = torch.device("cuda")', id="a-card-per-process"),
    pytest.param('try:\n    device = torch.device("cuda")\nexcept RuntimeError:\n    device = torch.device("cpu")', id="tried"),
    pytest.param('backend = "cuda"\ndevice = torch.device("cpu")', id="a-string-that-is-no-device"),
    pytest.param('column = "cuda"\ndevice = torch.device("cpu")\ntable = {column: 1}', id="a-key"),
    pytest.param('use_cuda = torch.cuda.is_available()\ndevice = torch.device("cuda" if use_cuda else "cpu")', id="flag"),
]  # fmt: skip


@pytest.mark.parametrize("definition", SILENT)
def test_what_is_right_is_silent(definition: str) -> None:
    assert found(script(definition), CODE) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f(x, kind='cuda'):\n    return kind in x", id="default-that-is-no-device"),
        pytest.param("def f(x, device='cpu'):\n    return x.to(device)", id="cpu-default"),
        pytest.param("def f(x, device=None):\n    return x.to(device)", id="none-default"),
        pytest.param("with torch.cuda.device('cuda:0'):\n    pass", id="context"),
        pytest.param("class Config:\n    device = 'cuda'", id="class-attribute"),
    ],
)  # fmt: skip
def test_other_code_is_silent(text: str) -> None:
    assert found(source(text), CODE) == []
