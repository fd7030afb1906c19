"""Loops over a few known things to call: each turn is another one, so that no single value can stand for all."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.joins import any_element
from devicefix.analysis.statements import statements
from devicefix.analysis.states import State, joined
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

CALLABLE = frozenset({Kind.OBJECT, Kind.FUNCTION, Kind.METHOD, Kind.EXTERNAL, Kind.CLASS, Kind.MODULE})

#: turns that are run one by one
MOST_TURNS = 8


def turns(value: Value) -> tuple[Value, ...]:
    """The members of a tuple or list of unlike things to call; nothing for everything else."""
    if value.kind is not Kind.SEQUENCE or not isinstance(value.items, tuple) or not 1 < len(value.items) <= MOST_TURNS:
        return ()
    if any(item.kind not in CALLABLE for item in value.items) or any_element(value).kind is not Kind.UNKNOWN:
        return ()
    return value.items


def run(it: Interpreter, frame: Frame, loop: ast.For | ast.AsyncFor, members: tuple[Value, ...]) -> bool:
    """Run the body of a loop once for each member, in order. False when control never reaches the end."""
    for member in members:
        frame.statement = loop
        it.records.scopes[loop].append(frame.scope())
        it.assign(frame, loop.target, member)
        frame.leaves.append([])
        alive = it.run(frame, loop.body)
        endings = frame.leaves.pop()
        if alive:
            endings.append(State(frame))
        if not endings:
            return False
        joined(endings, partial=False).restore(frame)
    return True


def can_be_unrolled(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether every turn runs: nothing breaks out."""
    return isinstance(loop.target, ast.Name) and not any(isinstance(node, ast.Break) for node in statements(loop.body))


def is_plain(generator: ast.comprehension) -> bool:
    """``for f in self.steps``, without a condition."""
    named = isinstance(generator.target, ast.Name) and isinstance(generator.iter, (ast.Name, ast.Attribute))
    return named and not generator.ifs


def each(
    it: Interpreter, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, members: tuple[Value, ...]
) -> Value:
    """``[f(x) for f in functions]``."""
    items = each_value(it, frame, node.generators[0].target, members, node.elt)
    return Value(Kind.SEQUENCE, items=items, data="generator" if isinstance(node, ast.GeneratorExp) else "list")


def names(node: ast.DictComp, source: Value) -> tuple[Value, ...]:
    """The keys of ``{k: batch[k] for k in ("ids", "mask")}``, where each is known; nothing for other comprehensions."""
    target = node.generators[0].target
    if len(node.generators) > 1 or node.generators[0].ifs or not isinstance(target, ast.Name):
        return ()
    if not isinstance(node.key, ast.Name) or node.key.id != target.id or source.kind is not Kind.SEQUENCE:
        return ()
    keys = source.items if isinstance(source.items, tuple) and len(source.items) <= MOST_TURNS else ()
    return keys if all(key.kind is Kind.STRING and isinstance(key.data, str) for key in keys) else ()


def each_value(
    it: Interpreter, frame: Frame, target: ast.expr, members: tuple[Value, ...], body: ast.expr
) -> tuple[Value, ...]:
    """What an expression gives for each of the values of a name."""
    before = dict(frame.names)
    values = []
    for member in members:
        it.assign(frame, target, member)
        values.append(it.evaluate(frame, body))
    frame.names.clear()
    frame.names.update(before)
    return tuple(values)
