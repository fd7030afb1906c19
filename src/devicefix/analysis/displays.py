"""Lists, tuples, sets and dicts as written, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devicefix.analysis import narrowing, unrolling
from devicefix.analysis.iteration import iterate, member
from devicefix.analysis.joins import join, join_all, scattered
from devicefix.analysis.values import Kind, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def sequence_display(it: Interpreter, frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    """``(a, b)``, ``[a, *b]``, ``{a, b}``."""
    items: list[Value] = []
    loose: Value | None = None
    held: list[Value] = []  # what the parts that are spread hold
    for item in node.elts:
        if isinstance(item, ast.Starred):
            inner = it.evaluate(frame, item.value)
            if isinstance(inner.items, tuple) and loose is None:
                items.extend(inner.items)
                continue
            if inner.kind is Kind.SEQUENCE:
                held.extend((*elements(inner), *inner.sources))
            inner = member(inner, None)
            held.append(inner)
            loose = inner if loose is None else join(loose, inner)
        else:
            items.append(it.evaluate(frame, item))
    if loose is not None:
        element = join_all([*items, loose])
        return Value(Kind.SEQUENCE, element=element, sources=scattered([*items, *held], element) or loose.sources)
    return Value(Kind.SEQUENCE, items=tuple(items), data="tuple" if isinstance(node, ast.Tuple) else "list")


def dict_display(it: Interpreter, frame: Frame, node: ast.Dict) -> Value:
    """``{k: v, **other}``."""
    items: dict[Any, Value] = {}
    loose: Value | None = None
    for key, value in zip(node.keys, node.values, strict=False):
        entry = it.evaluate(frame, value)
        if key is None:
            if isinstance(entry.items, dict):
                items.update(entry.items)
            else:
                inner = member(entry, None)
                loose = inner if loose is None else join(loose, inner)
            continue
        if isinstance(key, ast.Constant):
            items[key.value] = entry
        else:
            it.evaluate(frame, key)
            loose = entry if loose is None else join(loose, entry)
    return Value(Kind.MAPPING, items=items, element=loose)


def comprehension(it: Interpreter, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    """``[f(x) for x in xs]``, and sets and generators alike."""
    generator = node.generators[0]
    if len(node.generators) == 1 and unrolling.is_plain(generator):
        members = unrolling.turns(it.evaluate(frame, generator.iter))
        if members:
            return unrolling.each(it, frame, node, members)
    element = _in_comprehension(it, frame, node.generators, lambda: it.evaluate(frame, node.elt))
    return Value(Kind.SEQUENCE, element=element, data="generator" if isinstance(node, ast.GeneratorExp) else "list")


def dict_comprehension(it: Interpreter, frame: Frame, node: ast.DictComp) -> Value:
    """``{k: f(k) for k in ks}``."""

    def entry() -> Value:
        it.evaluate(frame, node.key)
        return it.evaluate(frame, node.value)

    source = it.evaluate(frame, node.generators[0].iter)
    names = unrolling.names(node, source)
    if names:
        members = unrolling.each_value(it, frame, node.generators[0].target, names, node.value)
        return Value(Kind.MAPPING, items=dict(zip((name.data for name in names), members, strict=True)))
    element = _in_comprehension(it, frame, node.generators, entry)
    keys = source.ident if source.kind is Kind.SEQUENCE else None
    return Value(Kind.MAPPING, element=element, ident=keys)


def _in_comprehension(
    it: Interpreter, frame: Frame, generators: list[ast.comprehension], result: Callable[[], Value]
) -> Value:
    before = dict(frame.names)
    frame.conditions += 1
    for generator in generators:
        iterable = it.evaluate(frame, generator.iter)
        it.assign(frame, generator.target, iterate(it, frame, iterable, generator.iter, generator))
        for condition in generator.ifs:
            it.evaluate(frame, condition)
            narrowing.narrow(it, frame, condition, True)
    value = result()
    frame.conditions -= 1
    walrus = {k: v for k, v in frame.names.items() if k not in before}
    targets = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    frame.names.clear()
    frame.names.update(before)
    frame.names.update({k: v for k, v in walrus.items() if k not in targets})
    return value
