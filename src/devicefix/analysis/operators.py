"""Arithmetic, comparison and in-place operators."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.devices import CPU
from devicefix.analysis.joins import join_all, merge_origins, scattered
from devicefix.analysis.meeting import loaded_origins, meet, meet_loaded
from devicefix.analysis.opaque import as_tensor, is_batch_element
from devicefix.analysis.texts import text_ident
from devicefix.analysis.values import NUMBER, UNKNOWN, DType, Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

NUMERIC = frozenset({Kind.NUMBER, Kind.SIZE})
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)


def binary(it: Interpreter, frame: Frame, node: ast.BinOp, left: Value, right: Value) -> Value:
    """``left op right``."""
    if left.origins or right.origins:
        meet_loaded(it, frame, node, [left, right], strict=isinstance(node.op, ast.MatMult))
    left, right = _beside_tensors([left, right])
    if left.is_tensor or right.is_tensor:
        strict = isinstance(node.op, ast.MatMult)
        device = meet(
            it, frame, node, _symbol(node.op), [(left, node.left), (right, node.right)],
            manner="strict" if strict else "pointwise",
            dtype="strict" if strict else "none" if isinstance(node.op, BITWISE) else "arithmetic",
        )  # fmt: skip
        result = combine([left, right], device, division=isinstance(node.op, ast.Div), matrix=strict)
        if left.is_tensor is not right.is_tensor:
            only, other = (left, right) if left.is_tensor else (right, left)
            if other.kind is Kind.UNKNOWN and other.device == CPU and (device is None or device.host):
                return result.replace(device=CPU, origins=())  # something that was brought to the CPU
            return result.replace(ident=("from", only.ident, node)) if only.ident is not None else result
        return result
    if left.kind in NUMERIC and right.kind in NUMERIC:
        sources = left.sources + right.sources
        if sources:
            return Value(Kind.SIZE, sources=sources)
        both_int = isinstance(left.data, int) and isinstance(right.data, int) and not isinstance(node.op, ast.Div)
        is_float = isinstance(left.data, float) or isinstance(right.data, float) or isinstance(node.op, ast.Div)
        return Value(Kind.NUMBER, dtype=DType.FLOAT if is_float else DType.INT if both_int else DType.UNKNOWN)
    if Kind.SEQUENCE in (left.kind, right.kind):
        return _sequences(node, left, right)
    if left.kind in NUMERIC or right.kind in NUMERIC:
        scaled = right if left.kind in NUMERIC else left
        if scaled.kind is Kind.UNKNOWN and loaded_origins(scaled):
            return scaled.replace(ident=None)
    if left.kind is Kind.STRING or right.kind is Kind.STRING:
        return Value(Kind.STRING, ident=text_ident(node))
    if Kind.NDARRAY in (left.kind, right.kind):
        sized = (left.flags | right.flags) & {"dimensions"}
        return Value(Kind.NDARRAY, dtype=left.dtype if left.dtype is right.dtype else DType.UNKNOWN, flags=sized)
    sources = left.sources + right.sources
    if Kind.SIZE in (left.kind, right.kind):
        return Value(Kind.UNKNOWN, sources=sources)
    return UNKNOWN


def _sequences(node: ast.BinOp, left: Value, right: Value) -> Value:
    if isinstance(node.op, ast.Add) and left.kind is right.kind:
        if isinstance(left.items, tuple) and isinstance(right.items, tuple):
            return Value(Kind.SEQUENCE, items=left.items + right.items, data=left.data)
        members = [*_all(left), *_all(right)]
        element = join_all(members)
        held = scattered([*left.sources, *right.sources, *members], element)
        return Value(Kind.SEQUENCE, element=element, data=left.data, sources=held)
    if isinstance(node.op, ast.Mult):
        sequence = left if left.kind is Kind.SEQUENCE else right
        return Value(Kind.SEQUENCE, element=join_all(_all(sequence)), data=sequence.data)
    return UNKNOWN


def _all(value: Value) -> list[Value]:
    return [*(value.items if isinstance(value.items, tuple) else ()), *([value.element] if value.element else ())] or [
        UNKNOWN
    ]


def combine(
    values: list[Value], device: object, *, division: bool = False, matrix: bool = False, dtype: DType | None = None
) -> Value:
    """The tensor that comes out of an operation on some values."""
    tensors = [v for v in values if v.is_tensor]
    if dtype is None:
        dtype = promote(values)
        if division and dtype in (DType.INT, DType.BOOL):
            dtype = DType.FLOAT
    ranks = [v.rank for v in tensors]
    rank: int | None
    if matrix:
        rank = -1 if all(r is not None and (r > 1 or r < 0) for r in ranks) else None
    elif any(r is None for r in ranks):
        rank = -1 if any(r is not None and r != 0 for r in ranks) else None
    elif any(r is not None and r < 0 for r in ranks):
        rank = -1
    else:
        rank = max(r for r in ranks if r is not None)
    others = [v for v in values if not v.is_tensor and v.kind not in NUMERIC]
    if rank == 0 and others:
        rank = None
        if device is not None and getattr(device, "host", False):
            device = None  # the other may be a tensor with dimensions, and then the result is where that is
    # the origin matters only while the result is still where the factory put it
    relevant = [v for v in tensors if v.device == device or (v.device is not None and v.device.host)]
    keeps = isinstance(device, object) and device is not None and getattr(device, "host", False)
    origins = merge_origins([v for v in relevant if v.rank != 0] or relevant) if keeps else ()
    if device is None and all(map(loaded_origins, tensors)):
        origins = merge_origins(tensors)  # made of nothing but what was read from a file
    explicit = any(v.has("explicit_dtype") for v in tensors if v.rank != 0)
    flags = set()
    if explicit:
        flags.add("explicit_dtype")
    if any(v.has("shaped") for v in tensors):
        flags.add("shaped")
    differentiable = dtype not in (DType.BOOL, DType.INT)
    if differentiable and any(v.has("graph") or (v.has("parameter") and v.has("requires_grad")) for v in tensors):
        flags.add("graph")
    if any(v.has("guessed") for v in tensors) and not any(not v.has("guessed") for v in tensors):
        flags.add("guessed")
    return Value(Kind.TENSOR, device=device, dtype=dtype, rank=rank, origins=origins, flags=frozenset(flags))  # type: ignore[arg-type]


def promote(values: list[Value]) -> DType:
    """The class of the dtype that some operands are promoted to."""
    tensors = [v.dtype for v in values if v.is_tensor]
    if not tensors:
        return DType.UNKNOWN
    if DType.COMPLEX in tensors:
        return DType.COMPLEX
    if DType.FLOAT in tensors:
        return DType.FLOAT if DType.UNKNOWN not in tensors or len(tensors) > 1 else DType.UNKNOWN
    numbers = [v for v in values if not v.is_tensor]
    if any(v.kind is Kind.NUMBER and (isinstance(v.data, float) or v.dtype is DType.FLOAT) for v in numbers):
        return DType.FLOAT if DType.UNKNOWN not in tensors else DType.UNKNOWN
    if DType.UNKNOWN in tensors or any(
        v.kind not in NUMERIC or (v.kind is Kind.NUMBER and v.data is None) for v in numbers
    ):
        return DType.UNKNOWN
    return DType.INT if DType.INT in tensors else DType.BOOL


def _beside_tensors(values: list[Value]) -> list[Value]:
    """Parts of batches of unknown kind are tensors where they are computed with beside one."""
    if not any(v.is_tensor for v in values):
        return values
    return [as_tensor(v) if is_batch_element(v) else v for v in values]


def compare(it: Interpreter, frame: Frame, node: ast.Compare, values: list[Value]) -> Value:
    """``a < b``; a tensor of bools where a tensor takes part."""
    if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return NUMBER
    if any(v.origins for v in values):
        meet_loaded(it, frame, node, values)
    values = _beside_tensors(values)
    if not any(v.is_tensor for v in values):
        return NUMBER if all(v.kind is not Kind.UNKNOWN and v.kind is not Kind.NDARRAY for v in values) else UNKNOWN
    nodes = [node.left, *node.comparators]
    device = meet(it, frame, node, _symbol(node.ops[0]), list(zip(values, nodes, strict=False)), dtype="none")
    result = combine(values, device, dtype=DType.BOOL)
    return result.replace(flags=result.flags | {"explicit_dtype"})


def in_place(it: Interpreter, frame: Frame, node: ast.AugAssign, current: Value, value: Value) -> Value:
    """``current op= value``."""
    if current.is_tensor:
        if isinstance(node.op, ast.MatMult):
            return UNKNOWN
        device = meet(
            it, frame, node, f"{_symbol(node.op)}=", [(current, node.target), (value, node.value)], manner="in_place",
            dtype="none" if isinstance(node.op, BITWISE) else "arithmetic",
        )  # fmt: skip
        if (
            value.is_tensor
            and device is not None
            and value.device is not None
            and device.host
            and not value.device.host
        ):
            return current.replace(device=value.device, origins=())  # reported once; go on as if it had worked
        return current
    expression = ast.BinOp(node.target, node.op, node.value)
    return binary(it, frame, ast.copy_location(expression, node), current, value)


SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def _symbol(op: ast.AST) -> str:
    return SYMBOLS.get(type(op), "?")
