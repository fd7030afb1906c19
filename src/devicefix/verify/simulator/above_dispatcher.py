"""Device checks that C++ makes before it reaches the dispatcher, made again in front of the same functions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify.simulator.failing import fail
from devicefix.verify.simulator.moves import move
from devicefix.verify.simulator.state import Simulation, is_simulated
from devicefix.verify.tags import CPU, RAW, Tag, Tensor, device_of, is_undecided, set_tag, tag_of

if TYPE_CHECKING:
    from collections.abc import Callable


def _recurrent(original: Callable[..., Any], is_lstm: bool) -> Callable[..., Any]:
    """lstm, gru and rnn: input against hidden state and parameters. Packed and padded calls order their arguments
    differently."""

    def run(*args: Any, **kwargs: Any) -> Any:
        packed = isinstance(args[2], (tuple, list) if is_lstm else Tensor) and isinstance(args[1], Tensor)
        data, hidden, parameters = args[0], args[2] if packed else args[1], args[3] if packed else args[2]
        for name, group in (("hidden", hidden if is_lstm else [hidden]), ("parameter", parameters)):
            for tensor in group:
                if device_of(tensor) != device_of(data):
                    fail(
                        RuntimeError(
                            f"Input and {name} tensors are not at the same device, found input tensor at "
                            f"{device_of(data)} and {name} tensor at {device_of(tensor)}"
                        ),
                        data,
                        tensor,
                    )
        return original(*args, **kwargs)

    return run


def _attention(original: Callable[..., Any]) -> Callable[..., Any]:
    def scaled_dot_product_attention(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        q, k, v = device_of(query), device_of(key), device_of(value)
        if not q == k == v:
            fail(
                RuntimeError(
                    "Expected query, key, and value to have the same device type, but got query.device: "
                    f"{q} key.device: {k} and value.device: {v} instead."
                ),
                query,
                key,
                value,
            )
        return original(query, key, value, *args, **kwargs)

    return functools.wraps(original)(scaled_dot_product_attention)


def _pack(original: Callable[..., Any]) -> Callable[..., Any]:
    def pack(data: Any, lengths: Any, *args: Any) -> Any:
        if is_simulated(device_of(lengths)):
            kind = RAW["type"](lengths)[len("torch.") : -len("Tensor")]
            fail(
                RuntimeError(
                    "'lengths' argument should be a 1D CPU int64 tensor, but got "
                    f"{lengths.dim()}D {device_of(lengths)} "
                    f"{kind} tensor"
                ),
                lengths,
            )
            lengths = lengths.cpu()
        return original(data, lengths, *args)

    return pack


def _pad_packed(original: Callable[..., Any]) -> Callable[..., Any]:
    def pad(*args: Any, **kwargs: Any) -> Any:
        out, lengths = original(*args, **kwargs)
        return out, set_tag(lengths, Tag(CPU))  # lengths are on the CPU whatever the data is on

    return pad


def _meshgrid(original: Callable[..., Any]) -> Callable[..., Any]:
    def meshgrid(tensors: Any, **kwargs: Any) -> Any:
        if len({device_of(tensor) for tensor in tensors}) > 1:
            fail(RuntimeError("meshgrid expects all tensors to have the same device"), *tensors)
        return original(tensors, **kwargs)

    return meshgrid


def _ctc(original: Callable[..., Any]) -> Callable[..., Any]:
    """C++ moves the lengths to where it needs them, which no tag would see."""

    def ctc_loss(
        log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *args: Any, **kwargs: Any
    ) -> Any:
        lengths = (
            move(t, device_of(log_probs)) if isinstance(t, Tensor) else t for t in (input_lengths, target_lengths)
        )
        return original(log_probs, targets, *lengths, *args, **kwargs)

    return ctc_loss


def _quantile(original: Callable[..., Any]) -> Callable[..., Any]:
    def quantile(data: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(q, Tensor) and isinstance(data, Tensor) and device_of(q) != device_of(data):
            fail(RuntimeError("quantile() q tensor must be on the same device as the input tensor"), data, q)
        return original(data, q, *args, **kwargs)

    return quantile


def _beside_its_input(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose C++ makes its result from nothing in a special case (here: for empty matrices)."""

    def function(data: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(data, *args, **kwargs)
        if is_undecided(result):
            set_tag(result, tag_of(data))
        return result

    return functools.wraps(original, updated=())(function)


def _item(self: Any) -> Any:
    """``.item()`` has no device rule; not dispatching it saves more than half of its time."""
    tag = tag_of(self)
    if tag is None or type(self) not in (Tensor, torch.nn.Parameter):
        return RAW["item"](self)
    with torch._C._DisableTorchDispatch():
        return RAW["item"](self)


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    functions: Any = torch._C._VariableFunctions
    lookup: Any = torch._VF
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        patch(lookup, name, _recurrent(getattr(functions, name), name == "lstm"))
    patch(lookup, "_pack_padded_sequence", _pack(functions._pack_padded_sequence))
    patch(lookup, "_pad_packed_sequence", _pad_packed(functions._pad_packed_sequence))
    patch(lookup, "meshgrid", _meshgrid(functions.meshgrid))
    functional: Any = torch.nn.functional
    patch(functional, "scaled_dot_product_attention", _attention(functional.scaled_dot_product_attention))
    patch(torch, "ctc_loss", _ctc(torch.ctc_loss))
    for name in ("quantile", "nanquantile"):
        patch(torch, name, _quantile(getattr(torch, name)))
        patch(Tensor, name, _quantile(RAW[name]))
    patch(torch.linalg, "matrix_rank", _beside_its_input(torch.linalg.matrix_rank))
    patch(Tensor, "item", _item)
