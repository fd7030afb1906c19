"""Shared by the tests that need torch; without torch they are skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

try:
    import torch

    torch.set_num_threads(2)
except ModuleNotFoundError:
    torch = None  # type: ignore[assignment]
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if torch is not None and torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture
def sim() -> Iterator[Any]:
    """Two simulated accelerators for the length of a test."""
    from devicefix.verify import simulated_accelerator

    with simulated_accelerator("cuda", count=2, even_with_card=True) as simulation:
        yield simulation


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value.detach().cpu()]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


@pytest.fixture
def same() -> Callable[..., None]:
    """``same(f)``: f("cpu") on the plain CPU gives the values of f("cuda") in the simulation."""
    from devicefix.verify import simulated_accelerator

    def check(function: Callable[[str], Any], tolerance: float = 1e-5) -> None:
        torch.manual_seed(0)
        plain = _leaves(function("cpu"))
        with simulated_accelerator("cuda", count=2, even_with_card=True):
            torch.manual_seed(0)
            simulated = _leaves(function("cuda"))
        assert len(plain) == len(simulated)
        for one, other in zip(plain, simulated, strict=False):
            if isinstance(one, torch.Tensor):
                assert one.dtype == other.dtype
                torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
            elif isinstance(one, float):
                assert one == pytest.approx(other, rel=1e-4, abs=1e-6)
            else:
                assert one == other

    return check
