"""One name for each thing that PyTorch offers under several."""

from __future__ import annotations

from functools import cache

#: Packages whose submodules are an implementation detail: ``torch.nn.modules.linear.Linear`` is ``torch.nn.Linear``.
_FLATTENED = (
    "torch.nn.modules.",
    "torch.nn.utils.",
    "torch.optim.",
    "torch.utils.data.",
)
_KEPT = (
    "torch.nn.utils.rnn.", "torch.nn.utils.parametrizations.", "torch.nn.utils.parametrize.", "torch.nn.utils.prune.",
    "torch.nn.utils.stateless.", "torch.nn.utils.fusion.", "torch.optim.lr_scheduler.", "torch.optim.swa_utils.",
)  # fmt: skip
_RENAMED = {
    "torch.functional.": "torch.",
    "torch.nn.parameter.": "torch.nn.",
    "torch.nn.parallel.data_parallel.": "torch.nn.parallel.",
    "torch.nn.parallel.distributed.": "torch.nn.parallel.",
    "torch.autograd.variable.": "torch.autograd.",
    "torch.autograd.grad_mode.": "torch.autograd.",
    "torch._tensor.": "torch.",
    "torch.serialization.": "torch.",
    "torch.cuda.random.": "torch.cuda.",
    "torch.cuda.memory.": "torch.cuda.",
    "torch.cuda.amp.autocast_mode.": "torch.cuda.amp.",
    "torch.cuda.amp.grad_scaler.": "torch.cuda.amp.",
    "torch.amp.autocast_mode.": "torch.amp.",
    "torch.amp.grad_scaler.": "torch.amp.",
    "torch.utils.tensorboard.writer.": "torch.utils.tensorboard.",
    "torch.distributed.fsdp.fully_sharded_data_parallel.": "torch.distributed.fsdp.",
    "torch.signal.windows.windows.": "torch.signal.windows.",
    "functorch.": "torch.func.",
    "pytorch_lightning.": "lightning.pytorch.",
    "lightning_fabric.": "lightning.fabric.",
    "lightning.pytorch.core.module.": "lightning.pytorch.",
    "lightning.pytorch.core.lightning.": "lightning.pytorch.",
    "lightning.pytorch.core.datamodule.": "lightning.pytorch.",
    "lightning.pytorch.core.": "lightning.pytorch.",
    "lightning.pytorch.trainer.trainer.": "lightning.pytorch.",
    "lightning.pytorch.trainer.": "lightning.pytorch.",
    "lightning.pytorch.callbacks.callback.": "lightning.pytorch.",
    "lightning.fabric.fabric.": "lightning.fabric.",
    "accelerate.accelerator.": "accelerate.",
    "accelerate.big_modeling.": "accelerate.",
    "transformers.trainer.": "transformers.",
    "transformers.trainer_seq2seq.": "transformers.",
    "transformers.tokenization_utils_base.": "transformers.",
    "transformers.feature_extraction_utils.": "transformers.",
    "torch_geometric.data.data.": "torch_geometric.data.",
    "torch_geometric.data.batch.": "torch_geometric.data.",
    "torch_geometric.data.hetero_data.": "torch_geometric.data.",
    "dgl.heterograph.": "dgl.",
    "fastai.vision.all.Learner": "fastai.learner.Learner",
    "fastai.basics.Learner": "fastai.learner.Learner",
    "fastai.text.all.Learner": "fastai.learner.Learner",
    "fastai.vision.all.vision_learner": "fastai.vision.learner.vision_learner",
    "fastai.vision.all.cnn_learner": "fastai.vision.learner.vision_learner",
    "catalyst.runners.": "catalyst.dl.",
    "catalyst.dl.runner.": "catalyst.dl.",
    "speechbrain.core.": "speechbrain.",
    "sentence_transformers.trainer.": "sentence_transformers.",
    "diffusers.pipelines.pipeline_utils.": "diffusers.",
    "einops.einops.": "einops.",
    "ultralytics.yolo.engine.": "ultralytics.engine.",
}
_RENAMED_ROOTS = frozenset(old.partition(".")[0] for old in _RENAMED)
#: ``lightning`` offers parts of its two halves at the top.
_LIGHTNING = {
    "LightningModule": "lightning.pytorch.", "LightningDataModule": "lightning.pytorch.",
    "Trainer": "lightning.pytorch.",
    "Callback": "lightning.pytorch.", "seed_everything": "lightning.pytorch.", "Fabric": "lightning.fabric.",
}  # fmt: skip
#: What ``torch.random`` shares with ``torch``.
_RANDOM = frozenset(["manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "default_generator"])
_SAME = {
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.concat": "torch.cat",
    "torch.concatenate": "torch.cat",
    "torch.types.Tensor": "torch.Tensor",
    "torch.autograd.function.Function": "torch.autograd.Function",
    "torch.nn.NLLLoss2d": "torch.nn.NLLLoss",
}


@cache
def canonical(name: str) -> str:
    """The public name of ``name``; names of other things come back unchanged.

    >>> canonical("torch.nn.modules.linear.Linear")
    'torch.nn.Linear'
    >>> canonical("torch.functional.meshgrid")
    'torch.meshgrid'
    """
    before = ""
    while name != before:  # what is left after one renaming may be an old name as well
        before, name = name, _renamed(name)
    return name


def _renamed(name: str) -> str:
    if name in _SAME:
        return _SAME[name]
    root, _, rest = name.partition(".")
    if root == "lightning" and rest in _LIGHTNING:
        return _LIGHTNING[rest] + rest
    if name.startswith("torch.random.") and name[13:] in _RANDOM:
        return "torch." + name[13:]
    if root not in _RENAMED_ROOTS:
        return name
    for old, new in _RENAMED.items():  # in order: one renaming may open the way for the next
        if name.startswith(old):
            name = new + name[len(old) :]
    if not name.startswith(_KEPT):
        for package in _FLATTENED:
            if name.startswith(package):
                parts = name[len(package) :].split(".")
                if package == "torch.nn.modules." and len(parts) == 1 and parts[0][:1].isupper():
                    name = "torch.nn." + parts[0]
                elif len(parts) == 2 and parts[0].islower():
                    name = ("torch.nn." if package == "torch.nn.modules." else package) + parts[1]
                break
    return _SAME.get(name, name)
