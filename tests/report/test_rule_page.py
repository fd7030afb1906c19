from __future__ import annotations

import toy
from devicefix.engine.suppress import UNUSED
from devicefix.report.rule_page import page
from devicefix.rules.base import Example, Rule


def test_a_page_holds_what_the_rule_says() -> None:
    got = page(UNUSED)
    for part in (UNUSED.code, UNUSED.name, UNUSED.summary[1:], UNUSED.explanation, UNUSED.fix_safety):
        assert part in got
    assert (
        "## Example\n\n```python\nx = 1  # devicefix: ignore[DVF201]\n```\n\nIt becomes:\n\n```python\nx = 1\n```"
        in got
    )


def test_examples_without_a_rewrite_show_the_program_once() -> None:
    rule = Rule("DVF999", "n", "s", "e", "", toy.dropped, (Example("a\n", "a\n"), Example("b\n", "c\n", unsafe=True)))
    got = page(rule)
    assert got.count("```python\na\n```") == 1
    assert "With `--unsafe-fixes` it becomes" in got
    assert "## Fix safety" not in got
