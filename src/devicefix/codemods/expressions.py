"""Changing an expression in place: replacing it, putting text before and behind it."""

from __future__ import annotations

import ast

from devicefix.codemods.changes import AppendToExpression, ReplaceExpression, Unwrap, WrapExpression
from devicefix.codemods.edits import Edit
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.layout import Layout

# Expressions that bind as tightly as a name: a suffix such as ``.to(d)`` may follow them directly.
ATOMS = (
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.JoinedStr,
)


def is_atom(node: ast.expr, *, has_parentheses: bool = False) -> bool:
    """Whether a suffix may follow the node's text. ``has_parentheses``: the text includes the node's parentheses."""
    if isinstance(node, ast.Constant):
        # `1.to` is not an attribute of 1, and `'a' 'b'` would still be one string: fine.
        return not isinstance(node.value, (int, float, complex)) or isinstance(node.value, bool)
    if isinstance(node, (ast.Tuple, ast.GeneratorExp)):
        return has_parentheses
    return isinstance(node, ATOMS)


def parse_code(code: str) -> ast.expr:
    """The tree of a code fragment. Raises `CannotChange` for text that is not one expression."""
    try:
        return ast.parse(f"({code}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        raise CannotChange(f"`{code}` is not an expression") from None


def replace_expression(layout: Layout, change: ReplaceExpression) -> list[Edit]:
    """The edit of a `ReplaceExpression`."""
    layout.require_plain(change.node)
    start, end = layout.start(change.node), layout.end(change.node)
    code = change.code
    new = parse_code(code)
    atomic = is_atom(new, has_parentheses=code.startswith("("))
    if not atomic and not isinstance(new, ast.Constant) and _needs_parentheses(layout, change.node, new):
        code = f"({code})"
    elif isinstance(new, ast.Constant) and not atomic and isinstance(layout.source.parent(change.node), ast.Attribute):
        code = f"({code})"
    return _shared_parentheses(layout, change.node, start, end, code)


def _shared_parentheses(layout: Layout, node: ast.expr, start: int, end: int, code: str) -> list[Edit]:
    """A generator argument owns the call's parentheses as well: its replacement must bring its own pair."""
    if isinstance(node, ast.GeneratorExp) and _shares_call_parentheses(layout, node):
        return [Edit(start, end, f"({code})")]
    return [Edit(start, end, code)]


def _shares_call_parentheses(layout: Layout, node: ast.GeneratorExp) -> bool:
    parent = layout.source.parent(node)
    return isinstance(parent, ast.Call) and node in parent.args and layout.end(parent) == layout.end(node)


def _needs_parentheses(layout: Layout, node: ast.expr, new: ast.expr) -> bool:
    """Whether a replacement that is no atom must be put in parentheses where ``node`` stands."""
    if layout.is_parenthesised(node):
        return False
    parent = layout.source.parent(node)
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
        return isinstance(new, ast.NamedExpr)
    if isinstance(parent, ast.Dict) and all(value is not node for value in _unpacked(parent)):
        return isinstance(new, (ast.Tuple, ast.Yield, ast.YieldFrom, ast.NamedExpr))
    if isinstance(parent, (ast.Call, ast.keyword)) and not (isinstance(parent, ast.Call) and node is parent.func):
        return isinstance(new, (ast.Tuple, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.GeneratorExp))
    return True


def _unpacked(node: ast.Dict) -> list[ast.expr]:
    """``b`` of ``{"a": 1, **b}``."""
    return [value for key, value in zip(node.keys, node.values, strict=True) if key is None]


def unwrap(layout: Layout, change: Unwrap) -> list[Edit]:
    """The edits of an `Unwrap`: what stands around the inner expression goes."""
    layout.require_plain(change.node)
    start, end = layout.start(change.node), layout.end(change.node)
    inner_start, inner_end = layout.outer(change.inner)
    opening = closing = ""
    if not layout.is_parenthesised(change.inner) and _inner_needs_parentheses(layout, change):
        opening, closing = "(", ")"
    edits = [Edit(start, inner_start, opening)] if start < inner_start or opening else []
    return [*edits, Edit(inner_end, end, closing)] if inner_end < end or closing else edits


def _inner_needs_parentheses(layout: Layout, change: Unwrap) -> bool:
    """Whether the inner expression relied on the brackets that go: for its precedence or for its line ends."""
    inner = change.inner
    own = isinstance(inner, (ast.Tuple, ast.GeneratorExp)) and layout.text.startswith("(", layout.start(inner))
    is_number = isinstance(inner, ast.Constant) and not isinstance(layout.source.parent(change.node), ast.Attribute)
    if not is_atom(inner, has_parentheses=own) and not is_number and _needs_parentheses(layout, change.node, inner):
        return True
    text = layout.text[layout.start(inner) : layout.end(inner)]
    if ("\n" not in text and "\r" not in text) or layout.is_parenthesised(change.node):
        return False
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return True
    return False


def append_to_expression(layout: Layout, change: AppendToExpression) -> list[Edit]:
    """The edits of an `AppendToExpression`."""
    return _put_around(layout, change.node, "", change.suffix, atom_needed=True)


def wrap_expression(layout: Layout, change: WrapExpression) -> list[Edit]:
    """The edits of a `WrapExpression`. A prefix that opens a bracket protects the node; else precedence decides."""
    protected = change.prefix.rstrip().endswith(("(", "[", "{", ","))
    return _put_around(layout, change.node, change.prefix, change.suffix, atom_needed=not protected)


def _put_around(layout: Layout, node: ast.expr, prefix: str, suffix: str, *, atom_needed: bool) -> list[Edit]:
    layout.require_plain(node)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    if isinstance(node, ast.Starred) or any(isinstance(part, ast.Slice) for part in parts):
        raise CannotChange("the code is no expression by itself")
    start, end = layout.outer(node)
    inner = layout.start(node), layout.end(node)
    parenthesised = (start, end) != inner
    if isinstance(node, ast.GeneratorExp) and _shares_call_parentheses(layout, node):
        # The span of the generator is that of the call's parentheses: double them.
        return [Edit(start, start, "(" + prefix, -end), Edit(end, end, suffix + ")", -start)]
    own = isinstance(node, (ast.Tuple, ast.GeneratorExp)) and layout.text.startswith("(", inner[0])
    if atom_needed and not parenthesised and not is_atom(node, has_parentheses=own):
        prefix, suffix = prefix + "(", ")" + suffix
    elif not atom_needed and isinstance(node, (ast.Tuple, ast.Yield, ast.YieldFrom)) and not parenthesised and not own:
        prefix, suffix = prefix + "(", ")" + suffix
    edits = [Edit(start, start, prefix, -end)] if prefix else []
    return [*edits, Edit(end, end, suffix, -start)] if suffix else edits
