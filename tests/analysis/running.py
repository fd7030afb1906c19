"""Running the analysis on small programs, and looking at what it found out."""

from __future__ import annotations

import textwrap
from pathlib import Path

from devicefix.analysis.entry import analyse
from devicefix.analysis.facts import FileFacts
from devicefix.analysis.frames import Frame
from devicefix.analysis.interpreter import Interpreter
from devicefix.analysis.project import Project
from devicefix.analysis.values import Value
from devicefix.engine.check import check_source
from devicefix.settings import Settings
from devicefix.source.load import load_source

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def code(text: str, *, head: str = HEAD) -> str:
    """Top-level code under the usual imports."""
    return f"{head}{textwrap.dedent(text).strip()}\n"


def facts_of(text: str, *, everything: bool = True) -> FileFacts:
    """What the analysis knows of a program."""
    return analyse(
        load_source(text.encode(), "program.py"), project=Project(), settings=Settings(), everything=everything
    )


def names_of(text: str) -> dict[str, Value]:
    """The values of the global names at the end of a module."""
    project = Project()
    source = load_source(text.encode(), "program.py")
    module = project.add(source.path, source)
    it = Interpreter(project, Settings())
    it.home = module
    it.relevance = None
    names: dict[str, Value] = {}
    it.globals[module] = names
    it.run(Frame(module, None, names), module.tree.body)
    return names


def value_of(body: str, name: str = "x") -> Value:
    """The value of one global name."""
    return names_of(code(body))[name]


def found(text: str) -> list[tuple[str, int]]:
    """(code, line) of every finding."""
    result = check_source(load_source(text.encode(), "program.py"))
    assert result.errors == []
    return [(f.code, f.span.start.line) for f in result.findings]


def codes(text: str) -> list[str]:
    """The codes of all findings."""
    return [code for code, _ in found(text)]


def project_codes(folder: Path, files: dict[str, str], checked: str) -> list[tuple[str, int]]:
    """(code, line) of the findings in one file of a project that is written to a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    path = folder / checked
    result = check_source(load_source(path.read_bytes(), path), project=Project(roots=[folder]))
    assert result.errors == []
    return [(f.code, f.span.start.line) for f in result.findings]
