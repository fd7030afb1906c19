"""Functions of NumPy: what they read to the host, and what they give back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.facts import HostRead
from devicefix.analysis.joins import any_element
from devicefix.analysis.values import NUMBER, DType, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter


def call(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> Value:
    """``np.f(…)``."""
    for value, argument in zip(args.positional, args.nodes, strict=False):
        tensor = value if value.is_tensor else any_element(value) if value.kind is Kind.SEQUENCE else None
        if tensor is not None and tensor.is_tensor:
            it.records.host_reads.append(
                HostRead(node, name, tensor, frame.scope(), argument, value.kind is Kind.SEQUENCE, it.host_only > 0)
            )
    short = name.rpartition(".")[2]
    if short in ("float32", "float64", "int64", "int32", "float16"):
        return NUMBER
    dtype = DType.UNKNOWN
    if short in ("sqrt", "log", "exp", "prod", "ceil", "floor", "sum", "max", "min", "mean") and all(
        v.kind in (Kind.NUMBER, Kind.SIZE) for v in args.positional
    ):
        return NUMBER
    if short in ("randn", "normal", "uniform", "rand", "linspace", "sin", "cos", "zeros", "ones", "eye"):
        dtype = DType.FLOAT if "dtype" not in args.keywords else DType.UNKNOWN
    flags = frozenset({"shaped", "dimensions"} if _has_dimensions(short, args) else {"shaped"})
    return Value(Kind.NDARRAY, dtype=dtype, flags=flags)


#: what these give has a dimension, whatever they are given
ARRAYS = frozenset(
    ["arange", "linspace", "eye", "stack", "concatenate", "vstack", "hstack", "permutation", "argsort", "nonzero",
     "atleast_1d", "frombuffer", "fromiter", "repeat", "tile"]
)  # fmt: skip


#: and these where they are given sizes: in that place, or as ``size=``
SIZES = {
    "zeros": 0, "ones": 0, "empty": 0, "full": 0, "rand": 0, "randn": 0, "standard_normal": 0, "random": 0,
    "choice": 1, "randint": 2, "integers": 2, "normal": 2, "uniform": 2,
}  # fmt: skip


def _has_dimensions(short: str, args: Arguments) -> bool:
    if short in ARRAYS:
        return True
    if short in ("array", "asarray"):
        return bool(args.positional) and args.positional[0].kind is Kind.SEQUENCE
    if short not in SIZES:
        return False
    size = args.get(SIZES[short], "size") or args.keywords.get("shape")
    return size is not None and size.kind is not Kind.NONE and size.items != ()
