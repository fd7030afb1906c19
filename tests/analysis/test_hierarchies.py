"""Classes with bases, here and in other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.running import code, codes, project_codes

ATTRIBUTE = "    def __init__(self):\n        super().__init__()\n        self.t = torch.ones(3)\n\n    def forward(self, x):\n        return x.unsqueeze(0) + self.t\n"
HEAD = "import torch\nfrom torch import nn\n"

MODULES = [
    pytest.param(f"class Net(nn.Module):\n{ATTRIBUTE}", id="direct"),
    pytest.param(f"class Base(nn.Module):\n    pass\n\n\nclass Net(Base):\n{ATTRIBUTE}", id="one-between"),
    pytest.param(f"class A(nn.Module):\n    pass\n\n\nclass B(A):\n    pass\n\n\nclass Net(B):\n{ATTRIBUTE}", id="two-between"),
    pytest.param(f"class Mixin:\n    pass\n\n\nclass Net(Mixin, nn.Module):\n{ATTRIBUTE}", id="mixin-first"),
    pytest.param(f"class Net(nn.Sequential):\n{ATTRIBUTE}", id="sequential"),
    pytest.param(f"Base = nn.Module\n\n\nclass Net(Base):\n{ATTRIBUTE}", id="alias-of-the-base"),
    pytest.param(f"import typing\nT = typing.TypeVar('T')\n\n\nclass Net(nn.Module, typing.Generic[T]):\n{ATTRIBUTE}", id="generic"),
]  # fmt: skip


@pytest.mark.parametrize("text", MODULES)
def test_a_module_by_any_way(text: str) -> None:
    assert codes(code(text)) == ["DVF301"]


PLAIN = [
    pytest.param(f"class Net:\n{ATTRIBUTE}", id="no-base"),
    pytest.param(f"class Net(dict):\n{ATTRIBUTE}", id="dict"),
    pytest.param(f"from somewhere import Base\n\n\nclass Net(Base):\n{ATTRIBUTE}", id="unknown-base"),
    pytest.param(f"class Net(Net):\n{ATTRIBUTE}", id="its-own-base"),
    pytest.param(f"class A(B):\n    pass\n\n\nclass B(A):\n    pass\n\n\nclass Net(A):\n{ATTRIBUTE}", id="cycle"),
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_module_is_not_taken_for_one(text: str) -> None:
    assert "DVF301" not in codes(code(text))


BASE = f"{HEAD}\n\nclass Base(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n\n    def noise(self, x):\n        return torch.zeros(3)\n"
LAYOUTS = [
    pytest.param({"base.py": BASE}, "main.py", "from base import Base", "Base", id="neighbour"),
    pytest.param({"p/__init__.py": "", "p/base.py": BASE}, "p/main.py", "from .base import Base", "Base", id="relative"),
    pytest.param({"p/__init__.py": "from .base import Base", "p/base.py": BASE}, "p/main.py", "from . import Base", "Base", id="re-export"),
    pytest.param({"base.py": BASE, "middle.py": "from base import Base\n\n\nclass Middle(Base):\n    pass\n"}, "main.py", "import middle", "middle.Middle", id="three-files"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "main", "imports", "base"), LAYOUTS)
def test_a_base_class_in_another_file(
    tmp_path: Path, files: dict[str, str], main: str, imports: str, base: str
) -> None:
    text = f"{HEAD}{imports}\n\n\nclass Net({base}):\n{ATTRIBUTE}"
    assert [c for c, _ in project_codes(tmp_path, {**files, main: text}, main)] == ["DVF301"]


def test_an_inherited_layer_says_where_the_module_is(tmp_path: Path) -> None:
    text = f"{HEAD}from base import Base\n\n\nclass Net(Base):\n    def forward(self, x):\n        return self.fc(x) + torch.ones(3)\n\n\ndef run(device):\n    return Net().to(device)(torch.ones(2, 3, device=device))\n"
    assert [c for c, _ in project_codes(tmp_path, {"base.py": BASE, "main.py": text}, "main.py")] == ["DVF201"]


def test_a_fault_in_another_file_is_reported_there_only(tmp_path: Path) -> None:
    text = f"{HEAD}from base import Base\n\n\nclass Net(Base):\n    def forward(self, x):\n        return self.fc(x) + self.noise(x)\n\n\ndef run(device):\n    return Net().to(device)(torch.ones(2, 3, device=device))\n"
    assert project_codes(tmp_path, {"base.py": BASE, "main.py": text}, "main.py") == []


def test_super_reaches_the_method_of_the_base() -> None:
    text = code(
        "class Base(nn.Module):\n    def forward(self, x):\n        return torch.zeros(3)\n\n\n"
        "class Net(Base):\n    def forward(self, x):\n        return x.unsqueeze(0) + super().forward(x)"
    )
    assert codes(text) == ["DVF201"]


def test_an_overridden_method_is_the_one_that_counts() -> None:
    text = code(
        "class Base(nn.Module):\n    def start(self, x):\n        return torch.zeros(3)\n\n    def forward(self, x):\n        return x.unsqueeze(0) + self.start(x)\n\n\n"
        "class Net(Base):\n    def start(self, x):\n        return x.new_zeros(3)\n\n\ndef run(device):\n    return Net().to(device)(torch.ones(3, device=device))"
    )
    assert codes(text) in ([], ["DVF201"])  # Base may be used by itself
