"""Frameworks and settings that place tensors and modules, so that the user's code must not."""

from __future__ import annotations

from functools import cache
from typing import Final

from devicefix.torch_api.model import OwnershipRule
from devicefix.torch_api.names import canonical

#: name -> (kind, device expression inside, what it moves, evidence); see
#: :class:`~devicefix.torch_api.model.OwnershipRule`.
_RULES: Final[dict[str, tuple[str, str, str, str]]] = {
    "lightning.pytorch.LightningModule": (
        "class",
        "self.device",
        "batches modules",
        "the Trainer moves batches and the module",
    ),
    "lightning.pytorch.LightningDataModule": ("class", "", "batches", "the Trainer moves batches"),
    "lightning.pytorch.Callback": (
        "class",
        "pl_module.device",
        "batches modules",
        "the Trainer moves batches and the module",
    ),
    "lightning.pytorch.Trainer": ("object", "", "batches modules", "the Trainer moves batches and the module"),
    "lightning.fabric.Fabric": (
        "object",
        "fabric.device",
        "batches modules",
        "Fabric.setup and setup_dataloaders move",
    ),
    "accelerate.Accelerator": ("object", "accelerator.device", "batches modules", "Accelerator.prepare moves"),
    "accelerate.dispatch_model": ("function", "", "modules batches", "hooks move the inputs of each layer"),
    "accelerate.load_checkpoint_and_dispatch": (
        "function",
        "",
        "modules batches",
        "hooks move the inputs of each layer",
    ),
    "accelerate.cpu_offload": ("function", "", "modules batches", "hooks move the inputs of each layer"),
    "transformers.Trainer": (
        "object",
        "self.args.device",
        "batches modules",
        "the Trainer moves batches and the model",
    ),
    "sentence_transformers.SentenceTransformerTrainer": (
        "object",
        "self.args.device",
        "batches modules",
        "a transformers.Trainer",
    ),
    "torch.nn.DataParallel": (
        "wrapper",
        "",
        "batches",
        "scatters its inputs over the cards; the module must be on the first one",
    ),
    "torch.nn.parallel.DistributedDataParallel": (
        "wrapper",
        "",
        "batches",
        "moves its inputs to device_ids[0] when that is given",
    ),
    "torch.distributed.fsdp.FullyShardedDataParallel": ("wrapper", "", "modules", "places shards with device_id="),
    "deepspeed.initialize": (
        "function",
        "model_engine.device",
        "modules",
        "the engine moves the model, not the batches",
    ),
    "deepspeed.init_inference": (
        "function",
        "model.module.device",
        "modules",
        "the engine moves the model, not the batches",
    ),
    "ray.train.torch.prepare_model": ("function", "", "modules", "Ray Train moves the model"),
    "ray.train.torch.prepare_data_loader": ("function", "", "batches", "Ray Train moves the batches"),
    "fastai.learner.Learner": ("object", "", "batches modules", "moves through its DataLoaders"),
    "fastai.vision.learner.vision_learner": ("function", "", "batches modules", "moves through its DataLoaders"),
    "ignite.engine.create_supervised_trainer": (
        "function",
        "",
        "batches",
        "prepare_batch moves to device= when that is given",
    ),
    "ignite.engine.create_supervised_evaluator": (
        "function",
        "",
        "batches",
        "prepare_batch moves to device= when that is given",
    ),
    "catalyst.dl.Runner": ("class", "self.device", "batches modules", "the Runner's engine moves"),
    "catalyst.dl.SupervisedRunner": ("object", "", "batches modules", "the Runner's engine moves"),
    "composer.Trainer": ("object", "", "batches modules", "the Trainer moves batches and the model"),
    "composer.ComposerModel": ("class", "", "batches modules", "the Trainer moves batches and the model"),
    "skorch.NeuralNet": ("class", "self.device", "batches modules", "moves to its device="),
    "skorch.NeuralNetClassifier": ("object", "", "batches modules", "moves to its device="),
    "skorch.NeuralNetRegressor": ("object", "", "batches modules", "moves to its device="),
    "speechbrain.Brain": ("class", "self.device", "modules", "run_opts places the modules; batches are moved by hand"),
    "speechbrain.core.Brain": (
        "class",
        "self.device",
        "modules",
        "run_opts places the modules; batches are moved by hand",
    ),
    "flair.nn.Model": ("class", "flair.device", "modules", "flair places its models"),
    "stable_baselines3.common.torch_layers.BaseFeaturesExtractor": (
        "class",
        "",
        "batches modules",
        "the policy moves observations",
    ),
    "ultralytics.YOLO": ("object", "", "batches modules", "the predictor and the trainer move"),
    "torch.device": ("setting", "", "factories", "inside `with torch.device(…)` factories follow it"),
    "torch.set_default_device": ("setting", "", "factories", "factories follow the default device"),
    "torch.set_default_tensor_type": ("setting", "", "factories", "factories follow the default tensor type"),
}
#: Keyword arguments that hand placement over, on any ``from_pretrained`` and the like.
OWNING_KEYWORDS: Final[dict[str, str]] = {
    "device_map": "hooks of accelerate move the inputs of each layer",
    "load_in_8bit": "quantised models are placed when they are loaded",
    "load_in_4bit": "quantised models are placed when they are loaded",
    "quantization_config": "quantised models are placed when they are loaded",
}
#: Methods that hand placement of their object over.
OWNING_METHODS: Final[dict[str, str]] = {
    "enable_model_cpu_offload": "the pipeline moves its modules by itself",
    "enable_sequential_cpu_offload": "the pipeline moves its modules by itself",
    "prepare": "accelerate's Accelerator.prepare moves what it is given",
    "setup_dataloaders": "Fabric's loaders move their batches",
}


@cache
def owner(name: str) -> OwnershipRule | None:
    """Who places tensors where ``name`` is the base class, the object, the wrapper or the setting in question."""
    name = canonical(name)
    found = _RULES.get(name)
    if found is None and name.startswith(("transformers.", "trl.")) and name.endswith("Trainer"):
        found = _RULES["transformers.Trainer"]
    if found is None:
        return None
    kind, device, moves, evidence = found
    return OwnershipRule(name, kind, device, "batches" in moves, "modules" in moves, "factories" in moves, evidence)
