"""Creating tensors where C++ builds them below the dispatcher: ``torch.tensor``, legacy constructors, numpy, sparse."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify.simulator.moves import DTYPES, LEGACY_NAME, refuse_numpy, tensor_new
from devicefix.verify.simulator.state import Simulation, is_simulated, normalise, required
from devicefix.verify.sites import user_site
from devicefix.verify.tags import CPU, RAW, Device, Tag, Tensor, TensorBase, device_of, set_if_unset, set_tag

if TYPE_CHECKING:
    from collections.abc import Callable

# factories whose ``device=0`` torch's argument parser would refuse in a build without accelerators
TAKE_DEVICE = [
    "zeros",
    "ones",
    "empty",
    "full",
    "rand",
    "randn",
    "randint",
    "randperm",
    "arange",
    "linspace",
    "logspace",
    "eye",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "randint_like",
    "normal",
    "tril_indices",
    "triu_indices",
    "scalar_tensor",
    "empty_strided",
]


def from_data(name: str, original: Callable[..., Any], method: bool = False) -> Callable[..., Any]:
    """``torch.tensor``, ``as_tensor``, ``asarray`` and ``Tensor.new_tensor``."""
    shares_memory = name in ("as_tensor", "asarray")

    def build(*args: Any, **kwargs: Any) -> Any:
        me, args = (args[0], args[1:]) if method else (None, args)
        data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
        if name == "as_tensor":
            kwargs.update(zip(("dtype", "device"), args[1:], strict=False))
            args = args[:1]
        wanted = kwargs.pop("device", None)
        if wanted is None:
            context = _device_of_context()
            if method:
                wanted = device_of(me)
            elif context is not None:
                wanted = context
            else:
                wanted = device_of(data) if isinstance(data, Tensor) else CPU
        device = normalise(wanted)
        kwargs.pop("pin_memory", None)
        if (
            shares_memory
            and isinstance(data, Tensor)
            and {device.type, device_of(data).type} <= {"cpu", required().kind}
        ):
            return data.to(device, kwargs.get("dtype") or data.dtype)
        on_card = is_simulated(device)
        made = original(*((me,) if method else ()), *args, device=CPU if on_card else device, **kwargs)
        if on_card and shares_memory:
            made = made.clone()
        return made if device.type == "meta" else set_tag(made, Tag(device, user_site()))

    return functools.wraps(original, updated=())(build)


def _device_of_context() -> Any:
    """The device of ``with torch.device(...)`` or ``set_default_device``, else None."""
    if torch._C._len_torch_function_stack():
        for mode in reversed(torch.overrides._get_current_function_mode_stack()):
            if isinstance(mode, torch.utils._device.DeviceContext):
                return mode.device
    return torch.utils._device.CURRENT_DEVICE


class LegacyType(type):
    """``torch.FloatTensor`` and ``torch.cuda.FloatTensor``: constructor, ``isinstance`` and ``tensor.type(...)`` in
    one."""

    constructor: Any
    on_card: bool
    dtype: torch.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        kwargs.pop("device", None)
        return set_tag(cls.constructor(*args, **kwargs), Tag(normalise("cuda") if cls.on_card else CPU, user_site()))

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype and is_simulated(device_of(value)) == cls.on_card


def set_default_tensor_type(kind: Any) -> None:
    """``torch.set_default_tensor_type``: both a dtype and a device."""
    name = LEGACY_NAME.match(kind if isinstance(kind, str) else getattr(kind, "legacy_name", torch.typename(kind)))
    if name is None:
        raise TypeError(f"invalid type object: {kind!r}")
    torch.set_default_dtype(DTYPES[name[2]])
    torch.set_default_device(required().kind if name[1] else "cpu")


def _new_tensor(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """``torch.Tensor(2, 3)`` looks to the dispatcher like C++ code, but means the CPU."""
    made = TensorBase.__new__(cls, *args, **kwargs)
    return set_tag(made, Tag(CPU, user_site())) if cls is Tensor else made


def _from_numpy(original: Callable[..., Any]) -> Callable[..., Any]:
    def from_numpy(array: Any) -> Any:
        made = original(array)
        set_if_unset(made, Tag(CPU, user_site()))
        return made

    return functools.wraps(original)(from_numpy)


def _sparse(original: Callable[..., Any]) -> Callable[..., Any]:
    def build(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        wanted = (
            normalise(device)
            if device is not None
            else next((device_of(a) for a in args if isinstance(a, Tensor)), CPU)
        )
        if wanted.type not in ("cpu", required().kind):
            return original(*args, device=wanted, **kwargs)
        if device is not None:  # everything is brought there first
            args = tuple(a.to(CPU) if isinstance(a, Tensor) else a for a in args)
        made = original(*args, device=CPU, **kwargs)
        return set_tag(made, Tag(wanted, user_site())) if is_simulated(wanted) else made

    return functools.wraps(original)(build)


def _integer_device(original: Callable[..., Any]) -> Callable[..., Any]:
    def build(*args: Any, **kwargs: Any) -> Any:
        if type(kwargs.get("device")) is int:
            kwargs["device"] = Device(required().kind, kwargs["device"])
        return original(*args, **kwargs)

    return functools.wraps(original, updated=())(build)


def _to_array(original: Callable[..., Any]) -> Callable[..., Any]:
    def to_array(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_simulated(device_of(self)):
            refuse_numpy(self)
        return original(self, *args, **kwargs)

    return to_array


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    for name in TAKE_DEVICE:
        patch(torch, name, _integer_device(getattr(torch, name)))
    for name in ("tensor", "as_tensor", "asarray"):
        patch(torch, name, from_data(name, getattr(torch, name)))
    patch(Tensor, "new_tensor", from_data("new_tensor", RAW["new_tensor"], method=True))
    patch(Tensor, "new", tensor_new)
    patch(Tensor, "__new__", staticmethod(_new_tensor))
    patch(Tensor, "__array__", _to_array(Tensor.__dict__["__array__"]))
    patch(torch, "from_numpy", _from_numpy(torch.from_numpy))
    patch(torch, "frombuffer", _from_numpy_like(torch.frombuffer))
    for name, dtype in DTYPES.items():
        constructor = getattr(torch, name + "Tensor")
        for module, on_card in ((torch, False), (torch.cuda, True)):
            legacy_name = f"torch.{'cuda.' if on_card else ''}{name}Tensor"
            patch(
                module,
                name + "Tensor",
                LegacyType(
                    name + "Tensor",
                    (),
                    {
                        "constructor": constructor,
                        "on_card": on_card,
                        "dtype": dtype,
                        "legacy_name": legacy_name,
                        "__module__": module.__name__,
                    },
                ),
            )
    patch(torch, "set_default_tensor_type", set_default_tensor_type)
    for name in ("sparse_coo_tensor", "sparse_csr_tensor", "sparse_compressed_tensor"):
        patch(torch, name, _sparse(getattr(torch, name)))


def _from_numpy_like(original: Callable[..., Any]) -> Callable[..., Any]:
    def frombuffer(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        set_if_unset(made, Tag(CPU, user_site()))
        return made

    return functools.wraps(original)(frombuffer)
