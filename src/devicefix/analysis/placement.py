"""New tensors that end up on the wrong device, and how they could be created on the right one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.evidence import path_of
from devicefix.analysis.first_turn import replaced_at_first
from devicefix.analysis.global_tensors import data_moved, uses_moved
from devicefix.analysis.handed_out import HandedOut, handed_out
from devicefix.analysis.helper_results import results_moved
from devicefix.analysis.host_tables import is_host_table, is_moved_when_complete
from devicefix.analysis.met_uses import uses_where_met
from devicefix.analysis.moments import set_later
from devicefix.analysis.references import Reference, references, seen_as_tensor, self_name
from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import DType, Kind, Origin, Scope, Value

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.model import FunctionInfo

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class NewTensor:
    """A factory call, with every mixing point that its result reaches."""

    call: ast.Call
    mixes: list[Mix] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)  #: one per mix


@dataclass(slots=True)
class Placement:
    """How to create a tensor where it is needed."""

    device: str | None = None
    dtype: str | None = None
    takes_device: bool = True
    doubt: str = ""
    note: str = ""
    threaded: list[tuple[FunctionDef, list[tuple[ast.Call, str]]]] = field(default_factory=list)
    #: calls of the helper that makes it, whose results can be moved instead, and where to
    moved: list[tuple[ast.Call, str]] = field(default_factory=list)
    #: places at which it arrives in a tuple, and can be moved instead
    handed_out: list[HandedOut] = field(default_factory=list)
    #: uses of it that can be moved instead, and where to
    uses: list[tuple[ast.expr, str]] = field(default_factory=list)
    group: str = ""

    @property
    def later(self) -> bool:
        """Whether it is not created elsewhere, but moved behind its creation."""
        return bool(self.moved or self.handed_out or self.uses)


def new_tensors(facts: FileFacts, kind: str) -> Iterator[NewTensor]:
    """Factory calls of this file whose results meet another device, in source order."""
    found: dict[ast.AST, NewTensor] = {}
    for mix in facts.mixes:
        if facts.is_stale(mix) or (mix.assumed and mix.partner.device in facts.host_roots):
            continue
        if facts.records.kept_on_host and _beside_host_data(facts, mix):
            continue
        for origin in origins_of(mix.culprit, kind):
            if not isinstance(origin.node, ast.Call) or not facts.here(origin.node) or origin.node in facts.excused:
                continue
            new = found.setdefault(origin.node, NewTensor(origin.node))
            new.mixes.append(mix)
            new.origins.append(origin)
    made = [
        new for new in found.values()
        if not is_host_table(facts, new.mixes) and not replaced_at_first(facts, new.call, new.mixes)
        and not is_moved_when_complete(facts, new.mixes)
    ]  # fmt: skip
    yield from sorted(made, key=lambda new: (new.call.lineno, new.call.col_offset))


def _beside_host_data(facts: FileFacts, mix: Mix) -> bool:
    """Whether a tensor also comes out of a part of a batch that has to stay on the CPU: it moves with that."""
    kept = facts.records.kept_on_host
    return any(origin.kind == "batch" and (origin.node, origin.path) in kept for origin in mix.culprit.origins)


def origins_of(value: Value, kind: str) -> Iterator[Origin]:
    """Origins of one kind; for a factory, also the one under an attribute that is written outside construction."""
    for origin in value.origins:
        if origin.kind == kind:
            yield origin
        elif origin.kind == "collection" and kind in ("factory", "legacy"):
            yield from (under for under in origin.under if under.kind == kind and made_for_the_call(origin))
        elif origin.kind == "attribute" and kind in ("factory", "legacy"):
            function = origin.scope.function
            if function is not None and not constructs(origin):
                yield from (under for under in origin.under if under.kind == kind and under.scope.function is function)


def made_for_the_call(origin: Origin) -> bool:
    """Whether all that an attribute holds was made by the function that has just set it, or by its helpers, at a call:
    ``self.hidden = self.init_hidden()`` at the head of ``forward``."""
    function = origin.scope.function
    if function is None or constructs(origin) or not origin.under:
        return False
    return all(any(s.function is function for s in under.scope.chain()) for under in origin.under)


def constructs(origin: Origin) -> bool:
    """Whether an attribute was written while its object was being built."""
    scope: Scope | None = origin.scope
    while scope is not None:
        if scope.function is not None and scope.function.name in (
            "__init__",
            "__post_init__",
            "__new__",
            "reset_parameters",
        ):
            return True
        scope = scope.caller
    return False


def place_at_creation(facts: FileFacts, new: NewTensor) -> Placement:
    """The best way to create ``new`` on the device of what it meets, over all the ways in which it was reached."""
    fact = _fact(new)
    placement = Placement(takes_device=fact is not None and fact.device)
    trouble = refuses_device(new.call)
    if trouble and not _drawn_there(facts, new):
        placement.note = trouble
        return placement
    if new.call in facts.records.in_data_sets:
        placement.uses = data_moved(facts, new)
        placement.note = "a data set holds it as well, which belongs on the CPU: move it where it is used"
        return placement
    placement.handed_out = handed_out(facts, new, kept=True)
    if placement.handed_out:
        return placement
    wanted = _wants_dtype(new, fact)
    common = _common_references(facts, new, wanted)
    if common:
        best = common[0]
        placement.device = best.device
        placement.doubt = best.doubt
        if wanted and best.floating and best.owner and _same_dtype_side(best):
            # one that only has the size may have another dtype than what is met
            placement.dtype = best.dtype if best.met or not any(r.met for r in common) else None
        return placement
    placement.handed_out = handed_out(facts, new, kept=False)
    if placement.handed_out:
        return placement
    _thread_parameter(facts, new, placement)
    if placement.device is None and new.origins[0].scope.function is None:
        placement.uses = uses_moved(facts, new)
    elif placement.device is None:
        placement.moved = results_moved(facts, new)
        if not placement.moved:
            placement.uses = uses_where_met(facts, new.mixes)
    return placement


def _fact(new: NewTensor) -> torch_api.Function | None:
    return torch_api.function(new.origins[0].detail)


def refuses_device(call: ast.Call) -> str:
    """Why the arguments of a factory forbid another device; "" if they do not."""
    for keyword in call.keywords:
        if keyword.arg == "generator" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None):
            return "its generator is on the CPU and would have to be created on the same device"
        if keyword.arg == "out":
            return "it writes into an existing tensor"
        if keyword.arg == "pin_memory" and isinstance(keyword.value, ast.Constant) and keyword.value.value:
            return "pinned memory is on the CPU"
    return ""


def _drawn_there(facts: FileFacts, new: NewTensor) -> bool:
    """Whether the generator that numbers are drawn with is where they are wanted, so that only they have to go there."""
    wanted = {mix.partner.device for mix in new.mixes}
    draws = [draw.generator.device for draw in facts.records.draws if draw.node is new.call]
    return len(wanted) == 1 and bool(draws) and set(draws) == wanted


def _wants_dtype(new: NewTensor, fact: torch_api.Function | None) -> bool:
    """Whether the result should follow the dtype of what it meets."""
    if fact is None or not fact.dtype or any(k.arg == "dtype" for k in new.call.keywords):
        return False
    for mix in new.mixes:
        value = mix.culprit
        if value.dtype is not DType.FLOAT or value.has("explicit_dtype") or mix.dtype == "none":
            return False
    return _floating_by_default(new, fact)


def _floating_by_default(new: NewTensor, fact: torch_api.Function) -> bool:
    if fact.default_dtype == "float":
        return True
    if fact.name in ("torch.tensor", "torch.as_tensor") and not _written_out(new.call):
        return False
    return fact.default_dtype == "argument" and all(m.culprit.dtype is DType.FLOAT for m in new.mixes)


def _written_out(call: ast.Call) -> bool:
    """Whether the data of ``torch.tensor(…)`` stand in the call, and not in a variable that may hold other numbers."""
    return bool(call.args) and isinstance(call.args[0], (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp))


def _same_dtype_side(reference: Reference) -> bool:
    return reference.kind in ("tensor", "member", "weight")


def _common_references(facts: FileFacts, new: NewTensor, wanted: bool) -> list[Reference]:
    """References that hold in every context in which the tensor was created and met another device."""
    lists: list[list[Reference]] = []
    scopes: list[Scope] = []
    seen: set[int] = set()
    for mix, origin in zip(new.mixes, new.origins, strict=False):
        if id(origin) in seen:
            continue
        seen.add(id(origin))
        partners = [m.partner for m, o in zip(new.mixes, new.origins, strict=False) if o is origin]
        operands = [
            v for m, o in zip(new.mixes, new.origins, strict=False) if o is origin for v in _operand_values(m, origin)
        ]
        scopes.append(origin.scope)
        lists.append(
            references(
                origin.scope, mix.partner.device, sized_by=_sizes(origin), partners=[*partners, *operands],
                beside=_name_beside(new, mix), want_floating=wanted,
            )
        )  # fmt: skip
    if any(any(r.kind == "tensor" for r in found) for found in lists) and _kept_in_attribute(new):
        # made while everything was still on the CPU and met later: that call needs no reference to the device
        kept = [
            (found, scope)
            for found, scope in zip(lists, scopes, strict=False)
            if any(r.kind == "tensor" for r in found)
        ]
        lists, scopes = [found for found, _ in kept], [scope for _, scope in kept]
    if not lists:
        return []
    common = _agreed(lists, scopes)
    others = [s for s in facts.records.scopes.get(new.call, ()) if not any(s is o.scope for o in new.origins)]
    return [r for r in common if all(_holds(r, scope) for scope in others)]


def _agreed(lists: list[list[Reference]], scopes: list[Scope]) -> list[Reference]:
    """References that some context proves and no other one contradicts."""
    merged: dict[str, Reference] = {}
    for found in lists:
        for reference in found:
            known = merged.get(reference.device)
            merged[reference.device] = reference if known is None else _weaker(known, reference)
    proven = [{r.device for r in found} for found in lists]
    agreed = [
        r for text, r in merged.items()
        if all(text in texts or (r.kind == "tensor" and _holds(r, scope)) for texts, scope in zip(proven, scopes,
        strict=False))
    ]  # fmt: skip
    return sorted(agreed, key=lambda r: r.rank)


def _kept_in_attribute(new: NewTensor) -> bool:
    return any(o.kind == "attribute" for mix in new.mixes for o in mix.culprit.origins)


def _weaker(a: Reference, b: Reference) -> Reference:
    # a context that knows nothing of the dtype does not speak against one that does
    floating = False if False in (a.floating, b.floating) else a.floating or b.floating
    return Reference(a.device, a.owner, a.kind, floating, min(a.rank, b.rank), a.doubt or b.doubt, a.met and b.met)


def _operand_values(mix: Mix, origin: Origin) -> Iterator[Value]:
    """Other tensors that take part in the operation, by name, as they were at the creation."""
    for child in ast.walk(mix.node):
        if isinstance(child, ast.Name) and child.id in origin.scope.names:
            value = origin.scope.names[child.id]
            if value is not mix.culprit:
                yield seen_as_tensor(origin.scope.function, child.id, value)


def _name_beside(new: NewTensor, mix: Mix) -> str:
    """The name of the other operand, where the tensor is made in the very operation that it meets it in."""
    if not isinstance(mix.partner_node, ast.Name) or not any(node is new.call for node in ast.walk(mix.node)):
        return ""
    return mix.partner_node.id


def _sizes(origin: Origin) -> list[Value]:
    """Tensors whose shapes go into the sizes of the new tensor."""
    found: list[Value] = []
    for node in ast.walk(origin.node):
        path = path_of(node) if isinstance(node, ast.Name) else None
        value = origin.scope.names.get(path) if path else None
        if value is not None:
            found.append(value)
            found.extend(value.sources)
            if isinstance(value.items, tuple):
                found.extend(s for item in value.items for s in item.sources)
            elif value.element is not None:
                found.extend(value.element.sources)
    return found


def _holds(reference: Reference, scope: Scope) -> bool:
    """Whether a reference is a tensor (or unknown) in another context as well."""
    owner, _, rest = reference.device.partition(".")
    if rest and owner == self_name(scope) and set_later(rest.partition(".")[0], scope):
        return False  # the constructor calls as well, before there is such an attribute
    if reference.kind == "variable" or not reference.owner:
        return True
    name = reference.owner.partition("[")[0].partition(".")[0]
    value = scope.names.get(name)
    if value is None:
        return reference.kind == "weight"
    if reference.kind == "tensor":
        return value.kind in (Kind.TENSOR, Kind.UNKNOWN) and not value.flags & {"maybe_none", "maybe_unbound"}
    return True


# -- threading a device parameter ------------------------------------------------------------------------------------


def _thread_parameter(facts: FileFacts, new: NewTensor, placement: Placement) -> None:
    """No tensor is at hand: give the function a ``device`` parameter and pass it where it is called."""
    placement.note = "no tensor, parameter or device variable is at hand where it is created"
    function = new.origins[0].scope.function
    if function is None:
        placement.note = "it is created when the module is imported, before any device is chosen"
        return
    node = function.node
    if (
        isinstance(node, ast.Lambda)
        or function.module is not facts.module
        or not facts.here(node)
        or not placement.takes_device
    ):
        return
    names = {arg.arg for arg in function.parameters}
    if "device" in names or "device" in function.locals or (node.args.kwarg is not None and "device" in names):
        return
    if function.name.startswith("__") or function.is_property:
        return
    sites: dict[ast.Call, str] = {}
    for mix, origin in zip(new.mixes, new.origins, strict=False):
        call, caller = origin.scope.call, origin.scope.caller
        if (
            not isinstance(call, ast.Call)
            or caller is None
            or caller.module is not facts.module
            or not facts.here(call)
        ):
            return
        if not _calls_by_name(call, function):
            return
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg in (None, "device") for k in call.keywords):
            return
        found = [r for r in references(caller, mix.partner.device, partners=[mix.partner]) if not r.doubt]
        if not found:
            return
        if call not in sites:
            sites[call] = found[0].device
        elif sites[call] != found[0].device and sites[call] not in {r.device for r in found}:
            return
    placement.device = "device"
    placement.threaded = [(node, sorted(sites.items(), key=lambda item: item[0].lineno))]
    placement.doubt = f"`{function.name}` gets a new parameter, and callers elsewhere are not seen"
    placement.group = f"thread-device:{node.lineno}:{function.name}"


def _calls_by_name(call: ast.Call, function: FunctionInfo) -> bool:
    """Whether a call names the function that it enters: ``Op.apply(x)`` and ``pool.submit(f, x)`` pass arguments on,
    and may not take another one. A module is called as such to run its ``forward``."""
    called = last_name(call.func)
    return called == function.name or (function.name == "forward" and called != "apply")
