"""Small pieces of source through libcst and back, exact to the character."""

from __future__ import annotations

import libcst as cst

from devicefix.codemods.errors import CannotChange


def parse_expression(code: str, line_end: str = "\n") -> cst.BaseExpression:
    """The concrete tree of an expression. Raises `CannotChange` when libcst does not know the syntax."""
    try:
        return cst.parse_expression(code, config=cst.PartialParserConfig(default_newline=line_end))
    except (cst.ParserSyntaxError, RecursionError, ValueError) as error:
        raise CannotChange(f"`{_short(code)}` cannot be taken apart") from error


def parse_function(code: str, line_end: str = "\n") -> cst.FunctionDef:
    """The concrete tree of a one-line function definition. Raises `CannotChange`."""
    try:
        statement = cst.parse_statement(code, config=cst.PartialParserConfig(default_newline=line_end))
    except (cst.ParserSyntaxError, RecursionError, ValueError) as error:
        raise CannotChange("the function's parameters cannot be taken apart") from error
    if not isinstance(statement, cst.FunctionDef):
        raise CannotChange("the function's parameters cannot be taken apart")
    return statement


def code_of(node: cst.CSTNode, line_end: str = "\n") -> str:
    """The text of a concrete tree."""
    return cst.Module([], default_newline=line_end).code_for_node(node)


def _short(code: str) -> str:
    return code if len(code) <= 40 else code[:37] + "..."
