"""Functions of Python's standard library that hold values or pick some of them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devicefix.analysis.values import UNKNOWN, Kind, Obj, Value, any_element, join_all

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def _deque(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``deque(values, maxlen=n)``: a list that forgets."""
    given = args.get(0, "iterable")
    if given is None or (given.kind is Kind.SEQUENCE and given.items == ()):
        return Value(Kind.SEQUENCE, items=(), data="list")
    return Value(Kind.SEQUENCE, element=any_element(given), data="list") if given.kind is Kind.SEQUENCE else UNKNOWN


def _some(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``random.sample(values, n)``."""
    given = args.get(0, "population")
    if given is None or given.kind is not Kind.SEQUENCE:
        return Value(Kind.UNKNOWN, ident=("call", node))
    return Value(Kind.SEQUENCE, element=any_element(given), data="list")


def _one(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``random.choice(values)``."""
    given = args.get(0, "seq")
    if given is None or given.kind is not Kind.SEQUENCE:
        return Value(Kind.UNKNOWN, ident=("call", node))
    return any_element(given)


def _chain(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``chain(a.parameters(), b.parameters())``."""
    if args.splat or any(value.kind is not Kind.SEQUENCE for value in args.positional):
        return Value(Kind.UNKNOWN, ident=("call", node))
    return Value(Kind.SEQUENCE, element=join_all([any_element(value) for value in args.positional]), data="list")


PARTIAL = "functools.partial"


def _partial(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``partial(f, x, k=v)`` of a function or a method."""
    given = args.get(0)
    if given is None or given.kind not in (Kind.FUNCTION, Kind.METHOD) or args.splat or args.keyword_splat:
        return Value(Kind.UNKNOWN, ident=("call", node))
    # each place makes its own: two that meet in one name are not one function
    held = Obj(None, external=f"{PARTIAL}:{node.lineno}:{node.col_offset}", stateful=False)
    held.arguments = (tuple(args.positional), dict(args.keywords))
    return Value(Kind.OBJECT, data=held)


def completed(function: Value, args: Arguments) -> tuple[Value, Arguments] | None:
    """What a call of ``partial(f, …)`` calls, and with what; ``None`` for anything else."""
    if not function.data.external.startswith(PARTIAL):
        return None
    (inner, *first), keywords = function.data.arguments
    nodes: list[ast.expr] = [ast.Constant(None)] * len(first)
    whole = replace(
        args,
        positional=[*first, *args.positional],
        keywords={**keywords, **args.keywords},
        nodes=[*nodes, *args.nodes],
    )
    return inner, whole


HANDLERS = {
    PARTIAL: _partial,
    "itertools.chain": _chain,
    "collections.deque": _deque,
    "random.sample": _some,
    "random.choices": _some,
    "random.choice": _one,
}
