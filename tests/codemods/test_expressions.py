from __future__ import annotations

import pytest

from codemods.helpers import call, changed, name, statement
from devicefix.codemods.changes import AppendToExpression, EditCall, ReplaceExpression, Unwrap, WrapExpression
from devicefix.engine.selfcheck import CheckFailed


@pytest.mark.parametrize(
    ("before", "start", "after"),
    [
        ("y = f(a)", "f(a)", "y = f(a).to(d)"),
        ("y = a", "a", "y = a.to(d)"),
        ("y = a.b[0]", "a.b[0]", "y = a.b[0].to(d)"),
        ("y = a + b", "a + b", "y = (a + b).to(d)"),
        ("y = (a + b)", "a + b", "y = (a + b).to(d)"),
        ("y = ((a + b))", "a + b", "y = ((a + b)).to(d)"),
        ("y = (a)", "a", "y = (a).to(d)"),
        ("y = -a", "-a", "y = (-a).to(d)"),
        ("y = -a", "a", "y = -a.to(d)"),
        ("y = a @ b", "b", "y = a @ b.to(d)"),
        ("y = 1", "1", "y = (1).to(d)"),
        ("y = 'a'", "'a'", "y = 'a'.to(d)"),
        ("y = [1]", "[1]", "y = [1].to(d)"),
        ("y = (1, 2)", "(1, 2)", "y = (1, 2).to(d)"),
        ("y = 1, 2", "1, 2", "y = (1, 2).to(d)"),
        ("y = a if b else c", "a if b else c", "y = (a if b else c).to(d)"),
        ("y = a if b else c", "c", "y = a if b else c.to(d)"),
        ("y = lambda: a", "lambda: a", "y = (lambda: a).to(d)"),
        ("y = not a", "not a", "y = (not a).to(d)"),
        ("f(a)", "a", "f(a.to(d))"),
        ("f((a))", "a", "f((a).to(d))"),
        ("f((a + b))", "a + b", "f((a + b).to(d))"),
        ("f(a + b)", "a + b", "f((a + b).to(d))"),
        ("f(k=(a))", "a", "f(k=(a).to(d))"),
        ("f(*(a))", "a", "f(*(a).to(d))"),
        ("(f)(a)", "f", "(f).to(d)(a)"),
        ("f(  # c\n  a\n)", "a", "f(  # c\n  a.to(d)\n)"),
        ("y = (  # c\n  a  # d\n)", "a", "y = (  # c\n  a  # d\n).to(d)"),
        ("f(x for x in y)", "(x for x in y)", "f((x for x in y).to(d))"),
        ("for i in a: pass", "a", "for i in a.to(d): pass"),
        ("for i in (a): pass", "a", "for i in (a).to(d): pass"),
        ("return_ = await_[a]", "a", "return_ = await_[a.to(d)]"),
        ("if(a): pass", "a", "if(a).to(d): pass"),
        ("class A(B): pass", "B", "class A(B.to(d)): pass"),
        ("class A((B)): pass", "B", "class A((B).to(d)): pass"),
        ("with (a): pass", "a", "with (a).to(d): pass"),
        ("with (a as b): pass", "a", "with (a.to(d) as b): pass"),
        ("del_ = x[(a)]", "a", "del_ = x[(a).to(d)]"),
        ("y = [z for z in (a) if (b)]", "b", "y = [z for z in (a) if (b).to(d)]"),
        ("y = 'é', ü", "ü", "y = 'é', ü.to(d)"),
    ],
)
def test_a_suffix_binds_to_the_whole_expression(before: str, start: str, after: str) -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [AppendToExpression(expression(source, start), ".to(d)")]

    assert changed(before + "\n", make) == after + "\n"


def expression(source, text):  # type: ignore[no-untyped-def]
    import ast

    return next(n for n in ast.walk(source.tree()) if isinstance(n, ast.expr) and source.segment(n) == text)


@pytest.mark.parametrize(
    ("before", "start", "code", "after"),
    [
        ("y = a", "a", "b + c", "y = b + c"),
        ("y = a * 2", "a", "b + c", "y = (b + c) * 2"),
        ("y = a * 2", "a", "b", "y = b * 2"),
        ("y = (a) * 2", "a", "b + c", "y = (b + c) * 2"),
        ("y = a.b", "a", "b + c", "y = (b + c).b"),
        ("y = a.b", "a", "1", "y = (1).b"),
        ("f(a)", "a", "b if c else d", "f(b if c else d)"),
        ("f(a)", "a", "b, c", "f((b, c))"),
        ("f(k=a)", "a", "b if c else d", "f(k=b if c else d)"),
        ("f(x for x in y)", "(x for x in y)", "z", "f(z)"),
        ("y = [a]", "a", "b if c else d", "y = [(b if c else d)]"),
        ("y = {1: a, **e}", "a", "b if c else d", "y = {1: b if c else d, **e}"),
        ("y = {1: a, **e}", "a", "b, c", "y = {1: (b, c), **e}"),
        ("y = {1: a, **e}", "e", "b if c else d", "y = {1: a, **(b if c else d)}"),
        ("y = x.cuda()", "x.cuda()", "x.to(d)", "y = x.to(d)"),
        ("y = a, b", "a, b", "c", "y = c"),
        ('y = "cuda"', '"cuda"', "device", "y = device"),
    ],
)
def test_a_replacement_keeps_its_precedence(before: str, start: str, code: str, after: str) -> None:
    assert changed(before + "\n", lambda s: [ReplaceExpression(expression(s, start), code)]) == after + "\n"


@pytest.mark.parametrize(
    ("before", "start", "wrap", "after"),
    [
        ("y = a", "a", ("f(", ")"), "y = f(a)"),
        ("y = a + b", "a + b", ("f(", ")"), "y = f(a + b)"),
        ("y = (a + b)", "a + b", ("f(", ")"), "y = f((a + b))"),
        ("y = a, b", "a, b", ("f(", ")"), "y = f((a, b))"),
        ("y = (  # why\n  a\n)", "a", ("f(", ")"), "y = f((  # why\n  a\n))"),
        ("y = a + b", "a + b", ("-", ""), "y = -(a + b)"),
        ("f(x for x in y)", "(x for x in y)", ("g(", ")"), "f(g((x for x in y)))"),
        ("g(*a)", "a", ("f(", ")"), "g(*f(a))"),
    ],
)
def test_wrapping_keeps_the_text_of_the_node(before: str, start: str, wrap: tuple[str, str], after: str) -> None:
    try:
        got = changed(before + "\n", lambda s: [WrapExpression(expression(s, start), *wrap)])
    except CheckFailed:
        got = "refused"
    assert got == after + "\n"


def test_nested_suffixes_come_in_the_order_of_nesting() -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [
            AppendToExpression(call(source.tree(), "g"), ".outer()"),
            AppendToExpression(name(source.tree(), "b"), ".inner()"),
            WrapExpression(statement(source, "y").value, "h(", ")"),  # type: ignore[attr-defined]
        ]

    assert changed("y = a @ g(b)\n", make) == "y = h(a @ g(b.inner()).outer())\n"


@pytest.mark.parametrize("code", ["y = f'{a}'\n", "y = f'{x:{a}}'\n", "y = f'''\n{\na}'''\n"])
def test_nothing_is_changed_inside_an_f_string(code: str) -> None:
    with pytest.raises(CheckFailed, match="f-string"):
        changed(code, lambda s: [AppendToExpression(name(s.tree(), "a"), ".to(d)")])


@pytest.mark.parametrize(
    ("before", "node", "inner", "after"),
    [
        ("y = f(a).to(d)", "f(a).to(d)", "f(a)", "y = f(a)"),
        ("y = f(a).to(d).g()", "f(a).to(d)", "f(a)", "y = f(a).g()"),
        ("y = f(a)", "f(a)", "a", "y = a"),
        ("y = f(a + b)", "f(a + b)", "a + b", "y = a + b"),
        ("y = f(a + b) * 2", "f(a + b)", "a + b", "y = (a + b) * 2"),
        ("y = f((a + b)) * 2", "f((a + b))", "a + b", "y = (a + b) * 2"),
        ("y = (a + b).to(d) * 2", "(a + b).to(d)", "a + b", "y = (a + b) * 2"),
        ("y = f(a + b).g()", "f(a + b)", "a + b", "y = (a + b).g()"),
        ("y = f(1).g()", "f(1)", "1", "y = (1).g()"),
        ("y = f(1) + 2", "f(1)", "1", "y = 1 + 2"),
        ("g(f(a, b))", "f(a, b)", "b", "g(b)"),
        ("g(f((a, b)))", "f((a, b))", "(a, b)", "g((a, b))"),
        ("y = f(\n    g(\n        1,  # one\n    )\n)", "f(*)", "g(*)", "y = g(\n        1,  # one\n    )"),
        ("y = f(\n    a\n    + b\n)", "f(*)", "a\n    + b", "y = (a\n    + b)"),
        ("y = f(\n    a\n    .b()\n).to(d)", "f(*).to(d)", "a\n    .b()", "y = (a\n    .b())"),
        ("y = (\n  f(a\n  .b())\n)", "f(*)", "a\n  .b()", "y = (\n  a\n  .b()\n)"),
    ],
)
def test_what_stands_around_an_expression_goes(before: str, node: str, inner: str, after: str) -> None:
    from fnmatch import fnmatchcase

    def find(source, pattern):  # type: ignore[no-untyped-def]
        import ast

        nodes = [n for n in ast.walk(source.tree()) if isinstance(n, ast.expr)]
        pattern = pattern.replace("[", "[[]")
        return next(n for n in nodes if fnmatchcase(source.segment(n), pattern))

    assert changed(before + "\n", lambda s: [Unwrap(find(s, node), find(s, inner))]) == after + "\n"


def test_unwrapping_combines_with_changes_inside_and_keeps_comments() -> None:
    def make(source):  # type: ignore[no-untyped-def]
        inner = call(source.tree(), "g")
        return [Unwrap(call(source.tree(), "to"), inner), EditCall(inner, (("device", "d"),))]

    assert changed("y = g(a).to(d)\n", make) == "y = g(a, device=d)\n"
    with pytest.raises(CheckFailed, match="comment"):
        changed("y = g(a).to(\n    d,  # why\n)\n", make)


@pytest.mark.parametrize("start", [":, b", "1:2"])
def test_a_slice_is_no_expression(start: str) -> None:
    with pytest.raises(CheckFailed, match="no expression by itself"):
        changed("y = a[:, b][1:2]\n", lambda s: [AppendToExpression(expression(s, start), ".to(d)")])


@pytest.mark.parametrize("suffix", [")", ".to(", " +", "  # c", "; b"])
def test_a_fragment_that_breaks_out_is_refused(suffix: str) -> None:
    with pytest.raises(CheckFailed):
        changed("y = f(a)\n", lambda s: [AppendToExpression(name(s.tree(), "a"), suffix)])
