"""Adding a parameter to a function in the layout of its signature."""

from __future__ import annotations

import ast

import libcst as cst

from devicefix.codemods import commas
from devicefix.codemods.changes import AddParameter
from devicefix.codemods.edits import Edit, minimal
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.layout import Layout
from devicefix.codemods.snippets import code_of, parse_function


def add_parameter(layout: Layout, change: AddParameter) -> list[Edit]:
    """The edits of an `AddParameter`."""
    layout.require_plain(change.function)
    opening, closing = _signature(layout, change.function)
    line_end = layout.line_end(layout.lines.line_of(opening))
    text = layout.source.python_text[opening:closing]
    header = f"def f{text}: pass"
    function = parse_function(header, line_end)
    if code_of(function, line_end).rstrip("\r\n") != header:
        raise CannotChange("the layout of the signature is not understood")
    new_parameter = parse_function(f"def f({change.code}): pass").params.params[0]
    name = new_parameter.name.value
    arguments = change.function.args
    taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    if any(argument is not None and argument.arg == name for argument in taken):
        raise CannotChange(f"the function already has a parameter `{name}`")
    has_defaults = bool(arguments.defaults) and not arguments.vararg and not arguments.kwonlyargs
    if new_parameter.default is None and has_defaults:
        raise CannotChange("a parameter without a default cannot follow one with a default")
    parameters = _with_parameter(function, new_parameter)
    new = code_of(function.with_changes(params=parameters), line_end).rstrip("\r\n")
    return minimal(layout.text, opening, closing, new[len("def f") : -len(": pass")])


def _signature(layout: Layout, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """From the parenthesis that opens the parameters to just after the one that closes them."""
    tokens = layout.significant(function)
    start = layout.source.start_of(function)
    depth = square = 0
    opening = -1
    for token in tokens:
        if token.offset < start:
            continue
        if opening < 0 and token.text in ("[", "]"):  # type parameters
            square += 1 if token.text == "[" else -1
        if token.text in ("(", "[", "{") and (opening >= 0 or square == 0):
            if depth == 0:
                opening = token.offset
            depth += 1
        elif token.text in (")", "]", "}") and opening >= 0:
            depth -= 1
            if depth == 0:
                return opening, token.offset + 1
    raise CannotChange("the parameters of the function were not found")


def _with_parameter(function: cst.FunctionDef, new: cst.Param) -> cst.Parameters:
    params = function.params
    before = function.whitespace_before_params
    keyword_only = bool(params.kwonly_params) or isinstance(params.star_arg, (cst.Param, cst.ParamStar))
    group = "kwonly_params" if keyword_only else "params"
    items = list(params.kwonly_params if keyword_only else params.params)
    if isinstance(params.star_kwarg, cst.Param):
        items = _before_last_group(items, new, before, params)
        return params.with_changes(**{group: items})
    if items:
        return params.with_changes(**{group: commas.append(items, [new], before)})
    if isinstance(params.star_arg, cst.Param):
        star, added = commas.append([params.star_arg], [new], before)
        return params.with_changes(star_arg=star, kwonly_params=[added])
    if params.posonly_params:
        return _after_positional_only(params, new)
    return params.with_changes(params=[new])


def _before_last_group(
    items: list[cst.Param], new: cst.Param, before: cst.BaseParenthesizableWhitespace, params: cst.Parameters
) -> list[cst.Param]:
    """The parameter goes before ``**kwargs``, separated as the parameter before is."""
    gap: cst.BaseParenthesizableWhitespace = commas.ONE_SPACE
    previous = items[-1] if items else params.star_arg
    space = commas.comma_space(previous) if isinstance(previous, cst.Param) else before
    if isinstance(space, cst.ParenthesizedWhitespace):
        gap = commas.bare(space)
    return [*items, new.with_changes(comma=cst.Comma(whitespace_after=gap))]


def _after_positional_only(params: cst.Parameters, new: cst.Param) -> cst.Parameters:
    slash = params.posonly_ind
    if not isinstance(slash, cst.ParamSlash):
        raise CannotChange("the layout of the signature is not understood")
    slash = slash.with_changes(comma=cst.Comma(whitespace_after=commas.ONE_SPACE))
    return params.with_changes(posonly_ind=slash, params=[new])
