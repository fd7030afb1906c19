"""What the parameters of a function stand for: the arguments of a call, and what the function made of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.annotated import annotated
from devicefix.analysis.evidence import annotation_kind
from devicefix.analysis.frames import Arguments, Frame
from devicefix.analysis.joins import join_all
from devicefix.analysis.subscripts import rebind
from devicefix.analysis.tree_index import walk
from devicefix.analysis.values import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import FunctionInfo, ModuleInfo


def bind(
    it: Interpreter, frame: Frame, info: FunctionInfo, args: Arguments, receiver: Value | None
) -> dict[str, Value]:
    """Bind arguments to parameters."""
    spec = info.node.args
    names: dict[str, Value] = {}
    positional = [*spec.posonlyargs, *spec.args]
    given = list(args.positional)
    if receiver is not None and not info.is_static:
        given.insert(0, receiver)
    splat_at = len(given) - 1 if args.splat else None
    for i, parameter in enumerate(positional):
        name = parameter.arg
        if name in args.keywords:
            names[name] = args.keywords[name]
        elif i < len(given) and (splat_at is None or i < splat_at):
            names[name] = given[i]
        elif splat_at is not None:
            names[name] = given[splat_at]
        else:
            names[name] = _default(it, info, parameter, info.defaults.get(name), args)
    for parameter in spec.kwonlyargs:
        name = parameter.arg
        names[name] = (
            args.keywords[name]
            if name in args.keywords
            else _default(it, info, parameter, info.defaults.get(name), args)
        )
    if spec.vararg is not None:
        rest = given[len(positional) :]
        names[spec.vararg.arg] = (
            Value(Kind.SEQUENCE, element=join_all(rest or [given[-1]])) if args.splat and given
            else Value(Kind.SEQUENCE, items=tuple(rest), data="tuple")
        )  # fmt: skip
    if spec.kwarg is not None:
        known = {p.arg for p in (*positional, *spec.kwonlyargs)}
        rest_keywords = {k: v for k, v in args.keywords.items() if k not in known and k != "**"}
        names[spec.kwarg.arg] = Value(
            Kind.MAPPING, items=rest_keywords, element=args.keywords.get("**", UNKNOWN) if args.keyword_splat else None
        )
    for parameter in info.parameters:
        names[parameter.arg] = _with_annotation(names[parameter.arg], parameter, info.module)
    return names


def _default(
    it: Interpreter, info: FunctionInfo, parameter: ast.arg, default: ast.expr | None, args: Arguments
) -> Value:
    if args.keyword_splat and "**" in args.keywords:
        return args.keywords["**"]
    if default is None or args.keyword_splat:
        return Value(Kind.UNKNOWN, ident=("parameter", info.node, parameter.arg))
    return it.evaluate(Frame(info.module, None, {}), default)


def _with_annotation(value: Value, parameter: ast.arg, module: ModuleInfo) -> Value:
    """An unknown argument is what the annotation says."""
    if value.kind is not Kind.UNKNOWN or parameter.annotation is None:
        return value
    kind = annotation_kind(parameter.annotation, module)
    return annotated(value, kind)


def hand_back(it: Interpreter, frame: Frame, inner: Frame, args: Arguments, receiver: Value | None) -> bool:
    """Lists and dicts that a function was given and changed in place have changed for its caller, too.

    Whether there were any: what the function did then has to be done again at the next call.
    """
    info = inner.function
    if not inner.changed or info is None:
        return False
    parameters = [parameter.arg for parameter in info.parameters[0 if receiver is None or info.is_static else 1 :]]
    given = dict(zip(parameters, zip(args.nodes, args.positional, strict=False), strict=False))
    given.update((k, (n, args.keywords[k])) for k, n in args.keyword_nodes.items() if k in args.keywords)
    found = False
    for name in inner.changed:
        node, before = given.get(name, (None, None))
        after = inner.names.get(name)
        if node is None or before is None or after is None or after.kind is not before.kind:
            continue
        if not any(_is_binding(n, name) for n in walk(info.node)):
            rebind(it, frame, node, after)
            found = True
    return found


def _is_binding(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
