"""Tables and pages that are made from the program itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devicefix import fix
from devicefix.config.schema import KEYS, BadValue, Key
from devicefix.engine.check import known_rules
from devicefix.engine.diff import text_diff
from devicefix.report.rule_page import sentence
from devicefix.rules.base import Example, Rule
from devicefix.settings import OUTPUT_FORMATS, Settings

GROUPS = {
    "DVF1": "Moves that do nothing",
    "DVF2": "Tensors created in the wrong place",
    "DVF3": "What a module does not take along",
    "DVF4": "One device, chosen once",
    "DVF5": "The training program",
    "DVF6": "Several cards",
    "DVF9": "devicefix itself",
}
FORMATS = {
    "full": "for people: the line, what explains it, what can be done",
    "concise": "one line per finding",
    "json": "everything, with the edits of each fix",
    "sarif": "SARIF 2.1.0 with the fixes, for code scanning",
    "github": "annotations of a GitHub workflow",
    "gitlab": "GitLab's code quality report",
    "junit": "JUnit XML",
    "rdjson": "reviewdog's diagnostic format, with suggestions",
    "azure": "issues of an Azure pipeline",
}


def repair(rule: Rule) -> str:
    """What the rule's documentation shows of its repair: safe, unsafe or report."""
    changing = [example for example in rule.examples if example.before != example.after]
    if not changing:
        return "report"
    return "unsafe" if all(example.unsafe for example in changing) else "safe"


def rule_table(link: str) -> str:
    """All rules, one a row; ``link`` is put in front of the name of a rule's page."""
    rows = ["| code | name | what is wrong | usual repair |", "|---|---|---|---|"]
    for rule in known_rules():
        summary = rule.summary.replace("|", "\\|")
        rows.append(f"| [{rule.code}]({link}{rule.code.lower()}.md) | {rule.name} | {summary} | {repair(rule)} |")
    return "\n".join(rows)


def grouped_rules() -> str:
    """All rules under a heading for each hundred."""
    parts = []
    for prefix, title in GROUPS.items():
        parts.append(f"## {prefix}xx: {title}")
        rows = ["| code | name | what is wrong | usual repair |", "|---|---|---|---|"]
        for rule in known_rules():
            if rule.code.startswith(prefix):
                summary = rule.summary.replace("|", "\\|")
                rows.append(f"| [{rule.code}]({rule.code.lower()}.md) | {rule.name} | {summary} | {repair(rule)} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def keys_table() -> str:
    """The keys of a settings file."""
    rows = ["| key | what it holds | default | what it does |", "|---|---|---|---|"]
    defaults = Settings()
    for key in KEYS:
        default = getattr(defaults, key.field)
        rows.append(f"| `{key.name}` | {_expected(key)} | {_toml(default)} | {key.help} |")
    return "\n".join(rows)


def _expected(key: Key) -> str:
    """What a key holds; where it is one of a few words, these."""
    if key.expects != "choice":
        return key.expects
    try:
        key.read(None)
    except BadValue as error:
        return ", ".join(f"`{choice}`" for choice in str(error).split(" or "))
    return key.expects


def _toml(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "empty"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def formats_table() -> str:
    """The output formats."""
    rows = [f"| `{name}` | {FORMATS[name]} |" for name in OUTPUT_FORMATS]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def options_table(command: str) -> str:
    """The arguments and options of a command, as the command line declares them."""
    import typer

    from devicefix.cli import app as home

    home._add_commands()
    group: Any = typer.main.get_command(home.app)
    rows = ["| option | default | what it does |", "|---|---|---|"]
    for param in group.commands[command].params:
        names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
        if not param.opts[0].startswith("-"):
            names = f"`{param.metavar or param.name.upper()}`"
        shown = getattr(param.default, "value", param.default)
        default = "" if shown in (None, False) or param.required else f"`{shown}`"
        choices = getattr(type(param.default), "__members__", {}).values()
        named = ", ".join(f"`{choice.value}`" for choice in choices)
        values = f" One of {named}." if named else ""
        rows.append(f"| {names} | {default} | {param.help or ''}{values} |".replace("  ", " "))
    return "\n".join(rows)


TABLES: dict[str, Callable[[], str]] = {
    "rules": lambda: rule_table("docs/rules/"),
    "rules by group": grouped_rules,
    "settings": keys_table,
    "formats": formats_table,
    "options of check": lambda: options_table("check"),
    "options of run": lambda: options_table("run"),
    "options of verify": lambda: options_table("verify"),
    "options of inspect": lambda: options_table("inspect"),
    "options of config": lambda: options_table("config"),
    "options of clean": lambda: options_table("clean"),
}


def rule_page(rule: Rule) -> str:
    """The page of one rule: its words, its example as a diff, when the fix is safe, and what is not reported."""
    parts = [f"# {rule.code} {rule.name}", sentence(rule.summary), rule.explanation.strip()]
    several = len(rule.examples) > 1
    for number, example in enumerate(rule.examples, 1):
        parts.append(f"## Example {number}" if several else "## Example")
        parts += _example(example)
    parts += ["## Fix safety", rule.fix_safety.strip()]
    if rule.silent:
        parts += ["## Not reported", "These programs look alike, and run on the CPU and on an accelerator."]
        parts += [_code(program, "python") for program in rule.silent]
    off = (
        f'On one line: `# devicefix: ignore[{rule.code}]`. Everywhere: `ignore = ["{rule.code}"]` in the '
        "[configuration](../configuration.md). More ways are under [suppression](../suppression.md)."
    )
    parts += ["## Turning it off", off]
    if rule.references:
        parts += ["## References", "\n".join(f"- <{reference}>" for reference in rule.references)]
    return "\n\n".join(parts) + "\n"


def _example(example: Example) -> list[str]:
    if example.before == example.after:
        return [_code(example.before, "python"), "It is reported and not rewritten."]
    command = "devicefix --diff --unsafe-fixes" if example.unsafe else "devicefix --diff"
    return [_code(example.before, "python"), f"`{command}` prints:", _code(_diff(example), "diff")]


def _diff(example: Example) -> str:
    """What the rewrite really changes."""
    before = example.before.lstrip("\n")
    return text_diff(before, fix(before, unsafe=example.unsafe).new_text, "example.py")


def _code(text: str, language: str) -> str:
    return f"```{language}\n{text.strip()}\n```"
