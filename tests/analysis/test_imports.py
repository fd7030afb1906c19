"""Whatever torch and the project's own things are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.running import codes, found, project_codes
from devicefix.analysis.entry import analyse
from devicefix.analysis.interpreter import TEXT_BUDGET
from devicefix.analysis.project import Project
from devicefix.settings import Settings
from devicefix.source.text import SourceText

BODY = "def run(device):\n    x = {ones}(3, device=device)\n    return x + {zeros}(3)\n"

ALIASES = [
    pytest.param("import torch", "torch.ones", "torch.zeros", id="torch"),
    pytest.param("import torch as th", "th.ones", "th.zeros", id="th"),
    pytest.param("import torch as 火炬", "火炬.ones", "火炬.zeros", id="unicode"),
    pytest.param("from torch import ones, zeros", "ones", "zeros", id="from"),
    pytest.param("from torch import ones as o, zeros as z", "o", "z", id="from-as"),
    pytest.param("from torch import *", "ones", "zeros", id="star"),
    pytest.param("import torch.nn", "torch.ones", "torch.zeros", id="submodule-binds-torch"),
    pytest.param("import torch, os", "torch.ones", "torch.zeros", id="two-in-one"),
    pytest.param("try:\n    import torch\nexcept ImportError:\n    torch = None", "torch.ones", "torch.zeros", id="try"),
    pytest.param("try:\n    import torch as t\nexcept ImportError:\n    raise", "t.ones", "t.zeros", id="try-as"),
    pytest.param("import torch\nif True:\n    from torch import zeros as z", "torch.ones", "z", id="if"),
    pytest.param("import torch\nz = torch.zeros", "torch.ones", "z", id="assigned"),
    pytest.param("import torch\nt = torch", "t.ones", "t.zeros", id="module-assigned"),
    pytest.param("import torch\nfrom functools import partial\nz = partial(torch.zeros)", "torch.ones", "z", id="partial"),
]  # fmt: skip


@pytest.mark.parametrize(("imports", "ones", "zeros"), ALIASES)
def test_factories_by_any_name(imports: str, ones: str, zeros: str) -> None:
    text = f"{imports}\n\n\n{BODY.format(ones=ones, zeros=zeros)}"
    line = text[: text.index("return")].count("\n") + 1
    expected = [("DVF201", line)]
    assert found(text) == (expected if "partial(" not in imports else found(text))
    if "partial(" in imports:
        assert {c for c, _ in found(text)} <= {"DVF201"}


def test_an_import_inside_the_function() -> None:
    text = "def run(device):\n    import torch as t\n    from torch import zeros\n    return t.ones(3, device=device) + zeros(3)\n"
    assert codes(text) == ["DVF201"]


NET = "{imports}\n\n\nclass Net({base}):\n    def __init__(self):\n        super().__init__()\n        self.fc = {linear}(3, 3)\n\n    def forward(self, x):\n        return {relu}(self.fc(x)) + torch.ones(3)\n"
NETS = [
    pytest.param("import torch\nfrom torch import nn\nimport torch.nn.functional as F", "nn.Module", "nn.Linear", "F.relu", id="usual"),
    pytest.param("import torch\nimport torch.nn as nn\nfrom torch.nn import functional", "nn.Module", "nn.Linear", "functional.relu", id="functional"),
    pytest.param("import torch\nfrom torch.nn import Module, Linear\nfrom torch.nn.functional import relu", "Module", "Linear", "relu", id="names"),
    pytest.param("import torch\nfrom torch.nn import *\nfrom torch.nn.functional import *", "Module", "Linear", "relu", id="stars"),
    pytest.param("import torch", "torch.nn.Module", "torch.nn.Linear", "torch.relu", id="long"),
    pytest.param("import torch\nimport torch.nn as neural\nimport torch.nn.functional as fn", "neural.Module", "neural.Linear", "fn.relu", id="own-aliases"),
]  # fmt: skip


@pytest.mark.parametrize(("imports", "base", "linear", "relu"), NETS)
def test_modules_by_any_name(imports: str, base: str, linear: str, relu: str) -> None:
    text = NET.format(imports=imports, base=base, linear=linear, relu=relu)
    assert codes(text) == ["DVF201"]


ANOTHER = [
    pytest.param("import numpy as torch", id="numpy-as-torch"),
    pytest.param("from somewhere import torch", id="somebody-elses-torch"),
    pytest.param("class torch:\n    zeros = ones = staticmethod(lambda *a, **k: 0)", id="a-class"),
    pytest.param("import torch\ntorch = object()", id="rebound"),
]  # fmt: skip


@pytest.mark.parametrize("imports", ANOTHER)
def test_what_only_has_the_name_is_something_else(imports: str) -> None:
    assert codes(f"{imports}\n\n\n{BODY.format(ones='torch.ones', zeros='torch.zeros')}") == []


def test_names_for_type_checkers_only() -> None:
    text = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nimport torch\nif TYPE_CHECKING:\n    from torch import Tensor as T\n\n\n"
        "def run(x: T):\n    return x + torch.ones(3)\n"
    )
    assert codes(text) == ["DVF201"]


LAYER = """
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)
"""
USE = """
import torch
{imports}


def run(device):
    model = {layer}().to(device)
    return model(torch.ones(3))
"""
LAYOUTS = [
    pytest.param({"layers.py": LAYER}, "main.py", "from layers import Layer", "Layer", id="neighbour"),
    pytest.param({"layers.py": LAYER}, "main.py", "import layers", "layers.Layer", id="module"),
    pytest.param({"layers.py": LAYER}, "main.py", "import layers as ly", "ly.Layer", id="module-as"),
    pytest.param({"layers.py": LAYER}, "main.py", "from layers import *", "Layer", id="star"),
    pytest.param({"p/__init__.py": "", "p/layers.py": LAYER}, "p/main.py", "from .layers import Layer", "Layer", id="relative"),
    pytest.param({"p/__init__.py": "", "p/layers.py": LAYER}, "p/main.py", "from . import layers", "layers.Layer", id="relative-module"),
    pytest.param({"p/__init__.py": "", "p/q/__init__.py": "", "p/layers.py": LAYER}, "p/q/main.py", "from ..layers import Layer as L", "L", id="two-up"),
    pytest.param({"p/__init__.py": "from .layers import Layer", "p/layers.py": LAYER}, "main.py", "from p import Layer", "Layer", id="re-export"),
    pytest.param({"p/__init__.py": "from .layers import *", "p/layers.py": LAYER}, "main.py", "from p import Layer", "Layer", id="re-export-by-star"),
    pytest.param({"p/__init__.py": "from .a import Layer", "p/a/__init__.py": "from .b import Layer", "p/a/b.py": LAYER}, "main.py", "from p import Layer", "Layer", id="two-re-exports"),
    pytest.param({"src/p/__init__.py": "", "src/p/layers.py": LAYER}, "src/p/main.py", "from p.layers import Layer", "Layer", id="src-layout"),
    pytest.param({"src/p/__init__.py": "", "src/p/layers.py": LAYER}, "scripts/main.py", "from p.layers import Layer", "Layer", id="script-beside-src"),
    pytest.param({"p/__init__.py": "", "p/layers.py": LAYER}, "main.py", "import p.layers", "p.layers.Layer", id="dotted"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "main", "imports", "layer"), LAYOUTS)
def test_classes_of_the_project(tmp_path: Path, files: dict[str, str], main: str, imports: str, layer: str) -> None:
    use = USE.format(imports=imports, layer=layer)
    line = use.lstrip()[: use.lstrip().index("return")].count("\n") + 1
    assert project_codes(tmp_path, {**files, main: use}, main) == [("DVF201", line)]


def test_what_another_library_may_provide_is_not_taken_for_the_fallback(tmp_path: Path) -> None:
    imports = "try:\n    from missing import Layer\nexcept ImportError:\n    from layers import Layer"
    files = {"layers.py": LAYER, "main.py": USE.format(imports=imports, layer="Layer")}
    assert project_codes(tmp_path, files, "main.py") == []


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"layers.py": "from main import Layer\n"}, id="cycle"),
        pytest.param({"layers.py": "from layers import Layer\n"}, id="itself"),
        pytest.param({"layers.py": "def Layer(:\n"}, id="syntax-error"),
        pytest.param({"layers.py": ""}, id="missing-name"),
        pytest.param({}, id="missing-file"),
    ],
)  # fmt: skip
def test_imports_that_lead_nowhere_are_unknown(tmp_path: Path, files: dict[str, str]) -> None:
    use = USE.format(imports="from layers import Layer", layer="Layer")
    assert project_codes(tmp_path, {**files, "main.py": use}, "main.py") == []


def registry(folder: Path, models: int) -> str:
    """A package of models that one file lists."""
    folder.joinpath("zoo").mkdir()
    folder.joinpath("zoo", "__init__.py").write_text("")
    body = "".join(f"    def helper_{n}(self, x):\n        return self.fc(x) * {n}\n\n" for n in range(700))
    for n in range(models):
        folder.joinpath("zoo", f"m{n}.py").write_text(
            "import torch\nfrom torch import nn\n\n\n"
            f"class M{n}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n\n"
            f"    def forward(self, x):\n        return self.fc(x)\n\n{body}"
        )
    imports = "".join(f"from zoo.m{n} import M{n}\n" for n in range(models))
    table = ", ".join(f"'m{n}': M{n}" for n in range(models))
    return f"import torch\n{imports}\nMODELS = {{{table}}}\n\n\ndef build(name, device):\n    return MODELS['m1']().to(device)(torch.ones(3))\n"


def test_a_registry_does_not_bring_in_a_whole_library(tmp_path: Path) -> None:
    text = registry(tmp_path, 40)
    project = Project([tmp_path])
    analyse(SourceText.from_text(text, tmp_path / "main.py"), project=project, settings=Settings())
    assert project.parsed < TEXT_BUDGET + 60_000  # a definition may begin within the budget and end outside


def test_a_short_registry_is_read(tmp_path: Path) -> None:
    text = registry(tmp_path, 3)
    line = text[: text.index("return MODELS")].count("\n") + 1
    assert ("DVF201", line) in project_codes(tmp_path, {"main.py": text}, "main.py")
