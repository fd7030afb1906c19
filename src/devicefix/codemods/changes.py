"""What a fix may do to a program, as data.

Rules build these from nodes of the standard library's ``ast``; ``codemods.realise`` turns them into text edits with
libcst. A change names only the node that it touches, so that the engine can check afterwards that nothing else moved.
Code fragments are source text of one line.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ReplaceExpression:
    """Put ``code`` in the place of ``node``; parentheses are added where precedence asks for them."""

    node: ast.expr
    code: str


@dataclass(frozen=True, slots=True)
class EditCall:
    """Change a call: new callee, keyword arguments set (added last or replaced), removed, positionals dropped.

    ``set_keywords`` keeps the layout of multi-line calls (trailing comma, indentation). ``insert_positional`` holds
    arguments placed before the existing ones. ``function`` replaces the callee text, ``method`` only the last name of
    an attribute callee (``x.cuda`` → ``x.to``), leaving the receiver's text as it is.
    """

    call: ast.Call
    set_keywords: tuple[tuple[str, str], ...] = ()
    remove_keywords: tuple[str, ...] = ()
    remove_positionals: tuple[int, ...] = ()
    insert_positional: tuple[str, ...] = ()
    function: str | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class AppendToExpression:
    """``node`` becomes ``node<suffix>``, as in ``torch.from_numpy(a)`` + ``.to(x.device)``; parenthesised if needed."""

    node: ast.expr
    suffix: str


@dataclass(frozen=True, slots=True)
class Unwrap:
    """``node`` becomes ``inner``, one of the expressions inside it; all of ``inner``'s text stays as it is.

    With it ``f(x).to(d)`` turns into ``f(x)``. May be combined with changes inside ``inner``.
    """

    node: ast.expr
    inner: ast.expr


@dataclass(frozen=True, slots=True)
class WrapExpression:
    """``node`` becomes ``<prefix>node<suffix>``; the node's own text, comments included, stays as it is."""

    node: ast.expr
    prefix: str
    suffix: str


@dataclass(frozen=True, slots=True)
class BindResult:
    """An expression statement becomes an assignment: ``x.to(d)`` → ``x = x.to(d)``; works after ``if c:`` and ``;``."""

    statement: ast.Expr
    target: str


@dataclass(frozen=True, slots=True)
class ReplaceStatement:
    """Put other statements, one per item of ``lines``, in the place of ``statement``.

    A trailing comment on the last line of a simple statement stays. Compound statements lose their body, so rules use
    this only where the body is gone on purpose. Lines may be indented relative to the statement with spaces.
    """

    statement: ast.stmt
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RewriteAssignment:
    """``target = value`` (annotated or not) becomes ``<prefix>value<suffix>``, keeping the value's text and layout.

    With it ``self.m = torch.zeros(3)`` turns into ``self.register_buffer("m", torch.zeros(3), persistent=False)``.
    """

    statement: ast.Assign | ast.AnnAssign
    prefix: str
    suffix: str


@dataclass(frozen=True, slots=True)
class InsertStatements:
    """Add statements before or after ``anchor``, at the anchor's indentation.

    ``after`` puts them below the whole anchor (its trailing comment included). ``blank_before``/``blank_after`` ask for
    so many blank lines around them (existing ones count). An anchor that shares its line (``a; b``, ``if c: a``) cannot
    take statements, unless it is the first one there and they go above; else the change fails and the fix is withdrawn.
    """

    anchor: ast.stmt
    lines: tuple[str, ...]
    where: Literal["before", "after"] = "before"
    blank_before: int = 0
    blank_after: int = 0


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """Remove a statement and its own line; a body left empty gets ``pass``."""

    statement: ast.stmt


@dataclass(frozen=True, slots=True)
class MoveStatement:
    """Take ``statement`` (with its trailing comment) out and put it before/after ``anchor`` in the same block."""

    statement: ast.stmt
    anchor: ast.stmt
    where: Literal["before", "after"] = "before"


@dataclass(frozen=True, slots=True)
class UnwrapIf:
    """Replace ``if test: body`` (no else) by its body, dedented, comments kept."""

    statement: ast.If


@dataclass(frozen=True, slots=True)
class AddParameter:
    """Add a parameter such as ``device=None`` to a function: last, but before ``*args``-less ``**kwargs``."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    code: str


@dataclass(frozen=True, slots=True)
class AddImport:
    """Make ``module`` (``import torch``) or ``from module import name`` available, after the file's own imports."""

    module: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveComment:
    """Take out the comment at ``text[start:end]`` with the white space before it; its line too if nothing is left."""

    start: int
    end: int


Change = (
    ReplaceExpression
    | EditCall
    | AppendToExpression
    | Unwrap
    | WrapExpression
    | BindResult
    | ReplaceStatement
    | RewriteAssignment
    | InsertStatements
    | DeleteStatement
    | MoveStatement
    | UnwrapIf
    | AddParameter
    | AddImport
    | RemoveComment
)
