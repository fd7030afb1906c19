"""Random changes in random programs: the text outside the changed statement never moves."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from devicefix.codemods.changes import (
    AppendToExpression,
    BindResult,
    Change,
    EditCall,
    ReplaceExpression,
    RewriteAssignment,
    WrapExpression,
)
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.realise import realise
from devicefix.engine.selfcheck import CheckFailed, rewrite
from devicefix.source.text import SourceText

STATEMENTS = [
    "f(a)",
    "f( a , b, )",
    "x = f(\n    a,  # one\n    b\n)",
    "x = (  # why\n    a\n    + f(b)  # end\n)",
    "self.m = torch.zeros(3, dtype=t)",
    "self.m: T = a, b",
    "x.to(d); f(*a, **k)  # comment",
    "if a: f(b); x.to(d)",
    "if f(a):\n\tx.to(d)\n\t# tail\nelse:\n\ty = f(b)",
    "@f(a)\ndef g(p=f(b), *q): return f(c)",
    "for i in f(a): x.to(i)",
    "with f(a) as b, (f(c)): pass",
    "class A(f(a), B): m = f(b)",
    "y = [f(i) for i in (a) if f(b)]",
    "s = 'é' + f('😀')",
    "s = f'{f(a)}' + f(b)",
    "s = '''\nf(a)\n'''; f(b)",
    "lambda: f(a if b else c)",
    "x = f(i for i in a)",
    "# f(a)",
    "\x0c",
    "",
    "async def h():\n    await f(a)\n    return (yield f(b))",
    "x = a, f(b)",
    "x[f(a), 1:f(b)] = f(c)",
    "del x[f(a)]",
    "assert f(a), f(b)",
]


def changes_of(tree: ast.Module, draw: st.DataObject) -> Change | None:
    nodes = list(ast.walk(tree))
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    loads = [
        n for n in nodes if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", None) or ast.Load(), ast.Load)
    ]
    bare = [n for n in nodes if isinstance(n, ast.Expr)]
    assigned = [n for n in nodes if isinstance(n, (ast.Assign, ast.AnnAssign))]
    makers: list[tuple[list[ast.AST], object]] = [
        (calls, lambda n: EditCall(n, (("device", "d"),))),
        (calls, lambda n: EditCall(n, function="torch.g")),
        (loads, lambda n: AppendToExpression(n, ".to(d)")),
        (loads, lambda n: WrapExpression(n, "g(", ")")),
        (loads, lambda n: ReplaceExpression(n, "p if q else r")),
        (bare, lambda n: BindResult(n, "t")),
        (assigned, lambda n: RewriteAssignment(n, "g('m', ", ", p=False)")),
    ]  # type: ignore[assignment]
    possible = [(found, make) for found, make in makers if found]
    if not possible:
        return None
    found, make = draw.draw(st.sampled_from(possible))
    return make(draw.draw(st.sampled_from(found)))  # type: ignore[operator, no-any-return]


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_a_change_of_an_expression_stays_inside_its_statement(
    pieces: list[str], line_end: str, data: st.DataObject
) -> None:
    text = ("\n".join(pieces) + "\n").replace("\n", line_end)
    source = SourceText.from_text(text, "t.py")
    change = changes_of(source.tree(), data)
    if change is None:
        return
    try:
        edits = realise(source, [change])
        new, _ = rewrite(source, [change])
    except (CannotChange, CheckFailed):
        return
    node = next(getattr(change, f) for f in ("node", "call", "statement") if hasattr(change, f))
    statement = (
        node if isinstance(node, ast.stmt) else next(a for a in source.ancestors(node) if isinstance(a, ast.stmt))
    )
    decorators = getattr(statement, "decorator_list", [])
    start = min([source.start_of(statement), *(source.start_of(d) for d in decorators)])
    end = source.end_of(statement)
    assert all(start <= edit.start and edit.end <= end for edit in edits)
    assert new.text[:start] == text[:start]
    assert new.text.endswith(text[end:])
    if not isinstance(change, ReplaceExpression):
        assert text.count("#") == new.text.count("#")
    if line_end != "\n":
        assert "\n" not in new.text.replace(line_end, "")
