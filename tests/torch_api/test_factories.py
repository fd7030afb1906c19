"""What is said about factories, executed: where they create, what they accept, which dtype comes out."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from devicefix import torch_api
from devicefix.torch_api._generated import FUNCTIONS, METHODS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

WINDOW_NAMES = "bartlett blackman cosine exponential gaussian hamming hann kaiser nuttall general_hamming"
WINDOWS = {f"torch.signal.windows.{name}": (5,) for name in WINDOW_NAMES.split()}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **WINDOWS,
    "torch.signal.windows.general_cosine": (5,),
    "torch.zeros": (2, 3), "torch.ones": (2, 3), "torch.empty": (2, 3), "torch.rand": (2, 3), "torch.randn": (2, 3),
    "torch.eye": (3,), "torch.linspace": (0, 1, 4), "torch.logspace": (0, 1, 4), "torch.range": (0, 3),
    "torch.hann_window": (5,), "torch.hamming_window": (5,), "torch.blackman_window": (5,), "torch.bartlett_window": (5,),
    "torch.kaiser_window": (5,), "torch.normal": (0.0, 1.0, (3,)), "torch.empty_strided": ((2, 3), (3, 1)),
    "torch.empty_permuted": ((2, 3), (0, 1)), "torch.fft.fftfreq": (5,), "torch.fft.rfftfreq": (5,), "torch.scalar_tensor": (1.0,),
    "torch.randint": (5, (3,)), "torch.randperm": (5,), "torch.tril_indices": (3, 3), "torch.triu_indices": (3, 3),
    "torch.full": ((2,), 1.5), "torch.tensor": ([1.0, 2.0],), "torch.as_tensor": ([1.0, 2.0],), "torch.asarray": ([1.0, 2.0],),
    "torch.arange": (3,), "torch.nested.nested_tensor": ([[1.0], [2.0, 3.0]],),
}  # fmt: skip
KEYWORDS: dict[str, dict[str, Any]] = {"torch.signal.windows.general_cosine": {"a": [0.5, 0.5]}}
WITHOUT_CALL = {"torch.Generator", "torch.from_file", "torch.frombuffer", "torch.from_numpy"}
CREATING = sorted(name for name in FUNCTIONS if torch_api.function(name).creates)  # type: ignore[union-attr]


def call(name: str, **keywords: Any) -> Any:
    space, _, last = name.rpartition(".")
    return getattr(importlib.import_module(space), last)(*ARGUMENTS[name], **KEYWORDS.get(name, {}), **keywords)


def dtype_class(dtype: Any) -> str:
    if dtype is torch.bool:
        return "bool"
    return "complex" if dtype.is_complex else "float" if dtype.is_floating_point else "int"


@pytest.fixture
def default_device() -> Iterator[None]:
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def test_every_factory_has_a_call_here() -> None:
    assert set(CREATING) - WITHOUT_CALL == set(ARGUMENTS)


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
@pytest.mark.usefixtures("default_device")
def test_creates_on_the_default_device(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    assert call(name).device.type == ("cpu" if fact.always_cpu else "meta")


@pytest.mark.usefixtures("default_device")
def test_arrays_stay_on_the_cpu() -> None:
    numpy = pytest.importorskip("numpy")
    assert torch.from_numpy(numpy.ones(2)).device.type == "cpu"
    assert torch_api.function("torch.from_numpy").always_cpu  # type: ignore[union-attr]
    assert torch.frombuffer(bytearray(8), dtype=torch.float32).device.type == "cpu"
    assert torch_api.function("torch.frombuffer").always_cpu  # type: ignore[union-attr]


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_device_argument(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    if name == "torch.nested.nested_tensor":
        return  # has no meta kernel
    if fact.device:
        assert call(name, device="meta").device.type == "meta"
    else:
        with pytest.raises(TypeError):
            call(name, device="meta")


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_dtype_argument_and_default(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    result = call(name)
    if fact.default_dtype != "argument":
        assert dtype_class(result.dtype) == fact.default_dtype
    if fact.default_dtype == "float":
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            assert call(name).dtype is torch.float64, "a floating default follows set_default_dtype"
        finally:
            torch.set_default_dtype(before)
    if fact.dtype:
        wanted = torch.int32 if fact.default_dtype == "int" else torch.float64
        assert call(name, dtype=wanted).dtype is wanted
    else:
        with pytest.raises(TypeError):
            call(name, dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda: torch.full((2,), 1), "int"), (lambda: torch.full((2,), 1.0), "float"), (lambda: torch.full((2,), True), "bool"),
        (lambda: torch.arange(3), "int"), (lambda: torch.arange(0, 1, 0.5), "float"), (lambda: torch.tensor([1]), "int"),
        (lambda: torch.tensor([True]), "bool"), (lambda: torch.as_tensor(1.0), "float"), (lambda: torch.asarray([1]), "int"),
    ],
)  # fmt: skip
def test_argument_means_that_the_arguments_decide(call: Any, dtype: str) -> None:
    assert dtype_class(call().dtype) == dtype


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_ranks(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    if name == "torch.nested.nested_tensor":
        return
    rank = call(name).dim()
    if fact.output_rank == "size":
        size = [a for a in ARGUMENTS[name] if isinstance(a, (tuple, list))]
        assert rank == (len(size[0]) if size else len(ARGUMENTS[name]))
    elif fact.output_rank == "some":
        assert rank >= 1
    elif fact.output_rank == "0":
        assert rank == 0
    elif fact.output_rank == "data":
        assert rank == 1
    else:
        assert fact.output_rank == "unknown"


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_randomness(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    torch.manual_seed(0)
    before = torch.get_rng_state()
    call(name)
    assert bool((before != torch.get_rng_state()).any()) is fact.random


@pytest.mark.parametrize("name", ["torch.as_tensor", "torch.asarray"])
def test_follows_a_tensor_argument(name: str) -> None:
    assert torch_api.function(name).follows_argument  # type: ignore[union-attr]
    function = getattr(torch, name[6:])
    assert function(torch.ones(2, device="meta")).device.type == "meta"
    with torch.device("meta"):
        assert function(torch.ones(2, device="cpu")).device.type in ("cpu", "meta")


def test_normal_follows_its_mean() -> None:
    assert torch_api.function("torch.normal").follows_argument  # type: ignore[union-attr]
    assert torch.normal(torch.zeros(2, device="meta"), 1.0).device.type == "meta"


LIKE = sorted(name for name in FUNCTIONS if name.endswith("_like"))


@pytest.mark.parametrize("name", LIKE)
def test_like_functions_follow_their_input(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    assert not fact.creates
    more = {"torch.full_like": (1.0,), "torch.randint_like": (3,)}.get(name, ())
    assert getattr(torch, name[6:])(torch.ones(2, device="meta"), *more).device.type == "meta"


@pytest.mark.parametrize("name", sorted(name for name in METHODS if name.startswith("new_")))
def test_new_methods_follow_their_receiver(name: str) -> None:
    fact = torch_api.method(name)
    assert fact is not None
    assert not fact.creates
    assert fact.device
    more = {"new_full": ((2,), 1.0), "new_tensor": ([1.0],), "new_empty_strided": ((2,), (1,))}.get(name, (2,))
    assert getattr(torch.ones(2, device="meta"), name)(*more).device.type == "meta"


@pytest.mark.parametrize("name", [name for name in torch_api.LEGACY_CONSTRUCTORS if "cuda" not in name])
@pytest.mark.parametrize("default", ["cpu", "meta"])
def test_legacy_constructors_make_cpu_tensors(name: str, default: str) -> None:
    constructor = getattr(torch, name[6:])
    with torch.device(default):
        tensor = constructor(2)
    assert tensor.device.type == "cpu"
    assert tensor.dtype is getattr(torch, torch_api.LEGACY_CONSTRUCTORS[name] or "float32")
