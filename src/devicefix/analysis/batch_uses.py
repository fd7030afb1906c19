"""Where the parts of a batch are used, and which of these uses can carry a move themselves."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from devicefix.analysis.batches import Batch, Part, Path, binding, leaves, loads, structure
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: methods after which it does not matter where a tensor was
ENDS_ON_HOST = frozenset(
    {"numpy", "cpu", "tolist", "item", "shape", "size", "dim", "dtype", "device", "ndim", "to", "cuda"}
)


def inline_uses(facts: FileFacts, batch: Batch, part: Part, only_way: bool = False) -> list[ast.expr] | None:
    """The uses to which a move is appended; ``None`` where a statement at the head of the loop is the better way."""
    bound = binding(facts, batch.place)
    if bound is None:
        return None
    region: list[ast.AST] = (
        bound[2] if part.anchor is None or part.anchor is facts.statement(batch.place) else [facts.parents[part.anchor]]
    )
    uses = loads(part.name, region)
    if part.is_tensor and (isinstance(batch.place, ast.comprehension) or _on_one_line(batch.place)):
        return [use for use in uses if not ends_on_host(facts, use)] or None
    if part.is_tensor and stays(facts, batch, part):
        return _meeting_uses(batch, [part.prefix], uses, region)
    if part.is_tensor or any(len(rest) != 1 for rest in part.rests):
        return None
    items = [item for use in uses if (item := item_of(facts, use)) is not None]
    wanted = [item for item in items if (key_of(item),) in part.rests and not ends_on_host(facts, item)]
    if {(key_of(item),) for item in wanted} != set(part.rests):
        return None
    kept = [rest for rest in part.rests if _is_kept(facts, batch, part, rest)]
    if kept:
        meeting = _meeting_uses(batch, [(*part.prefix, *rest) for rest in kept], items, region)
        return meeting and [*(item for item in wanted if (key_of(item),) not in kept), *meeting]
    whole = len(items) < len(uses)  # the container itself goes somewhere
    neighbour = any(_is_moved(facts, item) for item in items)
    bindings = all(_binds(facts, item) for item in wanted)
    once = len(wanted) == len(part.rests)
    value = structure(facts, batch.place, part.prefix)
    partial = sum(v.is_tensor for v in leaves(value)) > len(part.rests)
    only_way = (
        only_way
        or isinstance(batch.place, ast.comprehension)
        or _on_one_line(batch.place)
        or value.kind is Kind.UNKNOWN
    )
    if only_way or (not whole and (neighbour or bindings)) or (partial and once):
        return [*wanted]
    return None


def _on_one_line(place: ast.AST) -> bool:
    return isinstance(place, (ast.For, ast.AsyncFor)) and place.body[0].lineno == (
        place.iter.end_lineno or place.lineno
    )


def stays(facts: FileFacts, batch: Batch, part: Part) -> bool:
    """Whether the tensor is also used on the CPU, so that the name must go on standing for the tensor there."""
    return any(_is_kept(facts, batch, part, rest) for rest in part.rests)


def _is_kept(facts: FileFacts, batch: Batch, part: Part, rest: Path) -> bool:
    return (batch.place, (*part.prefix, *rest)) in facts.records.kept_on_host


def _meeting_uses(
    batch: Batch, paths: list[Path], uses: Sequence[ast.expr], region: list[ast.AST]
) -> list[ast.expr] | None:
    """The expressions that meet the other device, if all of them stand beside the loop: uses of the parts, or what was
    made of them on the CPU, as a mask of lengths."""
    pairs = zip(batch.mixes, batch.origins, strict=False)
    nodes = [mix.culprit_node for mix, origin in pairs if origin.path in paths]
    found = [use for use in uses if any(use is node for node in nodes)]
    others = [node for node in nodes if all(node is not use for use in found)]
    here = {node for root in region for node in ast.walk(root)} if others else set()
    for node in others:
        if node is None or node not in here:
            return None
        if node not in found:
            found.append(node)
    return found or None


def item_of(facts: FileFacts, use: ast.Name) -> ast.Subscript | None:
    """``batch["x"]``, where a use of ``batch`` is part of such an expression."""
    parent = facts.parents.get(use)
    if (
        isinstance(parent, ast.Subscript)
        and parent.value is use
        and isinstance(parent.ctx, ast.Load)
        and isinstance(parent.slice, ast.Constant)
    ):
        return parent
    return None


def key_of(item: ast.Subscript) -> object:
    """The key or position in ``batch["x"]``."""
    return item.slice.value if isinstance(item.slice, ast.Constant) else None


def _is_moved(facts: FileFacts, node: ast.expr) -> bool:
    parent = facts.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda")


def ends_on_host(facts: FileFacts, node: ast.expr) -> bool:
    """Whether this use reads the tensor as host data, only its shape, or moves it already."""
    parent = facts.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr in ENDS_ON_HOST
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in ("len", "print", "int", "float")
    )


def _binds(facts: FileFacts, item: ast.expr) -> bool:
    """``x = batch["x"]``, alone or as part of a tuple."""
    parent = facts.parents.get(item)
    if isinstance(parent, (ast.Tuple, ast.List)):
        parent = facts.parents.get(parent)
    return isinstance(parent, ast.Assign)


__all__ = ["ends_on_host", "inline_uses", "item_of", "key_of", "stays"]
