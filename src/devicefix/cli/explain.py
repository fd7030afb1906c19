"""``devicefix rule`` and ``devicefix rules``: what is looked for and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from devicefix.cli.app import app
from devicefix.cli.check import FAILED, complain
from devicefix.cli.choices import RuleFormat

if TYPE_CHECKING:
    from devicefix.rules.base import Rule


def _complete(incomplete: str) -> list[str]:
    from devicefix.engine.check import known_rules

    names = [name for rule in known_rules() for name in (rule.code, rule.name)]
    return [name for name in names if name.lower().startswith(incomplete.lower())]


@app.command("rule")
def rule(
    code: Annotated[str, typer.Argument(metavar="CODE|NAME", help="DVF101 or dropped-move", autocompletion=_complete)],
    output_format: Annotated[RuleFormat, typer.Option(help="Text or JSON.")] = RuleFormat.text,
) -> None:
    """Explain one rule."""
    from devicefix.engine.check import known_rules
    from devicefix.engine.selection import find, unknown_rule

    known = known_rules()
    found = find(code, known)
    if found is None:
        complain(unknown_rule(code, known))
        raise typer.Exit(FAILED)
    if output_format is RuleFormat.json:
        print(json.dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        print(as_markdown(found), end="")


@app.command("rules")
def rules(output_format: Annotated[RuleFormat, typer.Option(help="Text or JSON.")] = RuleFormat.text) -> None:
    """List all rules."""
    from devicefix.engine.check import known_rules

    known = known_rules()
    if output_format is RuleFormat.json:
        print(json.dumps([as_data(found) for found in known], indent=2, ensure_ascii=False))
        return
    width = max(len(found.name) for found in known)
    for found in known:
        off = "" if found.default else " (off by default)"
        print(f"{found.code}  {found.name:<{width}}  {found.summary}{off}")


def as_data(found: Rule) -> dict[str, Any]:
    """A rule as plain data."""
    return {
        "code": found.code,
        "name": found.name,
        "summary": found.summary,
        "explanation": found.explanation,
        "fix_safety": found.fix_safety,
        "examples": [{"before": e.before, "after": e.after, "unsafe": e.unsafe} for e in found.examples],
        "silent": list(found.silent),
        "references": list(found.references),
        "default": found.default,
    }


def as_markdown(found: Rule) -> str:
    """A rule's page."""
    from devicefix.report.rule_page import page

    return page(found)
