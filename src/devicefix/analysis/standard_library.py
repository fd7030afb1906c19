"""Functions of Python's standard library that hold values or pick some of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.values import UNKNOWN, Kind, Value, any_element, join_all

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


HANDLERS = {
    "itertools.chain": _chain,
    "collections.deque": _deque,
    "random.sample": _some,
    "random.choices": _some,
    "random.choice": _one,
}
