from __future__ import annotations

from textwrap import dedent

import pytest

from codemods.helpers import changed, statement
from devicefix.codemods.changes import (
    BindResult,
    DeleteStatement,
    InsertStatements,
    MoveStatement,
    ReplaceStatement,
    RewriteAssignment,
    UnwrapIf,
)
from devicefix.engine.selfcheck import CheckFailed


def d(text: str) -> str:
    return dedent(text).lstrip("\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.to(d)\n", "x = x.to(d)\n"),
        ("x.to(d)", "x = x.to(d)"),
        ("x.to(d)  # move\n", "x = x.to(d)  # move\n"),
        ("a = 1; x.to(d); b = 2\n", "a = 1; x = x.to(d); b = 2\n"),
        ("if c: x.to(d)\n", "if c: x = x.to(d)\n"),
        ("for i in y: x.to(d)\n", "for i in y: x = x.to(d)\n"),
        ("with c: x.to(d); y\n", "with c: x = x.to(d); y\n"),
        ("if c: \\\n  x.to(d)\n", "if c: \\\n  x = x.to(d)\n"),
        ("(x.to(d))\n", "x = (x.to(d))\n"),
        ("x.to(\n  d,  # device\n)\n", "x = x.to(\n  d,  # device\n)\n"),
        ("\x0cx.to(d)\n", "\x0cx = x.to(d)\n"),
        ("é = 1; x.to(d)\n", "é = 1; x = x.to(d)\n"),
        ("if c:\n\tx.to(d)\r\n", "if c:\n\tx = x.to(d)\r\n"),
    ],
)
def test_a_result_is_bound_where_it_stands(before: str, after: str) -> None:
    def make(source):  # type: ignore[no-untyped-def]
        start = "(x.to" if source.text.startswith("(") else "x.to"
        return [BindResult(statement(source, start), "x")]

    assert changed(before, make) == after


def test_an_attribute_or_item_can_be_the_target() -> None:
    assert changed("x.to(d)\n", lambda s: [BindResult(statement(s, "x"), "self.x[0]")]) == "self.x[0] = x.to(d)\n"


REGISTER = {"prefix": 'self.register_buffer("m", ', "suffix": ", persistent=False)"}


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("torch.zeros(3)", "torch.zeros(3)"),
        ("(torch.zeros(3))", "(torch.zeros(3))"),
        ("(\n    a  # one\n    + b\n)", "(\n    a  # one\n    + b\n)"),
        ("torch.cat(\n    [a, b],\n    dim=1,\n)", "torch.cat(\n    [a, b],\n    dim=1,\n)"),
        ("a + \\\n  b", "a + \\\n  b"),
        ("a, b", "(a, b)"),
        ("(a, b)", "(a, b)"),
        ("lambda: 0", "lambda: 0"),
        ("a if b else c", "a if b else c"),
        ("None", "None"),
    ],
)
@pytest.mark.parametrize("target", ["self.m = ", "self.m: Tensor = ", "self.m=", "self.m   =   ", "self.m = \\\n   "])
def test_an_assignment_becomes_a_call_around_its_value(value: str, after: str, target: str) -> None:
    got = changed(f"{target}{value}  # mask\n", lambda s: [RewriteAssignment(statement(s, "self.m"), **REGISTER)])
    assert got == f'self.register_buffer("m", {after}, persistent=False)  # mask\n'


def test_an_assignment_is_rewritten_after_a_semicolon_and_on_one_line() -> None:
    code = "class A:\n  def f(self): x = 1; self.m = a; y = 2\n"
    got = changed(code, lambda s: [RewriteAssignment(statement(s, "self.m"), **REGISTER)])
    assert got == 'class A:\n  def f(self): x = 1; self.register_buffer("m", a, persistent=False); y = 2\n'


@pytest.mark.parametrize("code", ["self.m = self.n = a\n", "self.m: int\n", "self.m = yield a\n"])
def test_an_assignment_of_another_kind_is_refused_or_right(code: str) -> None:
    code = f"def f(self):\n    {code}"
    try:
        got = changed(code, lambda s: [RewriteAssignment(statement(s, "self.m"), **REGISTER)])
    except CheckFailed:
        return
    assert "(yield a)" in got


def insertion(where: str = "before", **blanks: int):  # type: ignore[no-untyped-def]
    def make(source):  # type: ignore[no-untyped-def]
        return [InsertStatements(statement(source, "ANCHOR"), ("new = 1",), where, **blanks)]  # type: ignore[arg-type]

    return make


INSERTIONS = {
    "plain": ("a\nANCHOR\nb\n", "before", {}, "a\nnew = 1\nANCHOR\nb\n"),
    "first": ("ANCHOR\n", "before", {}, "new = 1\nANCHOR\n"),
    "last without newline": ("ANCHOR", "after", {}, "ANCHOR\nnew = 1"),
    "before without newline": ("ANCHOR", "before", {}, "new = 1\nANCHOR"),
    "trailing comment": ("ANCHOR  # c\nb\n", "after", {}, "ANCHOR  # c\nnew = 1\nb\n"),
    "indented": ("if c:\n    ANCHOR\n", "after", {}, "if c:\n    ANCHOR\n    new = 1\n"),
    "tabs": ("if c:\n\tANCHOR\n", "before", {}, "if c:\n\tnew = 1\n\tANCHOR\n"),
    "crlf": ("a\r\nANCHOR\r\nb\r\n", "before", {}, "a\r\nnew = 1\r\nANCHOR\r\nb\r\n"),
    "mixed line ends": ("a\nANCHOR\r\nb\n", "after", {}, "a\nANCHOR\r\nnew = 1\r\nb\n"),
    "lone cr": ("a\rANCHOR\rb\r", "after", {}, "a\rANCHOR\rnew = 1\rb\r"),
    "comment above belongs": ("a\n# why\nANCHOR\n", "before", {}, "a\nnew = 1\n# why\nANCHOR\n"),
    "licence stays on top": (
        "#!/usr/bin/env python\n# licence\nANCHOR\n",
        "before",
        {},
        "#!/usr/bin/env python\n# licence\nnew = 1\nANCHOR\n",
    ),
    "comment after a blank": ("# licence\n\n# why\nANCHOR\n", "before", {}, "# licence\n\nnew = 1\n# why\nANCHOR\n"),
    "deeper comment above": (
        "if c:\n    a\n    # deep\nANCHOR\n",
        "before",
        {},
        "if c:\n    a\n    # deep\nnew = 1\nANCHOR\n",
    ),
    "blank lines asked": (
        "a\nANCHOR\nb\n",
        "after",
        {"blank_before": 1, "blank_after": 1},
        "a\nANCHOR\n\nnew = 1\n\nb\n",
    ),
    "blank lines there": ("a\nANCHOR\n\n\nb\n", "after", {"blank_after": 2}, "a\nANCHOR\nnew = 1\n\n\nb\n"),
    "blank before": ("a\nANCHOR\n", "before", {"blank_before": 2, "blank_after": 1}, "a\n\n\nnew = 1\n\nANCHOR\n"),
    "blank before there": ("a\n\nANCHOR\n", "before", {"blank_before": 1}, "a\n\nnew = 1\nANCHOR\n"),
    "no blanks at the end": ("ANCHOR\n", "after", {"blank_after": 2}, "ANCHOR\nnew = 1\n"),
    "semicolon at the end": ("ANCHOR;\nb\n", "after", {}, "ANCHOR;\nnew = 1\nb\n"),
    "compound before": ("a\nfor ANCHOR in b:\n    c\n", "before", {}, "a\nnew = 1\nfor ANCHOR in b:\n    c\n"),
    "form feed": ("a\n\x0cANCHOR\nb\n", "after", {}, "a\n\x0cANCHOR\nnew = 1\nb\n"),
    "bracketed": ("ANCHOR(\n    a,\n)\nb\n", "after", {}, "ANCHOR(\n    a,\n)\nnew = 1\nb\n"),
    "string of several lines": ('ANCHOR("""\na\n""")\nb\n', "after", {}, 'ANCHOR("""\na\n""")\nnew = 1\nb\n'),
}


@pytest.mark.parametrize(("before", "where", "blanks", "after"), INSERTIONS.values(), ids=INSERTIONS)
def test_statements_are_inserted_as_lines(before: str, where: str, blanks: dict[str, int], after: str) -> None:
    def make(source):  # type: ignore[no-untyped-def]
        start = "for ANCHOR" if "for ANCHOR" in source.text else "ANCHOR"
        return [InsertStatements(statement(source, start), ("new = 1",), where, **blanks)]  # type: ignore[arg-type]

    assert changed(before, make) == after


def test_an_insertion_after_a_block_goes_below_the_comments_of_its_body() -> None:
    before = d(
        """
        for i in a:
            b
            # still the body

        c
        """
    )
    got = changed(before, lambda s: [InsertStatements(statement(s, "for"), ("new = 1",), "after")])
    assert got == before.replace("body\n", "body\nnew = 1\n")


def test_an_inserted_block_is_indented_in_the_steps_of_the_file() -> None:
    got = changed(
        "if c:\n\tANCHOR\n",
        lambda s: [InsertStatements(statement(s, "ANCHOR"), ("if e:", "    new = 1"), "before")],
    )
    assert got == "if c:\n\tif e:\n\t\tnew = 1\n\tANCHOR\n"


def test_a_decorated_function_takes_statements_above_its_decorators() -> None:
    got = changed("@a\n@b\ndef f(): pass\n", lambda s: [InsertStatements(s.tree().body[0], ("new = 1",), "before")])
    assert got == "new = 1\n@a\n@b\ndef f(): pass\n"


@pytest.mark.parametrize(
    "code",
    ["a; ANCHOR\n", "if c: ANCHOR\n", "class A: ANCHOR\n", "if c: \\\n  ANCHOR\n", "else_ = 1; ANCHOR\n"],
)
@pytest.mark.parametrize("where", ["before", "after"])
def test_an_anchor_that_shares_its_line_takes_nothing(code: str, where: str) -> None:
    with pytest.raises(CheckFailed, match="shares its line"):
        changed(code, insertion(where))


def test_the_first_statement_of_a_line_takes_lines_above_it_only() -> None:
    assert (
        changed("if c:\n    ANCHOR; a  # both\n", insertion("before")) == "if c:\n    new = 1\n    ANCHOR; a  # both\n"
    )
    with pytest.raises(CheckFailed, match="shares its line"):
        changed("ANCHOR; a\n", insertion("after"))


def test_nothing_goes_before_an_elif() -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [InsertStatements(source.tree().body[0].orelse[0], ("new = 1",), "before")]

    with pytest.raises(CheckFailed, match="elif"):
        changed("if a:\n    b\nelif c:\n    d\n", make)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nGONE\nb\n", "a\nb\n"),
        ("a\nGONE", "a"),
        ("GONE\n", ""),
        ("a\nGONE  # c\nb\n", "a\nb\n"),
        ("a; GONE; b\n", "a; b\n"),
        ("GONE; b\n", "b\n"),
        ("a; GONE\n", "a\n"),
        ("a; GONE  # c\n", "a  # c\n"),
        ("if c: GONE\n", "if c: pass\n"),
        ("if c: a; GONE\n", "if c: a\n"),
        ("if c:\n    GONE\n", "if c:\n    pass\n"),
        ("if c:\n    a\n    GONE\nb\n", "if c:\n    a\nb\n"),
        ("if c:\n    a\nelse:\n    GONE\nb\n", "if c:\n    a\nelse:\n    pass\nb\n"),
        ("try:\n    a\nfinally:\n    GONE\n", "try:\n    a\nfinally:\n    pass\n"),
        ("try:\n    a\nexcept E:\n    GONE\n", "try:\n    a\nexcept E:\n    pass\n"),
        ("a\r\nGONE\r\nb\r\n", "a\r\nb\r\n"),
    ],
)
def test_a_statement_is_deleted_with_its_line(before: str, after: str) -> None:
    assert changed(before, lambda s: [DeleteStatement(statement(s, "GONE"))]) == after


def test_an_elif_branch_is_not_deleted() -> None:
    with pytest.raises(CheckFailed, match="elif"):
        changed("if a:\n    b\nelif c:\n    d\n", lambda s: [DeleteStatement(s.tree().body[0].orelse[0])])  # type: ignore[attr-defined]


def test_a_block_that_is_deleted_whole_keeps_one_pass() -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [DeleteStatement(s) for s in source.tree().body[0].body]

    assert changed("if c:\n    a\n    b\nd\n", make) == "if c:\n    pass\nd\n"


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("a\nOLD\nb\n", ("new = 1",), "a\nnew = 1\nb\n"),
        ("OLD  # c\n", ("new = 1",), "new = 1  # c\n"),
        ("a; OLD; b\n", ("new = 1",), "a; new = 1; b\n"),
        ("if c: OLD\n", ("new = 1",), "if c: new = 1\n"),
        ("if c:\n\tOLD\n", ("if e:", "    new = 1"), "if c:\n\tif e:\n\t\tnew = 1\n"),
        ("if c:\r\n  OLD  # c\r\n", ("new = 1", "more = 2"), "if c:\r\n  new = 1\r\n  more = 2  # c\r\n"),
        ("for i in OLD: pass\n", ("new = 1",), "new = 1\n"),
    ],
)
def test_a_statement_is_replaced(before: str, lines: tuple[str, ...], after: str) -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [ReplaceStatement(statement(source, "for" if source.text.startswith("for") else "OLD"), lines)]

    assert changed(before, make) == after


@pytest.mark.parametrize("code", ["a; OLD\n", "if c: OLD\n"])
def test_several_lines_do_not_fit_on_a_shared_one(code: str) -> None:
    with pytest.raises(CheckFailed, match="shares its line"):
        changed(code, lambda s: [ReplaceStatement(statement(s, "OLD"), ("a = 1", "b = 2"))])


def move(where: str = "before"):  # type: ignore[no-untyped-def]
    def make(source):  # type: ignore[no-untyped-def]
        return [MoveStatement(statement(source, "MOVED"), statement(source, "ANCHOR"), where)]  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize(
    ("before", "where", "after"),
    [
        ("a\nANCHOR\nb\nMOVED\nc\n", "before", "a\nMOVED\nANCHOR\nb\nc\n"),
        ("a\nANCHOR\nb\nMOVED", "before", "a\nMOVED\nANCHOR\nb"),
        ("MOVED\nb\nANCHOR\nc\n", "after", "b\nANCHOR\nMOVED\nc\n"),
        ("MOVED\nb\nANCHOR", "after", "b\nANCHOR\nMOVED"),
        ("ANCHOR\nMOVED  # c\n", "before", "MOVED  # c\nANCHOR\n"),
        ("ANCHOR\n\n# move\nMOVED\n", "before", "# move\nMOVED\nANCHOR\n\n"),
        ("x\n# anchor\nANCHOR\n# move\nMOVED\n", "before", "x\n# move\nMOVED\n# anchor\nANCHOR\n"),
        ("if c:\r\n\tANCHOR\r\n\tMOVED(\r\n\t\t1)\r\n", "before", "if c:\r\n\tMOVED(\r\n\t\t1)\r\n\tANCHOR\r\n"),
    ],
)
def test_a_statement_moves_with_its_comments(before: str, where: str, after: str) -> None:
    assert changed(before, move(where)) == after


@pytest.mark.parametrize(
    "code", ["ANCHOR\nif c:\n    MOVED\n", "ANCHOR; MOVED\n", "ANCHOR\na; MOVED\n", "ANCHOR; a\nMOVED\n"]
)
def test_a_move_to_another_block_or_on_a_shared_line_is_refused(code: str) -> None:
    with pytest.raises(CheckFailed):
        changed(code, move())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if c:\n    a\n    b\nd\n", "a\nb\nd\n"),
        ("if c: a\n", "a\n"),
        ("if c:\n    a  # one\n\n    # two\n    b\n", "a  # one\n\n# two\nb\n"),
        ("if e:\n\tif c:\n\t\ta\n\t\tb\n", "if e:\n\ta\n\tb\n"),
        ("if (c and\n    e):\n    a\n", "a\n"),
        ("if c:\n    for i in j:\n        a\n", "for i in j:\n    a\n"),
        ("if c:\r\n    a(\r\n        b)\r\n", "a(\r\n    b)\r\n"),
        ('if c:\n    a = """\n    x\n    """\n    b\n', 'a = """\n    x\n    """\nb\n'),
        ("if c:\n    a\n    # end\nb\n", "a\n# end\nb\n"),
    ],
)
def test_a_condition_is_taken_away_from_around_its_body(before: str, after: str) -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [UnwrapIf(statement(source, "if c") if "if c" in source.text else source.tree().body[0])]

    assert changed(before, make) == after


@pytest.mark.parametrize(
    "code", ["if c:\n    a\nelse:\n    b\n", "if c:  # why\n    a\n", "if a: pass\nelif c:\n    b\n", "if c: a; b\n"]
)
def test_a_condition_that_cannot_go_without_loss_stays(code: str) -> None:
    def make(source):  # type: ignore[no-untyped-def]
        first = source.tree().body[0]
        return [UnwrapIf(first.orelse[0] if "elif" in source.text else first)]

    with pytest.raises(CheckFailed):
        changed(code, make)


def test_changes_of_several_kinds_fit_together() -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [
            InsertStatements(statement(source, "ANCHOR"), ("one = 1",)),
            InsertStatements(statement(source, "ANCHOR"), ("two = 2",)),
            BindResult(statement(source, "x.to"), "x"),
            DeleteStatement(statement(source, "GONE")),
            InsertStatements(statement(source, "ANCHOR"), ("three = 3",), "after"),
        ]

    assert changed("ANCHOR\nx.to(d)\nGONE\n", make) == "one = 1\ntwo = 2\nANCHOR\nthree = 3\nx = x.to(d)\n"


def test_equal_changes_count_once() -> None:
    def make(source):  # type: ignore[no-untyped-def]
        return [InsertStatements(statement(source, "ANCHOR"), ("one = 1",)) for _ in range(3)]

    assert changed("ANCHOR\n", make) == "one = 1\nANCHOR\n"
