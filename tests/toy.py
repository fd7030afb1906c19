"""A small analysis and two small rules, so that the engine can be tested by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from devicefix.codemods.changes import BindResult, EditCall
from devicefix.findings import Applicability, Finding, Fix
from devicefix.rules.base import Rule
from devicefix.source.text import SourceText


@dataclass
class Facts:
    source: SourceText
    tree: ast.Module
    path: Path = field(default_factory=Path)


def analyse(source: SourceText, *, project: object = None, settings: object = None) -> Facts:
    return Facts(source, source.tree(), source.path)


def finding(facts: Facts, code: str, node: ast.AST, message: str, fix: Fix | None) -> Finding:
    return Finding(code, NAMES[code], message, facts.source.name, facts.source.span(node), fix)


def dropped(facts: Facts) -> Iterator[Finding]:
    """`x.to(d)` as a statement."""
    for node in ast.walk(facts.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "to"
                and isinstance(call.func.value, ast.Name)
            ):
                target = call.func.value.id
                fix = Fix(f"assign the result to `{target}`", Applicability.SAFE, (BindResult(node, target),))
                yield finding(facts, "DVF101", call, f"`{target}.to()` returns a new tensor", fix)


def factory(facts: Facts) -> Iterator[Finding]:
    """`torch.zeros(…)` without `device`; unsafe for `torch.rand`."""
    for node in ast.walk(facts.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("zeros", "rand"):
            if any(k.arg == "device" for k in node.keywords):
                continue
            level = Applicability.SAFE if node.func.attr == "zeros" else Applicability.UNSAFE
            reason = "" if level is Applicability.SAFE else "the random stream changes"
            fix = Fix("create it on the device of `x`", level, (EditCall(node, (("device", "x.device"),)),), reason)
            yield finding(facts, "DVF201", node, f"`torch.{node.func.attr}` creates a CPU tensor", fix)


NAMES = {"DVF101": "dropped-move", "DVF201": "factory-device"}
DROPPED = Rule("DVF101", "dropped-move", "The result of a move is dropped", "", "", dropped)
FACTORY = Rule("DVF201", "factory-device", "A tensor on the default device", "", "", factory)
RULES = (DROPPED, FACTORY)

#: a program with findings of these rules
CODE = "é = '😀'; x.to(d)\na = torch.zeros(\n    3,\n)\nb = torch.rand(3)\n"
