"""Changing a call: its name, its arguments."""

from __future__ import annotations

import ast
import re

import libcst as cst

from devicefix.codemods import commas
from devicefix.codemods.changes import EditCall
from devicefix.codemods.edits import Edit, minimal
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.layout import Layout
from devicefix.codemods.snippets import code_of, parse_expression

_LAST_NAME = re.compile(r"\w+\Z")


def edit_call(layout: Layout, change: EditCall) -> list[Edit]:
    """The edits of an `EditCall`."""
    layout.require_plain(change.call)
    edits = []
    if change.function is not None:
        start, end = layout.outer(change.call.func)
        edits.append(Edit(start, end, change.function))
    elif change.method is not None:
        edits.append(_rename_method(layout, change.call, change.method))
    if change.set_keywords or change.remove_keywords or change.remove_positionals or change.insert_positional:
        edits += _edit_arguments(layout, change)
    return edits


def _rename_method(layout: Layout, call: ast.Call, name: str) -> Edit:
    if not isinstance(call.func, ast.Attribute):
        raise CannotChange("the call is not a method call")
    end = layout.end(call.func)
    match = _LAST_NAME.search(layout.text, 0, end)
    if match is None:
        raise CannotChange("the name of the method was not found")
    return Edit(match.start(), end, name)


def _edit_arguments(layout: Layout, change: EditCall) -> list[Edit]:
    """Only the stretch between the call's parentheses goes through libcst, as the arguments of a call named ``f``."""
    opening = layout.next_bracket(change.call, layout.outer(change.call.func)[1])
    closing = layout.end(change.call)
    text = layout.source.python_text[opening:closing]
    line_end = layout.line_end(layout.lines.line_of(opening))
    call = parse_expression("f" + text, line_end)
    if not isinstance(call, cst.Call) or code_of(call, line_end) != "f" + text:
        raise CannotChange("the layout of the call is not understood")
    new = code_of(_with_arguments(call, change), line_end)[1:]
    return minimal(layout.text, opening, closing, new)


def _with_arguments(call: cst.Call, change: EditCall) -> cst.Call:
    arguments: list[cst.Arg] = list(call.args)
    before = call.whitespace_before_args
    for index in sorted(_indices_to_remove(arguments, change), reverse=True):
        arguments = commas.remove(arguments, index)

    for keyword, code in change.set_keywords:
        value = parse_expression(code)
        index = next((i for i, a in enumerate(arguments) if a.keyword and a.keyword.value == keyword), -1)
        if index >= 0:
            arguments[index] = arguments[index].with_changes(value=value)
            continue
        new = cst.Arg(keyword=cst.Name(keyword), value=value, equal=_equal_sign(arguments))
        stars = next((i for i, a in enumerate(arguments) if a.star == "**"), -1)
        if stars >= 0:
            arguments = commas.insert(arguments, stars, [new], before)
        else:
            arguments = commas.append(arguments, [new], before)

    if change.insert_positional:
        new_first = [cst.Arg(value=parse_expression(code)) for code in change.insert_positional]
        if arguments:
            arguments = commas.insert(arguments, 0, new_first, before)
        else:
            arguments = commas.append(arguments, new_first, before)
    return call.with_changes(args=[_own_parentheses(a) for a in arguments] if len(arguments) > 1 else arguments)


def _indices_to_remove(arguments: list[cst.Arg], change: EditCall) -> set[int]:
    indices = set()
    positional = [i for i, a in enumerate(arguments) if a.keyword is None and a.star != "**"]
    for number in change.remove_positionals:
        if number >= len(positional) or any(arguments[i].star for i in positional[: number + 1]):
            raise CannotChange("the argument to remove was not found")
        indices.add(positional[number])
    for name in change.remove_keywords:
        found = [i for i, a in enumerate(arguments) if a.keyword is not None and a.keyword.value == name]
        if not found:
            raise CannotChange(f"the call has no argument `{name}`")
        indices.update(found)
    return indices


def _equal_sign(arguments: list[cst.Arg]) -> cst.AssignEqual:
    """The ``=`` of a new keyword argument, spaced like those that are there."""
    for argument in reversed(arguments):
        if isinstance(argument.equal, cst.AssignEqual):
            spaces = (argument.equal.whitespace_before, argument.equal.whitespace_after)
            if all(isinstance(space, cst.SimpleWhitespace) for space in spaces):
                return argument.equal
    return cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def _own_parentheses(argument: cst.Arg) -> cst.Arg:
    """A generator that shared the call's parentheses needs its own beside other arguments."""
    if isinstance(argument.value, cst.GeneratorExp) and not argument.value.lpar:
        value = argument.value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return argument.with_changes(value=value)
    return argument
