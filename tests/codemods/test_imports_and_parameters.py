from __future__ import annotations

import ast

import pytest

from codemods.helpers import changed
from devicefix.codemods.changes import AddImport, AddParameter, RemoveComment
from devicefix.codemods.imports import bound_name
from devicefix.engine.selfcheck import CheckFailed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", "import torch\n\nx = 1\n"),
        ("", "import torch\n"),
        ("# only a comment", "# only a comment\nimport torch\n"),
        ('"""doc"""\nx = 1\n', '"""doc"""\n\nimport torch\n\nx = 1\n'),
        ('"""doc"""\n\n\nx = 1\n', '"""doc"""\n\nimport torch\n\n\nx = 1\n'),
        ('"""doc"""\n', '"""doc"""\n\nimport torch\n'),
        ("import os\n\nx = 1\n", "import os\nimport torch\n\nx = 1\n"),
        ("from __future__ import annotations\nx = 1\n", "from __future__ import annotations\nimport torch\nx = 1\n"),
        ("#!/usr/bin/python\n# licence\n\nx = 1\n", "#!/usr/bin/python\n# licence\n\nimport torch\n\nx = 1\n"),
        (
            "import os\nif TYPE_CHECKING:\n    import torch\nx = 1\n",
            "import os\nimport torch\nif TYPE_CHECKING:\n    import torch\nx = 1\n",
        ),
        (
            "import os\ntry:\n    import torch\nexcept ImportError:\n    pass\n",
            "import os\nimport torch\ntry:\n    import torch\nexcept ImportError:\n    pass\n",
        ),
        ("import os\ndef f(): pass\nimport sys\n", "import os\nimport torch\ndef f(): pass\nimport sys\n"),
        (
            "import os\nos.environ['A'] = '1'\nimport sys\nx = 1\n",
            "import os\nos.environ['A'] = '1'\nimport sys\nimport torch\nx = 1\n",
        ),
        ("from a import (\n    b,\n)\nx = 1\n", "from a import (\n    b,\n)\nimport torch\nx = 1\n"),
        ("import os\r\nx = 1\r\n", "import os\r\nimport torch\r\nx = 1\r\n"),
        ("import torch as th\nx = 1\n", "import torch as th\nimport torch\nx = 1\n"),
        ("import torch\nx = 1\n", "import torch\nx = 1\n"),
        ("import torch.nn\n", "import torch.nn\n"),
        ("import os, torch\n", "import os, torch\n"),
    ],
)
def test_an_import_goes_after_the_imports(before: str, after: str) -> None:
    assert changed(before, lambda s: [AddImport("torch")]) == after


def test_a_name_is_imported_from_a_module_once() -> None:
    assert changed("import os\n", lambda s: [AddImport("torch", "nn")]) == "import os\nfrom torch import nn\n"
    assert (
        changed("from torch import nn, optim\n", lambda s: [AddImport("torch", "nn")])
        == "from torch import nn, optim\n"
    )


def test_an_alias_can_be_asked_for() -> None:
    tree = ast.parse("import torch as th\nfrom torch import nn as n\ntry:\n    import os\nexcept E:\n    pass\n")
    assert bound_name(tree, "torch") == "th"
    assert bound_name(tree, "torch", "nn") == "n"
    assert bound_name(tree, "os") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): pass\n", "def f(device=None): pass\n"),
        ("def f(a): pass\n", "def f(a, device=None): pass\n"),
        ("def f(a, b=1): pass\n", "def f(a, b=1, device=None): pass\n"),
        ("def f(a, *args): pass\n", "def f(a, *args, device=None): pass\n"),
        ("def f(a, *, b): pass\n", "def f(a, *, b, device=None): pass\n"),
        ("def f(a, **kw): pass\n", "def f(a, device=None, **kw): pass\n"),
        ("def f(**kw): pass\n", "def f(device=None, **kw): pass\n"),
        ("def f(*args, **kw): pass\n", "def f(*args, device=None, **kw): pass\n"),
        ("def f(a, *, b=2, **kw): pass\n", "def f(a, *, b=2, device=None, **kw): pass\n"),
        ("def f(a, /): pass\n", "def f(a, /, device=None): pass\n"),
        ("def f(a, /, b): pass\n", "def f(a, /, b, device=None): pass\n"),
        ("def f(\n    a,\n    b,\n):\n    pass\n", "def f(\n    a,\n    b,\n    device=None,\n):\n    pass\n"),
        (
            "def f(\n    a,\n    b  # two\n):\n    pass\n",
            "def f(\n    a,\n    b,  # two\n    device=None\n):\n    pass\n",
        ),
        ("def f(\n    a,\n    **kw,\n):\n    pass\n", "def f(\n    a,\n    device=None,\n    **kw,\n):\n    pass\n"),
        (
            "def f(a: int = (1), b: 'x' = {}) -> int: pass\n",
            "def f(a: int = (1), b: 'x' = {}, device=None) -> int: pass\n",
        ),
        ("async def f(a): pass\n", "async def f(a, device=None): pass\n"),
        ("class A:\n    @g(1)\n    def f(self): pass\n", "class A:\n    @g(1)\n    def f(self, device=None): pass\n"),
    ],
)
def test_a_parameter_is_added_last(before: str, after: str) -> None:
    assert changed(before, lambda s: [AddParameter(function(s), "device=None")]) == after


def function(source):  # type: ignore[no-untyped-def]
    return next(n for n in ast.walk(source.tree()) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def test_a_parameter_may_be_annotated() -> None:
    code = "def f(a): pass\n"
    got = changed(code, lambda s: [AddParameter(function(s), "device: torch.device | None = None")])
    assert got == "def f(a, device: torch.device | None = None): pass\n"


@pytest.mark.parametrize(
    ("code", "parameter"),
    [
        ("def f(device): pass\n", "device=None"),
        ("def f(a=1): pass\n", "device"),
        ("def f(*device): pass\n", "device=1"),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(code: str, parameter: str) -> None:
    with pytest.raises(CheckFailed):
        changed(code, lambda s: [AddParameter(function(s), parameter)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # gone\ny\n", "x = 1\ny\n"),
        ("# gone\nx = 1\n", "x = 1\n"),
        ("x = 1\n# gone", "x = 1\n"),
        ("if c:\r\n\t# gone\r\n\tx\r\n", "if c:\r\n\tx\r\n"),
    ],
)
def test_a_comment_is_removed_with_its_space_or_line(before: str, after: str) -> None:
    start = before.index("#")
    assert changed(before, lambda s: [RemoveComment(start, start + len("# gone"))]) == after
