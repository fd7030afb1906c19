"""How many dimensions results have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devicefix.analysis.devices import Device
from devicefix.analysis.joins import any_element
from devicefix.analysis.operators import combine
from devicefix.analysis.values import Kind, Value, elements

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments
    from devicefix.torch_api import Function


#: functions that cut a tensor along one dimension, so that it and its parts have some
PARTS = frozenset({"split", "chunk", "tensor_split", "split_with_sizes", "narrow"})


def result_rank(
    fact: Function, args: Arguments, first: Value, values: list[Value], device: Device | None
) -> int | None:
    """The number of dimensions of a function's result; -1 for some, ``None`` if it is not known."""
    kind, _, parameter = fact.output_rank.partition(":")
    short = fact.name.rpartition(".")[2]
    if kind.isdigit():
        return int(kind)
    if short == "unsqueeze":
        return first.rank + 1 if first.rank is not None and first.rank >= 0 else -1
    if short in PARTS:
        return -1 if first.rank in (None, 0) else first.rank
    if short in ("unbind", "select"):
        return first.rank - 1 if first.rank is not None and first.rank > 0 else None
    if kind == "same":
        return first.rank
    if kind == "some":
        return -1
    if kind == "broadcast" or short in ("polar", "complex"):
        return combine(values, device).rank
    if kind == "reduce":
        position = fact.parameters.index(parameter) if parameter in fact.parameters else -1
        given = args.get(position, parameter)
        if parameter == "reduction":
            if given is None:
                return 0
            return (
                0
                if isinstance(given.data, str) and given.data != "none"
                else first.rank
                if given.data == "none"
                else None
            )
        keeps = args.keywords.get("keepdim")
        if keeps is not None and keeps.data is not False:
            return first.rank if keeps.data is True else None
        if given is None or given.kind is Kind.NONE:
            return 0
        return _reduced(first.rank, given)
    if short in ("view", "reshape", "expand", "repeat", "tile", "flatten", "broadcast_to", "unflatten"):
        return _view_rank(short, args, first)
    if short in ("cat", "concat", "concatenate", "stack", "pad", "roll", "flip", "cumsum", "cumprod", "sort"):
        return -1
    if short in (
        "meshgrid",
        "outer",
        "diag",
        "diag_embed",
        "matmul",
        "bmm",
        "mm",
        "block_diag",
        "cartesian_prod",
        "tril",
        "triu",
    ):
        return -1
    if short in (
        "transpose",
        "permute",
        "t",
        "swapaxes",
        "movedim",
        "expand_as",
        "view_as",
        "clone",
        "contiguous",
        "masked_fill",
    ):
        return first.rank if first.rank is not None else None
    return None


def _reduced(rank: int | None, given: Value) -> int | None:
    """The rank that is left when one dimension, or each of a tuple of them, is reduced."""
    if rank is None or rank < 0:
        return None
    if given.kind is Kind.SEQUENCE:
        return max(rank - len(given.items), 0) if isinstance(given.items, tuple) and given.items else None
    return max(rank - 1, 0)


def _view_rank(name: str, args: Arguments, first: Value) -> int | None:
    sizes = args.positional
    if name == "flatten":
        return -1 if sizes or args.keywords or args.splat else 1
    if not sizes and not args.splat:
        return None
    if len(sizes) == 1 and isinstance(sizes[0].items, tuple):
        return len(sizes[0].items)
    if args.splat or (len(sizes) == 1 and sizes[0].kind in (Kind.SIZE, Kind.SEQUENCE, Kind.UNKNOWN)):
        return -1 if name != "expand" or first.rank not in (0, None) else None
    return len(sizes)


def factory_rank(short: str, args: Arguments) -> int | None:
    """The number of dimensions of a new tensor, by the sizes that its factory is given."""
    if short in ("tensor", "as_tensor", "asarray"):
        return data_rank(args.get(0, "data"))
    if short == "scalar_tensor":
        return 0
    if short in ("arange", "linspace", "logspace", "randperm", "range") or short.endswith("_window"):
        return 1
    if short in ("eye", "tril_indices", "triu_indices", "vander"):
        return 2
    if short == "from_numpy":
        value = args.get(0)
        return -1 if value is not None and value.has("shaped") else None
    if short == "normal":
        return -1
    sizes = args.positional
    if short in ("full", "randint"):
        size = args.keywords.get("size") or next(
            (v for v in reversed(sizes) if v.kind in (Kind.SEQUENCE, Kind.SIZE)), None
        )
        if size is not None and isinstance(size.items, tuple):
            return len(size.items)
        return -1
    size = args.keywords.get("size")
    if size is not None:
        sizes = [size]
    if args.splat:
        return -1
    if len(sizes) == 1:
        only = sizes[0]
        if isinstance(only.items, tuple):
            return len(only.items)
        if only.kind is Kind.SIZE:
            return -1
        if only.kind is Kind.SEQUENCE:
            return -1
        return 1 if only.kind is Kind.NUMBER else -1
    return len(sizes) if sizes else None


def data_rank(value: Value | None) -> int | None:
    """The number of dimensions that ``torch.tensor(value)`` gets."""
    if value is None:
        return None
    if value.kind is Kind.NUMBER:
        return 0
    if value.kind is Kind.SIZE:
        return None if not value.sources else 0 if value.data is None else 1
    if value.kind is Kind.SEQUENCE:
        inner = data_rank(any_element(value)) if elements(value) or value.element else 0
        return 1 + inner if inner is not None and inner >= 0 else -1
    if value.is_tensor:
        return value.rank
    if value.has("dimensions"):
        return -1
    return None
