"""Which device rule each operator obeys on CUDA, read from torch's own operator table.

The wheel of torch ships ``native_functions.yaml``, from which torch's CUDA wrappers are generated. Its
``device_check`` and ``dispatch`` entries say which operators compare the devices of all their tensors, which leave it
to TensorIterator, and how the generated wrapper is called - the name that appears in the error message. A handful of
operators check by hand in C++; they are listed here by name.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

# operators that may be given tensors of different devices
NO_CHECK = frozenset(
    [
        "copy_",
        "_to_copy",
        "set_",
        "is_same_size",
        "resize_as_",
        "is_set_to",
        "_has_same_storage_numel",
        "lift_fresh",
        "mkldnn_rnn_layer",
        "mkldnn_rnn_layer_backward",
        "_pack_padded_sequence",
        "_pack_padded_sequence_backward",
        "_foreach_copy_",
        "_copy_from",
        "fill_",
        "fill",
        "slice_scatter",
        "select_scatter",
        "as_strided_scatter",
        "diagonal_scatter",
        "_nested_tensor_from_tensor_list",
        "_new_zeros_with_same_feature_meta",
        "detach",
        "record_stream",
    ]
)
INDEXING = frozenset(["index", "_unsafe_index", "index_put", "index_put_", "_unsafe_index_put", "_index_put_impl_"])
# on CUDA these call another operator, whose name and argument names the message carries
CALLS_OTHER: dict[str, tuple[str, dict[str, str]]] = {
    "embedding": ("_index_select", {"weight": "self", "indices": "index"}),
    "stack": ("cat", {}),
}
BATCH_NORM = frozenset(
    ["native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update", "_native_batch_norm_legit_no_training"]
)
GRID = frozenset(["grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback"])


@dataclass
class Entry:
    """One operator of the table."""

    dispatch: set[str] = field(default_factory=set)
    no_check: bool = False
    iterator: bool = False
    structured: bool = False
    delegate: str | None = None


class OperatorTableMissingError(RuntimeError):
    """This torch does not carry its operator table, so nothing can be said about its device rules."""


@lru_cache(maxsize=1)
def operator_table() -> dict[str, Entry]:
    """Name with overload (``add.Tensor``) -> entry. A line-by-line reader: a YAML parser would take 100 times as
    long."""
    table: dict[str, Entry] = {}
    entry: Entry | None = None
    with _table_path().open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("- func: "):
                entry = table[line[8:].split("(", 1)[0].strip()] = Entry()
            elif entry is not None:
                _read_entry_line(entry, line)
    return table


def _table_path() -> Path:
    spec = importlib.util.find_spec("torchgen")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        path = Path(folder, "packaged", "ATen", "native", "native_functions.yaml")
        if path.exists():
            return path
    raise OperatorTableMissingError(
        "cannot simulate an accelerator: this torch has no torchgen/packaged/ATen/native/native_functions.yaml"
    )


def _read_entry_line(entry: Entry, line: str) -> None:
    text = line.strip()
    if text.startswith("device_check:"):
        entry.no_check, entry.iterator = "NoCheck" in text, "TensorIterator" in text
    elif text.startswith("structured_delegate:"):
        entry.delegate = text.split(":", 1)[1].split("#")[0].strip()
    elif text.startswith("structured: True"):
        entry.structured = True
    elif re.match(r"    [A-Z][A-Za-z, ]*:", line):
        entry.dispatch.update(key.strip() for key in text.split(":")[0].split(","))


def _has_cuda_kernel(entry: Entry, table: dict[str, Entry]) -> bool:
    keys = set(entry.dispatch)
    if entry.delegate is not None and entry.delegate in table:
        keys |= table[entry.delegate].dispatch
    return bool(keys & {"CUDA", "Generic"})


class Plan:
    """All that the dispatcher needs to know about one operator, worked out at its first call."""

    __slots__ = (
        "alias_only",
        "arguments",
        "base",
        "call",
        "composite",
        "custom",
        "factory",
        "func",
        "generator",
        "kind",
        "kw_tensors",
        "lists",
        "makes",
        "scalar_output",
        "tensors",
        "wrapper",
    )

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.func = func  # keeps the id, by which plans are found, from being reused
        self.call = getattr(func, "_op", func)
        self.arguments = schema.arguments
        self.base = schema.name.split("::")[-1]
        overload = schema.overload_name
        in_aten = schema.name.startswith("aten::")
        self.custom = not schema.name.startswith(("aten::", "prim", "profiler::"))  # torch.library operators
        self.factory = any(a.name == "device" for a in self.arguments)
        self.generator = any(a.name == "generator" for a in self.arguments)
        kinds = [_tensor_kind(a) for a in self.arguments]
        self.tensors = tuple(
            i for i, (a, k) in enumerate(zip(self.arguments, kinds, strict=False)) if k == "one" and not a.kwarg_only
        )
        self.lists = tuple(
            i for i, (a, k) in enumerate(zip(self.arguments, kinds, strict=False)) if k == "many" and not a.kwarg_only
        )
        self.kw_tensors = tuple(a.name for a, k in zip(self.arguments, kinds, strict=False) if k and a.kwarg_only)
        returns = schema.returns
        self.scalar_output = not any(_tensor_kind(r) for r in returns)
        # made of other operators; arrives here undivided only below autograd (inference mode, custom operators)
        self.composite = in_aten and torch._C._dispatch_has_kernel_for_dispatch_key(
            func.name(), "CompositeImplicitAutograd"
        )
        # a pure view of its first argument (t, view, detach, split): shares the storage, hence the tag
        self.alias_only = (
            in_aten
            and not self.composite
            and not self.factory
            and self.tensors == (0,)
            and not self.lists
            and not self.kw_tensors
            and bool(returns)
            and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)
        )
        table = operator_table()
        entry = table.get(self.base + ("." + overload if overload else "")) if in_aten else None
        self.kind = self._kind(entry, table)
        out = "_out" if any(a.is_out for a in self.arguments) else ""
        if entry is not None and (entry.delegate or entry.structured):
            self.wrapper = f"wrapper_CUDA_{self.base}{out}" + (f"_{overload}" if overload else "")
        else:
            self.wrapper = f"wrapper_CUDA_{overload}_{self.base}{out}"

    def _kind(self, entry: Entry | None, table: dict[str, Entry]) -> str:
        base = self.base
        if base in NO_CHECK:
            return "none"
        if base in INDEXING:
            return "index"
        if base in ("convolution", "_convolution"):
            return "convolution"
        if base.startswith("_foreach_"):
            return "foreach"
        if base in CALLS_OTHER:
            return "calls other"
        if base in ("masked_fill", "masked_fill_"):
            return "masked_fill"
        if base in BATCH_NORM:
            return "batch_norm"
        if base in GRID:
            return "grid"
        if entry is not None and _has_cuda_kernel(entry, table):
            if not entry.no_check:
                return "common device"
            if entry.iterator and base != "where":  # where does not go the TensorIterator's way for 0-dim tensors
                return "iterator"
        return "any scalars"


def _tensor_kind(argument: Any) -> str:
    text = str(argument.type)
    if "Tensor" not in text:
        return ""
    return "many" if text.startswith("List") or "List[" in text or "[]" in text else "one"
