"""What runs on CUDA runs in the simulation and gives the CPU's values: all operator families."""

# ruff: noqa: E731, E741, N803, N805, N812, PT018

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

R = lambda D, *s: torch.randn(*s).to(D)
I = lambda D, *v: torch.tensor(v, device=D)
MATCH = {
    "elementwise": lambda D: (R(D, 3) + R(D, 3)) * R(D, 3) - R(D, 3) / 2,
    "0-dim cpu scalar": lambda D: R(D, 3) * torch.tensor(2.0) + torch.tensor(1),
    "cpu scalar first": lambda D: torch.tensor(2.0) * R(D, 3),
    "linear": lambda D: F.linear(R(D, 2, 3), R(D, 4, 3), R(D, 4)),
    "matmul": lambda D: R(D, 2, 3) @ R(D, 3, 2),
    "bmm": lambda D: torch.bmm(R(D, 1, 2, 3), R(D, 1, 3, 2)),
    "einsum": lambda D: torch.einsum("bij,bkj->bik", R(D, 2, 3, 4), R(D, 2, 5, 4)),
    "cat stack": lambda D: [torch.cat([R(D, 2), R(D, 3)]), torch.stack([R(D, 2), R(D, 2)])],
    "conv": lambda D: [nn.Conv2d(1, 2, 3).to(D)(R(D, 1, 1, 5, 5)), nn.ConvTranspose1d(1, 2, 3).to(D)(R(D, 1, 1, 5))],
    "norms": lambda D: [
        nn.BatchNorm2d(2).to(D)(R(D, 2, 2, 3, 3)),
        nn.LayerNorm(3).to(D)(R(D, 2, 3)),
        nn.GroupNorm(1, 3).to(D)(R(D, 2, 3)),
        nn.InstanceNorm1d(3).to(D)(R(D, 2, 3, 4)),
    ],
    "pools": lambda D: [
        F.max_pool2d(R(D, 1, 1, 4, 4), 2),
        F.avg_pool2d(R(D, 1, 1, 4, 4), 2),
        F.adaptive_avg_pool2d(R(D, 1, 1, 4, 4), 1),
        F.interpolate(R(D, 1, 1, 2, 2), scale_factor=2, mode="bilinear"),
    ],
    "embedding": lambda D: [
        nn.Embedding(5, 3, padding_idx=0).to(D)(I(D, 1, 0)),
        nn.EmbeddingBag(5, 3).to(D)(I(D, 1, 2), I(D, 0)),
    ],
    "index": lambda D: [R(D, 4)[I(D, 0, 2)], R(D, 4, 3)[:, I(D, 1)], R(D, 4)[1:3]],
    "index cuda by cpu": lambda D: [R(D, 4)[torch.tensor([0, 2])], R(D, 4)[torch.tensor([True, False, True, True])]],
    "bool mask": lambda D: (lambda x: [x[x > 0], x.masked_fill(x > 0, 9.0)])(R(D, 6)),
    "nonzero": lambda D: [R(D, 6).gt(0).nonzero(), torch.argwhere(I(D, 0, 1))],
    "where": lambda D: (
        lambda x: [
            torch.where(x > 0, x, 0.0),
            torch.where(x > 0, x, torch.tensor(5.0)),
            torch.where(x > 0, 1.0, 2.0),
            torch.where(x > 0)[0],
        ]
    )(R(D, 5)),
    "sort topk": lambda D: (lambda x: [x.sort(), x.topk(2), x.argsort(), x.kthvalue(2), x.median(0)])(R(D, 5)),
    "scatter gather": lambda D: [
        R(D, 2, 3).gather(1, I(D, 0, 1).view(2, 1)),
        torch.zeros(2, 3, device=D).scatter_(1, I(D, 0, 1).view(2, 1), 1.0),
        torch.zeros(3, device=D).scatter_add_(0, I(D, 0, 0), R(D, 2)),
        torch.zeros(3, device=D).index_add_(0, I(D, 1), R(D, 1)),
    ],
    "setitem": lambda D: setitem(D),
    "losses": lambda D: [
        F.cross_entropy(R(D, 2, 3), I(D, 0, 1), weight=torch.ones(3, device=D)),
        F.mse_loss(R(D, 3), R(D, 3)),
        F.binary_cross_entropy_with_logits(R(D, 3), torch.ones(3, device=D)),
        F.nll_loss(R(D, 2, 3).log_softmax(1), I(D, 0, 1)),
        F.kl_div(R(D, 3), R(D, 3).softmax(0), reduction="sum"),
    ],
    "ctc": lambda D: F.ctc_loss(
        R(D, 5, 1, 3).log_softmax(2), I(D, 1, 2).view(1, 2), torch.tensor([5]), torch.tensor([2])
    ),
    "one_hot": lambda D: F.one_hot(I(D, 0, 2), 3),
    "factories": lambda D: [
        torch.zeros(2, device=D),
        torch.arange(3, device=D),
        torch.eye(2, device=D),
        torch.full((2,), 3.0, device=D),
        torch.linspace(0, 1, 3, device=D),
        torch.rand(3, device=D),
        torch.randint(0, 9, (3,), device=D),
        torch.randperm(5, device=D),
    ],
    "like": lambda D: (
        lambda x: [
            torch.zeros_like(x),
            torch.rand_like(x),
            x.new_zeros(2),
            x.new_tensor([1.0]),
            x.new_full((2,), 3.0),
            torch.empty_like(x).fill_(1),
        ]
    )(R(D, 3)),
    "generator": lambda D: torch.randn(3, generator=torch.Generator(D).manual_seed(3), device=D),
    "multinomial": lambda D: [
        torch.multinomial(R(D, 5).softmax(0), 3),
        torch.bernoulli(torch.full((5,), 0.5, device=D)),
        torch.normal(R(D, 3), torch.ones(3, device=D)),
    ],
    "reductions": lambda D: (
        lambda x: [
            x.sum(),
            x.mean(0),
            x.std(),
            x.var(1),
            x.max(1),
            x.argmax(),
            x.norm(),
            x.prod(),
            x.logsumexp(0),
            x.cumsum(1),
            x.any(),
            x.unique(),
        ]
    )(R(D, 3, 4)),
    "shape ops": lambda D: (
        lambda x: [
            x.view(4, 3),
            x.t(),
            x.permute(1, 0),
            x.flip(0),
            x.roll(1),
            x.repeat(2, 1),
            x.expand(2, 3, 4),
            x.chunk(2),
            x.split(1),
            x.unfold(1, 2, 1),
            x.tril(),
        ]
    )(R(D, 3, 4)),
    "linalg": lambda D: (
        lambda a: [
            torch.linalg.inv(a),
            torch.linalg.det(a),
            torch.linalg.qr(a)[1].abs(),
            torch.linalg.svdvals(a),
            torch.linalg.solve(a, a),
            torch.linalg.cholesky(a @ a.T + torch.eye(3, device=D)),
        ]
    )(R(D, 3, 3)),
    "fft": lambda D: [
        torch.fft.rfft(R(D, 8)).abs(),
        torch.stft(R(D, 16), 4, window=torch.hann_window(4, device=D), return_complex=True).abs(),
    ],
    "meshgrid etc": lambda D: [
        torch.meshgrid(R(D, 2), R(D, 3), indexing="ij"),
        torch.cartesian_prod(R(D, 2), R(D, 2)),
        torch.combinations(R(D, 3)),
        torch.tril_indices(2, 2, device=D),
        torch.block_diag(R(D, 2, 2), R(D, 1, 1)),
    ],
    "searchsorted": lambda D: [
        torch.searchsorted(R(D, 4).sort()[0], R(D, 2)),
        torch.bucketize(R(D, 2), torch.tensor([0.0, 1.0], device=D)),
        torch.histc(R(D, 9)),
        torch.bincount(I(D, 0, 1, 1)),
    ],
    "inplace": lambda D: R(D, 3).add_(1).mul_(2).clamp_(0).t_(),
    "resize": lambda D: torch.ones(4, device=D).resize_(2, 2),
    "copy_ both ways": lambda D: [torch.zeros(3, device=D).copy_(torch.ones(3)), torch.zeros(3).copy_(R(D, 3))],
    "item": lambda D: [R(D, 3).sum().item(), float(R(D, 1)), bool(R(D, 1) > 0), R(D, 3).tolist()],
    "cpu numpy": lambda D: [R(D, 3).cpu().numpy().sum().item(), R(D, 3).detach().cpu().numpy().shape],
    "control flow": lambda D: [
        1 if R(D, 3).sum() > 0 else 2,
        sum(x.item() for x in R(D, 3)),
        len([i for i in R(D, 4) if i > 0]),
    ],
    "dtypes": lambda D: [
        R(D, 3).half().float(),
        R(D, 3).double(),
        R(D, 3).to(torch.bfloat16).float(),
        R(D, 3).long(),
        R(D, 3).type(torch.float64),
    ],
    "complex": lambda D: torch.view_as_real(torch.complex(R(D, 3), R(D, 3)) * 2),
    "sparse": lambda D: [
        torch.eye(3, device=D).to_sparse() @ R(D, 3, 2),
        torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), device=D).to_dense(),
    ],
    "vmap grad": lambda D: [
        torch.vmap(lambda v: v * 2)(R(D, 2, 3)),
        torch.func.grad(lambda v: (v**2).sum())(R(D, 3)),
        torch.func.jacrev(lambda v: v**2)(R(D, 2)),
    ],
    "double backward": lambda D: double_backward(D),
    "custom Function": lambda D: custom_function(D),
    "checkpoint": lambda D: ckpt(D),
    "hooks": lambda D: hooks(D),
    "grad through to": lambda D: grad_to(D),
    "cpu 0-dim param": lambda D: zero_dim_param(D),
    "clip_grad": lambda D: clip(D),
    "sdpa": lambda D: F.scaled_dot_product_attention(
        R(D, 1, 2, 3, 4), R(D, 1, 2, 3, 4), R(D, 1, 2, 3, 4), is_causal=True
    ),
    "dropout seeded": lambda D: F.dropout(torch.ones(20, device=D), 0.5),
    "activations": lambda D: [
        f(R(D, 4))
        for f in (F.relu, F.gelu, F.silu, torch.sigmoid, torch.tanh, F.softplus, F.leaky_relu, F.elu, F.hardswish)
    ],
    "pad": lambda D: [F.pad(R(D, 1, 3), (1, 1)), F.pad(R(D, 1, 1, 3), (1, 1), mode="reflect")],
    "gumbel": lambda D: F.gumbel_softmax(R(D, 3), hard=True),
    "nan_to_num": lambda D: torch.nan_to_num(torch.tensor([float("nan"), 1.0], device=D)),
    "jvp": lambda D: torch.func.jvp(lambda v: v.sin() * 2, (R(D, 3),), (torch.ones(3, device=D),)),
    "pack pad": lambda D: pack(D),
    "pad_sequence": lambda D: nn.utils.rnn.pad_sequence([R(D, 2), R(D, 3)]),
    "weight_norm": lambda D: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).to(D)(R(D, 1, 3)),
    "tied weights": lambda D: tied(D),
}


def setitem(D):
    x = torch.zeros(4, 3, device=D)
    x[0] = torch.ones(3)  # copy_: devices may differ
    x[1:3] = 2.0
    x[torch.tensor([3], device=D)] = torch.tensor(7.0)
    x[x == 2] = 5
    return x


def double_backward(D):
    x = torch.randn(3).to(D).requires_grad_()
    (gx,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    gx.sum().backward()
    return x.grad


class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gr):
        (x,) = ctx.saved_tensors
        assert gr.device == x.device
        return gr * 2 * x


def custom_function(D):
    x = torch.randn(3).to(D).requires_grad_()
    Sq.apply(x).sum().backward()
    return x.grad


def ckpt(D):
    from torch.utils.checkpoint import checkpoint

    m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).to(D)
    x = torch.randn(2, 3).to(D).requires_grad_()
    checkpoint(m, x, use_reentrant=False).sum().backward()
    return x.grad


def hooks(D):
    m, seen = nn.Linear(3, 2).to(D), []
    m.register_forward_hook(lambda mod, i, o: seen.append(o.detach() * 2))
    x = torch.randn(1, 3).to(D).requires_grad_()
    x.register_hook(lambda gr: gr + torch.ones(1, 3, device=gr.device))
    m(x).sum().backward()
    return [*seen, x.grad]


def grad_to(D):
    x = torch.randn(3, requires_grad=True)
    y = x.to(D)
    z = (y * y).cpu()
    z.sum().backward()
    assert x.grad.device.type == "cpu" and y.device.type == torch.device(D).type
    return x.grad


def zero_dim_param(D):
    s = torch.tensor(2.0, requires_grad=True)
    o = torch.optim.Adam([s], lr=0.1)
    (R(D, 3) * s).sum().backward()
    o.step()
    assert s.grad.device.type == "cpu"
    return s


def clip(D):
    m = nn.Linear(3, 2).to(D)
    m(R(D, 4, 3)).sum().backward()
    return [nn.utils.clip_grad_norm_(m.parameters(), 0.1), m.weight.grad]


def pack(D):
    m = nn.LSTM(3, 4, bidirectional=True, batch_first=True).to(D)
    p = nn.utils.rnn.pack_padded_sequence(R(D, 3, 5, 3), torch.tensor([5, 3, 2]), batch_first=True)
    o, (h, _) = m(p)
    o, l = nn.utils.rnn.pad_packed_sequence(o, batch_first=True)
    assert o.device.type == torch.device(D).type and l.device.type == "cpu"
    o.sum().backward()
    return [o, l, h, m.weight_hh_l0.grad]


def tied(D):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.e, s.o = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            s.o.weight = s.e.weight

    m = M().to(D)
    assert m.o.weight is m.e.weight
    m.o(m.e(I(D, 1, 2))).sum().backward()
    return m.e.weight.grad


@pytest.mark.parametrize("name", MATCH)
def test_match(name, same):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(MATCH[name])


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in MATCH
        if name
        not in (
            "double backward",
            "custom Function",
            "checkpoint",
            "hooks",
            "grad through to",
            "cpu 0-dim param",
            "clip_grad",
            "pack pad",
            "tied weights",
            "vmap grad",
            "weight_norm",
            "jvp",
        )
    ],
)
def test_match_in_inference_mode(name, same):
    def run(device):
        with torch.inference_mode():
            return MATCH[name](device)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(run)


def test_conversions_in_inference_mode_stay_on_the_card(sim):
    with torch.inference_mode():
        x = torch.ones(2, 3, device="cuda").t()
        for y in (
            x.double(),
            x.reshape(-1),
            x.contiguous(),
            x.flatten(),
            x.expand_as(x),
            x.to(torch.float16),
            x.type(torch.int64),
        ):
            assert y.is_cuda
