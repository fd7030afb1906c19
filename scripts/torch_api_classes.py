"""The rows of ``torch.nn`` modules and ``torch.optim`` optimizers, learnt by constructing them on the meta device."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import torch
from torch import nn

#: Values for constructor arguments that have no default, by name.
ARGUMENTS: dict[str, Any] = {
    "output_size": 2,
    "in_features": 4,
    "n_classes": 10,
    "cutoffs": [2, 5],
    "kernel_size": 3,
    "num_features": 4,
    "in1_features": 4,
    "in2_features": 4,
    "out_features": 4,
    "in_channels": 4,
    "out_channels": 4,
    "num_embeddings": 8,
    "embedding_dim": 4,
    "num_groups": 2,
    "num_channels": 4,
    "normalized_shape": 4,
    "embed_dim": 4,
    "num_heads": 2,
    "groups": 2,
    "padding": 1,
    "value": 0.0,
    "size": 2,
    "norm_type": 2,
    "input_size": 4,
    "hidden_size": 4,
    "upscale_factor": 2,
    "downscale_factor": 2,
    "threshold": 0.5,
    "d_model": 4,
    "nhead": 2,
    "num_layers": 1,
    "dim": 1,
    "unflattened_size": (2, 2),
    "num_classes": 10,
    "mode": "LSTM",
    "num_chunks": 4,
    "process_group": None,
}
CONTAINERS = {
    "Sequential": "sequential",
    "ModuleList": "list",
    "ModuleDict": "dict",
    "ParameterList": "parameter_list",
    "ParameterDict": "parameter_dict",
}
RECURRENT = (
    "input_size",
    "hidden_size",
    "num_layers",
    "bias",
    "batch_first",
    "dropout",
    "bidirectional",
    "proj_size",
    "device",
    "dtype",
)
FLOAT_INPUT_FREE = ("Embedding", "EmbeddingBag", "Identity", "Flatten", "Unflatten")
#: Modules whose forward mixes its input with nothing of their own.
OUTPUTS = {
    "LSTM": "rnn",
    "GRU": "rnn",
    "RNN": "rnn",
    "LSTMCell": "tensors",
    "MultiheadAttention": "tensors",
    "AdaptiveLogSoftmaxWithLoss": "tensors",
    "DataParallel": "unknown",
    "Module": "unknown",
    "Container": "unknown",
    "Sequential": "unknown",
    "ModuleList": "none",
    "ModuleDict": "none",
    "ParameterList": "none",
    "ParameterDict": "none",
    "RNNBase": "unknown",
    "RNNCellBase": "unknown",
}


def constructor(cls: type[nn.Module]) -> tuple[str, ...]:
    """The constructor's parameters in order."""
    if cls in (nn.LSTM, nn.GRU):
        return RECURRENT
    if cls is nn.RNN:
        return (*RECURRENT[:3], "nonlinearity", *RECURRENT[3:])
    found = inspect.signature(cls.__init__).parameters.values()
    return tuple(
        ("*" if p.kind is p.VAR_POSITIONAL else "") + p.name
        for p in found
        if p.name != "self" and p.kind is not p.VAR_KEYWORD
    )


def build(cls: type[nn.Module], **given: Any) -> nn.Module | None:
    """An instance on the meta device, or ``None`` where the class is abstract."""
    layer = {"encoder_layer": nn.TransformerEncoderLayer, "decoder_layer": nn.TransformerDecoderLayer}
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        if name in ("self", "args", "kwargs") or name in given:
            continue
        if name in layer:
            given[name] = layer[name](4, 2)
        elif name == "module":
            given[name] = nn.Linear(1, 1)
        elif parameter.default is parameter.empty and name in ARGUMENTS:
            given[name] = ARGUMENTS[name]
    if cls in (nn.LSTM, nn.GRU, nn.RNN):
        given.setdefault("input_size", 4)
        given.setdefault("hidden_size", 4)
    if cls in (nn.FractionalMaxPool2d, nn.FractionalMaxPool3d):
        given.setdefault("output_size", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.device("meta"):
                return cls(**given)
        except (TypeError, NotImplementedError, ValueError, RuntimeError):
            return None


def state(module: nn.Module) -> tuple[str, ...]:
    """Names of parameters and buffers, parameters first."""
    return tuple(n for n, _ in module.named_parameters()) + tuple(n for n, _ in module.named_buffers())


def module_row(cls: type[nn.Module]) -> str:
    """The line of one module class."""
    name, parameters = cls.__name__, constructor(cls)
    forward = inspect.signature(cls.forward).parameters
    row = [f"({', '.join(parameters)})", f"forward={'/'.join(n for n in forward if n not in ('self', 'kwargs'))}"]
    module = build(cls)
    container = CONTAINERS.get(name, "")
    if container:
        row.append(f"container={container}")
    held = state(module) if module is not None else ()
    if held and cls is not nn.DataParallel:
        row.append("stateful")
    row += [option for option in ("device", "dtype") if option in parameters]
    switches = [p for p in parameters if p in ("affine", "elementwise_affine", "track_running_stats")]
    needed = []
    if module is not None:
        for switch in switches:
            default = inspect.signature(cls.__init__).parameters[switch].default
            other = build(cls, **{switch: not default})
            if other is not None and bool(state(other)) != bool(held):
                row.append(f"state={switch}")
            if other is not None and default and "weight" in held and "weight" not in state(other):
                needed.append(switch)
        for argument in ("weight", "pos_weight"):
            if name.endswith("Loss") and argument in parameters and not held:
                row.append(f"state={argument}")
    own = (
        [n for n in held if "." not in n and n in dict(module.named_parameters(recurse=False))]
        if module is not None
        else []
    )
    if name == "MultiheadAttention":
        row.append("weight=out_proj.weight")
    elif own and not container:
        row.append(f"weight={'weight' if 'weight' in own else own[0]}")
    row += [f"weight_needs={switch}" for switch in needed]
    row.append(f"output={OUTPUTS.get(name, 'tensor')}")
    loss = name.endswith(("Loss", "Loss2d", "LossWithLogits"))
    if loss:
        row.append("loss")
    inputs = [n for n in forward if n not in ("self", "kwargs")]
    demanding = bool(held) or name in ("MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d")
    pointwise = (
        "MSELoss",
        "L1Loss",
        "SmoothL1Loss",
        "HuberLoss",
        "KLDivLoss",
        "BCEWithLogitsLoss",
        "PoissonNLLLoss",
        "SoftMarginLoss",
        "HingeEmbeddingLoss",
        "MarginRankingLoss",
        "GaussianNLLLoss",
        "TripletMarginLoss",
        "CosineEmbeddingLoss",
        "MultiLabelSoftMarginLoss",
        "TripletMarginWithDistanceLoss",
        "CosineSimilarity",
        "PairwiseDistance",
    )
    if not container and name not in ("Module", "Container", "Identity", "DataParallel"):
        if name in pointwise:
            row.append("mix=same")
        elif name == "CTCLoss":
            pass
        elif demanding or loss or len(inputs) > 1:
            row.append("mix=strict")
        if held and name not in FLOAT_INPUT_FREE and not loss:
            row.append("float_input")
            row += ["one_dtype"] if name != "RMSNorm" else []
    row.append(f"out={'float' if held or loss or name in FLOAT_RESULTS else 'input'}")
    return " ".join(row)


FLOAT_RESULTS = (
    "Sigmoid",
    "Tanh",
    "Softmax",
    "LogSoftmax",
    "Softmin",
    "LogSigmoid",
    "Softplus",
    "Softsign",
    "GELU",
    "SiLU",
    "CosineSimilarity",
    "PairwiseDistance",
    "Upsample",
    "UpsamplingBilinear2d",
    "Embedding",
    "EmbeddingBag",
)


def modules() -> dict[str, str]:
    """Every public module class of ``torch.nn``."""
    rows = {}
    for name in sorted(dir(nn)):
        cls = getattr(nn, name)
        if inspect.isclass(cls) and issubclass(cls, nn.Module):
            rows[f"torch.nn.{name}"] = module_row(cls)
    return rows


def optimizers() -> dict[str, str]:
    """Every optimizer of ``torch.optim``; ``eager`` where the constructor makes state tensors."""
    rows = {}
    for name in sorted(dir(torch.optim)):
        cls: Any = getattr(torch.optim, name)
        if not (inspect.isclass(cls) and issubclass(cls, torch.optim.Optimizer)) or cls is torch.optim.Optimizer:
            continue
        found = [p for p in inspect.signature(cls.__init__).parameters.values() if p.name != "self"]
        flags = []
        try:
            instance = cls([nn.Parameter(torch.zeros(2, 2))])
        except (TypeError, ValueError):
            instance = None
        if instance is not None and any(
            isinstance(v, torch.Tensor) for s in instance.state.values() for v in s.values()
        ):
            flags.append("eager")
        step = inspect.signature(cls.step).parameters.get("closure")
        if step is not None and step.default is step.empty:
            flags.append("closure")
        rows[f"torch.optim.{name}"] = " ".join([f"({', '.join(p.name for p in found)})", *flags])
    return rows
