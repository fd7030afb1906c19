"""A file in parts is the same as the whole file."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

import devicefix
from devicefix.analysis.bindings import OutlineBindings, bindings_of
from devicefix.source.errors import SourceError
from devicefix.source.outline import Outline

FILES = sorted(Path(devicefix.__file__).parent.rglob("*.py")) + sorted(Path(ast.__file__).parent.glob("*.py"))[:120]


def dumped(table: Mapping[str, list[ast.stmt]], outline: Outline | None = None) -> dict[str, list[str]]:
    return {name: [ast.dump(complete(s, outline), include_attributes=True) for s in table[name]] for name in table}


def complete(statement: ast.stmt, outline: Outline | None) -> ast.stmt:
    """The statement with the methods that were left out, each parsed on its own."""
    members = outline.members(statement) if outline is not None and isinstance(statement, ast.ClassDef) else None
    if members is None:
        return statement
    assert isinstance(statement, ast.ClassDef)
    methods = [members.method(part) for found in members.methods.values() for part in found]
    statement.body = sorted((*statement.body, *methods), key=lambda s: (s.lineno, s.col_offset))
    last = statement.body[-1]
    statement.end_lineno, statement.end_col_offset = last.end_lineno, last.end_col_offset
    return statement


def both(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]], int]:
    """The bindings of the parts and of the whole, and how often the whole was parsed for the first."""
    asked = []

    def whole() -> dict[str, list[ast.stmt]]:
        asked.append(1)
        return bindings_of(ast.parse(text).body)

    outline = Outline(text, "m.py")
    return dumped(OutlineBindings(outline, whole), outline), dumped(whole()), len(asked) - 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    text = path.read_text("utf-8")
    try:
        parts, whole, _ = both(text)
    except SourceError:
        ast.parse(text)  # the caller parses it as a whole, then
        return
    assert parts == whole


PARTS = [
    "def f():\n    pass\n",
    "class A:\n    def f(self):\n        pass\n\n    x = 1\n",
    "async  def f(x):\n    await x\n",
    "def f(): return 1\nx = f()\n",
    "class A: pass\nclass B(A): pass\n",
    "@deco\n@other(\n    1,\n)\ndef f():\n    pass\n\n\nx = 1\n",
    "@deco\n\n# a comment\nclass A:\n    pass\n",
    "def f(\n    a,\n) -> int:\n    return a\n",
    "def f[T](a: T) -> T:\n    return a\n" if hasattr(ast, "TypeAlias") else "def f():\n    pass\n",
    "x = [\n1,\n2,\n]\ndef f():\n    pass\n",
    "if x:\n    def f():\n        pass\nelse:\n    f = None\n",
    "try:\n    import a\nexcept ImportError:\n    def a():\n        pass\n",
    "f = 1\ndef f():\n    pass\nf = 2\ndef f(x):\n    pass\n",
    "def f():\n    pass\n# about the next one\n\n# more\ndef g():\n    pass\n",
    'def f():\n    """Text\n    more"""\n    return 1\n',
    "x = 1; y = 2\ndef f():\n    pass\n",
    "def f():\n    pass",
    "\n\n\ndef f():\n    pass\n\n\n\n",
    "class defect:\n    pass\nclassy = 1\ndefault = 2\n",
    "def \\\n  f():\n    pass\n",
    'def f():\n    """\ntext in the first column\n"""\n    return 1\n',
    'def f():\n    """\ndef g():\n    pass\n"""\n\n\ndef h():\n    pass\n',
    'class A:\n    x = """\nclass B:\n"""\n    y = 1\n',
    'x = """\ndef f():\n    pass\n"""\n\n\ndef g():\n    pass\n',
    'x = g("""\nclass A:\n    pass\n""", """\ndef f():\n    pass\n""")\n',
    "@deco('''\nclass A:\n    pass\n''')\ndef f():\n    pass\n\n\ndef g():\n    pass\n",
]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", PARTS)
def test_parts(text: str, ends: str) -> None:
    text = text.replace("\n", ends)
    parts, whole, _ = both(text)
    assert parts == whole


@pytest.mark.parametrize(
    "text",
    [
        "def f(x=[\n1,\n2]):\n    pass\n",
        "def f(x=(\n1)):\n    pass\n",
    ],
)
def test_what_does_not_stand_on_its_own_is_parsed_as_a_whole(text: str) -> None:
    try:
        parts, whole, asked = both(text)
    except SourceError:
        return
    assert asked
    assert set(whole) <= set(parts)
    assert {name: parts[name] for name in whole} == whole


@pytest.mark.parametrize(
    "text",
    [
        "a = \"'''\"\ndef f():\n    pass\n\n\ndef g():\n    pass\nb = \"'''\"\n",
        "def f():\n    pass  # '''\n\n\ndef g():\n    pass\n",
        "def f():\n    return \"'''\"\n\n\n@deco\nclass A:\n    pass\n",
        "x = 1  # '''\ndef f():\n    return '''\ndef g():\n    pass\n'''\n",
    ],
)
def test_quotes_that_lead_astray(text: str) -> None:
    try:
        parts, whole, _ = both(text)
    except SourceError:
        return  # the caller parses it as a whole, then
    assert parts == whole


def test_only_what_is_asked_for_is_parsed() -> None:
    text = "import a\n" + "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(100))
    outline = Outline(text, "m.py")
    before = outline.parsed
    [function] = outline.statements("f50")
    assert isinstance(function, ast.FunctionDef)
    assert function.lineno == 2 + 4 * 50
    assert before < 20
    assert outline.parsed < 60


def test_a_definition_that_is_no_python_is_missing() -> None:
    text = "def f():\n    print 1\n\n\nclass A:\n    pass\n"

    def whole() -> dict[str, list[ast.stmt]]:
        raise SourceError("m.py", "syntax error", 2, 5)

    table = OutlineBindings(Outline(text, "m.py"), whole)
    assert "A" in table
    assert len(table["A"]) == 1
    assert table.get("f") is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch.nn as nn", ["import torch.nn as nn"]),
        ("import os, torch", ["import os, torch"]),
        ("from torch import (\n        nn,\n        optim,\n    )", ["from torch import nn, optim"]),
        ("from torch import nn; x = 1  # why", ["from torch import nn"]),
        ("from torch import nn, \\\n        optim", []),
        ("import os", []),
    ],
)
def test_imports_of_torch_inside_definitions(code: str, expected: list[str]) -> None:
    text = f"def f():\n    {code}\n    return nn\n\n\ndef g():\n    import os\n"
    found = Outline(text, "m.py").with_torch()
    assert [ast.unparse(s) for s in found if not isinstance(s, ast.FunctionDef)] == expected
    if "\\" in code:
        assert [s.name for s in found if isinstance(s, ast.FunctionDef)] == ["f"]


def test_a_definition_that_was_parsed_gives_its_imports_too() -> None:
    outline = Outline("def f():\n    import torch.nn as nn\n", "m.py")
    outline.statements("f")
    assert [s.name for s in outline.with_torch() if isinstance(s, ast.FunctionDef)] == ["f"]
