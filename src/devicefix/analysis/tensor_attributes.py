"""Attributes of tensors, and of torch itself."""

from __future__ import annotations

from devicefix import torch_api
from devicefix.analysis.devices import CPU
from devicefix.analysis.dtypes import DTYPE_CLASSES, NO_DTYPE_CHANGE
from devicefix.analysis.values import NUMBER, STRING, DType, Kind, Value

HOST_RESULTS = {"number", "int", "bool", "str", "list"}


def external_attribute(name: str) -> Value:
    """``torch.float32``, ``torch.cuda``, ``math.pi`` …"""
    head, _, last = name.rpartition(".")
    if head == "torch" and last in torch_api.DTYPES:
        return Value(Kind.DTYPE, dtype=DTYPE_CLASSES[torch_api.DTYPES[last]], data=last)
    if head in ("math", "numpy", "torch") and last in ("pi", "inf", "nan", "e", "tau"):
        return Value(Kind.NUMBER, dtype=DType.FLOAT, data=1.0)
    return Value(Kind.EXTERNAL, data=name)


def attribute(base: Value, name: str) -> Value:
    """An attribute of a tensor."""
    if name == "device":
        return Value(Kind.DEVICE, device=base.device, ident=("device", base.ident), sources=(base,))
    if name == "dtype":
        return Value(Kind.DTYPE, dtype=base.dtype, sources=(base,))
    if name in ("shape", "ndim"):
        return Value(Kind.SIZE, sources=(base,))
    if name in ("data", "T", "mT", "H", "mH"):
        return base.replace(ident=("attr", base.ident, name), flags=base.flags & NO_DTYPE_CHANGE)
    if name in ("real", "imag"):  # views
        dtype = DType.FLOAT if base.dtype is DType.COMPLEX else base.dtype
        return base.replace(dtype=dtype, ident=("attr", base.ident, name), flags=base.flags & NO_DTYPE_CHANGE)
    if name == "grad":
        return Value(Kind.TENSOR, device=base.device, dtype=DType.FLOAT, rank=base.rank)
    kind = torch_api.attribute(name)
    if kind in HOST_RESULTS:
        return STRING if kind == "str" else NUMBER
    if torch_api.method(name) is not None or name in torch_api.MOVE_METHODS or name in torch_api.DTYPE_METHODS:
        return Value(Kind.METHOD, data=(base, name))
    if base.has("packed") and name == "batch_sizes":
        return Value(Kind.TENSOR, device=CPU, dtype=DType.INT, rank=1)
    return Value(Kind.METHOD, data=(base, name))
