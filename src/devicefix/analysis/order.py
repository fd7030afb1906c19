"""The order in which a model is moved, copied and given to an optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.values import Kind, Obj, Origin, Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Step
    from devicefix.analysis.ownership import Ownership


@dataclass(slots=True)
class LateMove:
    """A model that is moved after something was made of its parameters."""

    kind: str  #: ``order`` (works, but against the documentation), ``eager``, ``resume``, ``copy``, ``use``
    before: Step  #: what should come after the move
    move: Step
    resume: Step | None = None  #: where the state was loaded
    met: ast.AST | None = None  #: where what was made before the move meets the moved model


class Steps:
    """What happens to models and optimizers, in program order."""

    def __init__(self, facts: FileFacts, ownership: Ownership) -> None:
        self._steps = facts.records.steps
        self._ownership = ownership
        self._devices = {id(move.call): move.device for move in facts.records.moves}

    def late_moves(self) -> Iterator[LateMove]:
        """Optimizers that are built before the model is moved for the first time."""
        for position, step in enumerate(self._steps):
            if step.kind != "optimizer" or step.other is None:
                continue
            if any(self._moves(earlier, step.subject) for earlier in self._steps[:position]):
                continue
            at = self._first_move(position, step.subject)
            if at is None or not self._to_accelerator(self._steps[at]) or self._built_again(position, at):
                continue
            late = self._judge(position, at, step)
            if late is not None:
                yield late

    def _judge(self, position: int, at: int, step: Step) -> LateMove | None:
        """How bad it is that the step at ``at`` comes after the optimizer; ``None`` if the program makes up for it."""
        optimizer = step.other
        assert optimizer is not None
        between, after = self._steps[position + 1 : at], self._steps[at + 1 :]
        if any(s.kind == "optimizer_state" and s.subject.data is optimizer.data for s in after):
            return None  # the state is moved by hand
        loaded = next((s for s in between if s.kind == "load_state_dict" and s.subject.data is optimizer.data), None)
        again = any(s.kind == "load_state_dict" and s.subject.data is optimizer.data for s in after)
        if loaded is not None and not again and _keeps_state(optimizer.data):
            return LateMove("resume", step, self._steps[at], loaded)
        fact = torch_api.optimizer_class(optimizer.data.external)
        if fact is not None and fact.eager_state and not again:
            return LateMove("eager", step, self._steps[at])
        if any(s.kind == "optimizer_step" and s.subject.data is optimizer.data for s in between):
            return None  # it is used before the move on purpose
        return LateMove("order", step, self._steps[at])

    def move_after_copy(self, origin: Origin) -> LateMove | None:
        """For a copy that ``copy.deepcopy`` made: the later move of the model that was copied."""
        source = next((under.owner for under in origin.under if under.kind in ("module", "modules")), None)
        if source is None:
            return None
        for position, step in enumerate(self._steps):
            if step.kind == "copy" and step.other is not None and step.other.data is origin.owner:
                at = self._first_move(position, step.subject)
                if at is None or not self._to_accelerator(self._steps[at]):
                    return None
                return LateMove("copy", step, self._steps[at])
        return None

    def move_after_use(self, origin: Origin) -> Step | None:
        """For a module that meets its inputs, or whose parameters were copied, before it is moved: that move."""
        if origin.owner is None:
            return None
        at = self._first_move(-1, Value(Kind.OBJECT, data=origin.owner))
        return self._steps[at] if at is not None and self._to_accelerator(self._steps[at]) else None

    def _first_move(self, position: int, subject: Value) -> int | None:
        return next((i for i in range(position + 1, len(self._steps)) if self._moves(self._steps[i], subject)), None)

    def _moves(self, step: Step, subject: Value) -> bool:
        """Whether a step moves a module, or one that it is registered in."""
        if step.kind != "move":
            return False
        moved = step.subject
        if subject.kind is Kind.OBJECT:
            if moved.kind is not Kind.OBJECT:
                return False
            held: Obj = moved.data
            return any(owner is held for owner in self._ownership.ancestors(subject.data))
        return subject.ident is not None and subject.ident == moved.ident

    def _to_accelerator(self, step: Step) -> bool:
        device = self._devices.get(id(step.node))
        return device is not None and not device.host

    def _built_again(self, position: int, at: int) -> bool:
        """Whether the same model gets a new optimizer after its move."""
        first = self._steps[position]
        return any(
            step.kind == "optimizer" and step.node is not first.node and _same(step.subject, first.subject)
            for step in self._steps[at + 1 :]
        )


def _same(a: Value, b: Value) -> bool:
    if a.kind is Kind.OBJECT and b.kind is Kind.OBJECT:
        return a.data is b.data
    return a.ident is not None and a.ident == b.ident


def _keeps_state(optimizer: Obj) -> bool:
    """Whether an optimizer has tensors in its state at all: plain SGD has none."""
    if not optimizer.external.endswith(".SGD"):
        return True
    positional, keywords = optimizer.arguments or ((), {})
    momentum = keywords.get("momentum") or (positional[2] if len(positional) > 2 else None)
    return momentum is not None and momentum.data != 0


def meeting_nodes(a: Scope, a_node: ast.AST, b: Scope, b_node: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """Two nodes of one function, by whose evaluation ``a_node`` and ``b_node`` were reached.

    ``None`` if there is no such function.
    """
    first, second = _path(a, a_node), _path(b, b_node)
    for (function, node), (other_function, other_node) in zip(first, second, strict=False):
        if function is not other_function:
            return None
        if node is not other_node:
            return node, other_node
    return None


def _path(scope: Scope, node: ast.AST) -> list[tuple[object, ast.AST]]:
    """Functions with the nodes by which they went on, from the outermost inwards."""
    path: list[tuple[object, ast.AST]] = []
    current: Scope | None = scope
    while current is not None:
        path.append((current.function or current.module, node))
        if current.call is None or current.caller is None:
            break
        node, current = current.call, current.caller
    return path[::-1]
