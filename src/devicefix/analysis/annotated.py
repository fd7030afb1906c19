"""What an annotation says of an unknown value."""

from __future__ import annotations

from devicefix.analysis.devices import symbol
from devicefix.analysis.values import MAYBE_NONE, UNKNOWN, DType, Kind, Value


def annotated(value: Value, kind: str) -> Value:
    """An unknown value of which an annotation says what it is."""
    flags = value.flags & {"parameter"}
    if kind.startswith("optional "):
        flags |= MAYBE_NONE
        kind = kind[len("optional ") :]
    if kind.endswith("tensor"):
        dtype = {"float tensor": DType.FLOAT, "int tensor": DType.INT, "bool tensor": DType.BOOL}.get(
            kind, DType.UNKNOWN
        )
        return Value(
            Kind.TENSOR,
            device=value.device,
            dtype=dtype,
            ident=value.ident,
            flags=(flags - {"parameter"}) | {"argument"},
        )
    if kind == "module":
        return Value(Kind.MODULE, device=value.device, ident=value.ident, flags=flags)
    if kind == "device":
        return Value(Kind.DEVICE, device=symbol(value.ident), ident=value.ident, flags=flags)
    if kind == "loader":
        return Value(Kind.LOADER, element=UNKNOWN, ident=value.ident, flags=flags)
    if kind == "dtype":
        return Value(Kind.DTYPE, ident=value.ident, flags=flags)
    if kind == "number":
        return Value(Kind.NUMBER, flags=flags, ident=value.ident)
    if kind == "string":
        return Value(Kind.STRING, flags=flags, ident=value.ident)
    if kind == "ndarray":
        return Value(Kind.NDARRAY, flags=flags)
    if kind == "packed":
        return Value(
            Kind.TENSOR, device=value.device, ident=value.ident, flags=(flags - {"parameter"}) | {"packed", "argument"}
        )
    return value
