"""Calls of modules that cannot be looked into: what they are given meets their parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.facts import Mix
from devicefix.analysis.meeting import Operand, meet
from devicefix.analysis.values import DType, Kind, Value, elements, module_objects

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.values import Obj

#: modules of other libraries that surely have parameters or state, and are on the CPU until somebody moves them
WEIGHTED = (
    "torchmetrics.",
    "torchvision.models.",
    "transformers.",
    "timm.",
    "segmentation_models_pytorch.",
    "lpips.LPIPS",
)

#: arguments by which a model of another library chooses its place itself
PLACING = frozenset({"device_map", "device", "load_in_8bit", "load_in_4bit", "quantization_config", "max_memory"})


#: words in the names of methods that bring inputs to a device, or put them away
HANDLING = frozenset(
    {"preprocess", "postprocess", "process", "prepare", "collate", "tokenize", "load", "save", "set", "log", "record",
     "push", "store", "move", "transfer", "send", "device"}
)  # fmt: skip


def meet_inputs(it: Interpreter, frame: Frame, node: ast.Call, module: Value, owner: ast.expr, args: Arguments) -> None:
    """Inputs of a module meet its parameters; only what is surely meant for them counts.

    ``module`` is an instance of a class of another library, or something of which only that it is a module is known;
    that one counts only where it was moved before our eyes. ``owner`` is the expression that it was reached by.
    """
    from devicefix.analysis.attribute_reads import MODULE_METHODS

    if isinstance(node.func, ast.Attribute) and (node.func.attr in MODULE_METHODS or node.func.attr.startswith("_")):
        return  # what is handed to the machinery of modules is registered, not computed with
    if isinstance(node.func, ast.Attribute) and not HANDLING.isdisjoint(node.func.attr.lower().split("_")):
        return
    device = module.data.device if module.kind is Kind.OBJECT else module.device
    origins = module.data.origins if module.kind is Kind.OBJECT else ()
    if device is None and origins:
        obj: Obj = module.data
        if obj.external.startswith(WEIGHTED) or any(map(is_weighted_part, obj.children)):
            device = DEFAULT
    if device is None or (device.host and not origins) or (module.kind is Kind.MODULE and not module.has("moved")):
        return
    operands: list[Operand] = []
    keywords = ((value, args.keyword_nodes.get(name)) for name, value in args.keywords.items())
    pairs = [*zip(args.positional, args.nodes, strict=False), *keywords]
    for value, argument in pairs:
        operands.extend((tensor, argument) for tensor in _tensors(value) if not _is_length(argument))
    if module.kind is Kind.OBJECT and _adds_up(module.data):
        operands = [operand for operand in operands if operand[0].rank != 0]
    if not operands:
        return
    ident = ("module", id(module.data)) if module.kind is Kind.OBJECT else ("module", module.ident)
    state = Value(
        Kind.TENSOR, device=device, dtype=DType.UNKNOWN, rank=-1,
        data=module.data if module.kind is Kind.OBJECT else None,
        origins=origins, flags=frozenset({"module_state"}), ident=ident,
    )  # fmt: skip
    name = node.func.attr if isinstance(node.func, ast.Attribute) else "the model"
    meet(it, frame, node, name, [(state, owner), *operands], manner="module")


def _adds_up(metric: Obj) -> bool:
    """Whether a metric adds what it is given to a number that it holds: a 0-dimensional tensor may be anywhere."""
    return metric.external.startswith("torchmetrics.") and metric.external.endswith(AGGREGATORS)


#: how the names of such metrics end
AGGREGATORS = ("MeanMetric", "SumMetric", "MaxMetric", "MinMetric")


def is_weighted_part(module: Value) -> bool:
    """Whether a module is one of ``model.children()``, of a model with parameters that nobody has moved."""
    owner = module.sources[0] if module.kind is Kind.MODULE and module.sources else None
    if owner is None or owner.kind is not Kind.OBJECT or owner.data.device is not None or not owner.data.origins:
        return False
    members = module_objects(module)
    unmoved = all(m.data.stateful and m.data.device is None and m.data.origins for m in members)
    return owner.data.external.startswith(WEIGHTED) or (bool(members) and unmoved)


def note_companions(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> None:
    """Parts of a batch that are given to something unknown beside what is on a device: a loss, it may be."""
    given = [*zip(args.positional, args.nodes, strict=False)]
    given += [(value, args.keyword_nodes[name]) for name, value in args.keywords.items() if name in args.keyword_nodes]
    away = next(((v, n) for v, n in given if v.device is not None and not v.device.host and _is_input(v)), None)
    if away is None:
        return
    for value, argument in given:
        if any(o.kind == "batch" for o in value.origins) and (value.is_tensor or value.kind is Kind.UNKNOWN):
            culprit = value if value.is_tensor else as_tensor(value)
            mix = Mix(node, culprit, away[0], frame.scope(), "the loss", "strict", "none", argument, away[1])
            it.records.companions.append(mix)


def _is_input(value: Value) -> bool:
    return value.is_tensor or (value.kind is Kind.UNKNOWN and value.has("likely_tensor"))


def as_tensor(value: Value) -> Value:
    """An element of a batch of which no more is known, given where only a tensor will do."""
    return Value(
        Kind.TENSOR, device=value.device, rank=-1, ident=value.ident, origins=value.origins,
        flags=(value.flags & {"maybe_none"}) | {"guessed"},
    )  # fmt: skip


def is_batch_element(value: Value) -> bool:
    """Whether a value of unknown kind came out of a data loader."""
    return value.kind is Kind.UNKNOWN and any(o.kind == "batch" for o in value.origins)


def is_moved(value: Value) -> bool:
    """Whether a value of unknown kind was brought to a device: given to a module, it is an input of it."""
    return value.kind is Kind.UNKNOWN and value.device is not None and value.has("moved")


#: what the outputs of the models of transformers are called, those that are tensors
OUTPUTS = frozenset(
    {"logits", "last_hidden_state", "pooler_output", "image_embeds", "text_embeds", "start_logits", "end_logits",
     "logits_per_image", "logits_per_text"}
)  # fmt: skip


def _tensors(value: Value) -> list[Value]:
    if value.is_tensor:
        return [value]
    if is_batch_element(value) or is_moved(value):
        return [as_tensor(value)]
    if value.kind is Kind.OBJECT and "<items>" in value.data.attrs:
        return [v for v in elements(value.data.attrs["<items>"]) if v.is_tensor]
    if value.kind is Kind.SEQUENCE and value.data in ("tuple", "list"):
        return [v for v in (*elements(value), *([value.element] if value.element is not None else [])) if v.is_tensor]
    return []


def _is_length(node: ast.expr | None) -> bool:
    """Lengths may be wanted on the CPU, for packing."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = str(node.slice.value)
    return "len" in name.lower()


__all__ = ["as_tensor", "is_batch_element", "meet_inputs"]
