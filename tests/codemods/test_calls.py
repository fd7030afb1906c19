from __future__ import annotations

import ast

import pytest

from codemods.helpers import call, changed
from devicefix.codemods.changes import EditCall
from devicefix.engine.selfcheck import CheckFailed


def add(code: str, **options: object) -> str:
    options.setdefault("set_keywords", (("device", "d"),))
    return changed(code, lambda source: [EditCall(call(source.tree(), "f"), **options)])


LAYOUTS = {
    "empty": ("f()\n", "f(device=d)\n"),
    "space in empty": ("f( )\n", "f( device=d)\n"),
    "one": ("f(a)\n", "f(a, device=d)\n"),
    "space before parenthesis": ("f (a)\n", "f (a, device=d)\n"),
    "trailing comma": ("f(a, b,)\n", "f(a, b, device=d,)\n"),
    "trailing comma and space": ("f(a, )\n", "f(a, device=d, )\n"),
    "inner space": ("f( a, b )\n", "f( a, b, device=d )\n"),
    "no space between": ("f(a,b)\n", "f(a,b, device=d)\n"),
    "star": ("f(*a)\n", "f(*a, device=d)\n"),
    "kwargs": ("f(**k)\n", "f(device=d, **k)\n"),
    "star and kwargs": ("f(*a, **k)\n", "f(*a, device=d, **k)\n"),
    "argument and kwargs": ("f(a, **k)\n", "f(a, device=d, **k)\n"),
    "two kwargs": ("f(a, **k, **m)\n", "f(a, device=d, **k, **m)\n"),
    "keyword after kwargs": ("f(**k, b=1)\n", "f(device=d, **k, b=1)\n"),
    "generator": ("f(x for x in y)\n", "f((x for x in y), device=d)\n"),
    "generator in its parentheses": ("f((x for x in y))\n", "f((x for x in y), device=d)\n"),
    "present": ("f(a, device='cpu')\n", "f(a, device=d)\n"),
    "present in the middle": ("f(a, device='cpu', b=1)\n", "f(a, device=d, b=1)\n"),
    "present, spaced": ("f(a, device = None)\n", "f(a, device = d)\n"),
    "style of the equal sign": ("f(a, b = 1)\n", "f(a, b = 1, device = d)\n"),
    "one per line": ("f(\n    a,\n    b\n)\n", "f(\n    a,\n    b,\n    device=d\n)\n"),
    "one per line, trailing comma": ("f(\n    a,\n    b,\n)\n", "f(\n    a,\n    b,\n    device=d,\n)\n"),
    "a single one on its line": ("f(\n    a\n)\n", "f(\n    a,\n    device=d\n)\n"),
    "a single one on its line, comma": ("f(\n    a,\n)\n", "f(\n    a,\n    device=d,\n)\n"),
    "closing parenthesis hugs": ("f(a,\n  b)\n", "f(a,\n  b,\n  device=d)\n"),
    "several on one line": ("f(\n    a, b\n)\n", "f(\n    a, b, device=d\n)\n"),
    "several on one line, comma": ("f(\n    a, b,\n)\n", "f(\n    a, b, device=d,\n)\n"),
    "comment on the last": ("f(\n    a,\n    b  # two\n)\n", "f(\n    a,\n    b,  # two\n    device=d\n)\n"),
    "comment behind the comma": (
        "f(\n    a,  # one\n    b,  # two\n)\n",
        "f(\n    a,  # one\n    b,  # two\n    device=d,\n)\n",
    ),
    "comment line at the end": ("f(\n    a,\n    # b,\n)\n", "f(\n    a,\n    # b,\n    device=d,\n)\n"),
    "comment behind several": ("f(\n    a, b  # two\n)\n", "f(\n    a, b, device=d  # two\n)\n"),
    "comment at the top": ("f(  # top\n    a,\n)\n", "f(  # top\n    a,\n    device=d,\n)\n"),
    "multi-line kwargs": ("f(\n    a,\n    **k,\n)\n", "f(\n    a,\n    device=d,\n    **k,\n)\n"),
    "multi-line kwargs alone": ("f(\n    **k\n)\n", "f(\n    device=d,\n    **k\n)\n"),
    "multi-line value": ("f([\n    1,\n    2,\n])\n", "f([\n    1,\n    2,\n], device=d)\n"),
    "tabs": ("if c:\n\tf(\n\t\ta,\n\t\tb,\n\t)\n", "if c:\n\tf(\n\t\ta,\n\t\tb,\n\t\tdevice=d,\n\t)\n"),
    "inside parentheses over lines": ("y = (\n    f(a)\n    .g()\n)\n", "y = (\n    f(a, device=d)\n    .g()\n)\n"),
    "chain before the call": ("y = (\n    x  # c\n    .f(a)\n)\n", "y = (\n    x  # c\n    .f(a, device=d)\n)\n"),
    "after a semicolon": ("a = 1; f(a); b = 2\n", "a = 1; f(a, device=d); b = 2\n"),
    "one-line if": ("if c: f(a)\n", "if c: f(a, device=d)\n"),
    "one-line with": ("with f(a): pass\n", "with f(a, device=d): pass\n"),
    "one-line for": ("for i in f(a): pass\n", "for i in f(a, device=d): pass\n"),
    "condition of elif": (
        "if a:\n    pass\nelif f(a):\n    pass\n",
        "if a:\n    pass\nelif f(a, device=d):\n    pass\n",
    ),
    "decorator": ("@f(a)\ndef g(): pass\n", "@f(a, device=d)\ndef g(): pass\n"),
    "default argument": ("def g(x=f(a)): pass\n", "def g(x=f(a, device=d)): pass\n"),
    "default of a lambda": ("g = lambda x=f(a): x\n", "g = lambda x=f(a, device=d): x\n"),
    "base class": ("class A(f(a)): pass\n", "class A(f(a, device=d)): pass\n"),
    "walrus": ("if (y := f(a)): pass\n", "if (y := f(a, device=d)): pass\n"),
    "backslash": ("y = \\\n  f(a)\n", "y = \\\n  f(a, device=d)\n"),
    "backslash in the call": ("f(a, \\\n  b)\n", "f(a, \\\n  b, device=d)\n"),
    "unicode before": ("é = 'ü😀'; f('é')\n", "é = 'ü😀'; f('é', device=d)\n"),
    "form feed": ("\x0cf(a)\n", "\x0cf(a, device=d)\n"),
    "no final newline": ("f(a)", "f(a, device=d)"),
    "comma and parenthesis in strings": ("f(',)', \"(\")\n", "f(',)', \"(\", device=d)\n"),
    "string over lines": ('f("""\n)\n""")\n', 'f("""\n)\n""", device=d)\n'),
    "callee in parentheses": ("(f)(a)\n", "(f)(a, device=d)\n"),
    "callee is a call": ("g(1).f(a)\n", "g(1).f(a, device=d)\n"),
    "nested in itself": ("f(h(a), h(b))\n", "f(h(a), h(b), device=d)\n"),
    "lambda argument": ("f(lambda x, y: (x, y))\n", "f(lambda x, y: (x, y), device=d)\n"),
    "return": ("def g():\n    return f(a)\n", "def g():\n    return f(a, device=d)\n"),
    "await": ("async def g():\n    await f(a)\n", "async def g():\n    await f(a, device=d)\n"),
    "subscript": ("x[f(a)] = f\n", "x[f(a, device=d)] = f\n"),
    "u2028 in a string": ("a = '\u2028'; f(a)\n", "a = '\u2028'; f(a, device=d)\n"),
}


@pytest.mark.parametrize(("before", "after"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_keyword_is_added_in_the_layout_that_is_there(before: str, after: str) -> None:
    assert add(before) == after


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@pytest.mark.parametrize(("before", "after"), LAYOUTS.values(), ids=LAYOUTS)
def test_other_line_ends_are_kept_and_copied(before: str, after: str, line_end: str) -> None:
    assert add(before.replace("\n", line_end)) == after.replace("\n", line_end)


@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        ("f(a, b)", "f(b)", {"remove_positionals": (0,)}),
        ("f(a, b)", "f(a)", {"remove_positionals": (1,)}),
        ("f(a)", "f()", {"remove_positionals": (0,)}),
        ("f(a, b=1)", "f(a)", {"remove_keywords": ("b",)}),
        ("f(b=1, a=2)", "f(a=2)", {"remove_keywords": ("b",)}),
        ("f(\n    a,\n    b,\n)", "f(\n    a,\n)", {"remove_positionals": (1,)}),
        ("f(\n    a,\n    b\n)", "f(\n    a\n)", {"remove_positionals": (1,)}),
        ("f(a)", "f(z, a)", {"insert_positional": ("z",)}),
        ("f()", "f(z)", {"insert_positional": ("z",)}),
        ("f(\n    a,\n)", "f(\n    z,\n    a,\n)", {"insert_positional": ("z",)}),
        ("f(k=1)", "f(z, k=1)", {"insert_positional": ("z",)}),
        ("f(x for x in y)", "f(z, (x for x in y))", {"insert_positional": ("z",)}),
        ("x.f()", "x.g()", {"method": "g"}),
        ("x.f(0)", "x.g('cuda')", {"method": "g", "remove_positionals": (0,), "insert_positional": ("'cuda'",)}),
        ("x[f].f(0)", "x[f].g(0)", {"method": "g"}),
        ("x.f(0)", "torch.g(0)", {"function": "torch.g"}),
        ("f(0)", "torch.g(0)", {"function": "torch.g"}),
        (
            "f(3, 4)",
            "torch.g(3, 4, dtype=t, device=d)",
            {"function": "torch.g", "set_keywords": (("dtype", "t"), ("device", "d"))},
        ),
        ("(x\n .f  (0)\n)", "(x\n .g  (0)\n)", {"method": "g"}),
    ],
)
def test_other_edits_of_a_call(before: str, after: str, options: dict[str, object]) -> None:
    options.setdefault("set_keywords", ())
    assert add(before + "\n", **options) == after + "\n"


@pytest.mark.parametrize(
    ("code", "options", "reason"),
    [
        ("g(f'{f(a)}')\n", {}, "f-string"),
        ("g(f'{x:{f(a)}}')\n", {}, "f-string"),
        ("f(*a, b)\n", {"remove_positionals": (1,)}, "was not found"),
        ("f(a)\n", {"remove_positionals": (3,)}, "was not found"),
        ("f(a)\n", {"remove_keywords": ("b",)}, "no argument"),
        ("f(\n    a,  # one\n    b,\n)\n", {"remove_positionals": (0,)}, "comment"),
        ("f(\n    a,  # one\n    b,\n)\n", {"remove_positionals": (1,)}, "comment"),
        ("f(a)\n", {"method": "g"}, "not a method call"),
        ("f(a)\n", {"set_keywords": (("device", "1 +"),)}, "."),
        ("f(a)\n", {"set_keywords": (("device", "d, e"),)}, "."),
        ("f(a)\n", {"set_keywords": (("device", "d) + (g"),)}, "."),
    ],
)
def test_what_cannot_be_done_is_refused(code: str, options: dict[str, object], reason: str) -> None:
    with pytest.raises(CheckFailed, match=reason):
        add(code, **options)


def test_two_calls_inside_each_other_are_changed_at_once() -> None:
    def make(source: object) -> list[EditCall]:
        calls = [n for n in ast.walk(source.tree()) if isinstance(n, ast.Call)]  # type: ignore[attr-defined]
        return [EditCall(node, (("device", "d"),)) for node in calls]

    assert changed("f(g(a), g(b,))\n", make) == "f(g(a, device=d), g(b, device=d,), device=d)\n"
