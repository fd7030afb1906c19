"""The generated tables against the installed torch."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from devicefix import torch_api
from devicefix.torch_api._generated import FUNCTIONS, METHODS, MODULES, OPTIMIZERS, TORCH_VERSION

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
REGENERATE = "torch has changed; run `python scripts/generate_torch_api.py`, read the diff and complete supplement.py and semantics.py in devicefix/torch_api"
pytestmark = pytest.mark.filterwarnings("ignore")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.partition("+")[0].split(".")[:2])


older = pytest.mark.skipif(
    _version(torch.__version__) < _version(TORCH_VERSION), reason="the tables are of a newer torch"
)


@older
@pytest.mark.skipif(not (ROOT / "scripts/generate_torch_api.py").exists(), reason="not in a source tree")
def test_tables_are_what_the_generator_writes() -> None:
    pytest.importorskip("torchgen")
    pytest.importorskip("yaml")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "scripts/generate_torch_api.py", "--check"], cwd=ROOT, check=False
    )
    assert done.returncode == 0, REGENERATE


def test_every_device_constructor_of_torch_creates() -> None:
    constructors = importlib.import_module("torch.utils._device")._device_constructors()
    names = {
        getattr(space, name): f"{space.__name__}.{name}"
        for space in (torch, torch.fft, torch.nested)
        for name in dir(space)
        if inspect.isroutine(getattr(space, name))
    }
    missing = []
    for function in constructors:
        fact = torch_api.function(names[function])
        takes_tensors = fact is not None and bool(fact.tensor_args) and fact.name.startswith("torch.sparse_")
        if fact is None or not (fact.creates or takes_tensors or function is torch.empty_quantized):
            missing.append(names[function])
    assert missing == [], REGENERATE


def test_nothing_else_creates() -> None:
    """A function that takes ``device=`` and no tensor is a factory."""
    for name in FUNCTIONS:
        fact = torch_api.function(name)
        assert fact is not None
        if fact.device and not fact.tensor_args and fact.returns == "tensor" and name != "torch.from_dlpack":
            assert fact.creates, name


@older
def test_every_public_name_is_in_the_tables_or_left_out_on_purpose() -> None:
    supplement = importlib.import_module("devicefix.torch_api.supplement")
    for space in ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"):
        module = importlib.import_module(space)
        for name in dir(module):
            value = getattr(module, name)
            ours = not inspect.isfunction(value) or value.__module__.startswith("torch")
            if name.startswith("_") or inspect.isclass(value) or not callable(value) or not ours:
                continue
            if name not in supplement.INTERNAL and not name.startswith(supplement.INTERNAL_PREFIXES):
                assert f"{space}.{name}" in FUNCTIONS, REGENERATE
    for name in dir(torch.Tensor):
        if not name.startswith("_"):
            assert (name in METHODS) == callable(getattr(torch.Tensor, name)), REGENERATE
            assert (torch_api.attribute(name) is not None) != (name in METHODS), REGENERATE


@older
def test_names_exist() -> None:
    for name in [*FUNCTIONS, *MODULES, *OPTIMIZERS]:
        space, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(space), last), f"{name} is gone: {REGENERATE}"


def test_supplement_speaks_of_things_that_exist() -> None:
    """A misspelt operator in the supplement would do nothing, silently."""
    supplement = importlib.import_module("devicefix.torch_api.supplement")
    semantics = importlib.import_module("devicefix.torch_api.semantics")
    native = {name.rpartition(".")[2] for name in (*FUNCTIONS, *METHODS)}
    prefixed = {name.replace("torch.", "").replace(".", "_") for name in FUNCTIONS}
    tables = (
        "SIGNATURES",
        "VARIADIC",
        "RETURNS",
        "ALTERNATIVES",
        "OUTPUTS",
        "MIXING",
        "CPU_ARGUMENTS",
        "DTYPE_STRICT",
        "OUTPUT_DTYPE",
        "DEFAULT_DTYPE",
        "CREATES",
        "FOLLOWS_ARGUMENT",
        "CPU_ALWAYS",
        "RANDOM",
        "VIEW",
        "OUTPUT_RANK",
    )
    for table in tables:
        for key in getattr(supplement, table, None) or getattr(semantics, table):
            if key.startswith("torch."):
                assert key in FUNCTIONS, (table, key)
            elif key.startswith("Tensor."):
                assert key[7:] in METHODS, (table, key)
            else:
                assert key in native | prefixed, (table, key)


def test_aliases_by_where_things_are_defined() -> None:
    """``Linear.__module__`` is what a reader of torch's source would write."""
    for name in MODULES:
        cls = getattr(torch.nn, name.rpartition(".")[2])
        assert torch_api.module_class(f"{cls.__module__}.{cls.__qualname__}") is not None, cls
    for name in OPTIMIZERS:
        cls = getattr(torch.optim, name.rpartition(".")[2])
        assert torch_api.optimizer_class(f"{cls.__module__}.{cls.__qualname__}") is not None, cls
    for name in FUNCTIONS:
        space, _, last = name.rpartition(".")
        value = getattr(importlib.import_module(space), last)
        if (
            inspect.isfunction(value)
            and not value.__name__.startswith("_")
            and "._" not in value.__module__
            and "<" not in value.__qualname__
        ):
            if value.__name__ == last and not value.__module__.startswith(
                ("torch.utils.dlpack", "torch.func", "torch.nn.utils.fusion", "torch.autograd.gradcheck")
            ):
                assert torch_api.function(f"{value.__module__}.{last}") is not None, f"{value.__module__}.{last}"
