"""Moving a tensor between claimed devices: ``to``, ``cuda``, ``cpu``, ``type``, with autograd through the move."""

from __future__ import annotations

import re
from typing import Any

import torch

from devicefix.verify.simulator.failing import fail
from devicefix.verify.simulator.state import is_simulated, normalise, required, type_name
from devicefix.verify.sites import user_site
from devicefix.verify.tags import CPU, RAW, Tag, Tensor, device_of, remember_copy, set_tag, tag_of

DTYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}
LEGACY_NAME = re.compile(r"torch\.(cuda\.)?(\w+)Tensor$")


class Transfer(torch.autograd.Function):
    """A copy to another device whose gradient travels back."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, device: torch.device) -> Any:
        """Copy."""
        ctx.source = device_of(tensor)
        return _copy(tensor, device)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Move the gradient to where the input was."""
        return move(gradient, ctx.source), None


def _copy(tensor: Any, device: torch.device) -> Any:
    """A copy tagged with a new device, remembering who moved it and where the original was made."""
    here = user_site()
    old = tag_of(tensor)
    if old is None or old.device is CPU:
        old = remember_copy(tensor, here)
    return set_tag(tensor.clone(), Tag(device, old.made, here, old.how))


def move(tensor: Any, device: torch.device, dtype: Any = None, copy: bool = False, memory_format: Any = None) -> Any:
    """``tensor.to(device, dtype)`` on claimed devices. Returns the tensor itself where nothing changes, as torch
    does."""
    source = device_of(tensor)
    layout = {} if memory_format is None else {"memory_format": memory_format}
    if source == device or not {source.type, device.type} <= {"cpu", required().kind}:
        tag = tag_of(tensor)
        if source == device and tag is not None and tag.device is None:
            set_tag(tensor, Tag(CPU, tag.made))
        return RAW["to"](
            tensor, device=CPU if source == device else device, dtype=dtype or tensor.dtype, copy=copy, **layout
        )
    if tensor.requires_grad and torch.is_grad_enabled():
        moved = Transfer.apply(tensor, device)
    else:
        moved = _copy(tensor.detach(), device)
    if (dtype is not None and dtype != moved.dtype) or layout:
        moved = RAW["to"](moved, dtype=dtype or moved.dtype, **layout)
    return moved


def tensor_to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.to`` in all its forms."""
    rest = dict(kwargs)
    copy = rest.pop("copy", False)
    other = args[0] if args and isinstance(args[0], Tensor) else rest.get("other")
    device, dtype, _, memory_format = torch._C._nn._parse_to(*args[:3], **rest)
    if len(args) > 3:
        copy = args[3]
    if device is None:
        return RAW["to"](self, *args, **kwargs)
    target = device_of(other) if other is not None else normalise(device)
    return move(self, target, dtype, copy, memory_format)


def tensor_cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """``Tensor.cuda``."""
    return move(self, normalise(required().kind if device is None else device), memory_format=memory_format)


def tensor_cpu(self: Any, memory_format: Any = None) -> Any:
    """``Tensor.cpu``."""
    return move(self, CPU, memory_format=memory_format)


def tensor_type_as(self: Any, other: Any) -> Any:
    """``Tensor.type_as``."""
    return move(self, device_of(other), other.dtype)


def tensor_type(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """``Tensor.type``: the name, or a conversion by name, which may change the device, too."""
    if dtype is None:
        return type_name(self, RAW["type"], tag_of(self))
    name = LEGACY_NAME.match(dtype if isinstance(dtype, str) else getattr(dtype, "legacy_name", ""))
    if name is None:
        return RAW["type"](self, dtype, non_blocking)
    return self.to(normalise(required().kind) if name[1] else CPU, DTYPES[name[2]])


def tensor_numpy(self: Any, *, force: bool = False) -> Any:
    """``Tensor.numpy``: refused on a card unless forced."""
    if is_simulated(device_of(self)):
        if not force:
            refuse_numpy(self)
        self = self.detach().cpu()
    return RAW["numpy"](self, force=force)


def refuse_numpy(tensor: Any) -> None:
    """What CUDA says about it."""
    fail(
        TypeError(
            f"can't convert {device_of(tensor)} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first."
        ),
        tensor,
    )


def tensor_new(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.new``."""
    tag = tag_of(self)
    return set_tag(RAW["new"](self, *args, **kwargs), Tag(tag.device if tag else CPU, user_site()))


def tensor_pin_memory(self: Any, device: Any = None) -> Any:
    """``Tensor.pin_memory``: a copy that says it is pinned."""
    if is_simulated(device_of(self)):
        fail(
            RuntimeError(
                f"cannot pin '{type_name(self, RAW['type'], tag_of(self))}' only dense CPU tensors can be pinned"
            ),
            self,
        )
    pinned = self.detach().clone()
    pinned.untyped_storage()._devicefix_pinned = True
    return pinned


def tensor_is_pinned(self: Any, device: Any = None) -> bool:
    """``Tensor.is_pinned``."""
    return bool(getattr(self.untyped_storage(), "_devicefix_pinned", False))


def gradient_of(self: Any) -> Any:
    """``.grad``: C++ keeps a leaf's gradient on the leaf's device, so the gradient takes the leaf's tag."""
    gradient = RAW["grad"].__get__(self)
    if gradient is None:
        return None
    try:  # inlined `tag_of`: optimizers ask for every gradient several times per step
        theirs, mine = gradient.untyped_storage()._devicefix_tag, self.untyped_storage()._devicefix_tag
    except (NotImplementedError, RuntimeError):
        theirs, mine = tag_of(gradient), tag_of(self)
    if theirs is not mine and (mine is None or theirs is None or theirs.device is not mine.device):
        set_tag(gradient, mine)
    return gradient


def set_gradient_of(self: Any, gradient: Any) -> None:
    """``.grad = ...``: must be on the device of its tensor."""
    if isinstance(gradient, Tensor) and device_of(gradient) != device_of(self):
        fail(
            RuntimeError(
                f"attempting to assign a gradient with device type '{device_of(gradient).type}' to a tensor with "
                f"device type '{device_of(self).type}'. Please ensure that the gradient and the tensor are on the "
                "same device"
            ),
            self,
            gradient,
        )
        gradient = gradient.to(device_of(self))
    RAW["grad"].__set__(self, gradient)
