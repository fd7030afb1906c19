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

if TYPE_CHECKING:
    from devicefix.analysis.attributes import TensorAttribute
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.values import Origin


@dataclass(frozen=True, slots=True)
class Creation:
    """The factory call that a kept tensor comes out of, and the device variable that is at hand there."""

    call: ast.Call
    device: str
    takes_device: bool


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
    calls = {factory.node for factory, _ in made}
    call = next(iter(calls), None)
    if len(calls) != 1 or not isinstance(call, ast.Call) or not facts.here(call) or refuses_device(call):
        return None
    common: list[str] | None = None
    for factory, mix in made:
        if factory.kind != "factory" or not constructs(factory):
            return None
        found = [
            r.device for r in references(factory.scope, mix.partner.device) if r.kind == "variable" and not r.doubt
        ]
        common = found if common is None else [device for device in common if device in found]
    if not common or _read_on_host(facts, call):
        return None
    fact = torch_api.function(made[0][0].detail)
    return Creation(call, common[0], fact is not None and fact.device)


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
