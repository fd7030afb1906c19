"""What data loaders yield: batches on the CPU, shaped like the data set's items."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import datasets, opaque
from devicefix.analysis.classes import find_method, is_named_tuple
from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.joins import any_element, join, join_all
from devicefix.analysis.records import is_record
from devicefix.analysis.values import UNKNOWN, Closure, Kind, Obj, Origin, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def data_loader(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``DataLoader(dataset, …)``."""
    dataset = args.get(0, "dataset") or UNKNOWN
    collate = args.keywords.get("collate_fn")
    item = dataset_item(it, frame, dataset)
    if collate is not None and collate.kind is not Kind.NONE:
        element = _collated(it, frame, node, collate, item)
    else:
        element = _stacked(it, item)
    return Value(Kind.LOADER, element=element, data=node, ident=("loader", node), sources=(dataset,))


def dataset_item(it: Interpreter, frame: Frame, dataset: Value) -> Value:
    """One item of a data set."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments

    if dataset.kind in (Kind.SEQUENCE, Kind.TENSOR):
        from devicefix.analysis.iteration import member

        return member(dataset, None)
    if dataset.kind is not Kind.OBJECT:
        return datasets.unseen_item(dataset)
    obj: Obj = dataset.data
    if obj.cls is not None:
        method = find_method(it, obj.cls, "__getitem__")
        if method is not None:
            datasets.note_contents(it, obj.attrs.values())
            index = Value(Kind.NUMBER)
            return call_closure(it, frame, Closure(method), Arguments([index], nodes=[ast.Constant(0)]), dataset)
        return _yielded(it, frame, obj, dataset)
    if obj.external.endswith("TensorDataset") and obj.arguments is not None:
        from devicefix.analysis.iteration import member

        return Value(Kind.SEQUENCE, items=tuple(member(v, None) for v in obj.arguments[0]), data="tuple")
    return datasets.unseen_item(dataset)


def _yielded(it: Interpreter, frame: Frame, obj: Obj, dataset: Value) -> Value:
    """One of the items that an iterable data set yields."""
    from devicefix.analysis.calls import call_closure
    from devicefix.analysis.frames import Arguments

    method = find_method(it, obj.cls, "__iter__") if obj.cls is not None else None
    stream = call_closure(it, frame, Closure(method), Arguments([]), dataset) if method is not None else UNKNOWN
    return any_element(stream) if stream.kind is Kind.SEQUENCE else UNKNOWN


def _stacked(it: Interpreter, item: Value) -> Value:
    """What the default collation makes of items: tensors gain a dimension, numbers become tensors."""
    if item.is_tensor:
        rank = item.rank + 1 if item.rank is not None and item.rank >= 0 else -1
        device = item.device if item.device is not None and not item.device.host else DEFAULT
        return Value(Kind.TENSOR, device=device, dtype=item.dtype, rank=rank)
    if item.kind in (Kind.NUMBER, Kind.SIZE):
        from devicefix.analysis.dtypes import data_dtype

        return Value(Kind.TENSOR, device=DEFAULT, rank=1, dtype=data_dtype(item))
    if item.kind is Kind.NDARRAY:
        return Value(Kind.TENSOR, device=DEFAULT, rank=-1, dtype=item.dtype)
    if item.kind is Kind.STRING:
        return Value(Kind.SEQUENCE, element=Value(Kind.STRING), data="list")
    if item.kind is Kind.SEQUENCE:
        if is_record(item):
            return item.replace(items=tuple(_stacked(it, v) for v in item.items))
        if isinstance(item.items, tuple):
            return Value(Kind.SEQUENCE, items=tuple(_stacked(it, v) for v in item.items), data="list")
        return Value(Kind.SEQUENCE, element=_stacked(it, any_element(item)), data="list")
    if item.kind is Kind.MAPPING:
        items = {k: _stacked(it, v) for k, v in item.items.items()} if isinstance(item.items, dict) else None
        return Value(
            Kind.MAPPING, items=items, element=_stacked(it, item.element) if item.element is not None else None
        )
    if item.kind is Kind.OBJECT and item.data.cls is not None and is_named_tuple(it, item.data.cls):
        fields = {name: _stacked(it, v) for name, v in item.data.attrs.items()}
        return item.replace(data=replace(item.data, attrs=fields))
    return item if item.kind is Kind.UNKNOWN and item.has("moved") else UNKNOWN


def _collates_on_host(collate: Value) -> bool:
    """``DataCollatorWithPadding(tokenizer)``, ``default_data_collator``: a mapping of tensors on the CPU."""
    if collate.kind not in (Kind.OBJECT, Kind.EXTERNAL):
        return False
    known = torch_api.external_class(collate.data.external if collate.kind is Kind.OBJECT else str(collate.data))
    return known is not None and known.kind == "collator"


def _collated(it: Interpreter, frame: Frame, node: ast.Call, collate: Value, item: Value) -> Value:
    from devicefix.analysis.calls import apply
    from devicefix.analysis.frames import Arguments

    if _collates_on_host(collate):
        return Value(Kind.UNKNOWN)
    batch_list = Value(Kind.SEQUENCE, element=item, data="list")
    result = apply(it, frame, node, collate, Arguments([batch_list], nodes=[node]))
    # a collation that is not seen may put its tensors anywhere
    return result.replace(flags=result.flags | {"moved"}) if result.kind is Kind.UNKNOWN else result


def default_collate(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``default_collate(rows)``, called by a collation of the project."""
    rows = args.get(0, "batch")
    return _stacked(it, any_element(rows)) if rows is not None and rows.kind is Kind.SEQUENCE else UNKNOWN


def batch(it: Interpreter, frame: Frame, loader: Value, place: ast.AST) -> Value:
    """The batch that a loop over a loader (or ``next(iter(loader))``) binds, with that place as its origin."""
    scope = frame.scope()
    element = loader.element or UNKNOWN
    detail = GRAPHS if loader.has(GRAPHS) else NAMED if loader.has("guessed") else "loader"

    def mark(value: Value, path: tuple[object, ...]) -> Value:
        if value.is_tensor and value.device is not None and value.device.host:
            origin = Origin("batch", place, scope, detail=detail, path=path)
            return value.replace(origins=(origin,), device=DEFAULT, ident=("batch", place, path))
        if value.kind in (Kind.SEQUENCE, Kind.MAPPING):
            items = value.items
            if isinstance(items, dict):
                items = {k: mark(v, (*path, k)) for k, v in items.items()}
            elif items is not None:
                items = tuple(mark(v, (*path, i)) for i, v in enumerate(items))
            inner = mark(value.element, (*path, None)) if value.element is not None else None
            ident = value.ident if is_record(value) else ("batch", place, path)
            return value.replace(items=items, element=inner, ident=ident)
        if value.kind is Kind.OBJECT and "<items>" in value.data.attrs:  # an encoding: its tensors are entries
            contents = mark(value.data.attrs["<items>"], path)
            return value.replace(data=replace(value.data, attrs={**value.data.attrs, "<items>": contents}))
        if value.kind is Kind.OBJECT and value.data.cls is not None and not value.data.is_module:
            return value.replace(data=_object(value.data, mark, path))
        if value.kind is Kind.UNKNOWN and not value.has("moved") and (value.device is None or value.device.host):
            # collated by torch, whatever the data set is: tensors on the CPU, or no tensors
            origin = Origin("batch", place, scope, detail=detail, path=path)
            return value.replace(
                ident=("batch", place, path), device=DEFAULT, origins=(origin,), flags=value.flags | {"likely_tensor"}
            )
        return value

    marked = mark(element, ())
    it.records.values[place].append(marked)
    return marked


def passes_batches_on(value: Value) -> bool:
    """Whether a generator yields what a loader gave it, as it is: its user sees a loader."""
    if value.kind is not Kind.SEQUENCE or value.data != "generator" or value.element is None:
        return False
    element = value.element
    whole = element.is_tensor or (element.kind is Kind.UNKNOWN and element.has("likely_tensor"))
    tensors = [element] if whole else [v for v in elements(element) if v.is_tensor]
    return bool(tensors) and all(v.origins and all(o.kind == "batch" for o in v.origins) for v in tensors)


@dataclass(frozen=True, slots=True)
class AttributeKey:
    """A step into a batch that is an attribute of an object."""

    name: str


def _object(obj: Obj, mark: Callable[[Value, tuple[object, ...]], Value], path: tuple[object, ...]) -> Obj:
    """A copy of an object that a collation made, its tensors marked as parts of the batch."""
    held = {
        name: mark(value, (*path, AttributeKey(name))) if value.kind in PLAIN else value
        for name, value in obj.attrs.items()
    }
    return replace(obj, attrs=held)


#: what is looked into for tensors of a batch, of all that an object holds
PLAIN = (Kind.TENSOR, Kind.SEQUENCE, Kind.MAPPING)


#: says of a loader, and of the origin of its batches, that those are graphs: their own ``to`` moves all they hold
GRAPHS = "graphs"
#: says of the origin of a batch that its loader is one by its name only
NAMED = "named loader"


def graph_loader(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """A loader of PyTorch Geometric, whose batches are ``Data`` objects."""
    given = args.get(0, "dataset") or args.get(0, "data") or UNKNOWN
    row = any_element(given) if given.kind is Kind.SEQUENCE else given
    device = row.data.device if row.kind is Kind.OBJECT else row.device
    placed = row.has("moved") or (device is not None and not device.host and not device.assumed)
    element = Value(Kind.UNKNOWN, flags=frozenset({"moved"}) if placed else frozenset())
    return Value(
        Kind.LOADER, element=element, data=node, ident=("loader", node), sources=(given,), flags=frozenset({GRAPHS})
    )


def attribute(base: Value, name: str) -> Value:
    """``batch.name`` of a batch of unknown kind: a field of it, from the same place."""
    value = Value(Kind.UNKNOWN, device=base.device, ident=("attr", base.ident, name), sources=(base,), data=name)
    # what tensors have as well says nothing: the batch may be one
    if torch_api.attribute(name) is not None or torch_api.method(name) is not None:
        return value
    if not base.origins:  # `outputs.logits` of what a model gave
        if name in opaque.OUTPUTS and base.has("likely_tensor") and base.device is not None:
            return opaque.as_tensor(value)
        return value.replace(flags=base.flags & {"likely_tensor"}) if base.has("likely_tensor") else value
    if name in torch_api.MOVE_METHODS or not any(o.kind == "batch" for o in base.origins):
        return value
    return value.replace(origins=part(base.origins, AttributeKey(name)), flags=base.flags & {"likely_tensor"})


def part(origins: tuple[Origin, ...], key: object) -> tuple[Origin, ...]:
    """The origins of one element of a batch of which only the origin is known."""
    if not any(o.kind == "batch" for o in origins):
        return origins
    return tuple(replace(o, path=(*o.path, key)) if o.kind == "batch" else o for o in origins)


def item(base: Value, key: object, name: Hashable) -> Value:
    """``base[key]`` of something of unknown kind; ``name`` tells it from other items where the key is not known."""
    return Value(
        Kind.UNKNOWN, device=base.device, ident=("item", base.ident, name), origins=part(base.origins, key),
        flags=base.flags & {"likely_tensor"},
    )  # fmt: skip


def entry(batch: Value) -> Value | None:
    """Any entry of a batch of unknown kind that is used as a mapping, ``f(**batch)``; None for other values."""
    if batch.kind is not Kind.UNKNOWN or not any(o.kind == "batch" for o in batch.origins):
        return None
    return batch.replace(ident=("item", batch.ident, None), origins=part(batch.origins, None), sources=(), data=None)


def named_part(origins: tuple[Origin, ...], key: object) -> tuple[Origin, ...]:
    """The origins of ``batch[key]``, where nothing more was known of the batch than what its entries are like."""
    return tuple(
        replace(o, path=(*o.path[:-1], key)) if o.kind == "batch" and o.path[-1:] == (None,) else o for o in origins
    )


__all__ = ["batch", "data_loader", "dataset_item", "default_collate", "join", "join_all", "named_part", "part"]
