"""What a program returned, flattened to leaves that can be carried to another process and compared there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from devicefix.verify._torch import require_torch

# relative and absolute tolerance: same kernels on the same processor; another card's kernels; 16-bit floats
SAME_MACHINE = (1e-6, 1e-7)
SIMULATED = (1e-5, 1e-6)
REAL_CARD = (1e-4, 1e-5)
HALF = (2e-2, 2e-2)


@dataclasses.dataclass
class Leaf:
    """One value: a tensor (``kind`` "tensor") or something that is compared with ``==``."""

    where: str  # "[0]['loss']"
    kind: str
    value: Any
    dtype: str = ""
    device: str = ""


def flatten(value: Any) -> list[Leaf]:
    """The leaves of a nested result in order."""
    leaves: list[Leaf] = []
    _flatten(value, "", leaves, require_torch())
    return leaves


def _flatten(value: Any, where: str, leaves: list[Leaf], torch: Any) -> None:
    if isinstance(value, torch.Tensor):
        leaves.append(Leaf(where, "tensor", _plain(value, torch), str(value.dtype), str(value.device)))
    elif isinstance(value, torch.nn.Module):
        _flatten(value.state_dict(), f"{where}.state_dict()", leaves, torch)
    elif isinstance(value, Mapping):
        leaves.append(Leaf(where, "keys", sorted(map(repr, value))))
        for key in sorted(value, key=repr):
            _flatten(value[key], f"{where}[{key!r}]", leaves, torch)
    elif isinstance(value, (list, tuple)):
        leaves.append(Leaf(where, "length", len(value)))
        for index, item in enumerate(value):
            _flatten(item, f"{where}[{index}]", leaves, torch)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _flatten(getattr(value, field.name), f"{where}.{field.name}", leaves, torch)
    elif type(value).__module__ == "numpy":
        plain = value.tolist()
        leaves.append(Leaf(where, "number" if isinstance(plain, (int, float)) else "array", plain, str(value.dtype)))
    elif isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        leaves.append(Leaf(where, "number" if isinstance(value, (int, float)) else "value", value))
    elif isinstance(value, torch.dtype):
        leaves.append(Leaf(where, "value", str(value)))
    elif isinstance(value, torch.device):
        leaves.append(Leaf(where, "device", None))  # differs by design
    else:
        leaves.append(Leaf(where, "object", type(value).__qualname__))


def _plain(tensor: Any, torch: Any) -> Any:
    """A contiguous CPU tensor with the same values in a dtype that compares exactly and travels everywhere."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    tensor = tensor.cpu()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj().to(torch.complex128))
    elif tensor.is_floating_point():
        tensor = tensor.to(torch.float64)
    else:
        tensor = tensor.to(torch.int64)
    return tuple(tensor.shape), tensor.contiguous().view(-1).tolist()


def difference(expected: Sequence[Leaf], got: Sequence[Leaf], tolerance: tuple[float, float]) -> str | None:
    """The first difference in words, or None. Devices are not compared; dtypes and shapes are."""
    if [leaf.where for leaf in expected] != [leaf.where for leaf in got]:
        return f"the results have different parts: {_parts(expected)} and {_parts(got)}"
    for one, other in zip(expected, got, strict=False):
        found = _leaf_difference(one, other, tolerance)
        if found is not None:
            return f"result{one.where}: {found}"
    return None


def _parts(leaves: Sequence[Leaf]) -> str:
    names = [leaf.where or "one value" for leaf in leaves]
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _leaf_difference(one: Leaf, other: Leaf, tolerance: tuple[float, float]) -> str | None:
    if one.kind != other.kind:
        return f"a {one.kind} and a {other.kind}"
    if one.dtype != other.dtype:
        return f"dtype {one.dtype} and {other.dtype}"
    if one.kind == "number":
        return None if _close(one.value, other.value, tolerance) else f"{one.value} and {other.value}"
    if one.kind != "tensor":
        return None if one.value == other.value else f"{one.value!r} and {other.value!r}"
    (shape, values), (other_shape, other_values) = one.value, other.value
    if shape != other_shape:
        return f"shape {list(shape)} and {list(other_shape)}"
    if "16" in one.dtype and "float" in one.dtype:
        tolerance = max(tolerance, HALF)
    wrong = [(a, b) for a, b in zip(values, other_values, strict=False) if not _close(a, b, tolerance)]
    if not wrong:
        return None
    a, b = max(wrong, key=lambda pair: abs(pair[0] - pair[1]) if all(map(math.isfinite, pair)) else math.inf)
    return f"{len(wrong)} of {len(values)} elements differ, for example {a:g} and {b:g}"


def _close(a: float, b: float, tolerance: tuple[float, float]) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    relative, absolute = tolerance
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= absolute + relative * max(abs(a), abs(b))
