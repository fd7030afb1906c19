"""The rows of functions, of methods and of attributes of ``torch.Tensor``."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import torch
from torch_api_schemas import (
    Row,
    checks_devices,
    native,
    parse_row,
    row_from_python,
    row_from_schemas,
    tagged,
    tensor_iterator,
)
from torchgen.model import Variant

from devicefix.torch_api import semantics
from devicefix.torch_api import supplement as extra

#: Namespaces whose functions are all taken, with the prefix that their operators have.
NAMESPACES = {
    "torch": "",
    "torch.nn.functional": "",
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
    "torch.special": "special_",
}
#: Namespaces of Python functions, as far as they are routines and public.
PYTHON_NAMESPACES = ("torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn", "torch.signal.windows", "torch.autograd")
#: Written out: neither schema nor signature helps.
WRITTEN = {
    "torch.autograd.Variable": "(data:t, requires_grad, volatile) tensor out=input rank=same",
    "torch.utils.data.random_split": "(dataset, lengths, generator) list random host=generator",
    "torch.utils.data.default_collate": "(batch) unknown",
    "torch.utils.data.default_convert": "(data) unknown",
    "torch.random.fork_rng": "(devices, enabled) unknown",
    "torch.utils.checkpoint.checkpoint": "(function, *args, *, use_reentrant) unknown",
    "torch.hub.load": "(repo_or_dir, model, *args, *, source, trust_repo, force_reload, verbose) unknown",
    "torch.hub.load_state_dict_from_url": "(url, model_dir, map_location, progress, check_hash, file_name, "
    "weights_only) unknown",
    "torch.nested.nested_tensor": "(tensor_list:t*, *, dtype, layout, device, requires_grad, pin_memory) tensor "
    "creates device dtype "
    "default=argument follows cpu rank=some",
    "torch.sparse.mm": "(mat1:t, mat2:t, reduce) tensor mix=strict one_dtype out=input rank=some",
    "torch.sparse.addmm": "(mat:t, mat1:t, mat2:t, *, beta, alpha) tensor mix=strict one_dtype out=input rank=some",
    "torch.sparse.sum": "(input:t, dim, dtype) tensor dtype out=sum rank=reduce:dim",
    "torch.sparse.softmax": "(input:t, dim, *, dtype) tensor dtype out=float rank=same",
    "torch.Generator": "(device) generator creates device",
}


def functions() -> dict[str, str]:
    """``torch.*`` and its function namespaces."""
    rows = dict(WRITTEN)
    for space, prefix in NAMESPACES.items():
        module = importlib.import_module(space)
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or inspect.isclass(value) or internal(name):
                continue
            if inspect.isfunction(value) and not str(value.__module__).startswith("torch"):
                continue
            rows[f"{space}.{name}"] = one(value, f"{space}.{name}", prefix + name, method=False)
    for space in PYTHON_NAMESPACES:
        module = importlib.import_module(space)
        for name in module.__all__ if hasattr(module, "__all__") else dir(module):
            value = getattr(
                module, f"{name}_" if space == "torch.nn.init" else name, getattr(module, name, None)
            )  # deprecated names
            if not name.startswith("_") and inspect.isroutine(value):
                rows[f"{space}.{name}"] = one(value, f"{space}.{name}", "", method=False)
    return dict(sorted(rows.items()))


def methods() -> dict[str, str]:
    """Methods of ``torch.Tensor``."""
    rows = {}
    for name in sorted(dir(torch.Tensor)):
        value = getattr(torch.Tensor, name)
        if callable(value) and (not name.startswith("_") or name in ("__getitem__", "__setitem__")):
            rows[name] = one(value, f"Tensor.{name}", name, method=True)
    return rows


def attributes() -> dict[str, str]:
    """Attributes of ``torch.Tensor`` that are no methods."""
    found = [
        name
        for name in sorted(dir(torch.Tensor))
        if not name.startswith("_") and not callable(getattr(torch.Tensor, name))
    ]
    return {name: "bool" if name.startswith("is_") else extra.ATTRIBUTES.get(name, "unknown") for name in found}


def internal(name: str) -> bool:
    """Whether a public-looking name is none of the users' business."""
    return name in extra.INTERNAL or name.startswith(extra.INTERNAL_PREFIXES)


def one(value: Any, full: str, base: str, method: bool) -> str:
    """The line of one function or method; ``base`` is its operator's name, "" when it has none."""
    variant = Variant.method if method else Variant.function
    schemas = [
        f for f in native().get(base, ()) if variant in f.variants and base != "requires_grad_"
    ]  # torchgen refuses it
    reference = row_from_schemas(schemas, method) if schemas else None
    written = extra.SIGNATURES.get(full)
    if written is not None:
        row = parse_row(written)
        row.returns = "tensor"
    elif inspect.isfunction(value):
        both = getattr(
            torch.nn.functional, f"{value.__name__}_with_indices", None
        )  # max_pool2d chooses between two functions
        row = row_from_python(both or value, method, extra.TENSOR_NAMES)
        if both is not None:
            row.returns = "tensor"
    else:
        row = reference or Row()
    if reference is not None and reference is not row:
        row.flags = reference.flags
        row.outputs = reference.outputs
        row.tensors |= {name for name in reference.tensors if name in row.names and name not in row.lists}
        if row.returns == "unknown" or written is not None:
            row.returns = reference.returns
    return finish(row, full, base or full, method)


def finish(row: Row, full: str, base: str, method: bool) -> str:
    """Add what the supplement knows and write the row down."""

    def known(table: dict[str, str]) -> str:
        return table[full] if full in table else table.get(base, "")

    row.returns = known(extra.RETURNS) or row.returns
    row.variadic = extra.VARIADIC.get(full, row.variadic)
    flags = row.flags
    if (full in semantics.RANDOM or base in semantics.RANDOM) and "random" not in flags:
        flags.append("random")
    if (full in semantics.VIEW or base in semantics.VIEW) and "view" not in flags:
        flags.append("view")
    if base.endswith("_") and not base.endswith("__"):
        flags.append("in_place")
    flags += [
        word
        for word, table in (
            ("creates", semantics.CREATES),
            ("follows", semantics.FOLLOWS_ARGUMENT),
            ("cpu", semantics.CPU_ALWAYS),
        )
        if full in table
    ]
    flags += [option for option in ("device", "dtype") if option in row.names]
    if full in semantics.DEFAULT_DTYPE:
        flags.append(f"default={semantics.DEFAULT_DTYPE[full]}")
    mixing = known(semantics.MIXING) or _mixing(row, base, method)
    if mixing != "none":
        flags.append(f"mix={mixing}")
    if full in semantics.DTYPE_STRICT or base in semantics.DTYPE_STRICT:
        flags.append("one_dtype")
    hosts = [name for name in known(semantics.CPU_ARGUMENTS).split() if name in row.names]
    if hosts:
        flags.append("host=" + "/".join(hosts))
    if row.returns in ("tensor", "tensors", "self", "packed"):
        _describe_output(
            row, full, base, method, known(semantics.OUTPUT_DTYPE), known(semantics.OUTPUT_RANK), known(extra.OUTPUTS)
        )
    flags += [f"if={word}" for word in known(extra.ALTERNATIVES).split() if word.partition("=")[0] in row.names]
    return row.text()


def _mixing(row: Row, base: str, method: bool) -> str:
    if row.tensor_count(method) < 2:
        return "none"
    if base in tensor_iterator():
        return "same"
    return "strict" if any(checks_devices(function) for function in native().get(base, ())) else "same"


def _describe_output(row: Row, full: str, base: str, method: bool, dtype: str, rank: str, outputs: str) -> None:
    takes_tensors = row.tensor_count(method) > 0
    pointwise = tagged(base, "pointwise") or base in tensor_iterator()
    if row.returns == "self":
        dtype, rank = "input", "same"
    elif full in semantics.DEFAULT_DTYPE:
        dtype = ""
    elif not dtype and full.startswith("torch.special."):
        dtype = "float"
    elif not dtype and takes_tensors:
        dtype = "promote" if pointwise and row.tensor_count(method) > 1 else "input"
    if not rank and "reduction" in row.names:
        rank = "reduce:reduction"
    elif not rank and pointwise:
        rank = "same" if row.tensor_count(method) == 1 else "broadcast"
    if rank.startswith("reduce:") and rank[7:] not in row.names:
        rank = "0" if row.tensor_count(method) else ""
    if row.returns == "tensors" and not (outputs or row.outputs):
        rank = ""
    row.flags += [f"out={dtype}"] if dtype else []
    row.flags += [f"rank={rank}"] if rank else []
    if outputs or row.outputs:
        row.flags.append(f"fields={outputs or row.outputs}")
