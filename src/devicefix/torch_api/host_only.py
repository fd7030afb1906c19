"""What must stay on the CPU, or is there on purpose."""

from __future__ import annotations

from typing import Final

from devicefix.torch_api.names import canonical

#: (callable, parameter): tensors given there stay on the CPU.
HOST_ARGUMENTS: Final[dict[str, dict[str, str]]] = {
    "torch.nn.utils.rnn.pack_padded_sequence": {"lengths": "the lengths of packed sequences must be on the CPU"},
    "torch.nn.functional.ctc_loss": {
        "input_lengths": "lengths of ctc_loss may be on the CPU",
        "target_lengths": "lengths of ctc_loss may be on the CPU",
    },
    "torch.nn.CTCLoss": {
        "input_lengths": "lengths of CTCLoss may be on the CPU",
        "target_lengths": "lengths of CTCLoss may be on the CPU",
    },
    "torch.utils.data.random_split": {"generator": "random_split shuffles on the CPU"},
    "torch.utils.data.DataLoader": {"generator": "the sampler of a DataLoader shuffles on the CPU"},
    "torch.utils.data.RandomSampler": {"generator": "samplers shuffle on the CPU"},
    "torch.utils.data.SubsetRandomSampler": {"generator": "samplers shuffle on the CPU"},
    "torch.utils.data.WeightedRandomSampler": {
        "generator": "samplers shuffle on the CPU",
        "weights": "samplers draw on the CPU",
    },
    "torch.set_rng_state": {"new_state": "the state of a random generator is a CPU tensor"},
    "torch.cuda.set_rng_state": {"new_state": "the state of a random generator is a CPU tensor"},
    "torch.tensor_split": {"tensor_indices_or_sections": "split points must be on the CPU"},
}

#: Parameters of any callable that stay on the CPU by their name and role.
HOST_METHODS: Final[dict[str, str]] = {
    "numpy": "arrays are on the CPU",
    "tolist": "lists are on the CPU",
    "item": "numbers are on the CPU",
}

#: Base classes whose methods run in loader workers, where there is no card.
HOST_CLASSES: Final[dict[str, str]] = {
    "torch.utils.data.Dataset": "datasets run in loader workers",
    "torch.utils.data.IterableDataset": "datasets run in loader workers",
    "torch.utils.data.TensorDataset": "datasets run in loader workers",
    "torch.utils.data.Subset": "datasets run in loader workers",
    "torch.utils.data.ConcatDataset": "datasets run in loader workers",
    "torch.utils.data.ChainDataset": "datasets run in loader workers",
    "torch.utils.data.Sampler": "samplers run on the CPU",
    "torch.utils.data.BatchSampler": "samplers run on the CPU",
    "torchvision.datasets.VisionDataset": "datasets run in loader workers",
    "torchvision.transforms.v2.Transform": "transforms run in loader workers",
    "torch_geometric.transforms.BaseTransform": "transforms run in loader workers",
    "torch_geometric.data.Dataset": "datasets run in loader workers",
    "torch_geometric.data.InMemoryDataset": "datasets run in loader workers",
    "lightning.pytorch.LightningDataModule": "data modules prepare batches on the CPU",
    "monai.transforms.Transform": "transforms run in loader workers",
    "monai.transforms.MapTransform": "transforms run in loader workers",
    "albumentations.ImageOnlyTransform": "transforms run in loader workers",
}

#: Keyword arguments that take functions which then run in loader workers.
HOST_CALLBACKS: Final[dict[str, tuple[str, ...]]] = {
    "torch.utils.data.DataLoader": ("collate_fn", "worker_init_fn"),
    "torchvision.datasets": ("transform", "target_transform", "transforms"),
    "torchvision.transforms.Lambda": ("lambd",),
}


def stays_on_cpu(callable_name: str, parameter: str) -> str:
    """Why the argument ``parameter`` of that callable stays on the CPU; "" when it has to follow its operands.

    >>> stays_on_cpu("torch.nn.utils.rnn.pack_padded_sequence", "lengths")
    'the lengths of packed sequences must be on the CPU'
    """
    arguments = HOST_ARGUMENTS.get(callable_name) or HOST_ARGUMENTS.get(canonical(callable_name), {})
    return arguments.get(parameter, "")


#: (callable, parameter): PyTorch itself brings what is given there to the device of the other arguments.
BROUGHT_ALONG: Final[dict[str, frozenset[str]]] = {"torch.nn.CTCLoss": frozenset({"targets"})}


def brought_along(callable_name: str, parameter: str) -> bool:
    """Whether PyTorch moves the argument ``parameter`` of that callable where it is needed.

    >>> brought_along("torch.nn.CTCLoss", "targets")
    True
    """
    return parameter in BROUGHT_ALONG.get(callable_name, frozenset())


def host_class(name: str) -> str:
    """Why the methods of classes derived from ``name`` run on the CPU; "" when they need not."""
    return HOST_CLASSES.get(name) or HOST_CLASSES.get(canonical(name), "")


def host_callbacks(callable_name: str) -> tuple[str, ...]:
    """Parameters of that callable that take functions which run in loader workers."""
    name = canonical(callable_name)
    found = HOST_CALLBACKS.get(name, ())
    return found or HOST_CALLBACKS.get(name.rpartition(".")[0], ())
