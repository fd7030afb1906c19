"""What is passed over without a close look holds no finding.

``DEVICEFIX_CORPUS`` names a folder of packages to compare on as well, ``DEVICEFIX_CORPUS_STEP`` takes every nth file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import devicefix
from devicefix.analysis.entry import analyse
from devicefix.analysis.facts import FileFacts
from devicefix.analysis.prefilter import glance, may_have_findings
from devicefix.analysis.project import Project
from devicefix.engine.check import check_source, known_rules
from devicefix.settings import Settings
from devicefix.source import SourceError, SourceText, load_source

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").rglob("*.py"))
CORPUS = os.environ.get("DEVICEFIX_CORPUS", "")
Found = set[tuple[str, int, int, str]]


def of_rules(facts: FileFacts) -> Found:
    found = [f for rule in known_rules() for f in rule.check(facts)]
    return {(f.code, f.span.start.line, f.span.start.column, f.message) for f in found}


def unfiltered(path: Path, roots: list[Path], *, everything: bool = False) -> Found:
    source = SourceText.from_bytes(path.read_bytes(), path)
    return of_rules(analyse(source, project=Project(roots), settings=Settings(), everything=everything))


def filtered(path: Path, roots: list[Path]) -> Found:
    """As a run does it."""
    raw = path.read_bytes()
    if not may_have_findings(raw):
        return set()
    source = load_source(raw, path)
    result = check_source(source, project=Project(roots), rules=None)
    return {(f.code, f.span.start.line, f.span.start.column, f.message) for f in result.findings if f.code != "DVF901"}


def corpus() -> Iterator[Path]:
    step = int(os.environ.get("DEVICEFIX_CORPUS_STEP", "97"))
    yield from sorted(Path(CORPUS).rglob("*.py"))[::step]


def package(path: Path) -> list[Path]:
    """The folder below the corpus that holds a file."""
    return [Path(CORPUS) / path.relative_to(CORPUS).parts[0]]


# -- on real files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: "/".join(path.parts[-3:]))
def test_the_filter_passes_every_finding(path: Path) -> None:
    if "ignore" in path.read_text("utf-8", "replace"):
        pytest.skip("has suppressions")
    found = unfiltered(path, [path.parent])
    assert filtered(path, [path.parent]) == found
    nothing, _ = glance(load_source(path.read_bytes(), path))
    assert not (nothing and found)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: "/".join(path.parts[-3:]))
def test_functions_that_do_not_matter_hold_no_finding(path: Path) -> None:
    assert unfiltered(path, [path.parent], everything=True) == unfiltered(path, [path.parent])


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="needs DEVICEFIX_CORPUS")
def test_the_filter_passes_every_finding_in_real_packages() -> None:
    lost, passed, seen = [], 0, 0
    for path in corpus():
        try:
            raw = path.read_bytes()
            found = unfiltered(path, package(path))
        except SourceError:
            continue
        seen += 1
        nothing = not may_have_findings(raw) or glance(load_source(raw, path))[0]
        passed += not nothing
        if nothing and found:
            lost.append((str(path), sorted(found)))
    print(f"{passed} of {seen} files pass")
    assert not lost


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="needs DEVICEFIX_CORPUS")
def test_functions_that_do_not_matter_hold_no_finding_in_real_packages() -> None:
    different = []
    for path in corpus():
        try:
            usual = unfiltered(path, package(path))
            every = unfiltered(path, package(path), everything=True)
        except SourceError:
            continue
        if usual != every:
            different.append((str(path), sorted(every - usual), sorted(usual - every)))
    for path_, lost, gained in different:
        print(path_, "lost:", lost, "gained:", gained)
    assert not different


# -- what passes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n",
        "x.cuda()\n",
        "device = 'cuda:0'\n",
        "x.to(device)\n",
        "x . to(device)\n",
        "(x.  # moved\n  to(device))\n",
        "x.\\\n  to(device)\n",
        "x.half()\n",
        "from .model import Net\n",
        "from . import model\n",
        "from.model import Net\n",
        "from \\\n  model import Net\n",
        "import model\n",
        "import os, model\n",
        "import os, \\\n  model\n",
        "import json as j, model as m\n",
        "if True: import model\n",
        "x = 1; import model\n",
        "try:\n\timport model\nexcept ImportError:\n    pass\n",
        "x = 1\rimport model\r",
        "\x0cimport model\n",
        "from lib import *\n",
        "x.ｔｏ(device)\n",
        "import mｏdel\n",
        '{"cells": [{"cell_type": "code", "source": ["import model\\n", "model.f()"]}]}',
        '{"cells": [{"cell_type": "code", "source": "x = 1\\nfrom model import f"}]}',
        "# coding: utf-7\nx = 1\n",
    ],
)
def test_what_may_lead_to_a_finding_passes(text: str) -> None:
    assert may_have_findings(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        "import os\nimport sys, json as j\nfrom collections import abc\nfrom os.path import join\n",
        "import numpy as np\n\n\ndef f(a):\n    return np.zeros(3) + a\n",
        "def f(x):\n    return int(x) + float(x)\n",
        "s = 'é ü 日本'\nprint(s)\n",
        '"""Words from the text, and to import."""\nfrom __future__ import annotations\n',
        "def to(x):\n    return to(x)\n",
    ],
)
def test_what_leads_to_nothing_does_not(text: str) -> None:
    assert not may_have_findings(text.encode())


@pytest.mark.parametrize("name", ["torch", "cuda", "cuda:1"])
def test_words_count_wherever_they_stand(name: str) -> None:
    for around in ("{}", "# {}\n", "x = '{}'\n", "a{}b = 1\n", "é {}"):
        assert may_have_findings(around.format(name).encode("utf-8"))
        assert may_have_findings(around.format(name).encode("latin-1"))


def test_no_text_takes_long() -> None:
    for piece in (b".# ", b". \\\n", b"#", b"import a, ", b"from ", b" ", b"\\n  ", b"\xef\xbd\x94"):
        begin = time.perf_counter()
        may_have_findings(b"." + piece * 100_000)
        assert time.perf_counter() - begin < 5, piece


def test_a_glance_needs_no_interpreter() -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom devicefix.analysis.prefilter import glance\nfrom devicefix.source import SourceText\n"
        "source = SourceText.from_bytes(b'import torch\\n\\ndef f(x):\\n    return torch.relu(x)\\n', 'a.py')\n"
        "print(glance(source)[0], 'devicefix.analysis.interpreter' in sys.modules)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(devicefix.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "True False\n"


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("import torch\n\n\ndef f(x):\n    return torch.relu(x)\n", True),
        ("import torch\n\n\ndef f(x):\n    return torch.zeros(3) + x\n", False),
        ("import torch\n\n\ndef f(x, d):\n    x.to(d)\n    return x\n", False),
        ("import torch\nd = 'cuda'\n", False),
    ],
)
def test_a_glance_at_a_tree(text: str, nothing: bool) -> None:
    assert glance(SourceText.from_bytes(text.encode(), "a.py"))[0] is nothing


def test_deep_nesting_is_no_obstacle() -> None:
    text = "import torch\nx = " + " + ".join(["1"] * 2000) + "\n"
    assert glance(SourceText.from_bytes(text.encode(), "a.py"))[0]
