"""``x[i]`` and ``x[i] = v``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.devices import CPU
from devicefix.analysis.joins import any_element, join
from devicefix.analysis.loaders import item, named_part
from devicefix.analysis.meeting import meet, meet_loaded
from devicefix.analysis.module_moves import escape
from devicefix.analysis.tree_index import root_name
from devicefix.analysis.values import OVERWRITTEN, UNKNOWN, DType, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter


def _indices(it: Interpreter, frame: Frame, node: ast.Subscript) -> list[tuple[Value, ast.expr]]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [(it.evaluate(frame, part), part) for part in parts]


def load(it: Interpreter, frame: Frame, node: ast.Subscript) -> Value:
    """The value of ``base[index]``."""
    from devicefix.analysis import instance_items

    base = it.evaluate(frame, node.value)
    if base.kind in (Kind.EXTERNAL, Kind.CLASS):  # a generic alias
        return base
    indices = _indices(it, frame, node)
    if base.is_tensor:
        return _tensor(it, frame, node, base, indices)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if (
        isinstance(node.slice, ast.UnaryOp)
        and isinstance(node.slice.op, ast.USub)
        and isinstance(node.slice.operand, ast.Constant)
    ):
        operand = node.slice.operand.value
        key = -operand if isinstance(operand, int) else None
    elif isinstance(node.slice, ast.Name) and indices[0][0].kind is Kind.STRING:
        key = indices[0][0].data  # the name of a constant
    if base.kind is Kind.OBJECT:
        return instance_items.item(it, frame, base, key, indices[0][0], node)
    if base.kind in (Kind.SEQUENCE, Kind.MAPPING):
        if isinstance(node.slice, ast.Slice):
            return (
                base
                if base.items is None
                else Value(Kind.SEQUENCE, element=any_element(base), data=base.data, origins=base.origins)
            )
        found: Value
        if isinstance(base.items, dict) and key in base.items:
            found = base.items[key]
            return found
        if isinstance(base.items, tuple) and isinstance(key, int) and -len(base.items) <= key < len(base.items):
            found = base.items[key]
            return found
        if isinstance(base.items, dict) and key is not None and base.items:
            return UNKNOWN if base.element is None else base.element
        found = any_element(base)
        if base.kind is Kind.MAPPING and found.is_tensor and found.origins and key is not None:
            return found.replace(origins=named_part(found.origins, key))
        return found
    if base.kind is Kind.SIZE:
        return Value(Kind.SIZE, sources=base.sources)
    if base.kind is Kind.NDARRAY:
        rows = any(isinstance(part, ast.Slice) or value.has("dimensions") for value, part in indices)
        flags = base.flags - {"dimensions"}
        return base.replace(flags=flags | {"dimensions"} if rows else flags)
    if base.kind is Kind.UNKNOWN:
        if base.origins:
            meet_loaded(it, frame, node, [base, *(v for v, _ in indices)], strict=True)
        return item(base, key, key if key is not None else ast.dump(node.slice))
    return UNKNOWN


def _tensor(
    it: Interpreter, frame: Frame, node: ast.Subscript, base: Value, indices: list[tuple[Value, ast.expr]]
) -> Value:
    tensors = [(v, n) for v, n in indices if v.is_tensor]
    many = [(v, n) for v, n in tensors if not _may_be_number(v)]
    if many:
        device = meet(it, frame, node, "index", [(base, node.value), *many], manner="index")
        on_purpose = (
            base.device == CPU and not base.origins
        )  # there the index is at fault, and the result stays on the CPU
        if device is not None and base.device is not None and base.device.host and not device.host and not on_purpose:
            base = base.replace(device=device, origins=())  # reported once; go on as if it had worked
    rank = base.rank
    boolean = any(v.dtype.name == "BOOL" for v, _ in tensors)
    if rank is not None and rank > 0:
        for value, part in indices:
            if (
                isinstance(part, ast.Slice)
                or value.kind is Kind.SEQUENCE
                or value.has("dimensions")
                or (value.is_tensor and not _is_number(value))
            ):
                continue
            if isinstance(part, ast.Constant) and part.value is None:
                rank += 1
            elif isinstance(part, ast.Constant) and part.value is Ellipsis:
                continue
            elif value.kind in (Kind.NUMBER, Kind.SIZE) or isinstance(part, ast.Constant) or value.is_tensor:
                rank -= 1
            else:
                rank = None
                break
    elif rank == 0:
        rank = None
    elif rank == -1 and not all(
        isinstance(p, ast.Slice) or v.has("dimensions") or (v.is_tensor and not _is_number(v)) for v, p in indices
    ):
        rank = None
        if any(isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value is None) for _, p in indices):
            rank = -1
    if tensors and rank is not None and (boolean or any(v.rank != 0 for v, _ in tensors)):
        rank = -1
    flags = base.flags & {"explicit_dtype", "maybe_none", "guessed", "shaped"}
    if any(v.kind in (Kind.NUMBER, Kind.SIZE) for v, _ in indices):
        flags -= {"shaped"}  # the dimension that is gone may have been the only one
    if rank is None and any(
        isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value is None) for _, p in indices
    ):
        flags |= {"shaped"}
    return base.replace(rank=rank, ident=("item", base.ident, id(node)), flags=flags, sources=())


def _is_number(value: Value) -> bool:
    """Whether an index takes one element along its dimension: a tensor without dimensions counts as the number in it."""
    return value.kind in (Kind.NUMBER, Kind.SIZE) or (value.rank == 0 and value.dtype is not DType.BOOL)


def _may_be_number(value: Value) -> bool:
    """Whether an index may be a tensor without dimensions, which is read as the number in it, wherever it is: it is one,
    or it was taken out of a tensor of which it is not known how many dimensions it has."""
    ident = value.ident
    while isinstance(ident, tuple) and ident[:1] in (("from",), ("same",), ("attr",), ("moved",)):
        ident = ident[1]  # ``y[i].long()``
    is_item = isinstance(ident, tuple) and ident[:1] == ("item",)
    return _is_number(value) or (value.rank is None and is_item and not value.has("shaped"))


def store(it: Interpreter, frame: Frame, target: ast.Subscript, value: Value, node: ast.expr | None) -> None:
    """``base[index] = value``. A slice copies across devices; an index tensor does not."""
    base = it.evaluate(frame, target.value)
    indices = _indices(it, frame, target)
    if base.is_tensor:
        tensors = [(v, n) for v, n in indices if v.is_tensor and not _may_be_number(v)]
        if tensors:
            meet(it, frame, target, "index", [(base, target.value), *tensors], manner="index")
            # index_put_ wants the value beside the tensor, unless it has no dimensions
            if value.is_tensor and value.rank != 0:
                meet(it, frame, target, "index_put_", [(base, target.value), (value, node)], manner="in_place")
        return
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if value.is_module and _is_shared(frame, root_name(target)):
        escape(it, [value])  # whoever takes it out may move it
    if base.kind in (Kind.SEQUENCE, Kind.MAPPING):
        if base.kind is Kind.MAPPING and key is not None:
            known = dict(base.items) if isinstance(base.items, dict) else {}
            known[key] = value if key not in known or not frame.conditions else join(known[key], value)
            changed = base.replace(items=known)
        elif isinstance(base.items, tuple) and isinstance(key, int) and 0 <= key < len(base.items):
            changed = base.replace(items=(*base.items[:key], value, *base.items[key + 1 :]))
        elif isinstance(base.items, tuple) and not base.items:
            changed = base.replace(items=None, element=value)
        elif isinstance(target.slice, ast.Slice):
            changed = _slice_replaced(base, target.slice, value)
        else:
            # d[k] = … in a loop over d replaces every entry
            replaces_all = frame.loops > 0 and indices and indices[0][0].ident == ("key", base.ident)
            element = (
                value if replaces_all or (not base.items and base.element is None) else join(any_element(base), value)
            )
            changed = base.replace(items=None, element=element, sources=(), flags=base.flags | OVERWRITTEN)
        rebind(it, frame, target.value, changed)
        if base.kind is Kind.MAPPING and key is not None and value.kind in SETTINGS:
            _set_globally(it, frame, target.value, changed)
    elif base.kind is Kind.METHOD:
        from devicefix.analysis import computed_attributes

        if computed_attributes.is_attributes(base):
            computed_attributes.store(it, frame, base, key, value)
    elif base.kind is Kind.OBJECT:
        from devicefix.analysis.instance_items import store_item

        store_item(it, frame, base, key, value)


def _is_shared(frame: Frame, name: str) -> bool:
    """Whether a function does not bind a name, but its module does."""
    return frame.function is not None and name not in frame.function.locals and name in frame.module.bindings


def _slice_replaced(base: Value, part: ast.Slice, value: Value) -> Value:
    """``items[:] = …`` replaces all members, ``items[1:] = …`` some; layers are as good as those before them."""
    if any_element(base).is_module:
        return base
    if part.lower is part.upper is part.step is None:
        return value if value.kind is Kind.SEQUENCE else base.replace(items=None, element=UNKNOWN, sources=())
    element = join(any_element(base), any_element(value)) if value.kind is Kind.SEQUENCE else UNKNOWN
    return base.replace(items=None, element=element, sources=(), flags=base.flags | OVERWRITTEN)


#: kinds of values that a dict of settings holds
SETTINGS = frozenset({Kind.UNKNOWN, Kind.DEVICE, Kind.STRING, Kind.NUMBER, Kind.NONE})


def _set_globally(it: Interpreter, frame: Frame, node: ast.expr, value: Value) -> None:
    """``CONFIG["device"] = device`` in a function: what is read of the global dict from now on is that."""
    running = it.globals.get(frame.module)
    if not isinstance(node, ast.Name) or frame.function is None or running is None or node.id in frame.names:
        return
    if node.id in running and not (frame.outer is not None and node.id in frame.outer):
        running[node.id] = value
        it.heap_version += 1


def rebind(it: Interpreter, frame: Frame, node: ast.expr, value: Value) -> None:
    """Make a name or an attribute stand for a container after a change in place."""
    if isinstance(node, ast.Name):
        if node.id in frame.names:
            frame.names[node.id] = value
            frame.changed.add(node.id)
            if frame.for_loops:
                from devicefix.analysis.assumed_moves import loop_variable_changed

                loop_variable_changed(frame, node.id, value)
        elif frame.outer is not None and node.id in frame.outer:
            frame.outer[node.id] = value
        elif frame.function is not None:
            _change_global(it, frame, node.id, value)
    elif isinstance(node, ast.Attribute):
        it.assign(frame, node, value)
    elif isinstance(node, ast.Subscript):
        _rebind_item(it, frame, node.value, node.slice, value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
        _rebind_item(it, frame, node.func.value, node.args[0] if node.args else node, value)


def _change_global(it: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """``activations[name] = output`` in a function, of a dict of the module: whoever reads it later finds it there."""
    running = it.globals.get(frame.module)
    old = running.get(name) if running is not None else None
    if running is None or old is None or old.kind is not value.kind or old.key() == value.key():
        return
    running[name] = value
    it.heap_version += 1


def _rebind_item(it: Interpreter, frame: Frame, holder: ast.expr, index: ast.expr, value: Value) -> None:
    """``results["scores"].append(x)``, ``results.setdefault(k, []).append(x)``: what is inside has changed."""
    base = it.evaluate(frame, holder)
    key = index.value if isinstance(index, ast.Constant) else None
    items = base.items
    if base.kind is Kind.MAPPING and key is not None and (items is None or isinstance(items, dict)):
        changed = base.replace(items={**(items or {}), key: value})
    elif base.kind is Kind.MAPPING and not items:
        changed = base.replace(items=None, element=value if base.element is None else join(base.element, value))
    elif base.kind is Kind.SEQUENCE and isinstance(items, tuple) and isinstance(key, int) and 0 <= key < len(items):
        changed = base.replace(items=(*items[:key], value, *items[key + 1 :]))
    else:
        return
    rebind(it, frame, holder, changed)


def with_all_items(base: Value, value: Value) -> Value:
    """A container whose every tensor has become like ``value``."""
    items = base.items
    if isinstance(items, dict):
        items = {k: value if v.is_tensor == value.is_tensor else v for k, v in items.items()}
    elif items is not None:
        items = tuple(value if v.is_tensor == value.is_tensor else v for v in items)
    element = value if base.element is not None else None
    return base.replace(items=items, element=element, sources=(), flags=base.flags | OVERWRITTEN)
