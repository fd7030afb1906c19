"""Tensors that instances of plain classes keep: nothing moves them, but the constructor may know the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.met_uses import uses_where_met
from devicefix.analysis.placement import constructs, refuses_device
from devicefix.analysis.references import references
from devicefix.codemods.changes import AppendToExpression, Change, EditCall

if TYPE_CHECKING:
    from devicefix.analysis.attributes import TensorAttribute
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.values import Origin, Scope


@dataclass(frozen=True, slots=True)
class Creation:
    """The expression that a kept tensor comes out of, and the device variable that is at hand there."""

    node: ast.expr
    device: str
    takes_device: bool = False

    @property
    def change(self) -> Change:
        """What puts the result there."""
        if self.takes_device and isinstance(self.node, ast.Call):
            return EditCall(self.node, set_keywords=(("device", self.device),))
        return AppendToExpression(self.node, f".to({self.device})")


Made = list[tuple["Origin", "Mix"]]  #: factories under an attribute, each with what the attribute meets


def creation(facts: FileFacts, attribute: TensorAttribute) -> Creation | None:
    """Where the tensors of an attribute could be created on the device that they meet; None if that is not shown.

    The device has to come from a variable (``device``, ``self.device``): a plain class does not follow its inputs.
    """
    made = [
        (factory, mix)
        for mix in attribute.mixes
        for origin in mix.culprit.origins
        if origin.kind == "attribute" and origin.attribute == attribute.name
        for factory in _roots(origin)
    ]
    for factory, _ in made:
        node = factory.node
        if factory.kind != "factory" or not isinstance(node, ast.Call) or refuses_device(node):
            return None
        if not constructs(factory) or _read_on_host(facts, node):
            return None
    return _by_the_factory(facts, made) or _by_a_helper(facts, made) or _where_it_is_kept(facts, attribute)


def _by_the_factory(facts: FileFacts, made: Made) -> Creation | None:
    """The device has a name where the one factory is called."""
    calls = {factory.node for factory, _ in made}
    call = next(iter(calls), None)
    if len(calls) != 1 or not isinstance(call, ast.Call) or not facts.here(call):
        return None
    common = _common([_variables(factory.scope, mix) for factory, mix in made])
    fact = torch_api.function(made[0][0].detail)
    return Creation(call, common[0], fact is not None and fact.device) if common else None


def _by_a_helper(facts: FileFacts, made: Made) -> Creation | None:
    """The device has a name where a helper is called that makes one tensor out of numbers: its result is moved."""
    calls: set[ast.AST] = set()
    names: list[list[str]] = []
    for factory, mix in made:
        inner = next((s for s in factory.scope.chain() if s.caller is not None and _variables(s.caller, mix)), None)
        if inner is None or inner.caller is None or inner.call is None or not _gives_a_tensor(facts, inner, factory):
            return None
        calls.add(inner.call)
        names.append(_variables(inner.caller, mix))
    call, common = next(iter(calls), None), _common(names)
    return Creation(call, common[0]) if len(calls) == 1 and isinstance(call, ast.Call) and common else None


def _where_it_is_kept(facts: FileFacts, attribute: TensorAttribute) -> Creation | None:
    """The device has a name where a tensor is first kept that was computed from several: that one is moved."""
    kept: dict[ast.AST, list[list[str]]] = {}
    for mix in attribute.mixes:
        for origin in mix.culprit.origins:
            for first in _first_kept(origin):
                kept.setdefault(first.node, []).append(_variables(first.scope, mix))
    statement, names = next(iter(kept.items()), (None, []))
    common = _common(names)
    if len(kept) != 1 or not common or not isinstance(statement, ast.Assign) or not facts.here(statement):
        return None
    values = [write.value for write in facts.records.writes if write.statement is statement]
    plain = len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Attribute)
    if not plain or not all(v.is_tensor and not v.flags & {"leaf", "requires_grad", "parameter"} for v in values):
        return None
    return Creation(statement.value, common[0])


def _first_kept(origin: Origin) -> Iterator[Origin]:
    """The attribute that an attribute was computed from, itself if it was computed from others as well."""
    if origin.under and all(under.kind == "attribute" for under in origin.under):
        for under in origin.under:
            yield from _first_kept(under)
    elif origin.kind == "attribute":
        yield origin


def _variables(scope: Scope, mix: Mix) -> list[str]:
    return [r.device for r in references(scope, mix.partner.device) if r.kind == "variable" and not r.doubt]


def _common(lists: list[list[str]]) -> list[str]:
    return [name for name in lists[0] if all(name in names for names in lists)] if lists else []


def _gives_a_tensor(facts: FileFacts, inner: Scope, factory: Origin) -> bool:
    """Whether the call that entered a helper gives one tensor, to a name or an attribute, and what that is made of."""
    statement = facts.parents.get(inner.call) if inner.call is not None and facts.here(inner.call) else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or inner.caller is None:
        return False
    target = statement.targets[0]
    if isinstance(target, ast.Attribute):
        values = [write.value for write in facts.records.writes if write.statement is statement]
    else:
        name = target.id if isinstance(target, ast.Name) else ""
        values = [
            write.scope.names[name] for write in facts.records.writes
            if write.owner is inner.caller.self_object and name in write.scope.names
            and any(root is factory for origin in write.value.origins for root in _roots(origin))
        ]  # fmt: skip
    return bool(values) and all(
        value.is_tensor and any(root is factory for origin in value.origins for root in _roots(origin))
        for value in values
    )


def where_used(facts: FileFacts, attribute: TensorAttribute) -> list[tuple[ast.expr, str]]:
    """The uses of a kept tensor that can be moved instead, and where to; none if it is read on the CPU as well."""
    read = any(
        origin.kind == "attribute" and origin.attribute == attribute.name and origin.scope.function is not None
        and origin.scope.function.cls is attribute.cls
        for read in facts.records.host_reads for origin in read.value.origins
    )  # fmt: skip
    return [] if read else uses_where_met(facts, attribute.mixes)


def _roots(origin: Origin) -> Iterator[Origin]:
    """What an attribute was computed from, through the attributes in between."""
    if not origin.under:
        yield origin
    for under in origin.under:
        yield from _roots(under)


def _read_on_host(facts: FileFacts, call: ast.Call) -> bool:
    """Whether numbers or arrays are read off what a call made."""
    return any(
        root.node is call for read in facts.records.host_reads for origin in read.value.origins
        for root in _roots(origin)
    )  # fmt: skip
