"""Every kind of device mismatch raises what CUDA raises, word for word where the word is known."""

# ruff: noqa: E731, N812

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
SAME = "Expected all tensors to be on the same device, "
TI = SAME + "but found at least two devices, cuda:0 and cpu!"


def got(argument, method, device="cpu", common="cuda:0"):
    """The wording of the check that torch generates into its CUDA wrappers, as of the installed version."""
    if VERSION >= (2, 8):
        text = f"but got {argument} is on {device}, different from other tensors on {common} (when checking argument in method"
    else:
        text = f"but found at least two devices, {common} and {device}! (when checking argument for argument {argument} in method"
    return SAME + re.escape(f"{text} wrapper_CUDA_{method})")


g = lambda *s: torch.randn(*s, device="cuda")
c = lambda *s: torch.randn(*s)
ci = lambda *v: torch.tensor(v)
gi = lambda *v: torch.tensor(v, device="cuda")

MISMATCH = {
    "add": (lambda: g(3) + c(3), TI),
    "radd": (lambda: c(3) + g(3), TI),
    "sub_": (lambda: c(3).sub_(g(3)), TI),
    "mul": (lambda: g(3) * c(3), TI),
    "div": (lambda: c(3) / g(3), TI),
    "pow": (lambda: g(3) ** c(3), TI),
    "compare": (lambda: g(3) > c(3), TI),
    "maximum": (lambda: torch.maximum(g(3), c(3)), TI),
    "inplace cpu0d += cuda": (lambda: torch.tensor(1.0).add_(g(3)), TI),
    "out=": (lambda: torch.add(g(3), g(3), out=c(3)), TI),
    "lerp": (lambda: torch.lerp(g(3), c(3), 0.5), TI),
    "addcmul": (lambda: torch.addcmul(g(3), c(3), g(3)), TI),
    "logical_and": (lambda: torch.logical_and(g(3), c(3)), TI),
    "where cond": (lambda: torch.where(c(3) > 0, g(3), g(3)), TI),
    "where value": (lambda: torch.where(g(3) > 0, g(3), c(3)), TI),
    "linear x": (lambda: F.linear(c(2, 3), g(4, 3), g(4)), got("mat1", "addmm")),
    "linear w": (lambda: F.linear(g(2, 3), c(4, 3), c(4)), got("mat1", "addmm", "cuda:0", "cpu")),
    "nn.Linear": (lambda: nn.Linear(3, 4).cuda()(c(2, 3)), got("mat1", "addmm")),
    "matmul": (lambda: g(2, 3) @ c(3, 2), got("mat2", "mm")),
    "bmm": (lambda: torch.bmm(g(1, 2, 3), c(1, 3, 2)), got("mat2", "bmm")),
    "mv": (lambda: g(2, 3) @ c(3), "same device"),
    "addmm bias": (lambda: torch.addmm(c(2), g(2, 3), g(3, 2)), got("mat1", "addmm", "cuda:0", "cpu")),
    "einsum": (lambda: torch.einsum("ij,jk->ik", g(2, 3), c(3, 2)), got("mat2", "bmm")),
    "dot": (lambda: g(3).dot(c(3)), got("tensor", "_dot")),
    "cat": (lambda: torch.cat([g(2), c(2)]), got("tensors", "cat")),
    "stack": (lambda: torch.stack([g(2), c(2)]), got("tensors", "cat")),
    "conv2d x": (
        lambda: nn.Conv2d(1, 2, 3).cuda()(c(1, 1, 5, 5)),
        r"Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\) should be the same",
    ),
    "conv1d w": (
        lambda: nn.Conv1d(1, 2, 3)(g(1, 1, 5)),
        r"Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\) should be the same",
    ),
    "batch_norm": (lambda: nn.BatchNorm1d(3).cuda()(c(4, 3)), got("weight", "_native_batch_norm", "cuda:0", "cpu")),
    "layer_norm": (lambda: nn.LayerNorm(3)(g(4, 3)), got("weight", "_native_layer_norm")),
    "group_norm": (lambda: nn.GroupNorm(1, 3)(g(4, 3)), got("weight", "_native_group_norm")),
    "embedding idx cpu": (lambda: nn.Embedding(5, 3).cuda()(ci(1)), got("index", "_index_select")),
    "embedding w cpu": (lambda: nn.Embedding(5, 3)(gi(1)), got("index", "_index_select", "cuda:0", "cpu")),
    "embedding_bag": (lambda: nn.EmbeddingBag(5, 3).cuda()(ci(1, 2), ci(0)), "same device"),
    "index cpu by cuda": (
        lambda: c(4)[gi(0)],
        r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)",
    ),
    "mask cpu by cuda": (
        lambda: c(4)[g(4) > 0],
        r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)",
    ),
    "index_put value": (lambda: g(4).__setitem__(gi(0, 1), c(2)), TI),
    "index_select": (lambda: g(4).index_select(0, ci(0)), got("index", "_index_select")),
    "gather": (lambda: g(2, 3).gather(1, ci(0, 1).view(2, 1)), got("index", "gather")),
    "scatter": (lambda: g(2, 3).scatter(1, ci(0, 1).view(2, 1), 1.0), got("index", "scatter_value")),
    "scatter_add": (lambda: g(3).scatter_add_(0, ci(0), g(1)), got("index", "scatter_add_")),
    "index_add": (lambda: g(3).index_add_(0, gi(0), c(1)), got("source", "index_add_")),
    "take": (lambda: g(3).take(ci(0)), got("index", "_take")),
    "masked_fill": (
        lambda: g(3).masked_fill(c(3) > 0, 0.0),
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    ),
    "masked_select": (lambda: g(3).masked_select(c(3) > 0), got("mask", "_masked_select")),
    "cross_entropy target": (lambda: F.cross_entropy(g(2, 3), ci(0, 1)), got("target", "nll_loss_forward")),
    "cross_entropy weight": (
        lambda: nn.CrossEntropyLoss(weight=torch.ones(3))(g(2, 3), gi(0, 1)),
        got("weight", "nll_loss_forward"),
    ),
    "mse": (lambda: F.mse_loss(g(3), c(3)), TI),
    "bce_logits": (lambda: F.binary_cross_entropy_with_logits(g(3), c(3)), TI),
    "bce": (lambda: F.binary_cross_entropy(g(3).sigmoid(), torch.ones(3)), "same device"),
    "smooth_l1": (lambda: F.smooth_l1_loss(g(3), c(3)), TI),
    "kl_div": (lambda: F.kl_div(g(3), c(3), reduction="sum"), TI),
    "lstm x": (
        lambda: nn.LSTM(3, 4).cuda()(c(5, 2, 3)),
        "Input and parameter tensors are not at the same device, found input tensor at cpu and parameter tensor at cuda:0|Input and hidden tensors",
    ),
    "lstm h0": (
        lambda: nn.LSTM(3, 4).cuda()(g(5, 2, 3), (c(1, 2, 4), c(1, 2, 4))),
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    ),
    "gru h0": (
        lambda: nn.GRU(3, 4).cuda()(g(5, 2, 3), c(1, 2, 4)),
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    ),
    "lstm cell": (lambda: nn.LSTMCell(3, 4).cuda()(g(2, 3), (c(2, 4), c(2, 4))), "same device"),
    "mha": (lambda: nn.MultiheadAttention(4, 2).cuda()(g(3, 1, 4), c(3, 1, 4), c(3, 1, 4)), "same device"),
    "mha mask": (
        lambda: nn.MultiheadAttention(4, 2).cuda()(g(3, 1, 4), g(3, 1, 4), g(3, 1, 4), attn_mask=torch.zeros(3, 3)),
        "same device",
    ),
    "sdpa": (
        lambda: F.scaled_dot_product_attention(g(1, 2, 3, 4), c(1, 2, 3, 4), c(1, 2, 3, 4)),
        "Expected query, key, and value to have the same device type, but got query.device: cuda:0 key.device: cpu",
    ),
    "pos encoding not a buffer": (lambda: g(2, 5, 4) + c(1, 5, 4), TI),
    "cuda:0 + cuda:1": (lambda: g(3) + g(3).to("cuda:1"), SAME + "but found at least two devices, cuda:0 and cuda:1!"),
    "mm cuda:1": (lambda: g(2, 2) @ g(2, 2).cuda(1), got("mat2", "mm", "cuda:1")),
    "numpy": (lambda: g(3).numpy(), "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu"),
    "np.asarray": (lambda: np.asarray(g(3)), "can't convert cuda:0"),
    "np.array list": (lambda: np.array([g(1), g(1)]), "can't convert cuda:0|only one element|numpy"),
    "cdist": (lambda: torch.cdist(g(2, 3), c(2, 3)), "same device"),
    "cpu generator": (
        lambda: torch.randn(3, device="cuda", generator=torch.Generator()),
        "Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    "cuda generator": (
        lambda: torch.randn(3, generator=torch.Generator("cuda")),
        "Expected a 'cpu' device type for generator but found 'cuda'",
    ),
    "lengths on cuda": (
        lambda: nn.utils.rnn.pack_padded_sequence(g(3, 2, 1), gi(3, 2)),
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    ),
    "bad ordinal": (lambda: g(3).to("cuda:7"), "invalid device ordinal"),
    "pin cuda": (lambda: g(3).pin_memory(), "only dense CPU tensors can be pinned"),
    "grad of another device": (lambda: setattr(nn.Parameter(c(3)), "grad", g(3)), "device"),
    "searchsorted": (lambda: torch.searchsorted(g(3), c(3)), "device"),
    "torch.dist": (lambda: torch.dist(g(3), c(3)), "same device"),
    "legacy ctor": (lambda: torch.Tensor(3) + g(3), TI),
    "legacy FloatTensor": (lambda: torch.FloatTensor([1.0, 2.0]) * g(2), TI),
    "from_numpy": (lambda: torch.from_numpy(np.ones(3, dtype="f4")) + g(3), TI),
    "list of layers": (
        lambda: (lambda m: m.ls[0](m.inp(g(2, 3))))(
            type(
                "M",
                (nn.Module,),
                {
                    "__init__": lambda s: (
                        nn.Module.__init__(s),
                        setattr(s, "inp", nn.Linear(3, 3)),
                        setattr(s, "ls", [nn.Linear(3, 3)]),
                    )[0]
                },
            )().cuda()
        ),
        got("mat1", "addmm", "cuda:0", "cpu"),
    ),
    "F.normalize+mul": (lambda: F.normalize(g(2, 3)) @ F.normalize(c(2, 3)).T, got("mat2", "mm")),
    "copysign": (lambda: torch.copysign(g(3), c(3)), TI),
    "atan2": (lambda: torch.atan2(g(3), c(3)), TI),
    "bucketize": (lambda: torch.bucketize(g(3), c(3).sort()[0]), "device"),
    "cosine_similarity": (lambda: F.cosine_similarity(g(2, 3), c(2, 3)), "same device"),
    "triplet": (lambda: F.triplet_margin_loss(g(2, 3), c(2, 3), g(2, 3)), "same device"),
    "grid_sample": (lambda: F.grid_sample(g(1, 1, 3, 3), torch.zeros(1, 2, 2, 2), align_corners=False), "device"),
    "foreach": (lambda: torch._foreach_add([g(2)], [c(2)]), TI),
    "backward grad arg": (lambda: (g(3).requires_grad_() * 2).backward(c(3)), "device|invalid gradient"),
    "optimizer state": (lambda: opt_state(), TI + "|same device"),
    "custom backward on the wrong device": (
        lambda: bad_function(),
        "BadBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
    "custom backward mixes": (lambda: bad_function(True), TI),
    "meshgrid": (
        lambda: torch.meshgrid(g(2), c(2), indexing="ij"),
        "meshgrid expects all tensors to have the same device",
    ),
    "Adagrad built before .to": (lambda: adagrad(), TI),
    "prelu": (lambda: nn.PReLU(3)(g(2, 3)), "same device|device"),
}


def opt_state():
    """The optimizer holds CPU state because the model moved after load_state_dict's step."""
    m = nn.Linear(2, 2)
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    m(c(1, 2)).sum().backward()
    o.step()
    m.cuda()
    m(g(1, 2)).sum().backward()
    o.step()


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mix):
        ctx.mix = mix
        return x * 2

    @staticmethod
    def backward(ctx, gr):
        return (gr * torch.ones(3) if ctx.mix else gr.cpu()), None


def bad_function(mix=False):
    Bad.apply(g(3).requires_grad_() * 1, mix).sum().backward()


def adagrad():
    m = nn.Linear(2, 2)
    o = torch.optim.Adagrad(m.parameters())
    m.cuda()(g(1, 2)).sum().backward()
    o.step()


@pytest.mark.parametrize("name", MISMATCH)
def test_mismatch(sim, name):
    f, rx = MISMATCH[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((RuntimeError, TypeError, ValueError), match=rx):
            f()


@pytest.mark.parametrize(
    "name", ["linear x", "conv2d x", "embedding idx cpu", "cross_entropy target", "mha", "add", "cat"]
)
def test_the_same_words_in_inference_mode(sim, name):
    """Below autograd torch's composite operators arrive in one piece."""
    f, rx = MISMATCH[name]
    with torch.inference_mode(), pytest.raises(RuntimeError, match=rx):
        f()


@pytest.mark.gpu
@pytest.mark.parametrize("name", MISMATCH)
def test_the_same_on_a_real_card(name):
    """A real card raises what the simulator raises: what this test finds different is a mistake of the simulator."""
    f, rx = MISMATCH[name]
    if torch.cuda.device_count() < 2 and ("cuda:1" in rx or "cuda:1" in name):
        pytest.skip("needs two cards")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((RuntimeError, TypeError, ValueError), match=rx):
            f()
