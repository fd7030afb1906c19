"""What is said about results of operators, checked on the samples of torch's own operator database."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from devicefix import torch_api

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

if TYPE_CHECKING:
    from torch_api.opinfo import Sample
else:
    opinfo = pytest.importorskip("torch_api.opinfo")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

#: Exceptions that the reference of the package names.
DTYPE_EXCEPTIONS = {
    "torch.div": "keeps integers with rounding_mode",
    "torch.bincount": "follows its weights",
    "torch.stft": "real without return_complex",
    "torch.nn.functional.local_response_norm": "keeps integers when there is nothing to do",
}
RETURN_EXCEPTIONS = {
    **dict.fromkeys(("torch.atleast_1d", "torch.atleast_2d", "torch.atleast_3d"), "a tuple when there are several"),
    "torch.histogramdd": "holds a list",
}


#: They change a running statistic or renormalise a table on the way (``normal`` is sampled through ``normal_``).
SIDE_EFFECTS = {
    "torch.normal",
    "torch.nn.functional.embedding",
    "torch.nn.functional.embedding_bag",
    "torch.nn.functional.instance_norm",
}


def expected_dtype(fact: torch_api.Function, given: list[Any]) -> str:
    classes = [opinfo.dtype_class(t.dtype) for t in given]
    if fact.output_dtype in ("input", "sum"):
        return "int" if fact.output_dtype == "sum" and classes[0] == "bool" else classes[0]
    if fact.output_dtype == "promote":
        return max(classes, key=opinfo.ORDER.index)
    return fact.output_dtype


def expected_rank(sample: Sample) -> int | None:
    """The rank that the table promises; ``None`` where it promises none."""
    rank, _, parameter = sample.fact.output_rank.partition(":")
    ranks = [t.dim() for t in sample.given]
    if rank == "reduce":
        if sample.bound.get("keepdim"):
            return None
        given = sample.bound.get(parameter)
        return 0 if given is None or (parameter == "reduction" and given != "none") else None
    if rank == "same":
        return ranks[0]
    if rank == "broadcast":
        return max(ranks)
    return 0 if rank == "0" else None


def expected_returns(sample: Sample) -> str:
    for parameter, other in sample.fact.alternatives:
        value = sample.bound.get(parameter)
        if value is not None and value is not False and not isinstance(value, torch.Tensor):
            return other
    return "tensor" if sample.fact.returns == "self" else sample.fact.returns


def returned(result: Any) -> str:
    if isinstance(result, torch.Tensor):
        return "tensor"
    if isinstance(result, torch.Size):
        return "size"
    if isinstance(result, (list, tuple)) and all(isinstance(item, torch.Tensor) for item in result):
        return "tensors"
    words = {"bool": "bool", "int": "int", "float": "number", "dtype": "dtype", "NoneType": "none"}
    return words.get(type(result).__name__, type(result).__name__)


@pytest.fixture(scope="module")
def wrong() -> dict[str, dict[str, list[str]]]:
    """Aspect → function → what differed."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    seen = set()
    for sample in opinfo.samples((torch.float32, torch.int64, torch.bool), limit=6):
        fact = sample.fact
        state = torch.get_rng_state()
        versions = [(t, t._version) for t in opinfo.tensors([sample.args, sample.kwargs])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = sample.run()
            except (RuntimeError, ValueError, IndexError, TypeError):
                continue  # a sample that is meant to fail, or a dtype that is not for it
        seen.add(fact.name)
        if bool((state != torch.get_rng_state()).any()) and not fact.random:
            found["random"][fact.name].append("draws from the random stream")
        expected = expected_returns(sample)
        if returned(result) != expected and fact.name not in RETURN_EXCEPTIONS and not fact.creates:
            found["returns"][fact.name].append(f"{returned(result)} instead of {expected}")
        if (
            any(t._version != version for t, version in versions)
            and not fact.in_place
            and not sample.bound.get("inplace")
            and "out" not in sample.bound
            and fact.name not in SIDE_EFFECTS
        ):
            found["in_place"][fact.name].append("changes an argument")
        results = list(opinfo.tensors(result))
        if not results or not sample.given or fact.creates:
            continue
        storage = sample.given[0].untyped_storage().data_ptr() if sample.given[0].layout is torch.strided else 0
        alias = (
            results[0].layout is torch.strided
            and results[0].numel()
            and results[0].untyped_storage().data_ptr() == storage
        )
        if (
            alias
            and not fact.view
            and "dropout" not in fact.name
            and not fact.in_place
            and results[0] is not sample.given[0]
            and not sample.bound.get("inplace")
        ):
            found["view"][fact.name].append("shares storage")
        if sample.bound.get("dtype") is None and fact.name not in DTYPE_EXCEPTIONS and fact.output_dtype != "unknown":
            actual = opinfo.dtype_class(results[0].dtype)
            if actual != expected_dtype(fact, sample.given):
                found["dtype"][fact.name].append(f"{actual} instead of {fact.output_dtype}")
        if (
            isinstance(result, tuple)
            and fact.outputs
            and returned(result) == "tensors"
            and fact.name not in DTYPE_EXCEPTIONS
        ):
            for (member, dtype), value in zip(fact.outputs, result, strict=False):
                if dtype == "int" and opinfo.dtype_class(value.dtype) != "int":
                    found["members"][fact.name].append(f"{member} is {value.dtype}")
        if isinstance(result, torch.Tensor):
            rank = expected_rank(sample)
            if rank is not None and result.dim() != rank:
                found["rank"][fact.name].append(f"{result.dim()} instead of {rank} ({fact.output_rank})")
            if fact.output_rank == "some" and result.dim() == 0:
                found["rank"][fact.name].append("0-dim")
    found["seen"] = {name: [] for name in seen}  # type: ignore[assignment]
    return found


def test_many_functions_were_sampled(wrong: dict[str, dict[str, list[str]]]) -> None:
    assert len(wrong["seen"]) > 400


@pytest.mark.parametrize("aspect", ["returns", "dtype", "members", "rank", "random", "in_place", "view"])
def test_claims_hold_on_samples(wrong: dict[str, dict[str, list[str]]], aspect: str) -> None:
    assert {name: sorted(set(messages)) for name, messages in wrong[aspect].items()} == {}


def test_dtype_strictness_on_samples() -> None:
    """With one floating argument in double precision the strict ones fail and the others work."""
    failing: dict[str, bool] = {}
    for sample in opinfo.samples((torch.float32,), limit=5):
        places = [*enumerate(sample.args), *sample.kwargs.items()]
        floating = [place for place, value in places if _floating(value)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                sample.run()
            except (RuntimeError, ValueError, IndexError, TypeError):
                continue
            listed = [place for place in floating if not isinstance(dict(places)[place], torch.Tensor)]
            for place in floating[1:] or listed:
                args, kwargs = list(sample.args), dict(sample.kwargs)
                target: Any = args if isinstance(place, int) else kwargs
                target[place] = _with_double(target[place])
                try:
                    sample.operator(*args, **kwargs)
                    failed = False
                except RuntimeError:
                    failed = True
                failing[sample.fact.name] = failing.get(sample.fact.name, False) or failed
    assert len(failing) > 120
    claimed = {name: torch_api.function(name).dtype_strict for name in failing}  # type: ignore[union-attr]
    assert {name for name in failing if claimed[name] != failing[name]} == set()


def _floating(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) > 1 and all(
            isinstance(item, torch.Tensor) and item.is_floating_point() and item.dim() for item in value
        )
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() > 0


def _with_double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) else type(value)([*value[:-1], value[-1].double()])
