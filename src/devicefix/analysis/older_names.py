"""Names that still stand for a tensor from before it was moved under another name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.own_names import own_nodes

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix, Move

#: how the identity of a part or view of a tensor begins
PARTS = ("item", "attr", "same", "from")


class OlderNames:
    """The moves of one file whose results were given a name, by what was moved."""

    def __init__(self, facts: FileFacts) -> None:
        self._facts = facts
        self._moves: dict[Hashable, list[Move]] = defaultdict(list)
        for time, move in enumerate(facts.records.moves):
            move.time = time + 1
            ident = move.receiver.ident
            if ident is not None and (ident in self._moves or self._is_named(move)):
                self._moves[ident].append(move)

    def _is_named(self, move: Move) -> bool:
        is_assigned = isinstance(self._facts.parents.get(move.call), (ast.Assign, ast.AnnAssign))
        return is_assigned and move.receiver.is_tensor and move.device is not None

    def move_past(self, mix: Mix) -> Move | None:
        """The move between the making of the culprit and the mixing point under whose name it should have come."""
        ident = self._moved_ident(mix)
        if ident is None:
            return None
        made = max((t for t in self._facts.records.made.get(ident, ()) if t <= mix.time), default=0)
        return next(
            (move for move in self._moves[ident] if made < move.time <= mix.time and not self._is_lost(move, mix)), None
        )

    def _moved_ident(self, mix: Mix) -> Hashable:
        """The identity of the culprit, or of the tensor that it is a part or view of, if that was moved."""
        ident = mix.culprit.ident
        while ident is not None and ident not in self._moves:
            if not (isinstance(ident, tuple) and len(ident) > 1 and ident[0] in PARTS):
                return None
            ident = ident[1]
        return ident

    def _is_lost(self, move: Move, mix: Mix) -> bool:
        """Whether the new name was local to a function that has returned, and did not hand it out: then the other
        names are no older ones, but all that there are."""
        statement, function = self._facts.statement(move.call), move.scope.function
        if function is None or not isinstance(statement, ast.Assign) or statement.value is not move.call:
            return False
        names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        if len(names) < len(statement.targets) or names & function.outer_names:
            return False
        if any(scope.function is function and scope.call is move.scope.call for scope in mix.scope.chain()):
            return False
        handed_out = (n.value for n in own_nodes(function.node) if isinstance(n, (ast.Return, ast.Yield)))
        return not any(
            isinstance(n, ast.Name) and n.id in names
            for value in handed_out
            if value is not None
            for n in _members(value)
        )


def _members(value: ast.expr) -> Iterator[ast.expr]:
    """An expression, or what a display of several is made of."""
    if isinstance(value, (ast.Tuple, ast.List)):
        for element in value.elts:
            yield from _members(element)
    else:
        yield value
