"""A class whose methods are parsed one by one is the same as the whole class."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import devicefix
from devicefix.analysis.model import ClassInfo, ModuleInfo
from devicefix.analysis.project import Project
from devicefix.source.class_outline import ClassOutline
from devicefix.source.errors import SourceError
from devicefix.source.outline import Outline
from devicefix.source.text import SourceText

FILES = [*Path(devicefix.__file__).parent.rglob("*.py"), *sorted(Path(ast.__file__).parent.glob("*.py"))[120:]]

#: makes a class long enough to be taken apart
LONG = f'    """{"A text. " * 90}"""\n\n'


def in_parts(text: str) -> ModuleInfo:
    source = SourceText.from_text(text, "m.py")
    return ModuleInfo(Path("m.py"), source, Project(), outline=Outline(text, "m.py"))


def whole(text: str) -> ModuleInfo:
    return ModuleInfo(Path("m.py"), SourceText.from_text(text, "m.py"), Project())


def classes(module: ModuleInfo) -> list[ClassInfo]:
    last = (module.bindings[name][-1] for name in sorted(module.bindings))
    return [module.class_(node) for node in last if isinstance(node, ast.ClassDef)]


def facts(cls: ClassInfo) -> tuple[object, ...]:
    methods = {
        name: (info.name, info.cls is cls, ast.dump(info.node, include_attributes=True))
        for name, info in cls.methods.items()
    }
    return cls.name, methods, cls.setters, sorted(cls.assignments), sorted(cls.annotations), sorted(cls.layers)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_classes(path: Path) -> None:
    text = path.read_text("utf-8")
    try:
        parts = in_parts(text)
    except SourceError:
        return
    assert list(map(facts, classes(parts))) == list(map(facts, classes(whole(text))))


BODIES = [
    "    def f(self):\n        pass\n",
    "    def f(self): return 1\n    def g(self): return 2\n",
    "    x = 1\n    def f(self):\n        pass\n    y: int = 2\n    async def g(self):\n        await self\n",
    "    @property\n    def f(self):\n        return 1\n\n    @f.setter\n    def f(self, value):\n        pass\n",
    "    @f.setter\n    def f(self, value):\n        pass\n",
    (
        "    @typing.overload\n    def f(self, x: int): ...\n    @overload\n    def f(self, x: str): ...\n"
        "    def f(self, x):\n        return x\n"
    ),
    "    def f(self):\n        pass\n    def f(self, x):\n        return x\n",
    (
        "    if x:\n        def f(self):\n            pass\n    else:\n        def g(self):\n            pass\n"
        "    def h(self):\n        pass\n"
    ),
    "    class Inner:\n        def f(self):\n            pass\n\n    def g(self):\n        def inner():\n            pass\n",
    "    def f(\n        self,\n        a=1,\n    ) -> int:\n        return a\n    # about g\n    def g(self):\n        pass\n",
    "    def f(self):\n        return '''\n    def g(self):\n        pass\n'''\n    def h(self):\n        pass\n",
    "    text = '''\n    def g(self):\n        pass\n'''\n    def h(self):\n        pass\n",
    "# in the first column\n    def f(self):\n# here too\n        pass\n\n\n# and here\n    g = f\n",
    "    @deco(\n        1,\n    )\n\n    # a comment\n    @other\n    def f(self):\n        pass\n",
    "    x = 1 + \\\n    2\n    def f(self):\n        pass\n",
    "    x = 1; y = 2\n    def f(self):\n        pass; z = 3\n",
    "    def f(self): pass",
]
#: these are parsed as a whole in the end
ASTRAY = [
    "    x = \"'''\"\n    def f(self):\n        pass\n    y = \"'''\"\n    def g(self):\n        pass\n",
    "    def f(self):  # '''\n        pass\n    def g(self):  # '''\n        pass\n",
    "    def f(self, a=[\n    1]):\n        pass\n    def g(self):\n        pass\n",
    "    def f(self, a='\\\n    def h(self):'):\n        pass\n    def g(self):\n        pass\n",
    "    a = [\n    1,\n    2]\n    def g(self):\n        pass\n",
]
HEADS = [
    "class A:\n",
    "class A(B, metaclass=C):  # a comment\n",
    "class A(  # the bases:\n        B,\n        C,\n):\n",
    "@deco({\n    1:\n        2,\n})\nclass A:\n\n",
    "class A \\\n    (B):\n",
    "class A:\n\n    # a comment\n\n",
]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("body", [*BODIES, *ASTRAY])
def test_written_classes(head: str, body: str, ends: str) -> None:
    text = f"import b\n\n\n{head}{LONG}{body}"
    for indented in (text, text.replace("    ", "\t") if "''" not in text else text):
        spelled = indented.replace("\n", ends)
        assert list(map(facts, classes(in_parts(spelled)))) == list(map(facts, classes(whole(spelled))))


@pytest.mark.parametrize("body", BODIES)
def test_methods_are_left_out_at_first(body: str) -> None:
    module = in_parts(f"class A:\n{LONG}{body}")
    [cls] = classes(module)
    assert module.members(cls.node) is not None
    assert not any(isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) for s in cls.node.body)
    methods = {ast.dump(n) for n in cls.walk() if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert {ast.dump(info.node) for info in cls.methods.values()} <= methods


def test_only_what_is_asked_for_is_parsed() -> None:
    text = f"class A(B):\n{LONG}" + "".join(f"    def f{n}(self):\n        return {n}\n\n" for n in range(100))
    module = in_parts(text)
    [cls] = classes(module)
    before = module.parsed
    assert cls.methods["f50"].node.lineno == 4 + 3 * 50
    assert "f99" in cls.methods
    assert "f100" not in cls.methods
    assert cls.methods.get("f100") is None
    assert len(cls.methods) == 100
    assert before < 1500
    assert module.parsed < before + 60


def test_a_method_that_is_no_python_is_an_error() -> None:
    text = f"class A:\n{LONG}    def f(self):\n        print 1\n\n    def g(self):\n        return 1\n"
    outline = Outline(text, "m.py")
    [node] = outline.statements("A")
    assert isinstance(node, ast.ClassDef)
    members = outline.members(node)
    assert isinstance(members, ClassOutline)
    assert isinstance(members.method(members.methods["g"][0]), ast.FunctionDef)
    with pytest.raises(SourceError, match="print"):
        members.method(members.methods["f"][0])
