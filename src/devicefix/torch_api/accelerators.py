"""The functions of ``torch.cuda`` and its sisters: what they return, and which of them fail where there is no card."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from devicefix.torch_api.names import canonical


@dataclass(frozen=True, slots=True)
class AcceleratorCall:
    """A callable of an accelerator namespace."""

    name: str
    returns: str
    needs_card: bool  #: raises on a machine (or with a build of PyTorch) that has no such card
    changes_device: bool = False  #: changes the current device


#: Namespaces with (nearly) the same functions as ``torch.cuda``.
NAMESPACES: Final = ("torch.cuda.", "torch.xpu.", "torch.accelerator.", "torch.mps.", "torch.npu.", "torch.mtia.")

_HARMLESS: Final = {
    "is_available": "bool", "is_initialized": "bool", "is_bf16_supported": "bool", "is_tf32_supported": "bool",
    "device_count": "int",
    "empty_cache": "none", "manual_seed": "none", "manual_seed_all": "none", "seed": "none", "seed_all": "none",
    "max_memory_allocated": "int", "max_memory_cached": "int", "max_memory_reserved": "int", "memory_allocated": "int",
    "memory_cached": "int", "memory_reserved": "int", "memory_stats": "dict", "memory_stats_as_nested_dict": "dict",
    "get_rng_state_all": "list", "set_rng_state": "none", "set_rng_state_all": "none", "get_arch_list": "list",
    "get_gencode_flags": "str",
    "current_accelerator": "device", "stream": "unknown", "amp.autocast": "unknown", "amp.GradScaler": "unknown",
    "amp.custom_fwd": "unknown", "amp.custom_bwd": "unknown",
}  # fmt: skip
_NEED_CARD: Final = {
    "synchronize": "none", "set_device": "none", "current_device": "int", "current_stream": "unknown",
    "default_stream": "unknown",
    "get_device_name": "str", "get_device_properties": "unknown", "get_device_capability": "list",
    "mem_get_info": "list",
    "get_rng_state": "tensor", "initial_seed": "int", "init": "none", "ipc_collect": "none", "Event": "unknown",
    "Stream": "unknown",
    "CUDAGraph": "unknown", "device": "unknown", "device_of": "unknown", "memory_summary": "str",
    "memory_snapshot": "list",
    "reset_peak_memory_stats": "none", "reset_max_memory_allocated": "none", "reset_max_memory_cached": "none",
    "reset_accumulated_memory_stats": "none", "set_per_process_memory_fraction": "none",
    "can_device_access_peer": "bool",
    "set_sync_debug_mode": "none", "get_sync_debug_mode": "int", "set_device_index": "none", "set_device_idx": "none",
    "current_device_index": "int", "current_device_idx": "int", "get_memory_info": "list", "utilization": "int",
    "memory_usage": "int", "temperature": "int", "power_draw": "int", "clock_rate": "int", "graph": "unknown",
    "make_graphed_callables": "unknown", "nvtx.range_push": "int", "nvtx.range_pop": "int",
    "current_allocated_memory": "int", "driver_allocated_memory": "int",
}  # fmt: skip
#: Harmless for ``torch.cuda``, but not there.
_NEED_CARD_ELSEWHERE: Final = {
    "torch.accelerator.": ("empty_cache", *(name for name in _HARMLESS if "memory" in name)),
    "torch.mps.": ("empty_cache", "seed", "get_rng_state", "set_rng_state"),
}
_CHANGES_DEVICE: Final = frozenset({"set_device", "set_device_index", "set_device_idx", "device", "device_of"})


@cache
def accelerator_call(name: str) -> AcceleratorCall | None:
    """What ``torch.cuda.synchronize`` and its like do without a card; ``None`` for other and unknown names."""
    name = canonical(name)
    space = next((space for space in NAMESPACES if name.startswith(space)), "")
    last = name[len(space) :] if space else ""
    if last in _NEED_CARD:
        return AcceleratorCall(name, _NEED_CARD[last], True, last in _CHANGES_DEVICE)
    if last in _HARMLESS:
        return AcceleratorCall(name, _HARMLESS[last], last in _NEED_CARD_ELSEWHERE.get(space, ()))
    return None
