"""The tree that a list of changes should lead to, made on the tree itself.

`realise` works on text and never sees this; the engine parses the rewritten text and demands that it equals the tree
made here. A slip of precedence, an edit inside a string or a statement in the wrong block cannot pass.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from devicefix.codemods import changes as c
from devicefix.codemods.errors import CannotChange
from devicefix.codemods.expressions import parse_code
from devicefix.codemods.imports import as_insertion, import_line, is_available

if TYPE_CHECKING:
    from devicefix.source.text import SourceText

_PLACE = "__devicefix_value__"
_EXPRESSION_CHANGES = (c.ReplaceExpression, c.AppendToExpression, c.WrapExpression)


def expected_tree(source: SourceText, changes: Sequence[c.Change]) -> ast.Module:
    """``source.tree()`` with ``changes`` made. The original tree is not touched. Raises `CannotChange`."""
    return _Builder(source, changes).module()


class _Builder:
    def __init__(self, source: SourceText, changes: Sequence[c.Change]) -> None:
        self.source = source
        self.tree = source.tree()
        self.at: dict[int, list[Any]] = defaultdict(list)  # id of a node -> the changes that name it
        self.before: dict[int, list[ast.stmt]] = defaultdict(list)
        self.after: dict[int, list[ast.stmt]] = defaultdict(list)
        self.dirty: set[int] = {id(self.tree)}
        self.appended: list[ast.stmt] = []
        self.moves: list[c.MoveStatement] = []
        for change in dict.fromkeys(changes):
            self._note(change)

    def _note(self, change: c.Change) -> None:
        if isinstance(change, c.RemoveComment):
            return
        if isinstance(change, c.AddImport):
            insertion = as_insertion(self.tree, change)
            if insertion is not None:
                self._note(insertion)
            elif not is_available(self.tree, change):
                self.appended += _statements([import_line(change)])
            return
        if isinstance(change, c.InsertStatements):
            side = self.before if change.where == "before" else self.after
            side[id(change.anchor)] += _statements(change.lines)
            self._mark(change.anchor)
            return
        if isinstance(change, c.MoveStatement):
            self.moves.append(change)
            self.at[id(change.statement)].append(change)
            self._mark(change.anchor)
            self._mark(change.statement)
            return
        node = _named(change)
        self.at[id(node)].append(change)
        self._mark(node)

    def _mark(self, node: ast.AST) -> None:
        self.dirty.add(id(node))
        self.dirty.update(id(above) for above in self.source.ancestors(node))

    def module(self) -> ast.Module:
        for move in self.moves:
            side = self.before if move.where == "before" else self.after
            side[id(move.anchor)].append(self._node(move.statement))
        body = self._block(self.tree.body, is_module=True)
        return ast.Module(body=[*body, *self.appended], type_ignores=[])

    def _block(self, block: list[ast.stmt], *, is_module: bool = False) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in block:
            made += self.before[id(statement)]
            made += self._statement(statement)
            made += self.after[id(statement)]
        if not made and block and not is_module:
            made.append(ast.Pass())
        return made

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        for change in self.at.get(id(statement), ()):
            if isinstance(change, (c.DeleteStatement, c.MoveStatement)):
                return []
            if isinstance(change, c.ReplaceStatement):
                return _statements(change.lines)
            if isinstance(change, c.UnwrapIf):
                return self._block(change.statement.body)
            if isinstance(change, c.BindResult):
                [binding] = _statements([f"{change.target} = {_PLACE}"])
                return [_filled(binding, self._node(change.statement.value))]
            if isinstance(change, c.RewriteAssignment):
                value = change.statement.value
                if value is None:
                    raise CannotChange("the assignment has no value")
                [rewritten] = _statements([f"{change.prefix}{_PLACE}{change.suffix}"])
                return [_filled(rewritten, self._node(value))]
        return [self._node(statement)]

    def _node(self, node: Any) -> Any:
        if id(node) not in self.dirty:
            return node
        own = self.at.get(id(node), ())
        for change in own:
            if isinstance(change, c.Unwrap):
                return self._node(change.inner)
        made = self._copy(node)
        for change in own:
            if isinstance(change, c.EditCall):
                made = _edited_call(made, change)
            elif isinstance(change, c.AddParameter):
                made = _with_parameter(made, change)
        for change in own:
            if isinstance(change, c.ReplaceExpression):
                made = parse_code(change.code)
            elif isinstance(change, c.AppendToExpression):
                made = _filled(parse_code(f"{_PLACE}{change.suffix}"), made)
            elif isinstance(change, c.WrapExpression):
                made = _filled(parse_code(f"{change.prefix}{_PLACE}{change.suffix}"), made)
        return made

    def _copy(self, node: ast.AST) -> Any:
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    fields[name] = self._block(value)
                else:
                    fields[name] = [self._node(item) if isinstance(item, ast.AST) else item for item in value]
            else:
                fields[name] = self._node(value) if isinstance(value, ast.AST) else value
        return type(node)(**fields)


def _named(change: Any) -> ast.AST:
    for field in ("node", "call", "function", "statement"):
        node = getattr(change, field, None)
        if isinstance(node, ast.AST):
            return node
    raise TypeError(f"{type(change).__name__} names no node")


def _statements(lines: Sequence[str]) -> list[ast.stmt]:
    try:
        return ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError):
        raise CannotChange(f"`{lines[0] if lines else ''}` is not a statement") from None


def _filled(template: Any, value: ast.AST) -> Any:
    """The template with the placeholder name replaced by ``value``."""
    if isinstance(template, ast.Name) and template.id == _PLACE:
        return value
    for name, field in ast.iter_fields(template):
        if isinstance(field, list):
            setattr(template, name, [_filled(item, value) if isinstance(item, ast.AST) else item for item in field])
        elif isinstance(field, ast.AST):
            setattr(template, name, _filled(field, value))
    return template


def _edited_call(call: ast.Call, change: c.EditCall) -> ast.Call:
    function: ast.expr = call.func
    if change.function is not None:
        function = parse_code(change.function)
    elif change.method is not None:
        if not isinstance(call.func, ast.Attribute):
            raise CannotChange("the call is not a method call")
        function = ast.Attribute(value=call.func.value, attr=change.method, ctx=ast.Load())
    arguments = [argument for i, argument in enumerate(call.args) if i not in change.remove_positionals]
    arguments = [*(parse_code(code) for code in change.insert_positional), *arguments]
    keywords = [k for k in call.keywords if k.arg is None or k.arg not in change.remove_keywords]
    for name, code in change.set_keywords:
        new = ast.keyword(arg=name, value=parse_code(code))
        index = next((i for i, k in enumerate(keywords) if k.arg == name), -1)
        stars = next((i for i, k in enumerate(keywords) if k.arg is None), len(keywords))
        if index >= 0:
            keywords[index] = new
        else:
            keywords.insert(stars, new)
    return ast.Call(func=function, args=arguments, keywords=keywords)


def _with_parameter(function: Any, change: c.AddParameter) -> Any:
    [definition] = _statements([f"def f({change.code}): pass"])
    assert isinstance(definition, ast.FunctionDef)
    new = definition.args
    old = function.args
    keyword_only = bool(old.vararg or old.kwonlyargs)
    kw_defaults: list[ast.expr | None] = [*old.kw_defaults]
    if keyword_only:
        kw_defaults.append(new.defaults[0] if new.defaults else None)
    function.args = ast.arguments(
        posonlyargs=old.posonlyargs,
        args=old.args if keyword_only else [*old.args, *new.args],
        vararg=old.vararg,
        kwonlyargs=[*old.kwonlyargs, *new.args] if keyword_only else old.kwonlyargs,
        kw_defaults=kw_defaults,
        kwarg=old.kwarg,
        defaults=old.defaults if keyword_only else [*old.defaults, *new.defaults],
    )
    return function


def same_tree(one: Any, other: Any) -> bool:
    """Whether two trees are equal, places and contexts left out."""
    stack = [(one, other)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.Constant):
            if type(a.value) is not type(b.value) or repr(a.value) != repr(b.value) or a.kind != b.kind:
                return False
        elif isinstance(a, ast.AST):
            for field in a._fields:
                if field not in ("ctx", "type_ignores"):
                    stack.append((getattr(a, field, None), getattr(b, field, None)))
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True
