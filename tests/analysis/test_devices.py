"""Abstract devices: what is known to be one, what to be two, and what of neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devicefix.analysis.devices import CPU, CUDA, DEFAULT, Device, differ, join, parse_device, same, symbol

ROOT = symbol(("root", 1))
UNSETTLED = symbol(("device", 1))
DEVICES = st.one_of(
    st.none(),
    st.sampled_from(
        [
            CPU,
            CUDA,
            DEFAULT,
            ROOT,
            UNSETTLED,
            symbol("args.device"),
            Device("cuda", 0),
            Device("cuda", 1),
            Device("cuda", key="mps"),
        ]
    ),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("cpu", CPU, id="cpu"),
        pytest.param("cpu:0", CPU, id="cpu-0"),
        pytest.param("cuda", CUDA, id="cuda"),
        pytest.param("cuda:1", Device("cuda", 1), id="card"),
        pytest.param("mps", Device("cuda", key="mps"), id="mps"),
        pytest.param("xpu:2", Device("cuda", 2, "xpu"), id="xpu"),
        pytest.param("cuda:x", None, id="no-number"),
        pytest.param("meta", None, id="meta"),
        pytest.param("", None, id="empty"),
        pytest.param("gpu", None, id="gpu"),
    ],
)  # fmt: skip
def test_names_of_devices(text: str, expected: Device | None) -> None:
    assert parse_device(text) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param(CPU, CUDA, True, id="cpu-cuda"),
        pytest.param(DEFAULT, CUDA, True, id="default-cuda"),
        pytest.param(DEFAULT, symbol("device"), True, id="default-symbol"),
        pytest.param(DEFAULT, ROOT, True, id="default-root"),
        pytest.param(Device("cuda", 0), Device("cuda", 1), True, id="two-cards"),
        pytest.param(DEFAULT, CPU, False, id="host"),
        pytest.param(CUDA, Device("cuda", 1), False, id="card-unknown"),
        pytest.param(symbol("a"), symbol("b"), False, id="two-symbols"),
        pytest.param(symbol("a"), CUDA, False, id="symbol-cuda"),
        pytest.param(DEFAULT, UNSETTLED, False, id="wherever-that-is"),
        pytest.param(Device("cuda", 0, "xpu"), Device("cuda", 1, None), False, id="two-makers"),
        pytest.param(None, CPU, False, id="unknown"),
    ],
)  # fmt: skip
def test_two_devices(a: Device | None, b: Device | None, expected: bool) -> None:
    assert differ(a, b) is expected


@given(DEVICES, DEVICES)
def test_the_relations_are_symmetric(a: Device | None, b: Device | None) -> None:
    assert differ(a, b) == differ(b, a)
    assert same(a, b) == same(b, a)
    assert join(a, b) == join(b, a)


@given(DEVICES, DEVICES)
def test_nothing_is_both_the_same_and_different(a: Device | None, b: Device | None) -> None:
    assert not (same(a, b) and differ(a, b))


@given(DEVICES)
def test_a_device_is_itself(a: Device | None) -> None:
    assert not differ(a, a)
    assert same(a, a) is (a is not None)
    assert join(a, a) == a


@given(DEVICES, DEVICES, DEVICES)
def test_a_join_claims_no_more_than_its_parts(a: Device | None, b: Device | None, other: Device | None) -> None:
    if differ(join(a, b), other):
        assert differ(a, other)
        assert differ(b, other)
