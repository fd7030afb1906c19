"""DVF304: a parameter or a leaf that is moved right after it was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.tree_index import last_name
from devicefix.codemods.changes import AppendToExpression, Change, EditCall, Unwrap
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Move

CODE, NAME = "DVF304", "parameter-moved"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every parameter or other leaf that is moved in the expression that makes it."""
    done: set[ast.Call] = set()
    for move in facts.records.moves:
        made = _made(move)
        if made is None or move.call in done or not facts.here(move.call) or not _kept(facts, move):
            continue
        done.add(move.call)
        what = "parameter" if move.receiver.has("parameter") else "leaf"
        message = (
            f"{short(move.call)} is no longer the {what} that {short(made)} made: on another device "
            f"`.{move.method}()` returns a copy "
            "that is no leaf, which no module registers and no optimizer accepts"
        )
        changes = _changes(move, made)
        yield finding(
            facts, CODE, NAME, move.call, message,
            fix=fix("create it on the device", *changes) if changes else None,
            note="" if changes else "move the data before the parameter is made",
        )  # fmt: skip


def _made(move: Move) -> ast.Call | None:
    """The call that made the leaf, when the move follows at once."""
    function = move.call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Call):
        return None
    if move.device is None and move.method in torch_api.DTYPE_METHODS:
        return None
    value = move.receiver
    if not (value.is_tensor and value.has("leaf") and value.has("requires_grad")):
        return None
    asked = next((k.value for k in function.value.keywords if k.arg == "requires_grad"), None)
    if asked is not None and not isinstance(asked, ast.Constant):
        return None  # whether it is to be trained is for a caller to say
    return function.value


def _kept(facts: FileFacts, move: Move) -> bool:
    """Whether the copy is kept as something to be trained: stored, collected, returned or handed to an optimizer."""
    parent = facts.parents.get(move.call)
    if isinstance(parent, ast.Return) and _is_result(facts, parent):
        return False
    if move.receiver.has("parameter"):
        return isinstance(
            parent,
            (
                ast.Assign,
                ast.AnnAssign,
                ast.List,
                ast.Tuple,
                ast.ListComp,
                ast.Return,
                ast.Call,
                ast.Dict,
                ast.DictComp,
            ),
        )
    if isinstance(parent, ast.Assign):
        return _optimized(facts, parent) or any(isinstance(t, ast.Attribute) for t in parent.targets)
    return isinstance(parent, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp, ast.Return))


def _is_result(facts: FileFacts, statement: ast.Return) -> bool:
    """Whether a method of a module returns it to whoever runs the module, as a loss of nothing: no method of the class
    asks for it."""
    function = facts.function(statement)
    if function is None or function.cls is None or function.is_static or function.is_class_method:
        return False
    if not any(obj.is_module for obj in facts.records.classes.get(function.cls, ())):
        return function.name == "forward"
    calls = (
        node for node in function.cls.walk() if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return not any(call.func.attr == function.name for call in calls if isinstance(call.func, ast.Attribute))


def _optimized(facts: FileFacts, statement: ast.Assign) -> bool:
    """Whether the name that is assigned reaches an optimizer, or its gradient is read."""
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
    function = facts.function(statement)
    scope: ast.AST = function.node if function is not None else facts.tree
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "grad"
            and isinstance(node.value, ast.Name)
            and node.value.id in names
        ):
            return True
        if isinstance(node, ast.Call) and "optim" in ast.unparse(node.func):
            if any(isinstance(n, ast.Name) and n.id in names for a in node.args for n in ast.walk(a)):
                return True
    return False


def _changes(move: Move, made: ast.Call) -> list[Change]:
    """Move the data inside the parentheses, or create it on the device."""
    call = move.call
    if move.receiver.has("parameter") or last_name(made.func) == "Variable":
        if not made.args or isinstance(made.args[0], ast.Starred):
            return []
        assert isinstance(call.func, ast.Attribute)
        arguments = ", ".join(
            [ast.unparse(a) for a in call.args] + [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords]
        )
        moved = AppendToExpression(made.args[0], f".{call.func.attr}({arguments})")
        return [Unwrap(call, made), moved]
    device = _device_argument(call)
    fact = torch_api.function(_factory_name(move))
    factory = _factory(move, made)
    if device is None or fact is None or factory is None:
        return []
    if not fact.device or any(k.arg == "device" for k in factory.keywords):
        return []
    return [Unwrap(call, made), EditCall(factory, set_keywords=(("device", device),))]


def _factory(move: Move, made: ast.Call) -> ast.Call | None:
    """The factory call itself, also in front of ``.requires_grad_()``."""
    if isinstance(made.func, ast.Attribute) and made.func.attr == "requires_grad_":
        inner = made.func.value
        made = inner if isinstance(inner, ast.Call) else made
    return made if any(origin.node is made for origin in move.receiver.origins) else None


def _factory_name(move: Move) -> str:
    origins = move.receiver.origins
    return origins[0].detail if len(origins) == 1 and origins[0].kind == "factory" else ""


def _device_argument(call: ast.Call) -> str | None:
    """The only argument of ``.to(device)`` or ``.cuda(k)``, as a device."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "to" and len(call.args) == 1 and not call.keywords:
        return ast.unparse(call.args[0])
    if call.func.attr == "to" and not call.args and len(call.keywords) == 1 and call.keywords[0].arg == "device":
        return ast.unparse(call.keywords[0].value)
    if call.func.attr == "cuda" and not call.args and not call.keywords:
        return '"cuda"'
    return None


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a parameter is moved right after it was made, which makes a copy that is no parameter",
    explanation="""
`nn.Parameter(t).to(device)` is a plain tensor as soon as something has to move: no module registers it,
`parameters()` does not list it, and an optimizer refuses it ("can't optimize a non-leaf Tensor"). On the CPU nothing
moves and all seems well. The same holds for a factory or a `Variable` with `requires_grad=True`. The data has to be
on the device before it becomes a leaf.
""",
    fix_safety="""
The fix moves the data inside the parentheses, or creates it on the device. It is safe: on the CPU both spellings give
the same values, and on an accelerator the old one could not be trained.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch


def run(device):
    scales = [torch.ones(2, requires_grad=True).to(device) for _ in range(2)]
    optimizer = torch.optim.SGD(scales, lr=0.1)
    (scales[0] * scales[1]).sum().backward()
    optimizer.step()
    return scales[0].detach()
""",
            after="""
import torch


def run(device):
    scales = [torch.ones(2, requires_grad=True, device=device) for _ in range(2)]
    optimizer = torch.optim.SGD(scales, lr=0.1)
    (scales[0] * scales[1]).sum().backward()
    optimizer.step()
    return scales[0].detach()
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


def run(device):
    weight = nn.Parameter(torch.ones(2).to(device))  # moved before it becomes a parameter
    return weight.detach()
""",
    ),
    references=("https://pytorch.org/docs/stable/optim.html#constructing-it",),
)
