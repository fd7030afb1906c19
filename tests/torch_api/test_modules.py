"""What is said about module classes and optimizers, by building and calling them."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from devicefix import torch_api
from devicefix.torch_api._generated import MODULES, OPTIMIZERS

torch = pytest.importorskip("torch")
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore")

#: How to build what cannot be built without arguments.
BUILD: dict[str, tuple[Any, ...]] = {
    "Linear": (4, 3), "Bilinear": (4, 4, 3), "LazyLinear": (3,), "Embedding": (8, 4), "EmbeddingBag": (8, 4), "LSTM": (4, 3), "GRU": (4, 3),
    "RNN": (4, 3), "LSTMCell": (4, 3), "GRUCell": (4, 3), "RNNCell": (4, 3), "LayerNorm": (4,), "RMSNorm": (4,), "GroupNorm": (2, 4),
    "MultiheadAttention": (4, 2), "TransformerEncoderLayer": (4, 2), "TransformerDecoderLayer": (4, 2), "Transformer": (4, 2),
    "AdaptiveLogSoftmaxWithLoss": (4, 10, [2, 5]), "PReLU": (), "SyncBatchNorm": (4,),
    **{f"Conv{n}d": (4, 3, 1) for n in (1, 2, 3)}, **{f"ConvTranspose{n}d": (4, 3, 1) for n in (1, 2, 3)},
    **{f"BatchNorm{n}d": (4,) for n in (1, 2, 3)}, **{f"InstanceNorm{n}d": (4,) for n in (1, 2, 3)},
    "ReLU": (), "Dropout": (), "Identity": (), "Flatten": (), "Softmax": (1,), "Sigmoid": (), "GELU": (), "Tanh": (), "MSELoss": (),
    "CrossEntropyLoss": (), "BCELoss": (), "BCEWithLogitsLoss": (), "NLLLoss": (), "L1Loss": (), "SmoothL1Loss": (), "HuberLoss": (),
    "KLDivLoss": (), "CTCLoss": (), "TripletMarginLoss": (), "MultiMarginLoss": (), "MultiLabelSoftMarginLoss": (), "CosineSimilarity": (),
    "MaxPool2d": (2,), "AvgPool2d": (2,), "AdaptiveAvgPool2d": (1,), "Upsample": (2,), "ZeroPad2d": (1,), "Unfold": (2,), "PixelShuffle": (2,),
}  # fmt: skip


def build(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(nn, name)(*(args or BUILD[name]), **kwargs)


def path(module: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("name", sorted(BUILD))
def test_state_and_weight(name: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{name}")
    assert fact is not None
    module = build(name)
    assert bool(module.state_dict()) is fact.stateful
    if fact.weight:
        weight = path(module, fact.weight)
        assert isinstance(weight, nn.Parameter)
        assert any(weight is parameter for parameter in module.parameters())
    for option in fact.weight_needs:
        assert path(build(name, **{option: False}), fact.weight) is None
    if fact.stateful and not fact.weight and name not in ("AdaptiveLogSoftmaxWithLoss", "Transformer"):
        assert name.startswith("Transformer")


@pytest.mark.parametrize("name", sorted(BUILD))
def test_state_arguments(name: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{name}")
    assert fact is not None
    for argument in fact.state_arguments:
        if fact.stateful:
            assert not build(name, **{argument: False}).state_dict()
        elif argument in ("weight", "pos_weight"):
            assert build(name, **{argument: torch.ones(3)}).state_dict()
        else:
            assert build(name, **{argument: True}).state_dict()
    given = {"weight", "pos_weight"} & set(inspect.signature(getattr(nn, name)).parameters)
    if fact.loss and not fact.stateful:
        assert given == set(fact.state_arguments)


@pytest.mark.parametrize("name", sorted(BUILD))
def test_constructor_arguments(name: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{name}")
    assert fact is not None
    if fact.device:
        module = build(name, device="meta")
        assert {p.device.type for p in module.parameters()} <= {"meta"}
    elif name != "Identity":  # takes anything
        with pytest.raises(TypeError):
            build(name, device="meta")
    if fact.dtype:
        assert {p.dtype for p in build(name, dtype=torch.float64).parameters() if p.dtype.is_floating_point} <= {
            torch.float64
        }
    if BUILD[name] and "args" not in fact.parameters:
        by_name = dict(zip(fact.parameters, BUILD[name], strict=False))
        assert type(getattr(nn, name)(**by_name)) is getattr(nn, name)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_forward_parameters(name: str) -> None:
    fact = torch_api.module_class(name)
    assert fact is not None
    cls = getattr(nn, name.rpartition(".")[2])
    assert (
        tuple(p for p in inspect.signature(cls.forward).parameters if p not in ("self", "kwargs"))
        == fact.forward_parameters
    )
    assert fact.loss == name.endswith(("Loss", "Loss2d", "WithLoss"))


INPUTS = {
    "Linear": (2, 4), "LSTM": (2, 5, 4), "GRU": (2, 5, 4), "LayerNorm": (2, 4), "RMSNorm": (2, 4), "GroupNorm": (2, 4), "Conv1d": (2, 4, 5),
    "Conv2d": (2, 4, 5, 5), "Conv3d": (2, 4, 5, 5, 5), "BatchNorm1d": (2, 4), "BatchNorm2d": (2, 4, 5, 5), "TransformerEncoderLayer": (2, 5, 4),
    "PReLU": (2, 4), "RNNCell": (2, 4), "GRUCell": (2, 4), "LSTMCell": (2, 4), "ConvTranspose2d": (2, 4, 5, 5), "RNN": (2, 5, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_floating_inputs_of_one_dtype(name: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{name}")
    assert fact is not None
    module, shape = build(name), INPUTS[name]
    result = module(torch.ones(shape))
    first = result if isinstance(result, torch.Tensor) else result[0]
    assert first.dtype is torch.float32
    assert fact.output_dtype == "float"
    kinds = {"tensor": torch.Tensor, "tensors": tuple, "rnn": tuple}
    assert isinstance(result, kinds[fact.output])
    assert fact.float_input
    if name == "RMSNorm":  # computes with whatever it gets
        assert not fact.dtype_strict
        return
    with pytest.raises((RuntimeError, ValueError)):
        module(torch.ones(shape, dtype=torch.int64))
    assert fact.dtype_strict
    with pytest.raises((RuntimeError, ValueError)):
        module(torch.ones(shape, dtype=torch.float64))


@pytest.mark.parametrize("name", ["Embedding", "Identity", "Flatten", "ReLU"])
def test_integers_are_welcome(name: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{name}")
    assert fact is not None
    assert not fact.float_input
    result = build(name)(torch.ones(2, 3, dtype=torch.int64))
    assert result.dtype.is_floating_point == (fact.output_dtype == "float")


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "LayerNorm", "BatchNorm2d", "LSTM", "PReLU", "GroupNorm"])
def test_stateful_modules_demand_their_device(name: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{name}")
    assert fact is not None
    assert fact.mixing == "strict"
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake_tensor.FakeTensorMode():
        module = build(name)
        module(torch.ones(INPUTS[name]))
        if name in ("Conv2d", "BatchNorm2d"):
            return  # fake tensors do not look
        with pytest.raises(Exception, match=r"devices?"):
            module(torch.ones(INPUTS[name], device="cuda"))


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_optimizers(name: str) -> None:
    fact = torch_api.optimizer_class(name)
    assert fact is not None
    cls = getattr(importlib.import_module("torch.optim"), name.rpartition(".")[2])
    assert tuple(inspect.signature(cls).parameters) == fact.parameters
    optimizer = cls([nn.Parameter(torch.ones(2, 2))])
    made = any(isinstance(v, torch.Tensor) for state in optimizer.state.values() for v in state.values())
    assert made is fact.eager_state


FUNCTIONS_OF = {
    "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss", "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits", "CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss", "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss", "PoissonNLLLoss": "poisson_nll_loss", "GaussianNLLLoss": "gaussian_nll_loss", "SoftMarginLoss": "soft_margin_loss",
    "MarginRankingLoss": "margin_ranking_loss", "HingeEmbeddingLoss": "hinge_embedding_loss", "MultiMarginLoss": "multi_margin_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss", "TripletMarginLoss": "triplet_margin_loss", "MultiLabelMarginLoss": "multilabel_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss", "TripletMarginWithDistanceLoss": "triplet_margin_with_distance_loss",
    "CosineSimilarity": "cosine_similarity", "PairwiseDistance": "pairwise_distance", "Linear": "linear", "Conv2d": "conv2d",
    "Embedding": "embedding", "LayerNorm": "layer_norm", "BatchNorm2d": "batch_norm", "GroupNorm": "group_norm", "PReLU": "prelu",
    "Bilinear": "bilinear", "MaxUnpool2d": "max_unpool2d", "ReLU": "relu", "Softmax": "softmax", "Dropout": "dropout",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FUNCTIONS_OF))
def test_modules_agree_with_their_functions(name: str) -> None:
    module = torch_api.module_class(f"torch.nn.{name}")
    function = torch_api.function(f"torch.nn.functional.{FUNCTIONS_OF[name]}")
    assert module is not None
    assert function is not None
    assert module.mixing == function.mixing
    if not module.loss:
        assert module.dtype_strict == function.dtype_strict
    assert (module.output_dtype == "float") == (function.output_dtype == "float" or module.stateful or module.loss)


@pytest.mark.parametrize("loss", ["MSELoss", "L1Loss", "SmoothL1Loss", "BCEWithLogitsLoss", "KLDivLoss"])
def test_pointwise_losses_let_numbers_join(loss: str) -> None:
    fact = torch_api.module_class(f"torch.nn.{loss}")
    assert fact is not None
    assert fact.mixing == "same"
