"""Functions that are passed over hold no finding: interpreting everything finds the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.running import code
from devicefix.analysis.entry import analyse
from devicefix.analysis.project import Project
from devicefix.rules import all_rules
from devicefix.settings import Settings
from devicefix.source.load import load_source
from devicefix.source.text import SourceText

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(p for p in FIXTURES.rglob("*.py") if p.name != "case.py")
FAMILIES = sorted({p.relative_to(FIXTURES).parts[0] for p in FILES})


def findings(source: SourceText, *, everything: bool) -> list[tuple[str, object, str]]:
    facts = analyse(source, project=Project(), settings=Settings(), everything=everything)
    return sorted((f.code, f.span, f.applicability.value) for rule in all_rules() for f in rule.check(facts))


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_missed_in_the_fixtures(family: str) -> None:
    different = []
    for path in FILES:
        if path.relative_to(FIXTURES).parts[0] == family:
            raw = path.read_bytes()
            if findings(load_source(raw, path), everything=False) != findings(load_source(raw, path), everything=True):
                different.append(str(path.relative_to(FIXTURES)))
    assert different == []


PROGRAMS = [
    pytest.param("t = torch.zeros(3)\n\n\ndef run(device):\n    return torch.ones(3, device=device) + t", id="global"),
    pytest.param("t = None\ndef set_up():\n    global t\n    t = torch.zeros(3)\nset_up()\ndef run(device):\n    return torch.ones(3, device=device) + t", id="declared-global"),
    pytest.param("def make():\n    return torch.zeros(3)\n\n\ndef run(device):\n    return torch.ones(3, device=device) + make()", id="helper"),
    pytest.param("make = lambda: torch.zeros(3)\n\n\ndef run(device):\n    return torch.ones(3, device=device) + make()", id="lambda"),
    pytest.param("z = torch.zeros\n\n\ndef run(x):\n    return x.unsqueeze(0) + z(3)", id="alias"),
    pytest.param("class Base(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.t = torch.ones(3)\n\n\nclass Net(Base):\n    def forward(self, x):\n        return x.unsqueeze(0) + self.t", id="inherited-attribute"),
    pytest.param("class Base(nn.Module):\n    def forward(self, x):\n        return torch.zeros(3)\n\n\nclass Net(Base):\n    def forward(self, x):\n        return x.unsqueeze(0) + super().forward(x)", id="super"),
    pytest.param("class Base(nn.Module):\n    def start(self):\n        return torch.zeros(3)\n\n\nclass Net(Base):\n    def forward(self, x):\n        return x.unsqueeze(0) + self.start()", id="inherited-method"),
    pytest.param("class Net(nn.Module):\n    t = torch.ones(3)\n\n    def forward(self, x):\n        return x.unsqueeze(0) + self.t", id="class-attribute"),
    pytest.param("class Net(nn.Module):\n    def forward(self, x):\n        return self.head(x)\n\n    def head(self, x):\n        return x.unsqueeze(0) + self.zeros\n\n    @property\n    def zeros(self):\n        return torch.zeros(3)", id="property"),
    pytest.param("def add(x, y=torch.zeros(3)):\n    return x.unsqueeze(0) + y", id="default"),
    pytest.param("table = {'a': torch.zeros(3)}\n\n\ndef run(x):\n    return x.unsqueeze(0) + table['a']", id="table"),
    pytest.param("def outer(x):\n    t = torch.zeros(3)\n\n    def inner():\n        return x.unsqueeze(0) + t\n\n    return inner()", id="closure"),
    pytest.param("m = nn.Linear(3, 3)\n\n\ndef run(device):\n    m.to(device)\n    return m(torch.ones(3))", id="module-moved-elsewhere"),
    pytest.param("def build():\n    return nn.Linear(3, 3)\n\n\ndef run(x: torch.Tensor, device):\n    return build()(x.to(device))", id="module-built-elsewhere"),
    pytest.param("def deco(f):\n    def inner(x):\n        return f(x.unsqueeze(0) + torch.zeros(3))\n    return inner\n\n\n@deco\ndef run(x):\n    return x", id="decorator"),
]  # fmt: skip


@pytest.mark.parametrize("text", PROGRAMS)
def test_nothing_is_missed_in_small_programs(text: str) -> None:
    raw = code(text).encode()
    some, every = (findings(load_source(raw, "program.py"), everything=e) for e in (False, True))
    assert some == every


def test_a_file_without_anything_is_not_interpreted() -> None:
    facts = analyse(
        load_source(code("def f(x):\n    return x + 1").encode(), "p.py"), project=Project(), settings=Settings()
    )
    assert not facts.records.mixes
    assert not facts.records.scopes
