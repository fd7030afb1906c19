"""Which operators demand one device of their arguments, asked of torch's fake tensors (no card needed).

Fake tensors let 0-dim CPU tensors join everywhere, so only arguments with dimensions are moved; and they do not check convolutions.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from devicefix import torch_api

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")

if TYPE_CHECKING:
    from torch_api.opinfo import Sample
else:
    opinfo = pytest.importorskip("torch_api.opinfo")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

#: What the fake tensors of torch let pass although the kernels refuse it.
UNCHECKED = {f"torch.nn.functional.conv{transpose}{n}d" for transpose in ("", "_transpose") for n in (1, 2, 3)} | {
    "torch.nn.functional.batch_norm",
    "torch.nn.functional.linear_cross_entropy",
}
#: Sampled through wrappers with other parameters.
WRAPPED = {"torch.pca_lowrank", "torch.svd_lowrank"}


def on(value: Any, devices: dict[int, str], mode: Any) -> Any:
    """``value`` with its tensors replaced by fake ones on the devices given by identity."""
    if isinstance(value, torch.Tensor):
        with mode:
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=devices[id(value)])
    if isinstance(value, (list, tuple)):
        return type(value)([on(item, devices, mode) for item in value])
    if isinstance(value, dict):
        return {name: on(item, devices, mode) for name, item in value.items()}
    return value


def runs(sample: Sample, devices: dict[int, str]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with fake_tensor.FakeTensorMode() as mode:
                sample.operator(*on(sample.args, devices, mode), **on(sample.kwargs, devices, mode))
        except Exception:  # of any kind: fake tensors have their own errors
            return False
    return True


def test_mixing() -> None:
    wrong: dict[str, set[str]] = defaultdict(set)
    tried = set()
    for sample in opinfo.samples((torch.float32,), limit=4):
        fact = sample.fact
        everything = [t for t in opinfo.tensors([sample.args, sample.kwargs]) if t.layout is torch.strided]
        if len({id(t) for t in everything}) < 2 or fact.creates or fact.name in UNCHECKED | WRAPPED:
            continue
        if len(everything) != len(list(opinfo.tensors([sample.args, sample.kwargs]))):
            continue
        if not runs(sample, {id(t): "cuda" for t in everything}):
            continue  # no meta kernel
        for name, value in sample.bound.items():
            moved = [t for t in opinfo.tensors(value) if t.dim()][:1]
            if not moved or not fact.takes_tensor(name) or fact.mixing not in ("none", "same", "strict"):
                continue
            tried.add(fact.name)
            allowed = runs(sample, {id(t): "cpu" if t is moved[0] else "cuda" for t in everything})
            expected = fact.mixing == "none" or name in fact.cpu_args
            if allowed != expected:
                wrong[fact.name].add(f"{name}: {'allowed' if allowed else 'refused'} but mixing={fact.mixing}")
    assert len(tried) > 150
    assert dict(wrong) == {}


@pytest.mark.parametrize("name", sorted(UNCHECKED))
def test_what_fake_tensors_do_not_check_is_claimed_strict(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    assert fact.mixing == "strict"
