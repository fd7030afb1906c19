"""The readers of the tables; no torch needed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devicefix import torch_api
from devicefix.torch_api._generated import ATTRIBUTES, FUNCTIONS, METHODS, MODULES, OPTIMIZERS


def words(text: str) -> set[str]:
    return set(text.split())


WORDS = {
    "returns": words(
        "tensor tensors self packed number int bool size str none device dtype ndarray list generator module argument unknown"
    ),
    "mixing": words("none same strict index copy"),
    "output_dtype": words("float int bool complex input promote sum unknown"),
    "output_rank": words("0 same broadcast some size data reduce:dim reduce:reduction unknown"),
    "default_dtype": {"", "float", "int", "argument", "complex"},
}
EVERYTHING = [*(torch_api.function(name) for name in FUNCTIONS), *(torch_api.method(name) for name in METHODS)]


def test_every_row_reads_back_in_the_documented_vocabulary() -> None:
    for fact in EVERYTHING:
        assert fact is not None
        for field, words in WORDS.items():
            assert getattr(fact, field) in words, (fact.name, field, getattr(fact, field))
        names = (*fact.parameters, *fact.keywords)
        assert len(set(names)) == len(names), fact.name
        assert all(name.isidentifier() for name in names), fact.name
        assert {name.rstrip("*") for name in fact.tensor_args} <= {*names, "self"}, fact.name
        assert set(fact.cpu_args) <= set(names), fact.name
        assert {parameter for parameter, _ in fact.alternatives} <= set(names), fact.name
        if fact.output_rank.startswith("reduce:"):
            assert fact.output_rank[7:] in names, fact.name
        if fact.mixing != "none":
            assert fact.tensor_args, fact.name
        assert not fact.in_place or fact.name.endswith("_"), fact.name


def test_a_factory() -> None:
    zeros = torch_api.function("torch.zeros")
    assert zeros is not None
    assert (zeros.creates, zeros.device, zeros.dtype, zeros.default_dtype, zeros.variadic) == (
        True,
        True,
        True,
        "float",
        "size",
    )
    assert [zeros.parameter_at(i) for i in range(3)] == ["size", "size", "size"]


def test_an_operator_and_its_method() -> None:
    add, method = torch_api.function("torch.add"), torch_api.method("add")
    assert add is not None
    assert method is not None
    assert add.tensor_args == ("input", "other")
    assert method.tensor_args == ("self", "other")
    assert method.parameters == ("other", "alpha")
    assert (add.mixing, add.output_rank, add.output_dtype) == ("same", "broadcast", "promote")
    assert add.parameter_at(1) == "other"
    assert add.parameter_at(9) == ""


def test_the_method_as_a_function_has_its_receiver() -> None:
    fact = torch_api.function("torch.Tensor.masked_fill_")
    assert fact is not None
    assert fact.parameters == ("self", "mask", "value")
    assert fact.in_place
    assert fact.tensor_args == ("self", "mask", "value")


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("torch.cat", "mixing", "strict"),
        ("torch.where", "mixing", "same"),
        ("torch.nn.functional.cross_entropy", "mixing", "strict"),
        ("torch.nn.functional.mse_loss", "mixing", "same"),
        ("torch.nn.functional.binary_cross_entropy", "mixing", "strict"),
        ("torch.nn.functional.ctc_loss", "mixing", "none"),
        ("torch.clamp", "mixing", "strict"),
        ("torch.zeros_like", "creates", False),
        ("torch.ones_like", "mixing", "none"),
        ("torch.from_numpy", "always_cpu", True),
        ("torch.from_numpy", "device", False),
        ("torch.as_tensor", "follows_argument", True),
        ("torch.arange", "default_dtype", "argument"),
        ("torch.randint", "default_dtype", "int"),
        ("torch.rand", "random", True),
        ("torch.zeros", "random", False),
        ("torch.linspace", "mixing", "none"),
        ("torch.argmax", "output_dtype", "int"),
        ("torch.isnan", "output_dtype", "bool"),
        ("torch.stack", "output_rank", "some"),
        ("torch.sum", "output_rank", "reduce:dim"),
        ("torch.nn.functional.l1_loss", "output_rank", "reduce:reduction"),
        ("torch.max", "alternatives", (("dim", "tensors"),)),
        ("torch.topk", "outputs", (("values", "input"), ("indices", "int"))),
        ("torch.nn.utils.rnn.pack_padded_sequence", "cpu_args", ("lengths",)),
        ("torch.nn.utils.rnn.pack_padded_sequence", "returns", "packed"),
        ("torch.matmul", "dtype_strict", True),
        ("torch.add", "dtype_strict", False),
        ("torch.cuda.is_available", "returns", None),
    ],
)
def test_facts_that_rules_rely_on(name: str, field: str, value: object) -> None:
    fact = torch_api.function(name)
    if value is None:
        assert fact is None
    else:
        assert getattr(fact, field) == value


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("size", "returns", "size"),
        ("size", "alternatives", (("dim", "int"),)),
        ("item", "returns", "number"),
        ("numpy", "returns", "ndarray"),
        ("tolist", "returns", "list"),
        ("copy_", "mixing", "copy"),
        ("index_put_", "mixing", "index"),
        ("index_put_", "cpu_args", ("indices",)),
        ("__getitem__", "mixing", "index"),
        ("new_zeros", "creates", False),
        ("type_as", "mixing", "none"),
        ("expand_as", "mixing", "none"),
        ("fill_", "mixing", "none"),
        ("masked_fill", "cpu_args", ("value",)),
        ("view", "view", True),
        ("clone", "view", False),
        ("add_", "returns", "self"),
        ("normal_", "random", True),
        ("backward", "returns", "none"),
    ],
)
def test_facts_about_methods(name: str, field: str, value: object) -> None:
    assert getattr(torch_api.method(name), field) == value


def test_modules() -> None:
    linear = torch_api.module_class("torch.nn.Linear")
    assert linear is not None
    assert (linear.stateful, linear.weight, linear.float_input, linear.dtype_strict) == (True, "weight", True, True)
    assert (linear.mixing, linear.device, linear.dtype) == ("strict", True, True)
    loss = torch_api.module_class("torch.nn.BCEWithLogitsLoss")
    assert loss is not None
    assert (loss.loss, loss.stateful, loss.state_arguments) == (True, False, ("weight", "pos_weight"))
    norm = torch_api.module_class("torch.nn.LayerNorm")
    assert norm is not None
    assert norm.weight_needs == ("elementwise_affine",)
    embedding = torch_api.module_class("torch.nn.Embedding")
    assert embedding is not None
    assert (embedding.float_input, embedding.output_dtype) == (False, "float")
    lstm = torch_api.module_class("torch.nn.LSTM")
    assert lstm is not None
    assert (lstm.output, lstm.weight, lstm.parameters[:3]) == (
        "rnn",
        "weight_ih_l0",
        ("input_size", "hidden_size", "num_layers"),
    )
    relu = torch_api.module_class("torch.nn.ReLU")
    assert relu is not None
    assert (relu.stateful, relu.mixing) == (False, "none")
    containers = {
        name: torch_api.module_class(f"torch.nn.{name}") for name in ("Sequential", "ModuleList", "ParameterDict")
    }
    assert [fact.container for fact in containers.values() if fact] == ["sequential", "list", "parameter_dict"]


def test_optimizers() -> None:
    assert torch_api.optimizer_class("torch.optim.Adagrad") == torch_api.OptimizerClass(
        "torch.optim.Adagrad",
        torch_api.optimizer_class("torch.optim.Adagrad").parameters,
        eager_state=True,  # type: ignore[union-attr]
    )
    adam = torch_api.optimizer_class("torch.optim.adam.Adam")
    assert adam is not None
    assert adam.name == "torch.optim.Adam"
    assert not adam.eager_state
    assert torch_api.optimizer_class("torch.optim.lr_scheduler.StepLR") is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [("shape", "size"), ("device", "device"), ("T", "tensor"), ("is_cuda", "bool"), ("grad", "tensor")],
)
def test_attributes(name: str, kind: str) -> None:
    assert torch_api.attribute(name) == kind


@pytest.mark.parametrize(
    "name",
    ["", "torch", "torch.", "torch.nonsense", "numpy.zeros", "torch.nn.Linear", "zeros", "torch.zeros.x", "Tensor.add"],
)
def test_what_is_no_function_is_unknown(name: str) -> None:
    assert torch_api.function(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "torch.zeros",
        "torch.nn.functional.linear",
        "keras.layers.Dense",
        "torch.nn.linear",
        "Linear",
        "torch.nn.Tensor",
    ],
)
def test_what_is_no_module_is_unknown(name: str) -> None:
    assert torch_api.module_class(name) is None


@pytest.mark.parametrize("name", ["add", "shape_", "", "unknown", "view"])
def test_methods_are_no_attributes(name: str) -> None:
    assert torch_api.attribute(name) is None


def test_attributes_are_no_methods() -> None:
    assert not set(ATTRIBUTES) & set(METHODS)
    assert torch_api.method("shape") is None


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.container.Sequential", "torch.nn.Sequential"),
        ("torch.functional.meshgrid", "torch.meshgrid"),
        ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
        ("torch.autograd.variable.Variable", "torch.autograd.Variable"),
        ("torch.optim.sgd.SGD", "torch.optim.SGD"),
        ("torch.optim.lr_scheduler.StepLR", "torch.optim.lr_scheduler.StepLR"),
        ("torch.optim.swa_utils.AveragedModel", "torch.optim.swa_utils.AveragedModel"),
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.utils.data.dataset.random_split", "torch.utils.data.random_split"),
        ("torch.nn.utils.clip_grad.clip_grad_norm_", "torch.nn.utils.clip_grad_norm_"),
        ("torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.pad_sequence"),
        ("torch.nn.parallel.DataParallel", "torch.nn.DataParallel"),
        ("torch.random.manual_seed", "torch.manual_seed"),
        ("torch.random.fork_rng", "torch.random.fork_rng"),
        ("torch.concat", "torch.cat"),
        ("pytorch_lightning.LightningModule", "lightning.pytorch.LightningModule"),
        ("pytorch_lightning.core.lightning.LightningModule", "lightning.pytorch.LightningModule"),
        ("lightning.LightningModule", "lightning.pytorch.LightningModule"),
        ("lightning.Fabric", "lightning.fabric.Fabric"),
        ("lightning_fabric.Fabric", "lightning.fabric.Fabric"),
        ("transformers.trainer.Trainer", "transformers.Trainer"),
        ("accelerate.accelerator.Accelerator", "accelerate.Accelerator"),
        ("numpy.zeros", "numpy.zeros"),
        ("mypackage.torch.nn.modules.linear.Linear", "mypackage.torch.nn.modules.linear.Linear"),
        ("torchvision.models.resnet18", "torchvision.models.resnet18"),
        ("", ""),
    ],
)
def test_canonical_names(alias: str, name: str) -> None:
    assert torch_api.canonical(alias) == name
    assert torch_api.canonical(name) == name


SEGMENTS = [
    "torch", "nn", "modules", "functional", "linear", "Linear", "optim", "sgd", "utils", "data", "Tensor", "_tensor", "random", "parameter",
    "pytorch_lightning", "lightning", "lightning_fabric", "core", "fabric", "Trainer", "trainer", "transformers", "catalyst", "runner", "", "x",
]  # fmt: skip


@given(st.lists(st.sampled_from(SEGMENTS), max_size=6).map(".".join))
def test_canonical_names_are_canonical(name: str) -> None:
    once = torch_api.canonical(name)
    assert torch_api.canonical(once) == once
    for look_up in (
        torch_api.function,
        torch_api.module_class,
        torch_api.external_class,
        torch_api.owner,
        torch_api.optimizer_class,
    ):
        assert look_up(name) == look_up(once)  # type: ignore[operator]
    for look_up in (
        torch_api.function,
        torch_api.method,
        torch_api.module_class,
        torch_api.attribute,
        torch_api.accelerator_call,
    ):
        look_up(name)  # type: ignore[operator]


def test_names_in_the_tables_are_canonical_or_plain_aliases() -> None:
    for name in [*MODULES, *OPTIMIZERS]:
        assert torch_api.canonical(name) in {**MODULES, **OPTIMIZERS}, name
    for name in FUNCTIONS:
        assert torch_api.canonical(name) in FUNCTIONS, name


def test_records_are_frozen_and_cached() -> None:
    fact = torch_api.function("torch.zeros")
    assert fact is torch_api.function("torch.zeros")
    assert fact is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        fact.name = "other"  # type: ignore[misc]


def test_torch_is_not_imported() -> None:
    code = "import sys, devicefix.torch_api as a; a.function('torch.add'); sys.exit('torch' in sys.modules or 'libcst' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
