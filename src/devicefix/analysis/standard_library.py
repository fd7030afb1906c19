"""Functions of Python's standard library that hold values or pick some of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.joins import any_element, join_all
from devicefix.analysis.values import UNKNOWN, Kind, Value

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
    """``chain(a.parameters(), b.parameters())``, and of loaders."""
    if args.positional and not args.splat and all(value.kind is Kind.LOADER for value in args.positional):
        return args.positional[0].replace(element=join_all([value.element or UNKNOWN for value in args.positional]))
    if args.splat or any(value.kind is not Kind.SEQUENCE for value in args.positional):
        return Value(Kind.UNKNOWN, ident=("call", node))
    return Value(Kind.SEQUENCE, element=join_all([any_element(value) for value in args.positional]), data="list")


def _defaultdict(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``defaultdict(list)``, ``defaultdict(lambda: torch.zeros(3))``: a key that is new gets a list, such a tensor."""
    from devicefix.analysis.calls import apply
    from devicefix.analysis.frames import Arguments as Args

    factory = args.get(0, "default_factory")
    if args.nodes and isinstance(args.nodes[0], ast.Name) and args.nodes[0].id == "list" and len(args.positional) < 2:
        return Value(Kind.MAPPING, items={}, element=Value(Kind.SEQUENCE, items=(), data="list"))
    if factory is not None and factory.kind is Kind.FUNCTION and len(args.positional) < 2:
        made = apply(it, frame, node, factory, Args())
        if made.is_tensor:
            return Value(Kind.MAPPING, items={}, element=made)
    return Value(Kind.UNKNOWN, ident=("call", node))


def _reduce(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``reduce(function, values, initial)``: the first turn stands for all."""
    from devicefix.analysis.calls import apply
    from devicefix.analysis.frames import Arguments as Args

    function, values = args.get(0), args.get(1)
    if function is None or values is None or values.kind is not Kind.SEQUENCE:
        return Value(Kind.UNKNOWN, ident=("call", node))
    member = any_element(values)
    initial = args.get(2)
    if not member.is_tensor or (initial is not None and not initial.is_tensor):
        return Value(Kind.UNKNOWN, ident=("call", node))
    nodes = [args.nodes[-1], args.nodes[1]]
    return apply(it, frame, node, function, Args([initial or member, member], nodes=nodes))


def _ordered_dict(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``OrderedDict(a=x)``: a dict."""
    from devicefix.analysis.builtins import call_function

    return call_function(it, frame, node, "dict", args)


HANDLERS = {
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _defaultdict,
    "functools.reduce": _reduce,
    "itertools.chain": _chain,
    "collections.deque": _deque,
    "random.sample": _some,
    "random.choices": _some,
    "random.choice": _one,
}
