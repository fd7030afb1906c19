"""torch's own operator database: every operator, forward and backward, on the simulated accelerator.

Slow (some minutes), hence marked. What is known to differ is listed in ``opinfo_known.toml``; the lists may only shrink: an
operator on them that has become right fails the test until it is taken off.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map

from devicefix.verify import simulated_accelerator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

try:
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError:  # needs expecttest
    op_db = []

pytestmark = pytest.mark.slow
KNOWN: dict[str, Any] = tomllib.loads(Path(__file__).with_name("opinfo_known.toml").read_text(encoding="utf-8"))
SAMPLES = 4
# their values are random or uninitialised
NO_VALUES = {
    "rand_like", "randn_like", "randint_like", "empty", "empty_like", "new_empty", "empty_strided",
    "new_empty_strided", "empty_permuted", "randint", "randn",
}  # fmt: skip


def name_of(op: Any) -> str:
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


OPERATORS = {name_of(op): op for op in op_db if torch.float32 in op.dtypes}


def tensors_of(value: Any) -> list[Any]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def rebuilt(sample: Any, make: Any) -> Any:
    """Input, args and kwargs of a sample with every tensor replaced, the same one by the same one."""
    seen: dict[int, Any] = {}

    def replace(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in seen:
            seen[id(value)] = make(value)
        return seen[id(value)]

    return tree_map(replace, (sample.input, sample.args, sample.kwargs))


def call(op: Any, inputs: Any, gradients: bool) -> tuple[Any, list[Any]]:
    """The result, and the gradients of its sum."""
    torch.manual_seed(0)
    first, args, kwargs = inputs
    out = op(first, *args, **kwargs)
    if not gradients:
        return out, []
    leaves = [t for t in tensors_of(inputs) if t.requires_grad and t.is_leaf]
    results = [t for t in tensors_of(out) if t.requires_grad and (t.is_floating_point() or t.is_complex())]
    if not leaves or not results:
        return out, []
    total = sum((t.abs() if t.is_complex() else t).double().sum() for t in results)
    return out, [g for g in torch.autograd.grad(total, leaves, allow_unused=True) if g is not None]


def equal(one: Any, other: Any) -> bool:
    ones, others = tensors_of(one), tensors_of(other)
    if len(ones) != len(others):
        return False
    for a, b in zip(ones, others, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.layout != torch.strided:
            a, b = a.to_dense(), b.to_dense()
        if a.is_quantized:
            continue
        wide = torch.complex128 if a.is_complex() else torch.float64
        if not torch.allclose(a.detach().cpu().to(wide), b.detach().cpu().to(wide), 1e-4, 1e-5, equal_nan=True):
            return False
    return True


def samples_of(op: Any) -> list[Any]:
    try:
        return list(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd))[:SAMPLES]
    except Exception as error:  # the database's own limits on this machine
        pytest.skip(f"no samples: {error}")


def on_card(value: Any) -> Any:
    """Arguments that name the CPU as the device to be on, changed to the card."""
    if isinstance(value, dict):
        return {key: on_card(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(on_card, value)) if type(value) in (list, tuple) else value
    return "cuda" if (isinstance(value, (str, torch.device)) and str(value) == "cpu") else value


def problem_with(op: Any) -> str | None:
    """What differs between the plain CPU and the simulated accelerator, if anything does."""
    for sample in samples_of(op):
        plain = rebuilt(sample, lambda t: t.detach().clone().requires_grad_(t.requires_grad))
        try:
            expected, expected_gradients = call(op, plain, op.supports_autograd)
        except Exception:  # a sample that is meant to fail, or needs what this build lacks
            continue
        try:
            with simulated_accelerator("cuda", 2, even_with_card=True):
                first, args, kwargs = rebuilt(sample, lambda t: t.detach().cuda().requires_grad_(t.requires_grad))
                inputs = first, on_card(args), on_card(kwargs)
                got, gradients = call(op, inputs, op.supports_autograd)
                devices = {str(t.device) for t in tensors_of(got)}
                gradient_devices = {str(t.device) for t in gradients}
        except Exception as error:
            return f"raises {type(error).__name__}: {str(error)[:200]}"
        if tensors_of(inputs) and "cpu" in devices:
            return f"a result on {devices}"
        if "cpu" in gradient_devices:
            return f"a gradient on {gradient_devices}"
        if op.name not in NO_VALUES and not (equal(expected, got) and equal(expected_gradients, gradients)):
            return "other values"
    return None


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_right_on_one_device(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = problem_with(OPERATORS[name])
    known = KNOWN["differs"].get(name)
    if known is None:
        assert problem is None
    else:
        assert problem is not None, f"{name} is right now: take it off the list of known differences"


def movable(sample: Any) -> list[Any]:
    """The tensors of a sample that matter for the device check: those with a dimension and elements."""
    found = {id(t): t for t in tensors_of((sample.input, sample.args, sample.kwargs)) if t.dim() and t.numel()}
    return list(found.values())


def outcome_with_one_left_behind(op: Any) -> str | None:
    """``device error``, ``other error`` or ``silent`` with one tensor of the input on the CPU; None without two tensors."""
    sample = next((s for s in samples_of(op) if len(movable(s)) >= 2), None)
    if sample is None:
        return None
    outcomes = set()
    for left in movable(sample)[:3]:

        def placed(t: Any, left: Any = left) -> Any:
            return (t.detach().clone() if t is left else t.detach().cuda()).requires_grad_(t.requires_grad)

        try:
            with simulated_accelerator("cuda", 2, even_with_card=True):
                call(op, rebuilt(sample, placed), False)
            outcomes.add("silent")
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else ""
            device = "device" in said or "should be the same" in said
            outcomes.add("device error" if device else "other error")
    return next(o for o in ("silent", "other error", "device error") if o in outcomes)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_one_tensor_left_on_the_cpu(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = outcome_with_one_left_behind(OPERATORS[name])
    known = {*KNOWN["silent"]["legal"], *KNOWN["silent"]["missed"]}
    if outcome in (None, "device error"):
        assert name not in known, f"{name} raises now: take it off the list"
    else:
        assert name in known, outcome


@pytest.mark.skipif(not OPERATORS, reason="needs expecttest, which torch's operator database imports")
def test_the_lists_do_not_grow() -> None:
    """Numbers of the first version; lower them with the lists, never raise them."""
    assert len(KNOWN["differs"]) <= 2
    assert len(KNOWN["silent"]["missed"]) <= 6
    assert set(OPERATORS) >= set(KNOWN["differs"]) or torch.__version__ < "2.13"
