"""The device that a tensor claims to be on: a tag on its storage.

Every tensor of the simulation is an ordinary CPU tensor. The claimed device sits on the tensor's ``UntypedStorage``,
because views, ``detach()``, saved tensors and ``.data`` share it, and because torch keeps the Python object of a
storage alive as long as the storage itself. Tensors without a storage (sparse ones, wrappers) carry the tag themselves.

The tag also remembers where the value was made and last moved. Results of an operation share the tag object of the
operand that decided their device, so an origin costs nothing per operation and names the *root*: the line that made
the tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from devicefix.verify.sites import RawSite

ATTRIBUTE = "_devicefix_tag"

Device = torch.device  # the real class; ``torch.device`` is replaced meanwhile
Tensor = torch.Tensor
TensorBase: Any = getattr(torch._C, "TensorBase", None) or torch._C._TensorBase  # type: ignore[attr-defined]
Storage = torch.UntypedStorage
CPU = Device("cpu")
STRIDED = torch.strided

# torch's own attributes, reachable while torch.Tensor's are replaced
RAW: dict[str, Any] = {
    name: getattr(TensorBase, name)
    for name in (
        "device",
        "is_cuda",
        "is_cpu",
        "grad",
        "data",
        "to",
        "cuda",
        "cpu",
        "type",
        "type_as",
        "numpy",
        "new",
        "new_tensor",
        "pin_memory",
        "is_pinned",
        "get_device",
        "record_stream",
        "item",
        "quantile",
        "nanquantile",
    )
}


class Tag:
    """Claimed device and origin of a storage.

    ``device`` is None for a tensor that was made inside one of torch's own composite operations, where the device the
    caller wanted cannot be seen: such a tensor fits every device and takes that of the first tensor it meets.
    """

    __slots__ = ("copied", "device", "how", "made", "moved")

    def __init__(
        self, device: torch.device | None, made: RawSite | None = None, moved: RawSite | None = None, how: str = ""
    ) -> None:
        self.device = device
        self.made = made
        self.moved = moved
        self.how = how  # "batch", "loaded", "" for an ordinary creation
        self.copied: RawSite | None = None  # where a copy of it was last made on another device


_canonical: dict[tuple[str, int], torch.device] = {}


def canonical(kind: str, index: int) -> torch.device:
    """One object per simulated device, so that devices can be compared by identity on the fast path."""
    device = _canonical.get((kind, index))
    if device is None:
        device = _canonical[(kind, index)] = Device(kind, index)
    return device


def tag_of(tensor: Any) -> Tag | None:
    """The tag of a tensor; None means an ordinary CPU tensor that nobody has marked."""
    try:
        return getattr(tensor.untyped_storage(), ATTRIBUTE, None)
    except (NotImplementedError, RuntimeError):
        return _tag_without_storage(tensor)


def _tag_without_storage(tensor: Any) -> Tag | None:
    own = tensor.__dict__.get(ATTRIBUTE)
    if own is not None:
        return own  # type: ignore[no-any-return]
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):  # inside vmap and grad
        return tag_of(functorch.get_unwrapped(tensor))
    return None


def set_tag(tensor: Any, tag: Tag | None) -> Any:
    """Mark a tensor (and all that share its storage); returns the tensor."""
    try:
        setattr(tensor.untyped_storage(), ATTRIBUTE, tag)
    except (NotImplementedError, RuntimeError):
        setattr(tensor, ATTRIBUTE, tag)
    return tensor


def remember_copy(tensor: Any, site: RawSite | None) -> Tag:
    """Note on this tensor alone (not on all that share its origin) that it was copied elsewhere; returns its tag."""
    old = tag_of(tensor) or Tag(CPU if RAW["is_cpu"].__get__(tensor) else None)
    own = Tag(old.device, old.made, old.moved, old.how)
    own.copied = site
    set_tag(tensor, own)
    return own


def set_if_unset(tensor: Any, tag: Tag) -> None:
    """Mark a tensor unless it is marked already."""
    if tag_of(tensor) is None:
        set_tag(tensor, tag)


def device_of(tensor: Any) -> torch.device:
    """The device a tensor claims to be on."""
    tag = tag_of(tensor)
    if tag is None or tag.device is None:
        real = RAW["device"].__get__(tensor)
        return CPU if real.type == "cpu" else real  # type: ignore[no-any-return]
    return tag.device


def is_undecided(tensor: Any) -> bool:
    """Whether a tensor fits every device, see `Tag`."""
    tag = tag_of(tensor)
    return tag is not None and tag.device is None


def tensors_in(value: Any) -> list[Any]:
    """The tensors of one operator argument or result: the value itself or a list or tuple of them."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [item for item in value if isinstance(item, Tensor)]
    return []
