"""CUDA's device checks, made on claimed devices, with CUDA's wording.

`judge` is called by the dispatcher only when the tensors of an operator do not all claim one device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devicefix.verify.simulator.failing import fail
from devicefix.verify.simulator.rules import CALLS_OTHER, Plan
from devicefix.verify.simulator.state import VERSION, is_simulated, type_name
from devicefix.verify.tags import CPU, RAW, device_of, is_undecided, tag_of, tensors_in

if TYPE_CHECKING:
    from collections.abc import Sequence

# what a check sees of one tensor: the schema's argument, the tensor, its device
Operand = tuple[Any, Any, Any]


def common_device_error(argument: str, device: Any, common: Any, wrapper: str) -> RuntimeError:
    """The error of the check that torch generates into a CUDA wrapper; its wording changed in torch 2.8."""
    if VERSION >= (2, 8):
        return RuntimeError(
            f"Expected all tensors to be on the same device, but got {argument} is on {device}, different from "
            f"other tensors on {common} (when checking argument in method {wrapper})"
        )
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {common} and {device}! "
        f"(when checking argument for argument {argument} in method {wrapper})"
    )


def two_devices_error(first: Any, second: Any) -> RuntimeError:
    """TensorIterator's error."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
    )


def judge(plan: Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise (or record) what the CUDA kernel of this operator would say about its operands' devices."""
    values = [(a, args[i] if i < len(args) else kwargs.get(a.name)) for i, a in enumerate(plan.arguments)]
    operands = [(a, t, device_of(t)) for a, value in values for t in tensors_in(value) if not is_undecided(t)]
    by_name = {a.name: value for a, value in values}
    kind = plan.kind
    if kind == "none":
        return
    if kind == "common device":
        _check_common(operands, plan.wrapper, {})
    elif kind == "calls other":
        other, names = CALLS_OTHER[plan.base]
        _check_common(operands, f"wrapper_CUDA_{other}", names)
    elif kind == "index":
        _check_index(by_name)
    elif kind == "convolution":
        _check_convolution(by_name)
    elif kind == "masked_fill":
        _check_masked_fill(by_name)
    elif kind == "batch_norm":
        _check_batch_norm(plan, operands, by_name)
    elif kind == "grid":
        _check_grid(by_name)
    elif kind == "foreach":
        lists = [tensors_in(value) for _, value in values if isinstance(value, (list, tuple)) and tensors_in(value)]
        for group in zip(*lists, strict=False):
            _check_iterator([(False, t, device_of(t)) for t in group if not is_undecided(t)], scalars=1)
    else:
        written = [(bool(a.alias_info and a.alias_info.is_write), t, d) for a, t, d in operands]
        _check_iterator(written, scalars=1 if kind == "iterator" else None)


def _check_common(operands: list[Operand], wrapper: str, names: dict[str, str]) -> None:
    """c10::impl::check_and_update_common_device: outputs first, every tensor must be where the first one is."""
    first: Operand | None = None
    for argument, tensor, device in sorted(operands, key=lambda operand: not operand[0].is_out):
        if argument.kwarg_only and not argument.is_out:
            continue
        if first is None:
            first = argument, tensor, device
        elif device != first[2]:
            name = names.get(argument.name, argument.name)
            fail(common_device_error(name, device, first[2], wrapper), first[1], tensor)
            return


def _check_iterator(operands: list[tuple[bool, Any, Any]], scalars: int | None) -> None:
    """TensorIterator: outputs first; the common device is the first that is not the CPU; 0-dim CPU inputs may join."""
    operands = sorted(operands, key=lambda operand: not operand[0])
    common, leader = next(((d, t) for _, t, d in operands if d != CPU), (CPU, None))
    for is_output, tensor, device in operands:
        if device == common:
            continue
        if not is_output and device == CPU and tensor.dim() == 0:
            if scalars is not None:
                scalars -= 1
                if scalars < 0:
                    fail(RuntimeError("Trying to pass too many CPU scalars to non-CPU kernel!"), leader, tensor)
                    return
            continue
        fail(two_devices_error(common, device), leader, tensor)
        return


def _check_index(by_name: dict[str, Any]) -> None:
    """A tensor may be indexed by indices on its own device or on the CPU; a value to be stored may be a 0-dim CPU
    tensor."""
    table = by_name["self"]
    home = device_of(table)
    for index in tensors_in(by_name["indices"]):
        if not is_undecided(index) and device_of(index) not in (CPU, home):
            fail(
                RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({home})"),
                table,
                index,
            )
            return
    value = by_name.get("values")
    if value is None or is_undecided(value) or device_of(value) == home or (value.dim() == 0 and value.numel() == 1):
        return
    first, second = (home, device_of(value)) if home != CPU else (device_of(value), home)
    fail(two_devices_error(first, second), table, value)


def _check_convolution(by_name: dict[str, Any]) -> None:
    data = by_name["input"]
    home = device_of(data)
    for name in ("weight", "bias"):
        other = by_name.get(name)
        if other is None or device_of(other) == home:
            continue
        if device_of(other).type == home.type:
            fail(common_device_error(name, device_of(other), home, "wrapper_CUDA__cudnn_convolution"), data, other)
            return
        mkldnn = (
            " or input should be a MKLDNN tensor and weight is a dense tensor"
            if home == CPU and name == "weight"
            else ""
        )
        fail(
            RuntimeError(f"Input type ({_type(data)}) and {name} type ({_type(other)}) should be the same{mkldnn}"),
            data,
            other,
        )
        return


def _type(tensor: Any) -> str:
    return type_name(tensor, RAW["type"], tag_of(tensor))


def _check_masked_fill(by_name: dict[str, Any]) -> None:
    data, mask = by_name["self"], by_name["mask"]
    if device_of(data) != device_of(mask) and not is_undecided(mask):
        fail(
            RuntimeError(
                "expected self and mask to be on the same device, but got mask on "
                f"{device_of(mask)} and self on {device_of(data)}"
            ),
            data,
            mask,
        )


def _check_batch_norm(plan: Plan, operands: list[Operand], by_name: dict[str, Any]) -> None:
    """Images on CUDA go to cuDNN, everything else to torch's own kernel; the wrapper's name tells which."""
    data, weight = by_name.get("input"), by_name.get("weight")
    images = (
        data is not None and data.dim() >= 3 and is_simulated(device_of(data)) and str(data.dtype) == "torch.float32"
    )
    if images and weight is not None and by_name.get("bias") is not None:
        _check_common(operands, "wrapper_CUDA__cudnn_batch_norm", {})
    else:
        _check_common(operands, "wrapper_CUDA__native_batch_norm", {})


def _check_grid(by_name: dict[str, Any]) -> None:
    data, grid = by_name["input"], by_name["grid"]
    if device_of(data) != device_of(grid) and not is_undecided(grid) and not is_undecided(data):
        fail(
            RuntimeError(
                f"grid_sampler(): expected input and grid to be on same device, but input is on {device_of(data)} "
                f"and grid is on {device_of(grid)}"
            ),
            data,
            grid,
        )
