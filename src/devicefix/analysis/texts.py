"""What a text that is put together while the program runs is known by: ``f"cuda:{rank}"`` is one device everywhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable

#: how the name of a device begins, ``cuda:``; most texts are messages, and need no name
_DEVICE = re.compile(r"[a-z]+(?::|\Z)")


def text_ident(node: ast.JoinedStr | ast.BinOp) -> Hashable:
    """Equal for texts that are spelled alike and may name a device; else None."""
    first: ast.expr = node
    while isinstance(first, (ast.BinOp, ast.JoinedStr)):
        first = first.left if isinstance(first, ast.BinOp) else first.values[0] if first.values else ast.Constant("")
    if isinstance(first, ast.Constant) and not (isinstance(first.value, str) and _DEVICE.match(first.value)):
        return None
    return ("text", ast.unparse(node))
