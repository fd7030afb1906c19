"""The word lists against what has such attributes."""

from __future__ import annotations

import collections
import io
import pathlib
from typing import Any

import pytest

from devicefix import torch_api
from devicefix.analysis.evidence import shows_tensor

torch = pytest.importorskip("torch")

PLAIN: list[Any] = [str, bytes, list, dict, set, tuple, int, float, complex, io.BytesIO, io.TextIOWrapper, pathlib.Path, collections.deque,
                    collections.Counter, collections.OrderedDict]  # fmt: skip
TORCH: list[Any] = [
    torch.nn.Module, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList, torch.nn.Linear, torch.nn.LSTM,
    torch.nn.MultiheadAttention, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.utils.data.DataLoader,
    torch.utils.data.Dataset, torch.utils.data.TensorDataset, torch.Generator, torch.device, torch.dtype, torch.Size,
    torch.distributions.Distribution, torch.distributions.Normal, torch.distributions.Categorical, torch.fx.Graph, torch.fx.Node,
    torch.autograd.Function, torch.cuda.Stream,
]  # fmt: skip
#: Packed sequences and storages have these too; both behave like tensors when they are moved.
SHARED = {"is_cuda"}


def test_tensors_have_every_tensor_attribute() -> None:
    assert {name for name in torch_api.TENSOR_ONLY_ATTRIBUTES if not hasattr(torch.Tensor, name)} == set()
    assert {name for name in torch_api.NOT_ONLY_OF_TENSORS if torch_api.method(name) is None} <= {
        "mlu",
        "musa",
        "npu",
        "hpu",
    }


@pytest.mark.parametrize("other", [*PLAIN, *TORCH], ids=lambda other: other.__name__)
def test_methods_that_show_tensors_are_theirs(other: Any) -> None:
    shared = {name for name in dir(other) if not name.startswith("_") and shows_tensor(name)}
    assert shared == set()


@pytest.mark.parametrize("other", [*PLAIN, *TORCH], ids=lambda other: other.__name__)
def test_nothing_else_has_tensor_attributes(other: Any) -> None:
    assert {name for name in torch_api.TENSOR_ONLY_ATTRIBUTES if hasattr(other, name)} == set()


def test_arrays_have_no_tensor_attributes() -> None:
    numpy = pytest.importorskip("numpy")
    for other in (numpy.ndarray, numpy.float32, numpy.random.Generator, numpy.random.RandomState, numpy.ma.MaskedArray):
        assert {name for name in torch_api.TENSOR_ONLY_ATTRIBUTES if hasattr(other, name)} == set()
    namespaces = {name for name in torch_api.TENSOR_ONLY_ATTRIBUTES if hasattr(numpy, name)}
    assert namespaces == set(), "`np.x(…)` and `jnp.x(…)` would look like methods"


@pytest.mark.parametrize("name", ["shape", "dtype", "device", "to", "cuda", "cpu", "T", "mean", "sum", "max", "size", "view", "data", "grad", "backward",
                                  "softmax", "norm", "gather", "scatter", "expand", "float", "half", "copy_", "type", "numpy", "item", "detach",
                                  "requires_grad", "requires_grad_", "sub", "clone", "relu", "sigmoid"])  # fmt: skip
def test_weak_evidence_is_left_out(name: str) -> None:
    assert name not in torch_api.TENSOR_ONLY_ATTRIBUTES


@pytest.mark.parametrize(
    "name",
    [
        "unsqueeze",
        "is_cuda",
        "masked_fill",
        "permute",
        "contiguous",
        "new_zeros",
        "index_select",
        "type_as",
        "add_",
        "clamp_",
    ],
)
def test_strong_evidence_is_in(name: str) -> None:
    assert name in torch_api.TENSOR_ONLY_ATTRIBUTES


def test_module_attributes() -> None:
    for name in torch_api.MODULE_ONLY_ATTRIBUTES - {"gradient_checkpointing_enable"}:
        assert hasattr(torch.nn.Module, name), name
    for other in [*PLAIN, torch.Tensor, torch.optim.Optimizer, torch.utils.data.DataLoader, torch.distributions.Normal]:
        assert {name for name in torch_api.MODULE_ONLY_ATTRIBUTES if hasattr(other, name)} == set(), other
    assert not torch_api.MODULE_ONLY_ATTRIBUTES & torch_api.TENSOR_ONLY_ATTRIBUTES


def test_moves() -> None:
    for name in ("to", "cuda", "cpu", "xpu"):
        assert name in torch_api.MOVE_METHODS
        assert hasattr(torch.Tensor, name)
        assert hasattr(torch.nn.Module, name)


@pytest.mark.parametrize("name", sorted(torch_api.DTYPE_METHODS))
def test_dtype_methods(name: str) -> None:
    tensor = getattr(torch.ones(2), name)()
    expected = (
        "bool"
        if tensor.dtype is torch.bool
        else "complex"
        if tensor.is_complex()
        else "float"
        if tensor.is_floating_point()
        else "int"
    )
    assert torch_api.DTYPE_METHODS[name] == expected
    assert torch_api.method(name).output_dtype == expected  # type: ignore[union-attr]
    assert hasattr(torch.nn.Module, name) == (name in torch_api.MODULE_DTYPE_METHODS)


@pytest.mark.parametrize("name", sorted(torch_api.DTYPES))
def test_dtypes(name: str) -> None:
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip("not in this torch")
    expected = (
        "bool"
        if dtype is torch.bool
        else "complex"
        if dtype.is_complex
        else "float"
        if dtype.is_floating_point
        else "int"
    )
    assert torch_api.DTYPES[name] == expected


def test_every_dtype_of_torch_has_a_class() -> None:
    rare = ("bits", "quint", "qint", "float4", "float8", "uint", "int", "bit")
    missing = {
        name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype) and name not in torch_api.DTYPES
    }
    assert {name for name in missing if not name.startswith(rare)} == set()


@pytest.mark.parametrize("name", sorted(torch_api.SHAPE_METHODS))
def test_shape_methods_keep_dtype(name: str) -> None:
    fact = torch_api.method(name)
    assert fact is not None
    assert fact.returns in ("tensor", "tensors")
    assert fact.output_dtype == "input"
    assert not fact.in_place


@pytest.mark.skipif(
    torch.cuda.is_available() or torch.backends.cuda.is_built(), reason="asks what happens without CUDA"
)
@pytest.mark.parametrize("name", ["synchronize", "current_device", "get_device_name", "is_available", "device_count", "empty_cache", "memory_allocated",
                                  "max_memory_allocated", "manual_seed_all", "reset_peak_memory_stats", "get_rng_state", "Stream", "Event",
                                  "mem_get_info", "initial_seed", "is_initialized", "memory_stats", "get_rng_state_all", "seed_all"])  # fmt: skip
def test_what_needs_a_card(name: str) -> None:
    call = torch_api.accelerator_call(f"torch.cuda.{name}")
    assert call is not None
    arguments = (0,) if name == "manual_seed_all" else ()
    if call.needs_card:
        with pytest.raises((AssertionError, RuntimeError, AttributeError)):
            getattr(torch.cuda, name)(*arguments)
    else:
        getattr(torch.cuda, name)(*arguments)
