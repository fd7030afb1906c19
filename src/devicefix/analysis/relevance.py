"""Which functions of a file can lead to a finding, so that the others need not be interpreted.

A function matters when it holds something that a rule may report (a factory call, a move whose result is dropped, a
data loader …), or when it calls, by name, a function or class that matters. Everything else is passed over; the values
it returns are then unknown, which never makes a finding.
"""

from __future__ import annotations

import ast

from devicefix.analysis.factory_calls import FactoryCalls
from devicefix.analysis.mentions import CLASS_LEVEL, Mentions, Reader, inherited

#: methods that frameworks and modules call with tensors on the module's device
STEPS = ("forward", "__call__", "training_step", "validation_step", "test_step", "predict_step", "compute_loss", "loss")

#: methods that are interpreted for any module class, on an instance that nobody has made
ENTRIES = frozenset({"__init__", *STEPS})

#: method names that say nothing about whose method is called
COMMON = frozenset(
    {
        "forward",
        "step",
        "update",
        "get",
        "reset",
        "run",
        "main",
        "build",
        "train",
        "eval",
        "to",
        "call",
        "<module>",
        "<class>",
    }
)


class Relevance:
    """The functions of one file that matter."""

    def __init__(self, tree: ast.Module) -> None:
        self.families: dict[str, set[str]] = {}
        self.read = reader = Reader(tree)
        self.all = reader.all
        self.module = reader.module
        self.called = reader.called
        self.mentions: dict[str, list[Mentions]] = {}  #: by whom each name is mentioned
        every = (*self.all, self.module)
        for facts in every:
            for name in facts.names:
                self.mentions.setdefault(name, []).append(facts)
        for facts in every:
            self._judge(facts, reader.calls)
        self._pair(every)
        self.functions = self._close() if any(f.matters for f in every) else set()

    def _judge(self, facts: Mentions, calls: FactoryCalls) -> None:
        """Decide whether a function matters by itself, and which attributes make its class matter."""
        used = self._is_used(facts.cls) if facts.cls else True
        if facts.matters:
            return
        lists: set[str] = set()
        if facts.keeps is not None:
            kept = facts.keeps.collections(self.read.unpacked if used else frozenset())
            lists = {name for name in kept if any(f is not facts for f in self.mentions.get(name, ()))}
            if lists:
                facts.does.add("collects")
        whole = facts.combined() and ("moves" in facts.does or {"registers", "hands over"} <= facts.does)
        facts.matters = facts.combined() or calls.any_factory(facts.names, facts.makes)
        if facts.matters and not whole and facts.keeps is not None:
            facts.stored = lists | facts.keeps.tensors()

    def _pair(self, every: tuple[Mentions, ...]) -> None:
        """A module that one function builds may meet what another one moves, if the two know each other."""
        named = [f for f in every if f.name not in COMMON and not f.name.startswith("__")]
        builders = {f.name: f for f in named if "builds" in f.does}
        for facts in every:
            if "moves" in facts.does:
                for name in facts.names & builders.keys():
                    if builders[name] is not facts:
                        facts.matters = builders[name].matters = True

    def _is_used(self, cls: str) -> bool:
        """Whether a class is mentioned outside of its own methods."""
        return any(f.cls != cls for f in self.mentions.get(cls, ()))

    def __contains__(self, node: ast.AST) -> bool:
        return node in self.functions

    def _family(self, cls: str) -> set[str]:
        """A class and the classes of this file that derive from it."""
        known = self.families.get(cls)
        if known is not None:
            return known
        family, before = {cls}, 0
        while len(family) > before:
            before = len(family)
            family |= {name for name, bases in self.read.bases.items() if not bases.isdisjoint(family)}
        self.families[cls] = family
        return family

    def _close(self) -> set[ast.AST]:
        """Functions that matter and those that mention them, in any number of steps."""
        wanted: set[str] = set()
        pending = [f for f in (*self.all, self.module) if f.matters]
        chosen = {f.node for f in pending}
        constructors = {f.cls: f for f in self.all if f.name == "__init__" and f.cls}
        by_class: dict[str, list[Mentions]] = {}
        for f in self.all:
            by_class.setdefault(f.cls, []).append(f)
        rest = [f for f in (*self.all, self.module) if not f.matters]
        for f in pending:
            if f.cls and f.name in ("__init__", CLASS_LEVEL):  # what it keeps is used in the other methods
                for cls in self._family(f.cls):
                    chosen.update(
                        other.node
                        for other in by_class.get(cls, ())
                        if f.stored is None or not f.stored.isdisjoint(other.names)
                    )
        if self.module.matters:
            wanted |= self.read.globals
        while pending:
            for f in pending:
                for cls in self._family(f.cls) if f.cls else ():
                    wanted.add(inherited(cls))
                    if f.name not in ENTRIES or f.cls not in self.read.module_classes:
                        wanted.add(cls)
                    builder = constructors.get(cls)
                    if builder is not None:
                        chosen.add(builder.node)
                if f.name and not f.name.startswith("__") and f.name not in COMMON:
                    wanted.add(f.name)
                wanted |= f.shares
            pending = [f for f in rest if f.node not in chosen and not wanted.isdisjoint(f.names)]
            chosen.update(f.node for f in pending)
            rest = [f for f in rest if f.node not in chosen]
        return chosen
