"""Objects of ``torch.distributions``: they hold the tensors that they are made of, draw and compute where those are."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from devicefix.analysis.devices import DEFAULT
from devicefix.analysis.joins import merge_origins
from devicefix.analysis.meeting import Operand, meet
from devicefix.analysis.opaque import as_tensor, is_batch_element
from devicefix.analysis.operators import combine
from devicefix.analysis.tree_index import walk
from devicefix.analysis.values import UNKNOWN, DType, Kind, Obj, Origin, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.model import ClassInfo

#: the parameters of each distribution that are tensors or numbers, by position; ``probs`` or ``logits``, not both
PARAMETERS: dict[str, tuple[str, ...]] = {
    "Bernoulli": ("probs", "logits"),
    "Beta": ("concentration1", "concentration0"),
    "Binomial": ("total_count", "probs", "logits"),
    "Categorical": ("probs", "logits"),
    "Cauchy": ("loc", "scale"),
    "Chi2": ("df",),
    "ContinuousBernoulli": ("probs", "logits"),
    "Dirichlet": ("concentration",),
    "Exponential": ("rate",),
    "FisherSnedecor": ("df1", "df2"),
    "Gamma": ("concentration", "rate"),
    "Geometric": ("probs", "logits"),
    "Gumbel": ("loc", "scale"),
    "HalfCauchy": ("scale",),
    "HalfNormal": ("scale",),
    "InverseGamma": ("concentration", "rate"),
    "Kumaraswamy": ("concentration1", "concentration0"),
    "Laplace": ("loc", "scale"),
    "LogNormal": ("loc", "scale"),
    "LogisticNormal": ("loc", "scale"),
    "LowRankMultivariateNormal": ("loc", "cov_factor", "cov_diag"),
    "Multinomial": ("", "probs", "logits"),
    "MultivariateNormal": ("loc", "covariance_matrix", "precision_matrix", "scale_tril"),
    "NegativeBinomial": ("total_count", "probs", "logits"),
    "Normal": ("loc", "scale"),
    "OneHotCategorical": ("probs", "logits"),
    "OneHotCategoricalStraightThrough": ("probs", "logits"),
    "Pareto": ("scale", "alpha"),
    "Poisson": ("rate",),
    "RelaxedBernoulli": ("temperature", "probs", "logits"),
    "RelaxedOneHotCategorical": ("temperature", "probs", "logits"),
    "StudentT": ("df", "loc", "scale"),
    "Uniform": ("low", "high"),
    "VonMises": ("loc", "concentration"),
    "Weibull": ("scale", "concentration"),
}
#: distributions made of others, and the arguments that those are
MADE_OF: dict[str, tuple[str, ...]] = {
    "Independent": ("base_distribution",),
    "MixtureSameFamily": ("mixture_distribution", "component_distribution"),
    "TransformedDistribution": ("base_distribution",),
}
#: those that draw whole numbers as integers
INTEGERS = frozenset({"Categorical"})

#: a parameter that was given as a number: it lives wherever the default device is
FROM_NUMBER = frozenset({"from_number"})

SAMPLING = frozenset({"sample", "rsample", "sample_n"})
OF_A_VALUE = frozenset({"log_prob", "cdf", "icdf"})
OF_ITSELF = frozenset({"entropy", "perplexity", "enumerate_support"})
STATISTICS = frozenset({"mean", "variance", "stddev", "mode", "probs", "logits"})
PREFIX = "torch.distributions."


def is_distribution(value: Value) -> bool:
    """Whether a value is a distribution of torch of which it is known what it is made of."""
    return value.kind is Kind.OBJECT and _is_distribution(value.data)


def _is_distribution(obj: Obj) -> bool:
    return obj.cls is None and obj.external.startswith(PREFIX)


def create(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """``Normal(loc, scale)``, ``Independent(base, 1)`` …"""
    obj = Obj(None, external=name, arguments=(tuple(args.positional), dict(args.keywords)))
    short = name.rpartition(".")[2]
    value = Value(Kind.OBJECT, data=obj)
    if short in MADE_OF:
        bases = {argument: args.get(i, argument) for i, argument in enumerate(MADE_OF[short])}
        if all(base is not None and is_distribution(base) for base in bases.values()):
            obj.attrs.update({("base_dist" if k == "base_distribution" else k): v for k, v in bases.items() if v})
    else:
        obj.attrs.update(_parameters(it, short, args))
    members = tensors(value)
    obj.device = _place(members)
    obj.origins = merge_origins(members) if obj.device is not None and obj.device.host else ()
    return value


def _parameters(it: Interpreter, short: str, args: Arguments) -> dict[str, Value]:
    """The tensors that a distribution is made of; none if it is not known where they all are."""
    names = PARAMETERS.get(short, ())
    given = {name: args.get(i, name) for i, name in enumerate(names) if name}
    known = {name: v for name, v in given.items() if v is not None and v.kind is not Kind.NONE}
    if not known or args.splat or args.keyword_splat or it.records.default_device_changed:
        return {}
    found = {name: v for name, v in known.items() if v.is_tensor and v.device is not None}
    numbers = {name for name, v in known.items() if v.kind in (Kind.NUMBER, Kind.SIZE)}
    if len(found) + len(numbers) < len(known):
        return {name: v for name, v in found.items() if v.device is not None and not v.device.host}
    if not found:  # numbers only become tensors without a dimension
        device = it.default_devices[-1] if it.default_devices else DEFAULT
        number = Value(Kind.TENSOR, device=device, dtype=DType.FLOAT, rank=0, flags=FROM_NUMBER)
        return dict.fromkeys(numbers, number)
    if any(v.rank != 0 for v in found.values()):  # all are broadcast to one shape
        return {name: v.replace(rank=-1 if v.rank == 0 else v.rank) for name, v in found.items()}
    return found


def _place(members: list[Value]) -> Device | None:
    """Where tensors are: on an accelerator, if one of them is."""
    away = next((v.device for v in members if v.device is not None and not v.device.host), None)
    if away is not None or not members or any(v.device is None for v in members):
        return away
    return members[0].device


def tensors(value: Value) -> list[Value]:
    """The tensors that a distribution, and those that it is made of, hold."""
    found: list[Value] = []
    for held in value.data.attrs.values():
        if held.is_tensor:
            found.append(held)
        elif is_distribution(held) and held.data is not value.data:
            found.extend(tensors(held))
    return found


def mapped(value: Value, function: Callable[[Value], Value]) -> Value:
    """The same distribution, made of other tensors."""
    source: Obj = value.data
    attrs = {
        name: function(held) if held.is_tensor else mapped(held, function) if is_distribution(held) else held
        for name, held in source.attrs.items()
    }
    copy = value.replace(data=replace(source, attrs=attrs))
    members = tensors(copy)
    copy.data.device = _place(members)
    copy.data.origins = merge_origins(members) if copy.data.device is not None and copy.data.device.host else ()
    return copy


def moved(value: Value, device: Device | None) -> Value:
    """The same distribution, made of tensors on another device."""
    return mapped(value, lambda held: held.replace(device=device, origins=()))


def settled_by(cls: ClassInfo, name: str) -> bool:
    """Whether a method of a class replaces a distribution that the instance holds, or one of its parameters."""
    for info in cls.methods.values():
        for node in walk(info.node) if info.name != "__init__" else ():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                inner = node.value
                if node.attr == name or (isinstance(inner, ast.Attribute) and inner.attr == name):
                    return True
    return False


def attribute(value: Value, name: str) -> Value | None:
    """``dist.mean``, ``dist.variance`` …: computed from the parameters."""
    if name not in STATISTICS:
        return None
    members = tensors(value)
    return combine(members, _place(members), dtype=DType.FLOAT) if members else UNKNOWN


def call_method(it: Interpreter, frame: Frame, node: ast.Call, value: Value, name: str, args: Arguments) -> Value:
    """``dist.sample()``, ``dist.log_prob(x)`` …"""
    obj: Obj = value.data
    held = tensors(value)
    operands: list[Operand] = [(v, None) for v in held]
    if name == "expand":
        return value
    if name in OF_A_VALUE:
        return _of_value(it, frame, node, obj, name, operands, args)
    if name in SAMPLING or name in OF_ITSELF:
        if not held:
            return Value(Kind.TENSOR, device=obj.device, dtype=DType.FLOAT, rank=-1, ident=("op", node))
        device = meet(it, frame, node, name, operands, manner="strict")
        dtype = DType.INT if obj.external.rpartition(".")[2] in INTEGERS and name == "sample" else DType.FLOAT
        result = combine(held, device, dtype=dtype).replace(ident=("op", node), flags=frozenset())
        return _drawn(it, frame, node, obj, name, result, args) if name in SAMPLING else result
    return Value(Kind.UNKNOWN, device=obj.device, ident=("call", node))


def _of_value(
    it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, name: str, held: list[Operand], args: Arguments
) -> Value:
    """``dist.log_prob(x)``: the parameters meet what they are asked about."""
    given = args.get(0, "value")
    argument = args.nodes[0] if args.nodes else args.keyword_nodes.get("value")
    operands = list(held)
    if given is not None and (given.is_tensor or is_batch_element(given)):
        operands.insert(0, (given if given.is_tensor else as_tensor(given), argument))
    device = meet(it, frame, node, name, operands) if held else obj.device
    result = combine([v for v, _ in operands], device, dtype=DType.FLOAT) if held else UNKNOWN
    if not result.is_tensor:
        return Value(Kind.TENSOR, device=device, dtype=DType.FLOAT, rank=-1, ident=("op", node))
    return result.replace(ident=("op", node), flags=frozenset())


def _drawn(it: Interpreter, frame: Frame, node: ast.Call, obj: Obj, name: str, result: Value, args: Arguments) -> Value:
    """What is drawn: one dimension more for each number in the shape; on the CPU if the parameters were numbers."""
    shape = args.get(0, "sample_shape")
    plain = shape is None or (shape.kind is Kind.SEQUENCE and shape.items == ())
    if not plain and result.rank is not None:
        result = result.replace(rank=-1)
    host = result.device is not None and result.device == DEFAULT
    if host and all(v.flags >= FROM_NUMBER for v in tensors(Value(Kind.OBJECT, data=obj))):
        scope = frame.scope()
        it.records.scopes[node].append(scope)
        it.records.made[("new", node)].append(len(it.records.moves))
        sources = shape.sources if shape is not None else ()
        if shape is not None and isinstance(shape.items, tuple):
            sources = tuple(s for item in shape.items for s in item.sources)
        origin = Origin("factory", node, scope, detail=f"{obj.external}.{name}")
        return result.replace(origins=(origin,), ident=("new", node), sources=sources)
    return result


def kl_divergence(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``kl_divergence(p, q)``: the parameters of both meet."""
    operands: list[Operand] = []
    complete = True
    for position, name in enumerate(("p", "q")):
        given = args.get(position, name)
        held = tensors(given) if given is not None and is_distribution(given) else []
        argument = args.nodes[position] if position < len(args.nodes) else args.keyword_nodes.get(name)
        operands.extend((v, argument) for v in held)
        complete = complete and bool(held)
    if not operands:
        return Value(Kind.TENSOR, dtype=DType.FLOAT, ident=("op", node))
    device = meet(it, frame, node, "kl_divergence", operands)
    if not complete and (device is None or device.host):
        return Value(Kind.TENSOR, dtype=DType.FLOAT, ident=("op", node))
    return combine([v for v, _ in operands], device, dtype=DType.FLOAT).replace(ident=("op", node), flags=frozenset())


HANDLERS = {f"{PREFIX}{path}": kl_divergence for path in ("kl_divergence", "kl.kl_divergence")}

__all__ = [
    "FROM_NUMBER",
    "HANDLERS",
    "attribute",
    "call_method",
    "create",
    "is_distribution",
    "mapped",
    "moved",
    "tensors",
]
