"""DVF503: the optimizer, its state or a copy of the model is made before the model is moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.evidence import path_of
from devicefix.analysis.facts import Step
from devicefix.analysis.module_devices import lookup
from devicefix.analysis.order import LateMove, Steps, meeting_nodes
from devicefix.analysis.ownership import Ownership
from devicefix.analysis.reorder import Refusal, Reordering, enclosing_block, moved_up, same_block
from devicefix.analysis.unmoved import unmoved_modules
from devicefix.codemods.changes import MoveStatement
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF503", "optimizer-before-move"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of one file."""
    kinds = {step.kind for step in facts.records.steps}
    if "move" not in kinds:
        return
    ownership = Ownership(facts)
    steps = Steps(facts, ownership)
    late = list(steps.late_moves())
    for unmoved in unmoved_modules(facts, ownership):
        if unmoved.made_in_forward or unmoved.joined_late:
            continue  # built after the move, not moved before it
        copied = steps.move_after_copy(unmoved.origin)
        moved = steps.move_after_use(unmoved.origin)
        if copied is not None:
            late.append(copied)
        elif moved is not None:
            built = Step("built", unmoved.origin.node, moved.subject, unmoved.origin.scope)
            late.append(LateMove("use", built, moved, met=unmoved.mixes[0].node))
    worst: dict[ast.AST, LateMove] = {}
    for found in late:
        known = worst.get(found.move.node)
        if facts.here(found.move.node) and (known is None or _before(facts, found, known)):
            worst[found.move.node] = found
    for found in worst.values():
        yield from _finding(facts, found)


def _before(facts: FileFacts, a: LateMove, b: LateMove) -> bool:
    """Of two things that come before one move, the worse one is reported; of two alike, the earlier one."""
    if (a.kind == "order") != (b.kind == "order"):
        return b.kind == "order"
    return getattr(a.before.node, "lineno", 0) < getattr(b.before.node, "lineno", 0)


def _finding(facts: FileFacts, late: LateMove) -> Iterator[Finding]:
    moved = late.move.node
    order = _order(facts, late)
    if late.kind == "order" and not isinstance(order, Reordering):
        return  # it works as it is; only a line that can simply be moved up is worth a remark
    change = None
    if isinstance(order, Reordering):
        move = MoveStatement(order.statement, order.anchor)
        change = fix("move the model first", move, unsafe=order.doubt)
    note = order.note if isinstance(order, Refusal) else ""
    related = [(late.before.node, "made here")] if late.met is None else [(late.met, "it meets another device here")]
    if late.resume is not None:
        related.append((late.resume.node, "its state is loaded here"))
    yield finding(facts, CODE, NAME, moved, _message(late), fix=change, note=note, related=tuple(related))


def _message(late: LateMove) -> str:
    call = late.move.node
    model = "the model"
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        model = short(call.func.value)
    line = getattr(late.before.node, "lineno", 0)
    if late.met is not None:
        met = getattr(late.met, "lineno", 0)
        return f"{model} is moved after its parameters were used or copied; they meet a moved tensor at line {met}"
    if late.kind == "copy":
        return f"{model} is moved after it was copied at line {line}: the copy stays on the CPU, and the two meet later"
    left_behind = "the state stays on the CPU, and `step()` fails"
    if late.resume is not None:
        loaded = getattr(late.resume.node, "lineno", 0)
        return f"{model} is moved after the state of its optimizer was loaded at line {loaded}: {left_behind}"
    name = late.before.other.data.external.rpartition(".")[2] if late.before.other is not None else "the optimizer"
    if late.kind == "eager":
        return f"{model} is moved after `{name}` made its state at line {line}: {left_behind}"
    return (
        f"{model} is moved after `{name}` was given its parameters at line {line}; this works, because `.to()` keeps "
        "the parameter objects, but the documentation asks for the move first"
    )


def _order(facts: FileFacts, late: LateMove) -> Reordering | Refusal:
    """The way to bring the move before what it should precede; that is the optimizer, or at least the load of its
    state."""
    found = _before_step(facts, late, late.before)
    if isinstance(found, Refusal) and late.resume is not None:
        instead = _before_step(facts, late, late.resume)
        if isinstance(instead, Reordering) and not _runs_a_model(late.resume):
            return instead
    return found


def _runs_a_model(resume: Step) -> bool:
    """Whether the function that loads the state also calls a module, or an attribute that may be one."""
    function = resume.scope.function
    if function is None:
        return False
    for node in ast.walk(function.node):
        path = path_of(node.func) if isinstance(node, ast.Call) else None
        if path is not None and (value := lookup(resume.scope, path)) is not None and value.is_module:
            return True
        if path is not None and path.rpartition(".")[2] in ("backward", "step"):
            return True
    return False


def _before_step(facts: FileFacts, late: LateMove, step: Step) -> Reordering | Refusal:
    nodes = meeting_nodes(step.scope, step.node, late.move.scope, late.move.node)
    if late.kind == "use" and nodes is not None and nodes[1] is not late.move.node:
        return _before_first_mention(facts, late)
    if nodes is None or not all(facts.here(node) for node in nodes):
        return Refusal("the two stand in different functions")
    if nodes[1] is not late.move.node:
        return Refusal("the move happens inside a function that is called later")
    found = same_block(facts, *nodes)
    if found is None:
        return Refusal("the two do not stand in one block")
    first, second, block = found
    if late.kind == "use":  # it should follow its own building at once
        first = block[block.index(first) + 1]
        if first is second:
            return Refusal("the move follows at once already")
    return moved_up(facts, first, second, block)


def _before_first_mention(facts: FileFacts, late: LateMove) -> Reordering | Refusal:
    """For a model that comes from elsewhere: move it before the function that moves it makes something of it."""
    statement = facts.statement(late.move.node)
    call = late.move.node
    model = path_of(call.func.value) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    block = enclosing_block(facts, statement) if statement is not None else None
    if statement is None or model is None or block is None or facts.function(call) is None:
        return Refusal("the move happens inside a function that is called later")
    before = block[: block.index(statement)]
    first = next((s for s in before if _reads_parameters(s, model)), None)
    if first is None:
        return Refusal("the move happens inside a function that is called later")
    return moved_up(facts, first, statement, block)


def _reads_parameters(statement: ast.stmt, model: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in PARAMETERS and path_of(node.value) == model
        for node in ast.walk(statement)
    )


#: how the parameters of a module are reached
PARAMETERS = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "named_buffers", "weight", "bias"})


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="an optimizer, its state or a copy of the model is made before the model is moved",
    explanation="""
What is made of a model's parameters before the model is moved can be left behind. Three cases fail:

- `optimizer.load_state_dict(…)` puts the state where the parameters are at that moment. After a later move of the
  model, momentum and averages are still on the CPU, and `step()` fails.
- `Adagrad` makes its state in its constructor.
- `copy.deepcopy(model)` for a moving average or a target network copies the parameters where they are, and so do clones
  of them in a list or dict; the copies are not moved with the model.

A program that moves the state by hand, loads it again after the move, or builds another optimizer then, is left
alone.

The plain order, an optimizer that is built and then the model moved, works with today's PyTorch, because `Module.to`
keeps the parameter objects. The documentation of `torch.optim` nevertheless asks to move the model first, and the
order breaks as soon as the state is restored or parameters are replaced. It is reported as what it is, a matter of
order, and only where the move can simply be put first: both stand in one block, and nothing in between runs the
model. Where it would take more than that, the rule says nothing about an order that works.
""",
    fix_safety="""
The fix puts the statement that moves the model before the one that should follow it: the optimizer, or, where that is
made in another place, the call that loads its state. It is safe when nothing in between runs the model, asks where it
is, hands it to other code, or sets a name that the move needs.

There is no fix where the two stand in different functions or blocks, where the move is part of a larger statement, or
where the model runs in between.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn


def build(device):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    model.to(device)
    return model, optimizer


def run(device):
    torch.manual_seed(0)
    model, optimizer = build(device)
    model(torch.ones(4, 3, device=device)).sum().backward()
    optimizer.step()
    return model.weight.detach()
""",
            after="""
import torch
from torch import nn


def build(device):
    model = nn.Linear(3, 2)
    model.to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    return model, optimizer


def run(device):
    torch.manual_seed(0)
    model, optimizer = build(device)
    model(torch.ones(4, 3, device=device)).sum().backward()
    optimizer.step()
    return model.weight.detach()
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn


def run(device):
    torch.manual_seed(0)
    student, teacher = nn.Linear(3, 2), nn.Linear(3, 2)
    student.to(device)
    optimizer = torch.optim.Adagrad(student.parameters(), lr=0.1)
    teacher.to(device)  # the optimizer does not hold it
    x = torch.ones(4, 3, device=device)
    nn.functional.mse_loss(student(x), teacher(x).detach()).backward()
    optimizer.step()
    return student.weight.detach()
""",
    ),
    references=("https://pytorch.org/docs/stable/optim.html#constructing-it",),
)
