"""Classes of dtypes: which one a value asks for, and which one a new tensor gets."""

from __future__ import annotations

from devicefix.analysis.values import DType, Kind, Value, elements

DTYPE_CLASSES = {"float": DType.FLOAT, "int": DType.INT, "bool": DType.BOOL, "complex": DType.COMPLEX}


NO_DTYPE_CHANGE = frozenset({"explicit_dtype", "maybe_none", "guessed", "shaped"})


def is_dtype(value: Value) -> bool:
    """Whether a value is a dtype: known as one, or read from something that is called one, as ``config.torch_dtype``."""
    if value.kind is Kind.DTYPE:
        return True
    if value.kind is not Kind.UNKNOWN or not isinstance(value.ident, tuple):
        return False
    name = value.ident[-1]
    return isinstance(name, str) and name.endswith("dtype")


def dtype_of(value: Value | None) -> DType | None:
    """The dtype class that an argument asks for; ``None`` if it is no dtype."""
    if value is None:
        return None
    if value.kind in (Kind.DTYPE, Kind.TENSOR):
        return value.dtype
    if value.kind is Kind.EXTERNAL:
        return {"builtins.float": DType.FLOAT, "builtins.int": DType.INT, "builtins.bool": DType.BOOL}.get(
            str(value.data)
        )
    return DType.UNKNOWN if value.kind is Kind.UNKNOWN else None


def data_dtype(value: Value | None) -> DType:
    """The dtype class that ``torch.tensor(value)`` gets."""
    if value is None:
        return DType.UNKNOWN
    if value.kind is Kind.NUMBER:
        if isinstance(value.data, bool):
            return DType.BOOL
        if isinstance(value.data, int):
            return DType.INT
        if isinstance(value.data, float):
            return DType.FLOAT
        return value.dtype
    if value.kind is Kind.SIZE:
        return DType.INT if value.data is None and value.dtype is DType.UNKNOWN else value.dtype
    if value.kind is Kind.SEQUENCE:
        found = {data_dtype(v) for v in elements(value)}
        if value.element is not None:
            found.add(data_dtype(value.element))
        if DType.FLOAT in found:
            return DType.FLOAT
        return found.pop() if len(found) == 1 else DType.UNKNOWN
    return value.dtype if value.is_tensor else DType.UNKNOWN
