"""Moves whose result nobody keeps, and where it could be kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.assignable import UNASSIGNABLE, attribute_problem
from devicefix.analysis.conditional_moves import CONDITIONAL, ends_with, is_arm, is_second_arm, moves_one_thing
from devicefix.analysis.evidence import path_of
from devicefix.analysis.values import DType, Kind, Value
from devicefix.codemods.changes import BindResult, Change, ReplaceStatement

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Move
    from devicefix.analysis.model import FunctionInfo


@dataclass(slots=True)
class Dropped:
    """A statement that drops the result of a move."""

    node: ast.AST
    call: ast.Call | None
    receiver: ast.expr
    method: str
    container: bool = False
    chained: str = ""  #: the in-place method called on the moved copy
    changes: tuple[Change, ...] = ()
    title: str = ""
    doubt: str = ""
    note: str = ""
    values: list[Value] = field(default_factory=list)


def dropped_moves(facts: FileFacts) -> Iterator[Dropped]:
    """Every move of a tensor (or of a container that copies) whose result is dropped, in source order."""
    by_call: dict[ast.Call, list[Move]] = {}
    for move in facts.records.moves:
        statement = move.scope.statement
        if isinstance(statement, ast.Expr) and ends_with(statement.value, move.call) and facts.ran_here(move.scope):
            by_call.setdefault(move.call, []).append(move)
    for call in sorted(by_call, key=lambda c: (c.lineno, c.col_offset)):
        moves = by_call[call]
        verdict = _verdict(moves)
        if verdict is None:
            continue
        statement, chained = _dropping_statement(facts, call)
        if statement is None or not isinstance(call.func, ast.Attribute):
            continue
        if is_second_arm(statement.value, call):
            continue  # one statement, one finding
        if (
            _is_fresh(call.func.value)
            or _goes_nowhere(facts, statement, call)
            or (chained and not any(m.device is not None for m in moves))
        ):
            continue
        container, doubt = verdict
        if not doubt and any(_changes_dtype(m) for m in moves):
            doubt = "the result has another dtype, on the CPU as well"
        drop = Dropped(statement, call, call.func.value, moves[0].method, container, chained, doubt=doubt)
        drop.values = [m.receiver for m in moves]
        _repair(facts, drop, statement, moves)
        yield drop


def _dropping_statement(facts: FileFacts, call: ast.Call) -> tuple[ast.Expr | None, str]:
    """The expression statement that drops the call's result, and the in-place method called on it, if any."""
    parent = facts.parents.get(call)
    chained = ""
    if isinstance(parent, ast.Attribute):
        outer = facts.parents.get(parent)
        if not (
            isinstance(outer, ast.Call)
            and outer.func is parent
            and parent.attr.endswith("_")
            and not parent.attr.endswith("__")
        ):
            return None, ""
        if parent.attr == "share_memory_":
            return None, ""
        chained = parent.attr
        parent, call = facts.parents.get(outer), outer
    if isinstance(parent, (ast.Tuple, ast.List)) and isinstance(facts.parents.get(parent), ast.Expr):
        parent = facts.parents.get(parent)
    elif isinstance(parent, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and parent.elt is call:
        parent = facts.parents.get(parent)
    elif isinstance(parent, (ast.IfExp, ast.BoolOp)) and is_arm(parent, call):
        parent = facts.parents.get(parent)
    return (parent, chained) if isinstance(parent, ast.Expr) else (None, "")


def _verdict(moves: list[Move]) -> tuple[bool, str] | None:
    """(is a container, doubt) if every receiver is something whose move must be kept, else ``None``."""
    container = False
    doubt = ""
    certain = False
    for move in moves:
        value = move.receiver
        if value.is_tensor:
            container = container or value.has("packed")
            if value.has("guessed"):
                doubt = "that it is a tensor follows only from how the name is used"
            else:
                certain = True
        elif value.kind is Kind.OBJECT and not value.data.is_module:
            result = move.result
            if result.kind is not Kind.OBJECT or result.data is value.data:
                return None
            container = certain = True
        elif value.kind is Kind.UNKNOWN:
            continue
        else:
            return None
    if not certain and not doubt:
        return None
    return container, "" if certain else doubt


def _changes_dtype(move: Move) -> bool:
    """Whether a move converts as well, so that keeping its result changes what the program computes."""
    if move.method in torch_api.DTYPE_METHODS or move.method == "type":
        return True
    if not move.result.has("explicit_dtype") or move.receiver.has("explicit_dtype"):
        return False
    words = {n.attr for n in ast.walk(move.call) if isinstance(n, ast.Attribute)}
    default = {DType.FLOAT: {"float32", "float"}, DType.INT: {"int64", "long"}, DType.BOOL: {"bool"}}.get(
        move.receiver.dtype, set()
    )
    return not words & default


def _goes_nowhere(facts: FileFacts, statement: ast.stmt, call: ast.Call) -> bool:
    """``d = x.device`` … ``x.to(d)``: it is there already."""
    if not isinstance(call.func, ast.Attribute) or len(call.args) != 1 or call.keywords:
        return False
    own = f"{ast.unparse(call.func.value)}.device"
    given = ast.unparse(call.args[0])
    block = facts.parents.get(statement)
    before = [s for s in getattr(block, "body", []) if isinstance(s, ast.Assign) and s.lineno < statement.lineno]
    assigned = [s for s in before if any(ast.unparse(t) == given for t in s.targets)]
    return given == own or (bool(assigned) and ast.unparse(assigned[-1].value) == own)


def _is_fresh(receiver: ast.expr) -> bool:
    """``torch.zeros(1).to(d)`` as a statement is a probe: nobody could use the result."""
    node = receiver
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Call)


def _repair(facts: FileFacts, drop: Dropped, statement: ast.Expr, moves: list[Move]) -> None:
    if drop.call is None:
        return
    if isinstance(statement.value, (ast.Tuple, ast.List)):
        _repair_several(facts, drop, statement)
        return
    if isinstance(statement.value, (ast.IfExp, ast.BoolOp)) and not moves_one_thing(statement.value):
        drop.note = CONDITIONAL
        return
    if isinstance(statement.value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        _repair_comprehension(facts, drop, statement)
        return
    function = facts.function(statement)
    target = path_of(drop.receiver) or _item_path(drop.receiver)
    if target is None:
        drop.note = "the moved value has no name to assign the result to"
        return
    if isinstance(drop.receiver, ast.Subscript) and any(_is_tuple(facts, drop.receiver.value, m) for m in moves):
        drop.note = "an item of a tuple cannot be assigned"
        return
    loop = _loop_over(facts, statement, drop.receiver)
    if loop is not None and not _used_later_in_body(loop, statement, drop.receiver):
        _repair_loop(facts, drop, statement, loop, moves)
        return
    problem = _problem(facts, drop, function, moves)
    if problem:
        drop.note = UNASSIGNABLE[problem]
        return
    if drop.container and _is_parameter(drop.receiver, function) and not any(v.has("packed") for v in drop.values):
        drop.note = (
            "what it is follows only from the callers in this file; another caller may pass something that "
            "moves in place"
        )
        return
    written = facts.source.segment(drop.receiver)  # with the quotes that the file has
    target = target if "\n" in written else written
    drop.title = f"assign the result to `{target}`"
    drop.changes = (BindResult(statement, target),)


def _item_path(node: ast.expr) -> str | None:
    """``t[k]``, ``batch["x"][i]``: items reached through names and constants."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.Constant)):
        base = path_of(node.value) or _item_path(node.value)
        return ast.unparse(node) if base else None
    return None


def _is_tuple(facts: FileFacts, node: ast.expr, move: Move) -> bool:
    value = move.scope.names.get(node.id) if isinstance(node, ast.Name) else None
    return value is not None and value.kind is Kind.SEQUENCE and value.data == "tuple"


def _repair_several(facts: FileFacts, drop: Dropped, statement: ast.Expr) -> None:
    """``x.to(d), y.to(d)`` as a statement: bind all of them at once, reported at the first."""
    assert isinstance(statement.value, (ast.Tuple, ast.List))
    targets = []
    for element in statement.value.elts:
        if not (isinstance(element, ast.Call) and isinstance(element.func, ast.Attribute)):
            drop.note = "not every item of the statement is a move"
            return
        target = path_of(element.func.value)
        if target is None or not isinstance(element.func.value, ast.Name):
            drop.note = "not every moved value has a name of its own"
            return
        targets.append(target)
    function = facts.function(statement)
    if function is not None and any(t not in function.locals for t in targets):
        drop.note = UNASSIGNABLE["outer"]
        return
    drop.title = "assign the results"
    if len(targets) == 1 and isinstance(drop.call, ast.Call):
        drop.title = f"assign the result to `{targets[0]}`"
        text = facts.source.segment(drop.call)
        # ``x.to(d),`` with a comma by mistake: it must not become a tuple
        plain = isinstance(statement.value, ast.Tuple) and "\n" not in text
        drop.changes = (
            ReplaceStatement(statement, (f"{targets[0]} = {text}",))
            if plain
            else BindResult(statement, f"{targets[0]},"),
        )
    elif statement.value.elts[0] is drop.call:
        drop.changes = (BindResult(statement, ", ".join(targets)),)
    else:
        drop.note = "repaired together with the first one of the statement"


def _repair_comprehension(facts: FileFacts, drop: Dropped, statement: ast.Expr) -> None:
    """``[x.to(d) for x in xs]`` as a statement: bind the list to the name that it is made from."""
    comprehension = statement.value
    assert isinstance(comprehension, (ast.ListComp, ast.SetComp, ast.GeneratorExp))
    source = comprehension.generators[0]
    function = facts.function(statement)
    plain = len(comprehension.generators) == 1 and not source.ifs and isinstance(comprehension, ast.ListComp)
    if (
        not plain
        or not isinstance(source.target, ast.Name)
        or not isinstance(drop.receiver, ast.Name)
        or source.target.id != drop.receiver.id
    ):
        drop.note = "the new list has no name to be bound to"
        return
    if not isinstance(source.iter, ast.Name) or (function is not None and source.iter.id not in function.locals):
        drop.note = "the new list has no local name to be bound to"
        return
    drop.title = f"bind the new list to `{source.iter.id}`"
    drop.changes = (BindResult(statement, source.iter.id),)


def _problem(facts: FileFacts, drop: Dropped, function: FunctionInfo | None, moves: list[Move]) -> str:
    """Why the receiver cannot be assigned; "" if it can."""
    node = drop.receiver
    if any(v.has("leaf") and v.has("requires_grad") for v in drop.values):
        return "leaf"
    if any(v.has("buffer") or v.has("parameter") for v in drop.values if v.is_tensor):
        return "registered"
    if isinstance(node, ast.Name):
        if function is not None and (node.id not in function.locals or node.id in function.outer_names):
            return "outer"
        if _is_parameter(node, function) and not _used_after(function, drop.node, node.id):
            return "parameter"
    if isinstance(node, ast.Attribute):
        if node.attr in ("data", "grad") and all(v.is_tensor for v in drop.values):
            return "data"
        return attribute_problem(node, moves)
    return ""


def _is_parameter(node: ast.expr, function: FunctionInfo | None) -> bool:
    return isinstance(node, ast.Name) and function is not None and any(a.arg == node.id for a in function.parameters)


def _used_after(function: FunctionInfo | None, statement: ast.AST, name: str) -> bool:
    """Whether a name is read below a statement, or anywhere in a loop around it."""
    if function is None:
        return True
    end = getattr(statement, "end_lineno", 0), getattr(statement, "end_col_offset", 0)
    loops = [
        n
        for n in ast.walk(function.node)
        if isinstance(n, (ast.For, ast.While)) and any(c is statement for c in ast.walk(n))
    ]
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            if (node.lineno, node.col_offset) > end:
                return True
            if any(loop.lineno <= node.lineno for loop in loops) and not any(c is node for c in ast.walk(statement)):
                return True
    return False


# -- loops -----------------------------------------------------------------------------------------------------------


def _loop_over(facts: FileFacts, statement: ast.stmt, receiver: ast.expr) -> ast.For | None:
    """The loop whose variable is moved."""
    if not isinstance(receiver, ast.Name):
        return None
    current = facts.parents.get(statement)
    while current is not None and not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(current, ast.For) and any(
            isinstance(n, ast.Name) and n.id == receiver.id for n in ast.walk(current.target)
        ):
            return current
        current = facts.parents.get(current)
    return None


def _used_later_in_body(loop: ast.For, statement: ast.stmt, receiver: ast.expr) -> bool:
    assert isinstance(receiver, ast.Name)
    inside = {id(n) for n in ast.walk(statement)}
    return any(
        isinstance(n, ast.Name) and n.id == receiver.id and isinstance(n.ctx, ast.Load) and id(n) not in inside
        and (n.lineno, n.col_offset) > (statement.lineno, statement.col_offset)
        for s in loop.body for n in ast.walk(s)
    )  # fmt: skip


def _repair_loop(facts: FileFacts, drop: Dropped, statement: ast.Expr, loop: ast.For, moves: list[Move]) -> None:
    """``for t in ts: t.to(d)`` rebuilds the list; ``for k, v in d.items(): v.to(d)`` assigns the item."""
    assert isinstance(drop.receiver, ast.Name)
    iterable, target, name = loop.iter, loop.target, drop.receiver.id
    if (
        isinstance(target, ast.Tuple)
        and len(target.elts) == 2
        and isinstance(target.elts[0], ast.Name)
        and isinstance(iterable, ast.Call)
    ):
        key = target.elts[0].id
        function = iterable.func
        second = isinstance(target.elts[1], ast.Name) and target.elts[1].id == name
        if second and isinstance(function, ast.Attribute) and function.attr == "items" and path_of(function.value):
            _bind_item(drop, statement, f"{ast.unparse(function.value)}[{key}]")
            return
        if (
            second
            and isinstance(function, ast.Name)
            and function.id == "enumerate"
            and iterable.args
            and path_of(iterable.args[0])
        ):
            _bind_item(drop, statement, f"{ast.unparse(iterable.args[0])}[{key}]")
            return
    if (
        isinstance(target, ast.Name)
        and loop.body == [statement]
        and not loop.orelse
        and isinstance(statement.value, ast.Call)
    ):
        move = ast.unparse(statement.value)
        scope_function = facts.function(loop)
        if isinstance(iterable, ast.Name) and (scope_function is None or iterable.id in scope_function.locals):
            if _is_list(iterable.id, moves):
                drop.title = f"rebuild `{iterable.id}`"
                drop.changes = (ReplaceStatement(loop, (f"{iterable.id} = [{move} for {name} in {iterable.id}]",)),)
                if not _shown_list(iterable.id, moves):
                    drop.doubt = drop.doubt or f"`{iterable.id}` may be something other than a list"
                return
        if isinstance(iterable, (ast.Tuple, ast.List)) and all(isinstance(e, ast.Name) for e in iterable.elts):
            names = ", ".join(e.id for e in iterable.elts if isinstance(e, ast.Name))
            drop.title = f"assign the results to {names}"
            drop.changes = (ReplaceStatement(loop, (f"{names} = ({move} for {name} in ({names}))",)),)
            return
    drop.note = "rebinding the loop variable would not change what is looped over"


def _bind_item(drop: Dropped, statement: ast.Expr, target: str) -> None:
    drop.title = f"assign the result to `{target}`"
    drop.changes = (BindResult(statement, target),)


def _is_list(name: str, moves: list[Move]) -> bool:
    values = [m.scope.names.get(name) for m in moves]
    return all(v is None or v.kind in (Kind.SEQUENCE, Kind.UNKNOWN) for v in values)


def _shown_list(name: str, moves: list[Move]) -> bool:
    values = [m.scope.names.get(name) for m in moves]
    return any(v is not None and v.kind is Kind.SEQUENCE and v.data in ("list", "tuple") for v in values)


__all__ = ["Dropped", "dropped_moves", "torch_api"]
