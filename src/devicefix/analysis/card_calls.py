"""Calls that need a card, in code that is shown to run on the CPU as well."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.fallbacks import falls_back
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import AcceleratorUse, FileFacts
    from devicefix.analysis.model import FunctionInfo
    from devicefix.analysis.values import Scope, Value

#: choosing a card is what code for several cards does, which has no CPU variant
CHOOSING = frozenset({"set_device", "set_device_index", "set_device_idx", "device", "device_of", "init"})

#: words in a condition, a function's name or a file's path that say: this is for the card only
GUARD_WORDS = re.compile(
    r"cuda|gpu|device|accel|avail|nccl|dist|ddp|rank|world|backend|\bamp\b|fp16|half|apex|profil|bench|pin_|triton|rocm|hip",
    re.IGNORECASE,
)
CARD_ONLY_NAMES = re.compile(r"cuda|gpu|nccl|triton|distrib|ddp|fsdp|apex|rocm", re.IGNORECASE)


#: annotations of parameters that only code for several cards has
CARD_ONLY_TYPES = re.compile(r"ProcessGroup|DeviceMesh")

#: libraries that run on cards alone; a file that uses one is not for the CPU
CARD_LIBRARIES = frozenset({"tensorrt", "torch_tensorrt", "tensorrt_llm", "torch2trt", "pycuda", "cupy", "triton"})


#: what captures the work of a card, which nothing else can do
CAPTURING = ("torch.cuda.graph(", "torch.cuda.CUDAGraph", "make_graphed_callables")


def is_for_cards(facts: FileFacts) -> bool:
    """Whether a file has no use without a card, by its imports or by what it captures."""
    if any(word in facts.source.text for word in CAPTURING):
        return True
    names = [alias.name for node in facts.nodes(ast.Import) for alias in node.names]
    names += [node.module or "" for node in facts.nodes(ast.ImportFrom) if not node.level]
    return any(name.partition(".")[0] in CARD_LIBRARIES for name in names)


def unguarded_uses(facts: FileFacts) -> Iterator[AcceleratorUse]:
    """The first evaluation of each call that would run on a machine without a card, by all that is seen."""
    if not facts.records.accelerator_uses or CARD_ONLY_NAMES.search(facts.path.stem) or is_for_cards(facts):
        return
    seen: set[ast.Call] = set()
    placing = _placing_functions(facts)
    for use in facts.records.accelerator_uses:
        if use.node in seen or not facts.here(use.node) or use.name.rpartition(".")[2] in CHOOSING:
            continue
        chosen = _on_chosen_device(use.scope) or any(s.function in placing for s in use.scope.chain())
        if (chosen or falls_back(facts, use.node)) and not _guarded(facts, use) and not _meant(facts, use):
            seen.add(use.node)
            yield use


def _placing_functions(facts: FileFacts) -> set[FunctionInfo]:
    """Functions that move something, sooner or later, to a device that somebody chooses."""
    return {
        move.scope.function for move in facts.records.moves
        if move.scope.function is not None and _is_choice(move.device)
    }  # fmt: skip


def _is_choice(device: Device | None) -> bool:
    """Whether a device may be the CPU or a card; ``f"cuda:{rank}"`` is a card, whichever."""
    if device is None or device.kind != "symbol" or device.assumed:
        return False
    return not (isinstance(device.key, tuple) and device.key[0] == "text" and "cuda" in str(device.key[1]))


def _on_chosen_device(scope: Scope) -> bool:
    """Whether tensors, modules or a variable in reach are on a device that somebody chooses, which may be the CPU."""
    return any(_chosen(value) for current in scope.chain() for value in current.names.values())


def _chosen(value: Value) -> bool:
    device = value.device
    if value.kind is Kind.OBJECT and value.data.is_module:
        device = value.data.device
    elif value.kind not in (Kind.TENSOR, Kind.MODULE, Kind.DEVICE):
        return False
    if not _is_choice(device):
        return False
    # the device of an input that nobody was seen to pass says nothing
    return not (value.kind is Kind.DEVICE and any(s.device is not None and s.device.assumed for s in value.sources))


def _meant(facts: FileFacts, use: AcceleratorUse) -> bool:
    """Whether the code says that there is a card: by what it gives to a stream, how it annotates, what it is given."""
    stream = use.name.rpartition(".")[2] in ("Stream", "ExternalStream")
    if stream and (use.node.args or any(k.arg == "device" for k in use.node.keywords)):
        return True  # no stream of a CPU was ever meant
    parent = facts.parents.get(use.node)
    if isinstance(parent, ast.AnnAssign) and "cuda." in ast.unparse(parent.annotation):
        return True
    return any(
        parameter.annotation is not None and CARD_ONLY_TYPES.search(ast.unparse(parameter.annotation))
        for scope in use.scope.chain()
        if scope.function is not None
        for parameter in scope.function.parameters
    )


def _guarded(facts: FileFacts, use: AcceleratorUse) -> bool:
    if _guarded_place(facts, use.node):
        return True
    for scope in use.scope.chain():
        if scope.function is not None and CARD_ONLY_NAMES.search(scope.function.name):
            return True
        if scope.call is not None and facts.here(scope.call) and _guarded_place(facts, scope.call):
            return True
    return False


def _guarded_place(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a condition about the device, or a ``try``, stands around a node or leaves the function before it."""
    child, parent = node, facts.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.Try) and any(child is s for s in parent.body):
            return True
        if (
            isinstance(parent, (ast.If, ast.IfExp, ast.While))
            and child is not parent.test
            and _about_device(facts, parent.test)
        ):
            return True
        looped = isinstance(parent, (ast.For, ast.AsyncFor)) and child is not parent.iter
        if looped and isinstance(parent, (ast.For, ast.AsyncFor)) and _about_device(facts, parent.iter):
            return True  # for i in range(torch.cuda.device_count())
        if any(g is not child and _about_device(facts, g.iter) for g in getattr(parent, "generators", ())):
            return True
        if isinstance(parent, ast.BoolOp) and any(_about_device(facts, v) for v in parent.values if v is not child):
            return True
        body = next((b for b in _blocks(parent) if any(child is s for s in b)), None)
        before = body[: next(i for i, s in enumerate(body) if s is child)] if body is not None else []
        if any(_leaves(facts, s) for s in before):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if any(GUARD_WORDS.search(ast.unparse(d)) for d in parent.decorator_list):
                return True
            if isinstance(parent, ast.ClassDef) and CARD_ONLY_NAMES.search(parent.name):
                return True
            if not isinstance(parent, ast.ClassDef):
                child, parent = parent, facts.parents.get(parent)
                if not isinstance(parent, ast.ClassDef):
                    return False
                continue
        child, parent = parent, facts.parents.get(parent)
    return False


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _leaves(facts: FileFacts, statement: ast.stmt) -> bool:
    """``if not torch.cuda.is_available(): return``, ``assert torch.cuda.is_available()``."""
    if isinstance(statement, ast.Assert):
        return _about_device(facts, statement.test)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _insists(facts, statement.value.func)
    if isinstance(statement, ast.If) and statement.body and _about_device(facts, statement.test):
        last = statement.body[-1]
        ends = (
            isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and "exit" in ast.unparse(last.value.func)
        )
        return ends or isinstance(last, (ast.Return, ast.Raise, ast.Continue))
    return False


def _insists(facts: FileFacts, called: ast.expr) -> bool:
    """Whether a function of the file stops where there is no card."""
    bound = facts.module.bindings.get(called.id, []) if isinstance(called, ast.Name) else []
    if len(bound) != 1 or not isinstance(bound[0], ast.FunctionDef):
        return False
    return any(
        _about_device(facts, statement.test)
        for statement in bound[0].body
        if isinstance(statement, ast.Assert)
        or (isinstance(statement, ast.If) and statement.body and isinstance(statement.body[-1], ast.Raise))
    )


def _about_device(facts: FileFacts, test: ast.expr) -> bool:
    """Whether a condition speaks of devices, itself or through a variable that was set by such a condition."""
    if GUARD_WORDS.search(ast.unparse(test)) is not None:
        return True
    names = {ast.unparse(n) for n in ast.walk(test) if isinstance(n, (ast.Name, ast.Attribute))}
    return any(
        GUARD_WORDS.search(ast.unparse(assigned.value)) is not None
        for assigned in facts.nodes(ast.Assign)
        if any(ast.unparse(target) in names for target in assigned.targets)
    )
