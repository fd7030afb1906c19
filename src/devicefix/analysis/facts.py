"""What the interpreter found out about one file; the only thing that rules look at."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from devicefix.analysis.tree_index import Node, Other

if TYPE_CHECKING:
    from pathlib import Path

    from devicefix.analysis.devices import Device
    from devicefix.analysis.handed_out import Site
    from devicefix.analysis.model import ClassInfo, FunctionInfo, ModuleInfo
    from devicefix.analysis.older_names import OlderNames
    from devicefix.analysis.values import Obj, Origin, Scope, Value
    from devicefix.settings import Settings
    from devicefix.source.text import SourceText


@dataclass(slots=True, eq=False)
class Mix:
    """An operation that wants one device and gets two: the mixing point.

    ``culprit`` is the side on the wrong device (the one on the CPU, if one is), ``partner`` the other.
    """

    node: ast.AST
    culprit: Value
    partner: Value
    scope: Scope
    operation: str  #: ``+``, ``torch.cat``, ``Linear``, ``index`` …
    manner: str  #: ``pointwise``, ``strict``, ``index``, ``in_place``, ``module``
    dtype: str  #: ``arithmetic``, ``strict`` or ``none``: how the two dtypes relate there
    culprit_node: ast.expr | None = None
    partner_node: ast.expr | None = None
    time: int = 0  #: position in the order in which things were recorded

    @property
    def assumed(self) -> bool:
        """Whether the partner's device is a guess, because no caller was seen."""
        return self.partner.device is not None and self.partner.device.assumed


@dataclass(slots=True, eq=False)
class Move:
    """One evaluation of ``x.to(…)``, ``x.cuda()``, ``x.half()`` …"""

    call: ast.Call
    method: str
    receiver: Value
    result: Value
    device: Device | None
    scope: Scope
    time: int = 0


@dataclass(slots=True, eq=False)
class AttributeWrite:
    """``self.name = value`` on an abstract object."""

    owner: Obj
    name: str
    value: Value
    statement: ast.stmt | None
    scope: Scope


@dataclass(slots=True, eq=False)
class Step:
    """Something that happened to an object, in program order: ``move``, ``optimizer``, ``load_state_dict``,
    ``copy`` …"""

    kind: str
    node: ast.AST
    subject: Value
    scope: Scope
    other: Value | None = None


@dataclass(slots=True, eq=False)
class HostRead:
    """A value turned into host data: ``.numpy()``, ``np.mean(x)``, ``int(x)``, ``.item()``, ``.tolist()``."""

    node: ast.Call
    how: str
    value: Value
    scope: Scope
    argument: ast.expr | None = None  #: the expression that is read, where it is not the receiver of a method
    inside: bool = False  #: the value is an element of the argument
    without_card: bool = False  #: it stands in code that only runs where there is no accelerator


@dataclass(slots=True, eq=False)
class Draw:
    """Random numbers drawn with a generator that was handed over."""

    node: ast.Call
    generator: Value
    device: Device | None  #: where the numbers are made
    scope: Scope
    by: str  #: ``torch.randn``, ``bernoulli_``, ``torch.utils.data.random_split`` …
    host: bool = False  #: a sampler, which draws on the CPU


@dataclass(slots=True, eq=False)
class DefaultDevice:
    """A call that made an accelerator the default device."""

    node: ast.Call
    device: Device
    scope: Scope


@dataclass(slots=True, eq=False)
class Callback:
    """A function that was handed to something that calls it in a loader's workers."""

    call: ast.Call
    parameter: str
    function: FunctionInfo


@dataclass(slots=True, eq=False)
class AcceleratorUse:
    """One evaluation of a call such as ``torch.cuda.synchronize()``, which fails where there is no card."""

    node: ast.Call
    name: str
    scope: Scope


@dataclass(slots=True, eq=False)
class LoadedMeeting:
    """An operation in which something read by ``torch.load`` meets a tensor on an accelerator."""

    load: ast.Call
    node: ast.AST
    device: Device
    scope: Scope
    called: bool = False  #: what was read is a module, and this is a call of it


@dataclass(slots=True)
class Records:
    """Everything recorded in one run of the interpreter."""

    mixes: list[Mix] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    writes: list[AttributeWrite] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    host_reads: list[HostRead] = field(default_factory=list)
    #: value of each expression that a rule may ask about, one per evaluation
    values: defaultdict[ast.AST, list[Value]] = field(default_factory=lambda: defaultdict(list))
    #: scopes in which a node (loop, call, statement) was evaluated
    scopes: defaultdict[ast.AST, list[Scope]] = field(default_factory=lambda: defaultdict(list))
    classes: dict[ClassInfo, list[Obj]] = field(default_factory=dict)
    #: when a factory call made its value, as positions in ``moves``, one per evaluation
    made: defaultdict[Hashable, list[int]] = field(default_factory=lambda: defaultdict(list))
    #: every module that was built, by the place that built it; ``owner`` of the origin is the module
    built: list[Origin] = field(default_factory=list)
    default_device_changed: bool = False
    #: where a part of a batch is used with a tensor that was brought to the CPU: it has to stay there for that
    kept_on_host: set[tuple[ast.AST, tuple[object, ...]]] = field(default_factory=set)
    #: assumed devices that meet tensors which were brought to the CPU, in operations that want one device
    met_on_host: set[Device] = field(default_factory=set)
    #: operations on a tensor that was made on a card by number and one whose card is not known: (culprit, partner)
    crossings: list[Mix] = field(default_factory=list)
    #: the same for tensors that were made on the card without a number
    literal_meetings: list[Mix] = field(default_factory=list)
    #: parts of batches beside what is on a device, in unknown calls
    companions: list[Mix] = field(default_factory=list)
    loaded_meetings: list[LoadedMeeting] = field(default_factory=list)
    mapped_meetings: list[LoadedMeeting] = field(default_factory=list)  #: the same for loads to the CPU
    mapped_on_host: set[ast.Call] = field(default_factory=set)  #: those that have partners on the CPU as well
    callbacks: list[Callback] = field(default_factory=list)
    in_data_sets: set[ast.AST] = field(default_factory=set)  #: calls that make what a data set holds
    item_methods: set[FunctionInfo] = field(default_factory=set)  #: through which loaders fetch items
    accelerator_uses: list[AcceleratorUse] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    #: samplers that shuffle on the default device while that is an accelerator: (call, name, cause, scope)
    shuffles: list[tuple[ast.Call, str, DefaultDevice, Scope]] = field(default_factory=list)


class FileFacts:
    """One file as the rules see it."""

    def __init__(self, module: ModuleInfo, records: Records, settings: Settings, *, silent: bool = False) -> None:
        self.module = module
        self.records = records
        self.settings = settings
        self.silent = silent  #: nothing in the file can be of interest to any rule

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.module.path

    @property
    def source(self) -> SourceText:
        """Its text."""
        return self.module.source

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return self.module.tree

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node."""
        return self.module.index.parents

    @overload
    def nodes(self, one: type[Node], /) -> Iterator[Node]: ...

    @overload
    def nodes(self, one: type[Node], other: type[Other], /) -> Iterator[Node | Other]: ...

    def nodes(self, *types: type[ast.AST]) -> Iterator[ast.AST]:
        """All nodes of one or two types, in source order within a type."""
        return self.module.index.nodes(*types)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is part of."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def function(self, node: ast.AST) -> FunctionInfo | None:
        """The function (not lambda) that a node stands in."""
        current = self.parents.get(node)
        while current is not None:
            if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef)):
                parent = self.parents.get(current)
                cls = self.module.class_(parent) if isinstance(parent, ast.ClassDef) else None
                return self.module.function(current, cls)
            current = self.parents.get(current)
        return None

    def here(self, node: ast.AST) -> bool:
        """Whether a node belongs to this file (calls lead into others)."""
        return node in self.parents

    def ran_here(self, scope: Scope) -> bool:
        """Whether code of this file ran in a scope."""
        return scope.module is self.module

    @cached_property
    def mixes(self) -> list[Mix]:
        """Every mixing point once per pair of origins, those with a known caller first."""
        return sorted(self.records.mixes, key=lambda mix: mix.assumed)

    @cached_property
    def excused(self) -> set[ast.AST]:
        """Where values were made whose move was dropped later: the dropped move is the fault, not the creation."""
        from devicefix.analysis.dropped import dropped_moves

        return {
            origin.node for drop in dropped_moves(self) for value in drop.values for origin in value.origins
            if origin.kind in ("factory", "legacy")
            or (origin.kind == "attribute" and origin.owner is not None and not origin.owner.is_module)
        }  # fmt: skip

    @cached_property
    def handed_out(self) -> dict[tuple[Mix, Origin], Site | None]:
        """Where new tensors arrive in a tuple that a call gives, per mixing point and origin."""
        from devicefix.analysis.handed_out import sites

        return sites(self)

    @cached_property
    def host_roots(self) -> set[Device]:
        """Assumed devices that must be the CPU: what is on them becomes an array as it is, or meets what was
        brought there."""
        arrays = {
            read.value.device for read in self.records.host_reads
            if read.how == "numpy" and read.value.device is not None and read.value.device.assumed
        }  # fmt: skip
        return arrays | self.records.met_on_host

    @cached_property
    def _older_names(self) -> OlderNames:
        from devicefix.analysis.older_names import OlderNames

        return OlderNames(self)

    def move_past(self, mix: Mix) -> Move | None:
        """The move that the culprit is an older name for: it was moved under another; None if it was not."""
        return self._older_names.move_past(mix)

    def is_stale(self, mix: Mix) -> bool:
        """Whether the culprit is an older name for a tensor that was moved under another."""
        return self.move_past(mix) is not None
