"""Tensors that are made on the CPU in one branch and beside the inputs in another.

Where the branches are chosen by something that has nothing to do with devices, nor is asked again later, the branch
that makes it on the CPU is one that can be taken with inputs on any device; the value is kept as that one.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of
from devicefix.analysis.joins import join_all
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devicefix.analysis.frames import Frame
    from devicefix.analysis.states import State

Choice = ast.If | ast.Match

#: words that make a choice one about devices
DEVICE_WORDS = re.compile(r"dev|cuda|gpu|cpu|host|accel|mps|xpu|backend|avail|place|half|fp16|dist|rank", re.IGNORECASE)


def keep_host(frame: Frame, merged: State, endings: list[State], choice: Choice) -> None:
    """In the join of branches, let names be on the CPU that are so in a branch by a factory call in it."""
    found = dict(_found(merged, endings, choice))
    if found and _independent(frame, choice):
        merged.names.update(found)


def _found(merged: State, endings: list[State], choice: Choice) -> Iterator[tuple[str, Value]]:
    first = endings[0].names
    for name, value in merged.names.items():
        if value.kind is not Kind.TENSOR or value.device is not None or first.get(name) is value:
            continue
        arms = [state.names[name] for state in endings if name in state.names]
        host = [v for v in arms if v.is_tensor and v.device is not None and v.device.host]
        away = [v for v in arms if v.is_tensor and v.device is not None and v.device.kind == "symbol"]
        rest = [v for v in arms if v.kind is not Kind.NONE]
        if host and away and len(host) + len(away) == len(rest) and all(_made_in(v, choice) for v in host):
            made = join_all(host)
            yield name, value.replace(device=made.device, origins=made.origins)


def _made_in(value: Value, choice: Choice) -> bool:
    last = choice.end_lineno or choice.lineno
    return bool(value.origins) and all(
        origin.kind == "factory" and choice.lineno <= getattr(origin.node, "lineno", 0) <= last
        for origin in value.origins
    )


def _independent(frame: Frame, choice: Choice) -> bool:
    """Whether what is asked has nothing to do with devices, and is not asked again further down."""
    subjects = _subjects(choice)
    if frame.function is None or not subjects or frame.loops:
        return False
    last = choice.end_lineno or choice.lineno
    for node in ast.walk(frame.function.node):
        asked = node.subject if isinstance(node, ast.Match) else getattr(node, "test", None)
        if asked is not None and node.lineno > last and not subjects.isdisjoint(_paths(asked)):  # type: ignore[attr-defined]
            return False
    return True


def _subjects(choice: Choice) -> set[str]:
    """What a choice compares with constants; nothing for a choice of another sort, or one about devices."""
    if isinstance(choice, ast.Match):
        asked: list[ast.AST] = [choice.subject, *(case.pattern for case in choice.cases)]
        if any(case.guard is not None for case in choice.cases):
            return set()
        subject = choice.subject
    else:
        test = choice.test
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            return set()
        if len(test.comparators) != 1 or not _is_constant(test.comparators[0]):
            return set()
        asked, subject = [test], test.left
    if any(DEVICE_WORDS.search(ast.unparse(node)) for node in asked):
        return set()
    path = path_of(subject)
    return {path} if path is not None else set()


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(_is_constant(element) for element in node.elts)
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float))


def _paths(node: ast.AST) -> set[str]:
    return {path for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute)) and (path := path_of(n))}
