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
#: They have state and take integers, or whatever they are given.
ANY_INPUT = ("Embedding", "EmbeddingBag")
#: Nothing can be said about their inputs.
OPAQUE = ("Module", "Container", "Identity", "DataParallel")
#: Made of pointwise operations, so that 0-dim CPU tensors may join.
POINTWISE = frozenset(
    [
        "MSELoss",
        "L1Loss",
        "SmoothL1Loss",
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
    ]
)
#: Stateless, and floating whatever comes in.
FLOAT_RESULTS = frozenset(
    [
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
    ]
)
#: What calling gives, where it is not one tensor.
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
    inputs = [p for p in inspect.signature(cls.forward).parameters if p not in ("self", "kwargs")]
    module = build(cls)
    held = state(module) if module is not None else ()
    loss = name.endswith(("Loss", "Loss2d"))
    row = [f"({', '.join(parameters)})", f"forward={'/'.join(inputs)}"]
    if name in CONTAINERS:
        row.append(f"container={CONTAINERS[name]}")
    if held and cls is not nn.DataParallel:
        row.append("stateful")
    row += [option for option in ("device", "dtype") if option in parameters]
    row += state_switches(cls, held)
    if loss and not held:
        row += [f"state={argument}" for argument in ("weight", "pos_weight") if argument in parameters]
    if module is not None and name not in CONTAINERS:
        row += weight(module)
    row.append(f"output={OUTPUTS.get(name, 'tensor')}")
    if loss:
        row.append("loss")
    if name not in CONTAINERS and name not in OPAQUE:
        row += demands(name, bool(held), loss, len(inputs))
    row.append(f"out={'float' if held or loss or name in FLOAT_RESULTS else 'input'}")
    return " ".join(row)


def state_switches(cls: type[nn.Module], held: tuple[str, ...]) -> list[str]:
    """Boolean constructor arguments that decide about state, and those that decide about ``weight``."""
    row = []
    for switch in ("affine", "elementwise_affine", "track_running_stats"):
        parameter = inspect.signature(cls.__init__).parameters.get(switch)
        other = build(cls, **{switch: not parameter.default}) if parameter is not None else None
        if parameter is None or other is None:
            continue
        if bool(state(other)) != bool(held):
            row.append(f"state={switch}")
        if parameter.default and "weight" in held and "weight" not in state(other):
            row.append(f"weight_needs={switch}")
    return row


def weight(module: nn.Module) -> list[str]:
    """The path of a parameter that is always there."""
    if isinstance(module, nn.MultiheadAttention):
        return ["weight=out_proj.weight"]  # in_proj_weight is None when kdim or vdim is given
    own = [name for name, _ in module.named_parameters(recurse=False)]
    return [f"weight={'weight' if 'weight' in own else own[0]}"] if own else []


def demands(name: str, stateful: bool, loss: bool, inputs: int) -> list[str]:
    """What a module demands of the devices and dtypes of its inputs, and of its state."""
    row = []
    if name in POINTWISE:
        row.append("mix=same")
    elif (stateful or loss or inputs > 1) and name != "CTCLoss":  # moves lengths and targets itself
        row.append("mix=strict")
    if stateful and not loss and name not in ANY_INPUT:
        row += ["float_input"] if name == "RMSNorm" else ["float_input", "one_dtype"]
    return row


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
        cls = construct = getattr(torch.optim, name)
        if not (inspect.isclass(cls) and issubclass(cls, torch.optim.Optimizer)) or cls is torch.optim.Optimizer:
            continue
        found = [p for p in inspect.signature(cls.__init__).parameters.values() if p.name != "self"]
        flags = []
        try:
            instance = construct([nn.Parameter(torch.zeros(2, 2))])
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
