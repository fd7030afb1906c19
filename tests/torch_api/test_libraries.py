"""Other libraries, ownership, what stays on the CPU, accelerator calls; no torch needed."""

from __future__ import annotations

import pytest

from devicefix import torch_api
from devicefix.torch_api import host_only, libraries, library_functions, ownership

KINDS_TEXT = (
    "module framework_module metric self_placed wrapper in_place_container copying_container tokenizer loader moving_loader dataset "
    "sampler collator transform distribution scheduler scaler writer config framework host"
)
KINDS = set(KINDS_TEXT.split())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("transformers.BatchEncoding", "in_place_container"),
        ("transformers.tokenization_utils_base.BatchEncoding", "in_place_container"),
        ("transformers.AutoTokenizer.from_pretrained", "tokenizer"),
        ("transformers.BertTokenizerFast", "tokenizer"),
        ("transformers.CLIPProcessor", "tokenizer"),
        ("transformers.AutoModel.from_pretrained", "module"),
        ("transformers.AutoModelForCausalLM", "module"),
        ("transformers.models.bert.modeling_bert.BertModel", "module"),
        ("transformers.GPT2LMHeadModel", "module"),
        ("transformers.BertConfig", "config"),
        ("transformers.Trainer", "framework"),
        ("transformers.Seq2SeqTrainer", "framework"),
        ("transformers.pipeline", "self_placed"),
        ("torch_geometric.data.Data", "in_place_container"),
        ("torch_geometric.nn.GCNConv", "module"),
        ("torch_geometric.loader.DataLoader", "loader"),
        ("torch_geometric.datasets.Planetoid", "dataset"),
        ("dgl.DGLGraph", "copying_container"),
        ("dgl.graph", "copying_container"),
        ("torch.nn.utils.rnn.PackedSequence", "copying_container"),
        ("flair.data.Sentence", "in_place_container"),
        ("diffusers.StableDiffusionPipeline.from_pretrained", "in_place_container"),
        ("diffusers.UNet2DConditionModel", "module"),
        ("diffusers.DDPMScheduler", "scheduler"),
        ("peft.PeftModelForCausalLM", "module"),
        ("transformers.RoFormerModel", "module"),
        ("torchvision.models.ResNet18_Weights", "config"),
        ("torchmetrics.Accuracy", "metric"),
        ("torchmetrics.classification.BinaryF1Score", "metric"),
        ("torchvision.models.resnet50", "module"),
        ("torchvision.models.ResNet", "module"),
        ("torchvision.transforms.ToTensor", "transform"),
        ("torchvision.datasets.MNIST", "dataset"),
        ("timm.create_model", "module"),
        ("sentence_transformers.SentenceTransformer", "self_placed"),
        ("pytorch_lightning.LightningModule", "framework_module"),
        ("lightning.LightningModule", "framework_module"),
        ("torch.optim.lr_scheduler.StepLR", "scheduler"),
        ("torch.utils.data.DataLoader", "loader"),
        ("torch.utils.data.TensorDataset", "dataset"),
        ("torch.distributions.Normal", "distribution"),
        ("torch.nn.DataParallel", "wrapper"),
        ("torch.nn.parallel.DistributedDataParallel", "wrapper"),
        ("accelerate.Accelerator", "framework"),
        ("torchdrug.data.Graph", "copying_container"),
        ("kornia.geometry.boxes.Boxes", "in_place_container"),
        ("torchtext.legacy.data.BucketIterator", "moving_loader"),
    ],
)
def test_kinds(name: str, kind: str) -> None:
    found = torch_api.external_class(name)
    assert found is not None
    assert found.kind == kind
    assert found.evidence


@pytest.mark.parametrize(
    "name",
    [
        "", "torch.zeros", "torchmetrics.functional.accuracy", "torchvision.ops.nms", "torchvision.models.list_models",
        "torch_geometric.nn.global_mean_pool", "transformers.set_seed", "transformers.get_linear_schedule_with_warmup",
        "transformers.TFBertForSequenceClassification", "keras.Model", "mypackage.BatchEncoding", "BatchEncoding", "dgl.seed",
        "transformers.modeling_outputs.BaseModelOutputWithPast", "transformers.AnnotationFormat", "torchmetrics.utilities.TorchMetricsUserError",
        "transformers.models.bert.modeling_bert.BertSelfOutput", "sklearn.linear_model.LinearRegression", "transformers", "torchvision", "kornia.filters.gaussian_blur2d",
    ],
)  # fmt: skip
def test_what_nothing_is_known_about(name: str) -> None:
    assert torch_api.external_class(name) is None


def test_batches_of_graph_loaders_move_in_place() -> None:
    graphs = torch_api.external_class("torch_geometric.loader.NeighborLoader")
    assert graphs is not None
    assert graphs.yields == "in_place_container"
    plain = torch_api.external_class("torch.utils.data.DataLoader")
    assert plain is not None
    assert plain.yields == "batch"
    model = torch_api.external_class("timm.create_model")
    assert model is not None
    assert model.yields == ""


def test_tables_use_the_documented_kinds_and_canonical_names() -> None:
    for name, (kind, evidence) in libraries._CLASSES.items():
        assert kind in KINDS, name
        assert evidence, name
        assert torch_api.external_class(name) is not None, name
    for prefix, suffixes, kind, evidence in libraries._RULES:
        assert prefix.endswith("."), prefix
        assert suffixes, prefix
        assert kind in KINDS, prefix
        assert evidence, prefix
    for kind in KINDS:
        assert f"``{kind}``" in (libraries.__doc__ or ""), kind


@pytest.mark.parametrize("name", sorted(library_functions.FUNCTIONS))
def test_library_functions_read_back(name: str) -> None:
    fact = torch_api.function(name)
    assert fact is not None
    assert fact.name == name
    assert fact.tensor_args or fact.creates or fact.returns in ("none", "int")


def test_passing_through() -> None:
    fact = torch_api.function("einops.rearrange")
    assert fact is not None
    assert (fact.mixing, fact.output_dtype, fact.returns) == ("none", "input", "tensor")
    assert torch_api.function("torch_scatter.scatter_max") is not None
    assert torch_api.function("einops.nonsense") is None


@pytest.mark.parametrize(
    ("name", "kind", "device", "batches", "modules"),
    [
        ("pytorch_lightning.LightningModule", "class", "self.device", True, True),
        ("lightning.pytorch.Trainer", "object", "", True, True),
        ("accelerate.Accelerator", "object", "accelerator.device", True, True),
        ("transformers.Trainer", "object", "self.args.device", True, True),
        ("transformers.Seq2SeqTrainer", "object", "self.args.device", True, True),
        ("trl.SFTTrainer", "object", "self.args.device", True, True),
        ("torch.nn.DataParallel", "wrapper", "", True, False),
        ("deepspeed.initialize", "function", "model_engine.device", False, True),
    ],
)
def test_owners(name: str, kind: str, device: str, batches: bool, modules: bool) -> None:
    rule = torch_api.owner(name)
    assert rule is not None
    assert (rule.kind, rule.device, rule.moves_batches, rule.moves_modules) == (kind, device, batches, modules)


@pytest.mark.parametrize("name", ["torch.set_default_device", "torch.set_default_tensor_type", "torch.device"])
def test_settings_place_factories_only(name: str) -> None:
    rule = torch_api.owner(name)
    assert rule is not None
    assert rule.places_factories
    assert not rule.moves_batches
    assert not rule.moves_modules


@pytest.mark.parametrize(
    "name",
    [
        "",
        "torch.nn.Module",
        "transformers.AutoModel",
        "torch.utils.data.DataLoader",
        "mypackage.Trainer",
        "torch.optim.SGD",
    ],
)
def test_nobody_owns(name: str) -> None:
    assert torch_api.owner(name) is None


def test_ownership_tables_are_canonical() -> None:
    for name in ownership._RULES:
        assert torch_api.canonical(name) in ownership._RULES or torch_api.owner(name) is not None, name
    assert "device_map" in torch_api.OWNING_KEYWORDS


@pytest.mark.parametrize(
    ("name", "parameter", "stays"),
    [
        ("torch.nn.utils.rnn.pack_padded_sequence", "lengths", True),
        ("torch.nn.utils.rnn.pack_padded_sequence", "input", False),
        ("torch.utils.data.random_split", "generator", True),
        ("torch.utils.data.dataset.random_split", "generator", True),
        ("torch.utils.data.DataLoader", "generator", True),
        ("torch.randn", "generator", False),
        ("torch.nn.CTCLoss", "target_lengths", True),
        ("torch.nn.functional.ctc_loss", "log_probs", False),
        ("", "", False),
    ],
)
def test_stays_on_cpu(name: str, parameter: str, stays: bool) -> None:
    assert bool(torch_api.stays_on_cpu(name, parameter)) is stays


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("torch.utils.data.Dataset", True),
        ("torch.utils.data.dataset.Dataset", True),
        ("torch.nn.Module", False),
        ("torch_geometric.transforms.BaseTransform", True),
        ("pytorch_lightning.LightningDataModule", True),
    ],
)
def test_host_classes(name: str, host: bool) -> None:
    assert bool(torch_api.host_class(name)) is host


def test_the_two_tables_of_host_arguments_agree() -> None:
    for name, arguments in host_only.HOST_ARGUMENTS.items():
        fact = torch_api.function(name)
        for parameter in arguments:
            if fact is not None and parameter != "generator":
                assert parameter in fact.cpu_args, (name, parameter)


def test_host_callbacks() -> None:
    assert "collate_fn" in torch_api.host_callbacks("torch.utils.data.dataloader.DataLoader")
    assert "transform" in torch_api.host_callbacks("torchvision.datasets.MNIST")
    assert torch_api.host_callbacks("torch.nn.Linear") == ()


@pytest.mark.parametrize(
    ("name", "needs_card", "changes_device"),
    [
        ("torch.cuda.synchronize", True, False),
        ("torch.cuda.set_device", True, True),
        ("torch.cuda.is_available", False, False),
        ("torch.cuda.empty_cache", False, False),
        ("torch.cuda.manual_seed_all", False, False),
        ("torch.accelerator.empty_cache", True, False),
        ("torch.accelerator.current_accelerator", False, False),
        ("torch.xpu.synchronize", True, False),
        ("torch.mps.empty_cache", True, False),
    ],
)
def test_accelerator_calls(name: str, needs_card: bool, changes_device: bool) -> None:
    call = torch_api.accelerator_call(name)
    assert call is not None
    assert (call.needs_card, call.changes_device) == (needs_card, changes_device)


@pytest.mark.parametrize(
    "name",
    ["torch.cuda", "torch.cuda.nonsense", "torch.zeros", "mypackage.cuda.synchronize", "torch.cuda.FloatTensor", ""],
)
def test_no_accelerator_calls(name: str) -> None:
    assert torch_api.accelerator_call(name) is None
