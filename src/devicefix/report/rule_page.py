"""A rule's documentation in Markdown, made from the rule itself."""

from __future__ import annotations

from devicefix.rules.base import Rule


def page(rule: Rule) -> str:
    """The page with heading, explanation, examples and the safety of the fix; ends with a line end."""
    parts = [f"# {rule.code} {rule.name}", sentence(rule.summary)]
    if rule.explanation.strip():
        parts.append(rule.explanation.strip())
    for number, example in enumerate(rule.examples, 1):
        title = "## Example" if len(rule.examples) == 1 else f"## Example {number}"
        parts += [title, _code(example.before)]
        if example.after != example.before:
            how = "With `--unsafe-fixes` it becomes" if example.unsafe else "It becomes"
            parts += [f"{how}:", _code(example.after)]
    if rule.fix_safety.strip():
        parts += ["## Fix safety", rule.fix_safety.strip()]
    if rule.silent:
        parts.append("## Not reported")
        parts += [_code(program) for program in rule.silent]
    if rule.references:
        parts += ["## References", "\n".join(f"- {reference}" for reference in rule.references)]
    return "\n\n".join(parts) + "\n"


def sentence(summary: str) -> str:
    """A summary as a sentence."""
    return f"{summary[:1].upper()}{summary[1:]}."


def _code(program: str) -> str:
    return f"```python\n{program.rstrip()}\n```"
