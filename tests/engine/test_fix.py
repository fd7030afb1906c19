from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy
from devicefix.codemods.changes import (
    AddImport,
    AppendToExpression,
    Change,
    EditCall,
    InsertStatements,
    ReplaceExpression,
    ReplaceStatement,
)
from devicefix.engine import FixResult, check_source, fix_source
from devicefix.findings import Applicability, Finding, Fix
from devicefix.rules.base import Rule
from devicefix.settings import Settings
from devicefix.source import SourceText


def fix(code: str | bytes, *, rules: tuple[Rule, ...] = toy.RULES, **options: object) -> FixResult:
    raw = code.encode() if isinstance(code, str) else code
    source = SourceText.from_bytes(raw, "t.py")
    return fix_source(source, rules=rules, analyse=toy.analyse, **options)  # type: ignore[arg-type]


def rule(
    find: Callable[[ast.AST], bool],
    make: Callable[[ast.AST], tuple[Change, ...]],
    *,
    code: str = "DVF201",
    group: str = "",
) -> Rule:
    """A rule that reports the nodes for which ``find`` is true and repairs them by ``make``."""

    def check(facts: toy.Facts) -> Iterator[Finding]:
        for node in ast.walk(facts.tree):
            if find(node):
                made = Fix("do it", Applicability.SAFE, make(node), group=group)
                yield Finding(code, toy.NAMES[code], "message", facts.source.name, facts.source.span(node), made)

    return Rule(code, toy.NAMES[code], "", "", "", check)


def is_call(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def test_nested_findings_are_all_fixed() -> None:
    result = fix("y = torch.zeros(torch.zeros(torch.zeros(1), torch.zeros(2)))\n")
    d = ", device=x.device"
    assert result.new_text == f"y = torch.zeros(torch.zeros(torch.zeros(1{d}), torch.zeros(2{d}){d}){d})\n"
    assert len(result.applied) == 4
    assert not result.remaining


def test_unsafe_fixes_are_made_only_when_asked_for() -> None:
    code = "a = torch.rand(1)\nb = torch.zeros(1)\n"
    safe = fix(code)
    assert safe.new_text == "a = torch.rand(1)\nb = torch.zeros(1, device=x.device)\n"
    assert [f.applicability for f in safe.remaining] == [Applicability.UNSAFE]
    assert fix(code, unsafe=True).new_text.count("device=") == 2
    assert fix(code, settings=Settings(unsafe_fixes=True)).new_text.count("device=") == 2
    assert fix(code, settings=Settings(unsafe_fixes=True), unsafe=False).new_text.count("device=") == 1


def test_settings_raise_and_lower_the_level_of_a_rule() -> None:
    code = "a = torch.rand(1)\nb = torch.zeros(1)\nx.to(d)\n"
    assert fix(code, settings=Settings(extend_safe_fixes=("DVF2",))).new_text.count("device=") == 2
    lowered = fix(code, settings=Settings(extend_unsafe_fixes=("factory-device",)))
    assert lowered.new_text.count("device=") == 0
    assert "x = x.to(d)" in lowered.new_text
    barred = fix(code, settings=Settings(unfixable=("DVF201",)))
    assert barred.new_text.count("device=") == 0
    assert "settings" in barred.remaining[0].note


def test_only_the_asked_rules_are_fixed() -> None:
    result = fix("x.to(d)\na = torch.zeros(1)\n", only=["DVF101"])
    assert result.new_text == "x = x.to(d)\na = torch.zeros(1)\n"
    assert [f.code for f in result.remaining] == ["DVF201"]


def test_a_second_run_changes_nothing() -> None:
    once = fix("x.to(d)\na = torch.zeros(torch.zeros(1))\n")
    twice = fix(once.new_text)
    assert not twice.applied
    assert not twice.changed
    assert twice.source is twice.original


def test_a_fix_that_cannot_be_written_becomes_a_report_with_its_reason() -> None:
    result = fix("print(f'{torch.zeros(1)}')\nb = torch.zeros(1)\n")
    assert result.new_text == "print(f'{torch.zeros(1)}')\nb = torch.zeros(1, device=x.device)\n"
    [finding] = result.remaining
    assert finding.fix is None
    assert finding.note == "not rewritten: the code is inside an f-string"
    checked = check_source(
        SourceText.from_text("print(f'{torch.zeros(1)}')\n", "t.py"), rules=toy.RULES, analyse=toy.analyse
    )
    assert checked.findings[0].note == finding.note


# -- the self-check: rules that go wrong in every way that we could think of ------------------------------------------

BAD: dict[str, tuple[Change, ...] | Callable[[ast.AST], tuple[Change, ...]]] = {
    "breaks the syntax": lambda node: (AppendToExpression(node, ".to("),),  # type: ignore[arg-type]
    "breaks out of the expression": lambda node: (AppendToExpression(node, "; import os"),),  # type: ignore[arg-type]
    "breaks out by a line": lambda node: (AppendToExpression(node, "\nimport os"),),  # type: ignore[arg-type]
    "adds a comment": lambda node: (AppendToExpression(node, "  # done"),),  # type: ignore[arg-type]
    "does not repair": lambda node: (EditCall(node, (("other", "1"),)),),  # type: ignore[arg-type]
    "changes nothing": lambda node: (ReplaceExpression(node, "bad()"),),  # type: ignore[arg-type]
    "names a foreign node": lambda node: (ReplaceExpression(ast.parse("x").body[0].value, "y"),),  # type: ignore[attr-defined]
    "two changes of one place": lambda node: (ReplaceExpression(node, "a"), ReplaceExpression(node, "b")),  # type: ignore[arg-type]
    "loses an argument": lambda node: (EditCall(node, remove_positionals=(0,)),),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_a_bad_fix_is_left_out_and_the_good_ones_are_made(make: Callable[[ast.AST], tuple[Change, ...]]) -> None:
    bad = rule(is_call("bad"), make)
    code = "x.to(d)\nbad()\ny.to(d)\nz = bad()\n"
    result = fix(code, rules=(toy.DROPPED, bad))
    assert result.new_text == code.replace("x.to", "x = x.to").replace("y.to", "y = y.to")
    assert all(f.fix is None and f.note.startswith("not rewritten: ") for f in result.remaining)
    assert len(result.remaining) == 2
    assert not result.errors


def test_fixes_that_feed_each_other_for_ever_are_left_out() -> None:
    grow = rule(is_call("grow"), lambda node: (ReplaceExpression(node, "shrink()"),))  # type: ignore[arg-type]
    shrink = rule(is_call("shrink"), lambda node: (ReplaceExpression(node, "grow()"),), code="DVF101")  # type: ignore[arg-type]
    result = fix("a = torch.zeros(1)\ngrow()\n", rules=(grow, shrink))
    assert result.new_text == "a = torch.zeros(1)\ngrow()\n"
    assert not result.changed
    both = fix(
        "x = f(1)\ngrow()\n",
        rules=(grow, shrink, rule(is_call("f"), lambda n: (ReplaceExpression(n, "g(1)"),), code="DVF201")),
    )  # type: ignore[arg-type]
    assert "grow()" in both.new_text


def test_a_fix_that_moves_its_fault_along_ends() -> None:
    def make(node: ast.AST) -> tuple[Change, ...]:
        return (ReplaceExpression(node, f"{'a' * 3}(bad())"),)  # type: ignore[arg-type]

    result = fix("bad()\n", rules=(rule(is_call("bad"), make),))
    assert result.new_text == "bad()\n"
    assert len(result.errors) <= 1


def test_a_group_is_made_whole_or_not_at_all() -> None:
    def make(node: ast.AST) -> tuple[Change, ...]:
        assert isinstance(node, ast.Call)
        return (ReplaceExpression(node, node.args[0].value),)  # type: ignore[attr-defined]

    grouped = rule(is_call("put"), make, group="one")
    assert fix("put('a')\nput('b')\n", rules=(grouped,)).new_text == "a\nb\n"
    broken = fix("put('a')\nput(')(')\nx.to(d)\n", rules=(grouped, toy.DROPPED))
    assert broken.new_text == "put('a')\nput(')(')\nx = x.to(d)\n"
    assert len(broken.withdrawn) == 2


def test_a_group_with_an_unsafe_member_waits_for_the_permission() -> None:
    def check(facts: toy.Facts) -> Iterator[Finding]:
        for node in ast.walk(facts.tree):
            if is_call("put")(node):
                level = Applicability.UNSAFE if "u" in facts.source.segment(node)[3:] else Applicability.SAFE
                made = Fix("t", level, (ReplaceExpression(node, "done"),), group="g")  # type: ignore[arg-type]
                yield Finding("DVF201", "factory-device", "m", "t.py", facts.source.span(node), made)

    grouped = Rule("DVF201", "factory-device", "", "", "", check)
    assert not fix("put(1)\nput(u)\n", rules=(grouped,)).changed
    assert fix("put(1)\nput(u)\n", rules=(grouped,), unsafe=True).new_text == "done\ndone\n"


def test_what_two_fixes_share_is_done_once() -> None:
    def make(node: ast.AST) -> tuple[Change, ...]:
        return (ReplaceExpression(node, "torch.good(device)"), AddImport("torch"))  # type: ignore[arg-type]

    result = fix("import os\na = bad()\nb = bad()\n", rules=(rule(is_call("bad"), make),))
    assert result.new_text == "import os\nimport torch\na = torch.good(device)\nb = torch.good(device)\n"


def test_a_line_that_two_fixes_share_is_inserted_once() -> None:
    def check(facts: toy.Facts) -> Iterator[Finding]:
        for node in ast.walk(facts.tree):
            if is_call("bad")(node):
                insert = InsertStatements(facts.tree.body[0], ("device = 'cuda'",))
                made = Fix("t", Applicability.SAFE, (insert, ReplaceExpression(node, "device")))  # type: ignore[arg-type]
                yield Finding("DVF201", "factory-device", "m", "t.py", facts.source.span(node), made)

    once = Rule("DVF201", "factory-device", "", "", "", check)
    assert fix("a = bad()\nb = bad()\n", rules=(once,)).new_text == "device = 'cuda'\na = device\nb = device\n"


def test_a_statement_that_is_replaced_wins_over_what_is_inside() -> None:
    outer = rule(
        lambda node: isinstance(node, ast.Expr) and is_call("bad")(node.value),
        lambda node: (ReplaceStatement(node, ("good(inner())",)),),  # type: ignore[arg-type]
        code="DVF101",
    )
    inner = rule(is_call("inner"), lambda node: (ReplaceExpression(node, "repaired"),))  # type: ignore[arg-type]
    result = fix("bad(inner())\n", rules=(outer, inner))
    assert result.new_text == "good(repaired)\n"


def test_the_encoding_and_the_byte_order_mark_stay() -> None:
    raw = "\ufeff# coding: utf-8\r\nx.to('é')\r\n".encode()
    assert fix(raw).source.raw == "\ufeff# coding: utf-8\r\nx = x.to('é')\r\n".encode()
    raw = "# coding: latin-1\nx.to('é')\n".encode("latin-1")
    assert fix(raw).source.raw == "# coding: latin-1\nx = x.to('é')\n".encode("latin-1")


def test_an_encoding_that_does_not_come_back_is_left_alone() -> None:
    raw = b"# coding: iso-2022-jp\nx.to(1)  # \x1b$B\x1b(B\n"
    result = fix(raw)
    assert result.source.raw == raw
    assert "encoding" in result.remaining[0].note


def test_a_character_that_the_encoding_lacks_withdraws_the_fix() -> None:
    bad = rule(is_call("bad"), lambda node: (ReplaceExpression(node, "'€'"),))  # type: ignore[arg-type]
    raw = b"# coding: latin-1\nbad()\nx.to(d)\n"
    result = fix(raw, rules=(bad, toy.DROPPED))
    assert result.source.raw == b"# coding: latin-1\nbad()\nx = x.to(d)\n"


def test_errors_are_values() -> None:
    result = fix("def f(:\n")
    assert [e.line for e in result.errors] == [1]
    assert not result.changed

    def crash(facts: toy.Facts) -> Iterator[Finding]:
        raise RuntimeError("oh\nno")
        yield

    broken = Rule("DVF201", "factory-device", "", "", "", crash)
    result = fix("x.to(d)\n", rules=(broken, toy.DROPPED))
    assert result.new_text == "x = x.to(d)\n"
    assert "internal error in DVF201" in str(result.errors[0])
    assert "\n" not in str(result.errors[0])


def test_a_fix_after_which_a_rule_crashes_is_withdrawn() -> None:
    def crash_on_good(facts: toy.Facts) -> Iterator[Finding]:
        if "good" in facts.source.text:
            raise RuntimeError("boom")
        yield from ()

    bad = rule(is_call("bad"), lambda node: (ReplaceExpression(node, "good()"),))  # type: ignore[arg-type]
    broken = Rule("DVF301", "x", "", "", "", crash_on_good)
    result = fix("bad()\nx.to(d)\n", rules=(bad, toy.DROPPED, broken))
    assert result.new_text == "bad()\nx = x.to(d)\n"
    assert "could not be checked again" in result.remaining[0].note


def test_edits_for_a_single_finding_are_minimal() -> None:
    source = SourceText.from_text("x.to(d)\na = torch.zeros(\n    3,\n)\n", "t.py")
    result = check_source(source, rules=toy.RULES, analyse=toy.analyse)
    first, second = (result.edits_for(finding) for finding in result.findings)
    assert [(e.start, e.end, e.replacement) for e in first] == [(0, 0, "x = ")]
    [edit] = second
    assert source.text[: edit.start] + edit.replacement + source.text[edit.end :] == (
        "x.to(d)\na = torch.zeros(\n    3,\n    device=x.device,\n)\n"
    )
    assert len(edit.replacement) < 25


PIECES = [
    "x.to(d)",
    "x.to(d); y.to(e)  # c",
    "a = torch.zeros(3)",
    "b = torch.zeros(\n    3,  # three\n)",
    "if c: x.to(d)",
    "for i in j:\n    x.to(torch.zeros(1))\n    # end",
    "s = 'x.to(d)'",
    "# x.to(d)",
    "",
    "\x0c",
    'u = """\nx.to(d)\n"""',
    "é = torch.zeros(*p, **q)",
    "g(f'{torch.zeros(1)}')",
    "@torch.zeros(1)\ndef f(p=torch.zeros(2)):\n\ty.to(d)",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_every_line_without_a_finding_stays_as_it_is(pieces: list[str], line_end: str, final: bool) -> None:
    code = ("\n".join(pieces) + ("\n" if final else "")).replace("\n", line_end)
    result = fix(code)
    assert not result.errors
    assert ast.dump(ast.parse(result.new_text)) == ast.dump(result.source.tree())
    stripped = (
        result.new_text.replace("x = x.to", "x.to").replace("y = y.to", "y.to").replace("device=x.device, **", "**")
    )
    for added in (f"    device=x.device,{line_end}", ", device=x.device"):
        stripped = stripped.replace(added, "")
    assert stripped == code
    assert not fix(result.new_text).changed
