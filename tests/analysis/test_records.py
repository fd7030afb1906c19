"""Tuples whose members have names."""

from __future__ import annotations

import pytest

from analysis.running import code, codes, value_of
from devicefix.analysis.devices import CUDA, DEFAULT
from devicefix.analysis.values import DType, Kind

TYPES = [
    'T = collections.namedtuple("T", "a b")',
    'T = collections.namedtuple("T", "a, b")',
    'T = collections.namedtuple("T", ["a", "b"])',
    'T = collections.namedtuple("T", field_names=("a", "b"))',
    'T = typing.NamedTuple("T", [("a", torch.Tensor), ("b", torch.Tensor)])',
    'class T(collections.namedtuple("Base", "a b")):\n    __slots__ = ()',
    "class T(typing.NamedTuple):\n    a: torch.Tensor\n    b: torch.Tensor",
]


@pytest.mark.parametrize("definition", TYPES)
@pytest.mark.parametrize("read", ["T(p, q).b", "T(b=q, a=p).b", "T(*(p, q)).b"])
def test_fields_by_name(definition: str, read: str) -> None:
    text = f"import collections, typing\n{definition}\np, q = torch.ones(2), torch.ones(2).cuda()\nx = {read}"
    assert value_of(text).device == CUDA


@pytest.mark.parametrize("definition", TYPES[:5])
@pytest.mark.parametrize(
    ("read", "device"),
    [
        ("T(p, q)[1]", CUDA),
        ("T(p, q)._replace(b=p).b", DEFAULT),
        ("T._make([p, q]).b", CUDA),
        ("T._make((p, q)).a", DEFAULT),
        ("T(p, q)._asdict()['b']", CUDA),
        ("T(*zip(*[T(p, q), T(p, q)])).b[0]", CUDA),
        ("[m for m in T(q, q)][0]", CUDA),
    ],
)
def test_records_as_tuples_and_copies(definition: str, read: str, device: object) -> None:
    text = f"import collections, typing\n{definition}\np, q = torch.ones(2), torch.ones(2).cuda()\nx = {read}"
    assert value_of(text).device == device


def test_a_type_of_unknown_fields_is_unknown() -> None:
    text = "import collections\nfrom elsewhere import fields\nT = collections.namedtuple('T', fields)\nx = T(1).a"
    assert value_of(text).kind is Kind.UNKNOWN


RESULTS = [
    ("torch.topk(t, 2).indices", DType.INT),
    ("t.topk(2).values", DType.FLOAT),
    ("t.max(dim=1).indices", DType.INT),
    ("torch.min(t, 1).values", DType.FLOAT),
    ("t.sort(dim=1).indices", DType.INT),
    ("t.max(1)[1]", DType.INT),
    ("torch.linalg.svd(t).S", DType.FLOAT),
    ("t.kthvalue(1).values", DType.FLOAT),
]


@pytest.mark.parametrize(("expression", "dtype"), RESULTS)
def test_named_results(expression: str, dtype: DType) -> None:
    value = value_of(f"t = torch.rand(3, 3).cuda()\nx = {expression}")
    assert (value.is_tensor, value.device, value.dtype) == (True, CUDA, dtype)


def test_replaced_data_classes() -> None:
    text = """
    import dataclasses

    @dataclasses.dataclass
    class Item:
        a: torch.Tensor
        b: int = 0

    item = dataclasses.replace(Item(torch.ones(2)), a=torch.ones(2).cuda())
    x = item.a
    """
    import textwrap

    assert value_of(textwrap.dedent(text)).device == CUDA


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("collections.deque()", "random.sample(kept, 2)[0]"),
        ("collections.deque([], maxlen=3)", "random.choice(kept)"),
        ("collections.deque(maxlen=3)", "kept[0]"),
    ],
)
def test_what_a_deque_keeps(made: str, read: str) -> None:
    text = f"import collections, random\nkept = {made}\nfor i in range(3):\n    kept.append(torch.ones(2).cuda())\nx = {read}"
    assert value_of(text).device == CUDA


def test_a_field_that_is_moved_as_a_statement_cannot_be_assigned() -> None:
    text = code(
        """
        from collections import namedtuple
        T = namedtuple("T", "a b")

        class Holder:
            def __init__(self):
                self.pair = T(torch.ones(3), torch.ones(3))

        def run(device):
            net = nn.Linear(3, 2).to(device)
            holder = Holder()
            holder.pair.a.to(device)
            return net(holder.pair.a)
        """
    )
    assert codes(text) == ["DVF101"]
    from devicefix import fix

    assert fix(text, unsafe=True).new_text == text
