"""What is known of a value that is one thing on one path and another on the other."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devicefix.analysis.devices import CPU, CUDA, DEFAULT, differ, symbol
from devicefix.analysis.joins import any_element, join, join_all
from devicefix.analysis.values import MAYBE_NONE, NONE, NUMBER, STRING, UNKNOWN, DType, Kind, Value

DEVICES = st.sampled_from([None, CPU, CUDA, DEFAULT, symbol("d")])
FLAGS = st.frozensets(
    st.sampled_from(
        ["maybe_none", "leaf", "requires_grad", "graph", "explicit_dtype", "guessed", "buffer", "parameter"]
    )
)
IDENTS = st.sampled_from([None, "a", "b"])
TENSORS = st.builds(
    Value,
    st.just(Kind.TENSOR),
    device=DEVICES,
    dtype=st.sampled_from(DType),
    rank=st.sampled_from([None, 0, 1, 2, -1]),
    flags=FLAGS,
    ident=IDENTS,
)
SCALARS = st.sampled_from([NONE, NUMBER, STRING, UNKNOWN, Value(Kind.SIZE), Value(Kind.NUMBER, data=1), Value(Kind.STRING, data="cuda"),
                           Value(Kind.DEVICE, device=CUDA), Value(Kind.MODULE, device=CUDA), Value(Kind.NDARRAY)])  # fmt: skip
PLAIN = st.one_of(TENSORS, SCALARS, st.builds(Value, st.just(Kind.UNKNOWN), device=DEVICES, ident=IDENTS))
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(
            Value,
            st.just(Kind.SEQUENCE),
            items=st.lists(inner, max_size=3).map(tuple),
            data=st.sampled_from(["list", "tuple"]),
        ),
        st.builds(Value, st.just(Kind.SEQUENCE), element=inner, data=st.sampled_from(["list", "tuple"])),
        st.builds(Value, st.just(Kind.MAPPING), items=st.dictionaries(st.sampled_from("abc"), inner, max_size=2)),
    ),
    max_leaves=6,
)


def claims(value: Value, depth: int = 3) -> object:
    """What a value says that a finding could be built on."""
    inner: object = None
    if depth and isinstance(value.items, dict):
        inner = {k: claims(v, depth - 1) for k, v in value.items.items()}
    elif depth and value.items is not None:
        inner = [claims(v, depth - 1) for v in value.items] if isinstance(value.items, tuple) else None
    element = claims(value.element, depth - 1) if depth and value.element is not None else None
    return (value.kind, value.device, value.dtype, value.rank, value.flags, inner, element)


@given(VALUES)
def test_a_join_with_itself_changes_nothing(a: Value) -> None:
    assert claims(join(a, a.replace())) == claims(a) or a.kind is Kind.UNKNOWN


@given(PLAIN, PLAIN)
def test_the_order_of_paths_does_not_matter(a: Value, b: Value) -> None:
    assert claims(join(a, b)) == claims(join(b, a))


@given(VALUES, VALUES)
def test_joining_never_raises_and_keeps_the_kind_or_gives_it_up(a: Value, b: Value) -> None:
    joined = join(a, b)
    assert joined.kind in {a.kind, b.kind, Kind.UNKNOWN, Kind.SIZE, Kind.MODULE}
    assert claims(joined) == claims(join(a, b))


@given(TENSORS, TENSORS)
def test_a_property_holds_only_where_it_holds_on_both_paths(a: Value, b: Value) -> None:
    joined = join(a, b)
    assert (joined.flags - {"maybe_none", "buffer"}) <= (a.flags & b.flags)
    assert joined.has("maybe_none") is (a.has("maybe_none") or b.has("maybe_none"))
    if joined.rank == -1:
        assert a.rank not in (None, 0)
        assert b.rank not in (None, 0)
    elif joined.rank is not None:
        assert joined.rank == a.rank == b.rank
    if differ(joined.device, CUDA):
        assert differ(a.device, CUDA)
        assert differ(b.device, CUDA)


@given(TENSORS)
def test_a_tensor_or_none_may_be_none(a: Value) -> None:
    for joined in (join(a, NONE), join(NONE, a)):
        assert joined.kind is Kind.TENSOR
        assert joined.has("maybe_none")
        assert joined.device == a.device


@given(st.lists(PLAIN, max_size=5))
def test_joining_many_is_joining_in_turn(values: list[Value]) -> None:
    result = join_all(values)
    assert result.kind is Kind.UNKNOWN if not values else result is not None


@given(st.lists(TENSORS, min_size=1, max_size=4))
def test_a_member_stands_for_all_members(values: list[Value]) -> None:
    member = any_element(Value(Kind.SEQUENCE, items=tuple(values)))
    assert member.kind is Kind.TENSOR
    assert member.device is None or all(v.device == member.device or (v.device and v.device.host) for v in values)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        pytest.param(NUMBER, Value(Kind.SIZE), Kind.SIZE, id="number-and-size"),
        pytest.param(NUMBER, STRING, Kind.UNKNOWN, id="number-and-string"),
        pytest.param(Value(Kind.TENSOR), Value(Kind.MODULE), Kind.UNKNOWN, id="tensor-and-module"),
        pytest.param(Value(Kind.TENSOR), Value(Kind.NDARRAY), Kind.UNKNOWN, id="tensor-and-array"),
    ],
)  # fmt: skip
def test_kinds(a: Value, b: Value, kind: Kind) -> None:
    assert join(a, b).kind is kind
    assert join(b, a).kind is kind


def test_keys_tell_values_apart_and_can_be_hashed() -> None:
    node = ast.parse("f(x)").body[0]
    values = [Value(Kind.TENSOR, device=CUDA), Value(Kind.TENSOR, device=CPU), NUMBER, NONE, Value(Kind.SEQUENCE, items=(NONE,)),
              Value(Kind.MAPPING, items={"a": NUMBER}), Value(Kind.EXTERNAL, data="torch.nn"), Value(Kind.UNKNOWN, ident=node)]  # fmt: skip
    assert len({v.key() for v in values}) == len(values)
    assert Value(Kind.TENSOR, device=CUDA).key() == values[0].key()


def test_replace_leaves_the_old_value() -> None:
    a = Value(Kind.TENSOR, device=CUDA)
    b = a.replace(flags=MAYBE_NONE)
    assert (a.has("maybe_none"), b.has("maybe_none"), b.device) == (False, True, CUDA)
