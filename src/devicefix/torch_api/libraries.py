"""Classes and functions of other libraries, by what moving, calling and iterating them does.

Kinds:

- ``module``: an ``nn.Module``; ``.to`` moves it in place.
- ``framework_module``: a module that its framework places (see :mod:`devicefix.torch_api.ownership`).
- ``metric``: a module with state tensors that has to be where its inputs are.
- ``self_placed``: chooses its own device when it is built and moves its inputs itself.
- ``wrapper``: wraps a module and behaves like it.
- ``in_place_container``: ``.to`` moves its own tensors; the result may be dropped.
- ``copying_container``: ``.to`` returns a moved copy; dropping the result is a fault.
- ``tokenizer``: calling it with ``return_tensors="pt"`` gives an in-place container on the CPU.
- ``loader``: yields batches on the CPU; ``moving_loader``: yields them on its own device. ``yields`` says of which
  kind a batch is.
- ``dataset``, ``sampler``, ``transform``, ``collator``: run on the CPU.
- ``distribution``: holds tensors, draws on their device. ``scheduler``, ``scaler``, ``writer``, ``config``,
  ``framework``: no tensors to move.
- ``host``: holds tensors or arrays, always on the CPU.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from devicefix.torch_api.model import ExternalClass
from devicefix.torch_api.names import canonical


def _pairs(text: str, kind: str, evidence: str) -> dict[str, tuple[str, str]]:
    return dict.fromkeys(text.split(), (kind, evidence))


#: Names known one by one.
_CLASSES: Final[dict[str, tuple[str, str]]] = {
    # PyTorch itself
    **_pairs("torch.utils.data.DataLoader", "loader", "yields batches on the CPU"),
    **_pairs("torch.utils.data.Dataset torch.utils.data.IterableDataset torch.utils.data.TensorDataset "
             "torch.utils.data.Subset "
             "torch.utils.data.ConcatDataset torch.utils.data.ChainDataset torch.utils.data.StackDataset", "dataset",
             "read in loader workers"),
    **_pairs("torch.utils.data.Sampler torch.utils.data.RandomSampler torch.utils.data.SequentialSampler "
             "torch.utils.data.SubsetRandomSampler torch.utils.data.WeightedRandomSampler "
              "torch.utils.data.BatchSampler "
             "torch.utils.data.DistributedSampler", "sampler", "draws indices on the CPU"),
    **_pairs("torch.nn.utils.rnn.PackedSequence", "copying_container", "a named tuple; .to returns another one"),
    **_pairs("torch.nn.DataParallel torch.nn.parallel.DistributedDataParallel "
             "torch.distributed.fsdp.FullyShardedDataParallel", "wrapper", "an nn.Module around a module"),
    **_pairs("torch.jit.ScriptModule torch.jit.RecursiveScriptModule torch.fx.GraphModule "
             "torch.optim.swa_utils.AveragedModel "
             "torch.jit.script torch.jit.trace torch.jit.load", "module", "an nn.Module"),
    **_pairs("torch.amp.GradScaler torch.cuda.amp.GradScaler", "scaler", "keeps its own state where the losses are"),
    **_pairs("torch.utils.tensorboard.SummaryWriter tensorboardX.SummaryWriter", "writer",
    "copies what it is given to the CPU"),
    # Hugging Face
    **_pairs("transformers.BatchEncoding transformers.BatchFeature", "in_place_container",
    ".to moves its own data and returns itself"),
    **_pairs("transformers.DataCollatorWithPadding transformers.DataCollatorForLanguageModeling "
             "transformers.DataCollatorForSeq2Seq transformers.DataCollatorForTokenClassification "
             "transformers.DataCollatorForWholeWordMask transformers.DataCollatorForPermutationLanguageModeling "
             "transformers.DataCollatorForMultipleChoice transformers.DataCollatorWithFlattening "
             "transformers.DataCollatorForSOP transformers.default_data_collator", "collator",
             "a mapping of tensors on the CPU"),
    **_pairs("transformers.pipeline", "self_placed", "places its model (device=) and moves its inputs"),
    **_pairs("transformers.Trainer transformers.Seq2SeqTrainer accelerate.Accelerator", "framework",
    "moves modules and batches"),
    **_pairs("datasets.load_dataset datasets.load_from_disk datasets.Dataset datasets.DatasetDict", "dataset",
    "rows on the CPU"),
    **_pairs("peft.get_peft_model peft.PeftModel peft.PeftMixedModel", "module", "an nn.Module"),
    **_pairs("diffusers.DiffusionPipeline diffusers.ModularPipeline", "in_place_container",
             "a pipeline's .to moves its modules and returns itself"),
    **_pairs("diffusers.training_utils.EMAModel diffusers.EMAModel", "in_place_container",
    ".to moves its copies and returns nothing"),
    **_pairs("sentence_transformers.SentenceTransformer sentence_transformers.CrossEncoder "
             "sentence_transformers.SparseEncoder",
             "self_placed", "an nn.Module that goes to the card by itself"),
    # graphs
    **_pairs("torch_geometric.data.Data torch_geometric.data.HeteroData torch_geometric.data.Batch "
             "torch_geometric.data.TemporalData "
             "torch_geometric.data.HyperGraphData", "in_place_container",
             ".to applies to its own stores and returns itself"),
    **_pairs("dgl.DGLGraph dgl.DGLHeteroGraph dgl.graph dgl.heterograph dgl.batch dgl.from_networkx "
             "dgl.add_self_loop dgl.to_bidirected "
             "dgl.remove_self_loop dgl.rand_graph dgl.from_scipy dgl.knn_graph", "copying_container",
             "a graph's .to returns another one"),
    **_pairs("torch_sparse.SparseTensor", "copying_container", "SparseTensor.to returns another one"),
    **_pairs("torchdrug.data.Graph torchdrug.data.Molecule torchdrug.data.PackedGraph", "copying_container",
    ".to returns another one"),
    **_pairs("graph4nlp.pytorch.data.data.GraphData graph4nlp.pytorch.data.GraphData", "in_place_container",
    "GraphData.to returns itself"),
    # speech, vision, language
    **_pairs("flair.data.DataPoint flair.data.Sentence flair.data.Token flair.data.DataPair flair.data.DataTriple",
    "in_place_container",
             ".to moves the embeddings that it holds and returns nothing"),
    **_pairs("speechbrain.dataio.batch.PaddedBatch", "in_place_container",
    "PaddedBatch.to moves its own data and returns itself"),
    **_pairs("k2.Fsa", "copying_container", "Fsa.to returns another one"),
    **_pairs("speechbrain.integrations.k2_fsa.lexicon.Lexicon", "in_place_container",
    "Lexicon.to moves its own tensors"),
    **_pairs("kornia.geometry.boxes.Boxes kornia.geometry.boxes.Boxes3D kornia.geometry.Boxes "
             "kornia.contrib.FaceDetectorResult",
             "in_place_container", ".to moves its own tensors and returns itself"),
    **_pairs("torchvision.models.detection.image_list.ImageList detectron2.structures.ImageList "
             "detectron2.structures.Instances "
             "detectron2.structures.Boxes detectron2.structures.BitMasks", "copying_container",
             ".to returns another one"),
    **_pairs("ultralytics.engine.results.Results ultralytics.engine.results.BaseTensor", "copying_container",
    ".to returns another one"),
    **_pairs("ultralytics.YOLO ultralytics.RTDETR ultralytics.SAM", "self_placed",
    "places its model and moves its inputs"),
    **_pairs("open_clip.create_model timm.create_model timm.models.create_model efficientnet_pytorch.EfficientNet",
    "module",
             "an nn.Module"),
    **_pairs("timm.data.create_loader", "moving_loader", "its prefetcher yields batches on the card"),
    **_pairs("timm.utils.ModelEma timm.utils.ModelEmaV2 timm.utils.ModelEmaV3", "module", "a copy of a model"),
    **_pairs("torch_ema.ExponentialMovingAverage", "in_place_container", ".to moves its copies and returns nothing"),
    **_pairs("torchtext.data.Iterator torchtext.data.BucketIterator torchtext.data.BPTTIterator "
             "torchtext.legacy.data.Iterator "
             "torchtext.legacy.data.BucketIterator torchtext.legacy.data.BPTTIterator", "moving_loader",
             "moves batches to its device="),
    **_pairs("lpips.LPIPS pytorch_msssim.SSIM pytorch_msssim.MS_SSIM torchcrf.CRF TorchCRF.CRF", "module",
    "an nn.Module"),
    **_pairs("smplx.create smplx.SMPL smplx.SMPLX", "module", "an nn.Module"),
    # frameworks
    **_pairs("lightning.pytorch.LightningModule", "framework_module", "an nn.Module placed by its Trainer"),
    **_pairs("lightning.pytorch.LightningDataModule", "dataset", "prepares data on the CPU"),
    **_pairs("lightning.pytorch.Trainer lightning.fabric.Fabric ignite.engine.Engine fastai.learner.Learner "
             "catalyst.dl.SupervisedRunner catalyst.dl.Runner", "framework", "moves modules and batches"),
    **_pairs("skorch.NeuralNet skorch.NeuralNetClassifier skorch.NeuralNetRegressor", "self_placed",
    "moves to its device="),
    **_pairs("stable_baselines3.PPO stable_baselines3.A2C stable_baselines3.DQN stable_baselines3.SAC "
             "stable_baselines3.TD3 "
             "stable_baselines3.DDPG", "self_placed", "device='auto'"),
    **_pairs("stable_baselines3.common.torch_layers.BaseFeaturesExtractor pyro.nn.PyroModule gpytorch.models.ExactGP "
             "gpytorch.models.ApproximateGP gpytorch.Module botorch.models.SingleTaskGP", "module", "an nn.Module"),
    **_pairs("pandas.DataFrame pandas.Series pandas.read_csv PIL.Image.open ", "host",
    "no tensors"),
}  # fmt: skip

#: Rules for whole packages, first match wins: prefix, suffixes of the last component ("" is any), kind, evidence.
_RULES: Final[tuple[tuple[str, tuple[str, ...], str, str], ...]] = (
    ("torch.distributions.", ("",), "distribution", "draws where its parameters are"),
    ("torch.optim.lr_scheduler.", ("",), "scheduler", "holds numbers"),
    ("torch_geometric.nn.", ("LR",), "scheduler", "holds numbers"),
    ("torch_geometric.nn.", ("",), "module", "an nn.Module"),
    ("torch_geometric.loader.", ("",), "loader", "yields Data or HeteroData on the CPU"),
    ("torch_geometric.datasets.", ("",), "dataset", "graphs on the CPU"),
    ("torch_geometric.data.", ("Dataset",), "dataset", "graphs on the CPU"),
    ("torch_geometric.data.", ("DataLoader",), "loader", "yields Data or HeteroData on the CPU"),
    ("torch_geometric.transforms.", ("",), "transform", "runs on the graph's device, mostly in loader workers"),
    ("dgl.nn.", ("",), "module", "an nn.Module"),
    ("dgl.dataloading.", ("DataLoader",), "loader", "yields graphs on the CPU unless device= is given"),
    ("dgl.data.", ("Dataset",), "dataset", "graphs on the CPU"),
    ("dgllife.model.", ("",), "module", "an nn.Module"),
    ("torchmetrics.", ("",), "metric", "a Metric is an nn.Module with state tensors"),
    ("torchvision.models.", ("Weights", "Config"), "config", "holds no tensors"),
    ("torchvision.models.", ("",), "module", "an nn.Module"),
    ("torchvision.ops.", ("",), "module", "an nn.Module"),
    ("torchvision.datasets.", ("",), "dataset", "samples on the CPU"),
    ("torchvision.transforms.", ("",), "transform", "runs in loader workers"),
    ("torchaudio.models.", ("",), "module", "an nn.Module"),
    ("torchaudio.transforms.", ("",), "module", "an nn.Module with a buffer"),
    ("torchaudio.datasets.", ("",), "dataset", "samples on the CPU"),
    ("monai.networks.", ("",), "module", "an nn.Module"),
    ("monai.losses.", ("Loss",), "module", "an nn.Module"),
    ("monai.transforms.", ("",), "transform", "runs in loader workers"),
    ("monai.data.", ("DataLoader",), "loader", "yields batches on the CPU"),
    ("monai.data.", ("Dataset",), "dataset", "samples on the CPU"),
    ("kornia.augmentation.", ("",), "module", "an nn.Module"),
    ("kornia.losses.", ("Loss",), "module", "an nn.Module"),
    ("kornia.color.", ("",), "module", "an nn.Module"),
    ("kornia.enhance.", ("",), "module", "an nn.Module"),
    ("kornia.models.", ("",), "module", "an nn.Module"),
    ("kornia.filters.", ("",), "module", "an nn.Module"),
    ("timm.models.", ("",), "module", "an nn.Module"),
    ("timm.layers.", ("",), "module", "an nn.Module"),
    ("timm.loss.", ("",), "module", "an nn.Module"),
    ("segmentation_models_pytorch.", ("",), "module", "an nn.Module"),
    ("pretrainedmodels.", ("",), "module", "an nn.Module"),
    ("piq.", ("",), "module", "an nn.Module"),
    ("sentence_transformers.", ("SentenceTransformer", "Encoder"), "self_placed", "goes to the card by itself"),
    ("sentence_transformers.", ("Loss",), "module", "an nn.Module"),
    ("sentence_transformers.losses.", ("",), "module", "an nn.Module"),
    ("sentence_transformers.models.", ("",), "module", "an nn.Module"),
    ("flair.models.", ("",), "self_placed", "flair models go to flair.device by themselves"),
    ("flair.embeddings.", ("Embeddings",), "self_placed", "flair embeddings go to flair.device by themselves"),
    ("gpytorch.kernels.", ("Kernel",), "module", "an nn.Module"),
    ("gpytorch.likelihoods.", ("Likelihood",), "module", "an nn.Module"),
    ("gpytorch.mlls.", ("",), "module", "an nn.Module"),
    ("gpytorch.variational.", ("",), "module", "an nn.Module"),
    ("gpytorch.means.", ("Mean",), "module", "an nn.Module"),
    ("speechbrain.inference.", ("",), "self_placed", "run_opts says where"),
    ("speechbrain.lobes.", ("",), "module", "an nn.Module"),
    ("speechbrain.nnet.", ("",), "module", "an nn.Module"),
    ("trl.", ("Trainer",), "framework", "a transformers.Trainer"),
    ("transformers.", ("Trainer",), "framework", "moves modules and batches"),
    ("transformers.", ("TokenizerFast", "Tokenizer", "Processor", "FeatureExtractor", "ImageProcessor",
    "ImageProcessorFast"), "tokenizer",
     "calling it with return_tensors='pt' gives a BatchEncoding or BatchFeature"),
    ("transformers.", ("Config", "Arguments"), "config", "holds no tensors of its own"),
    ("transformers.", ("Collator",), "collator", "a mapping of tensors on the CPU"),
    ("transformers.", ("Dataset",), "dataset", "samples on the CPU"),
    ("transformers.", ("Model", "Layer", "Attention", "Embeddings", "Encoder", "Decoder", "Pooler", "MLP"), "module",
    "an nn.Module"),
    ("diffusers.", ("Pipeline",), "in_place_container", "a pipeline's .to moves its modules and returns itself"),
    ("diffusers.", ("Scheduler",), "scheduler", "set_timesteps(device=) decides where its tensors are"),
    ("diffusers.models.", ("",), "module", "an nn.Module"),
    ("diffusers.", ("Model", "AutoencoderKL", "Autoencoder"), "module", "an nn.Module"),
    ("peft.", ("Config",), "config", "holds no tensors"),
    ("allennlp.modules.", ("",), "module", "an nn.Module"),
    ("fairseq.models.", ("Model",), "module", "an nn.Module"),
    ("fairseq.modules.", ("",), "module", "an nn.Module"),
    ("catalyst.contrib.", ("Loss",), "module", "an nn.Module"),
    ("ignite.metrics.", ("",), "host", "keeps its sums on its device="),
)  # fmt: skip
#: ``torchvision.models.resnet18(…)``: lower-case names in these packages build modules as well.
_BUILDERS: Final = ("torchvision.models.", "timm.models.", "torchaudio.models.", "pretrainedmodels.")
#: Whatever the package, classes called like this are no modules.
_NEVER: Final = ("Error", "Warning", "Exception", "Enum", "Output", "Mixin")
_NO_BUILDERS: Final = frozenset(
    ["list_models", "get_model_weights", "get_weight", "register_model", "list_modules", "is_model", "load_checkpoint"]
)
#: Class methods that build an instance.
CONSTRUCTING_METHODS: Final = frozenset(["from_pretrained", "from_config", "from_name", "from_single_file",
"load_from_checkpoint", "load_from_hparams_file", "from_hparams", "from_data_list", "from_dict",
"from_tensor_slices"])  # fmt: skip
_BATCHES: Final = {"torch_geometric.": "in_place_container", "dgl.": "copying_container"}


@cache
def external_class(name: str) -> ExternalClass | None:
    """What is known of a class or constructor function of another library; ``None`` when nothing is.

    ``transformers.AutoModel.from_pretrained`` is looked up as ``transformers.AutoModel``.
    """
    name = canonical(name)
    head, _, last = name.rpartition(".")
    if last in CONSTRUCTING_METHODS:
        name, last = head, head.rpartition(".")[2]
    found = _CLASSES.get(name) or _by_rule(name, last)
    if found is None:
        return None
    kind, evidence = found
    yields = next((batch for package, batch in _BATCHES.items() if name.startswith(package)), "batch")
    return ExternalClass(name, kind, evidence, yields if kind in ("loader", "moving_loader") else "")


def _by_rule(name: str, last: str) -> tuple[str, str] | None:
    if not last[:1].isupper():
        if name.startswith(_BUILDERS) and last not in _NO_BUILDERS:
            return "module", "builds an nn.Module"
        return None
    if last.endswith(_NEVER) or (name.startswith("transformers.") and "Output" in last):
        return None
    for prefix, suffixes, kind, evidence in _RULES:
        if name.startswith(prefix) and last.endswith(suffixes):
            return kind, evidence
    if name.startswith(("transformers.", "peft.")) and _for_a_task(last) and not last.startswith(("TF", "Flax")):
        return "module", "a PreTrainedModel"
    return None


def _for_a_task(name: str) -> bool:
    """``BertForMaskedLM``, ``PeftModelForCausalLM``, ``GPT2DoubleHeads``; not ``AnnotationFormat``."""
    model, found, task = name.partition("For")
    return bool(model and found and task[:1].isupper() and not task.startswith("Chat")) or name.endswith("Heads")
