"""Training loops: models, optimizers, mixed precision."""

# ruff: noqa: E741, N803, N805, N812, PT018

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def R(D, *shape):
    return torch.randn(*shape).to(D)


def g(*shape):
    return torch.randn(*shape, device="cuda")


class LSTMNet(nn.Module):
    def __init__(s, kind="LSTM"):
        super().__init__()
        s.kind, s.r, s.f = kind, getattr(nn, kind)(4, 6, num_layers=2, batch_first=True), nn.Linear(6, 3)

    def forward(s, x):
        h = torch.zeros(2, x.size(0), 6, device=x.device)
        o, _ = s.r(x, (h, h.clone()) if s.kind == "LSTM" else h)
        return s.f(o[:, -1])


class Trans(nn.Module):
    def __init__(s):
        super().__init__()
        s.emb = nn.Embedding(11, 8)
        pos = torch.arange(5.0)[:, None] / torch.arange(1.0, 9.0)
        s.register_buffer("pe", pos.sin())
        s.enc, s.out = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), nn.Linear(8, 3)

    def forward(s, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), device=x.device)
        return s.out(s.enc(s.emb(x) + s.pe, mask=mask).mean(1))


class Attn(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.o = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 3)

    def forward(s, x):
        pad = torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device)
        return s.o(s.a(x, x, x, key_padding_mask=pad)[0].mean(1))


MODELS = {
    "MLP": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)),
        lambda: torch.randn(8, 4),
    ),
    "CNN": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout2d(0.2),
            nn.Flatten(),
            nn.Linear(36, 3),
        ),
        lambda: torch.randn(8, 1, 8, 8),
    ),
    "LSTM": (LSTMNet, lambda: torch.randn(8, 5, 4)),
    "GRU": (lambda: LSTMNet("GRU"), lambda: torch.randn(8, 5, 4)),
    "RNN": (lambda: LSTMNet("RNN"), lambda: torch.randn(8, 5, 4)),
    "MHA": (Attn, lambda: torch.randn(8, 5, 4)),
    "Transformer": (Trans, lambda: torch.randint(0, 11, (8, 5))),
    "ModuleList": (
        lambda: type(
            "ML",
            (nn.Module,),
            {
                "__init__": lambda s: (
                    nn.Module.__init__(s),
                    setattr(s, "ls", nn.ModuleList(nn.Linear(4, 4) for _ in range(3))),
                    setattr(s, "o", nn.Linear(4, 3)),
                )[0],
                "forward": lambda s, x: s.o([x := torch.tanh(m(x)) for m in s.ls][-1]),
            },
        )(),
        lambda: torch.randn(8, 4),
    ),
}
OPTS = {
    "SGD": {"lr": 0.1},
    "SGDm": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01},
    "AdamW-foreach": {"lr": 0.01, "foreach": True},
    "Adam-fused": {"lr": 0.01, "fused": True},
    "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.01},
}


def loop(D, model, opt):
    mk, data = MODELS[model]
    m = mk()
    if opt == "Adagrad":  # its state is made at construction, on real CUDA too
        m.to(D)
    o = getattr(torch.optim, opt.split("-")[0].replace("SGDm", "SGD"))(m.parameters(), **OPTS[opt])
    m.to(D)  # after the optimizer: parameter objects must stay the same
    x, y = data(), torch.randint(0, 3, (8,))
    crit = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0])).to(D)
    sched = torch.optim.lr_scheduler.StepLR(o, 2, 0.5)
    losses = []
    for _ in range(4):
        o.zero_grad()
        l = crit(m(x.to(D)), y.to(D))
        l.backward()
        o.step()
        sched.step()
        losses.append(l.item())
    m.eval()
    with torch.no_grad():
        p = m(x.to(D)).argmax(1).cpu().numpy()
    assert all(q.device.type == torch.device(D).type for q in m.parameters())
    return [*losses, int(p.sum()), *list(m.parameters())]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("opt", ["SGD", "AdamW"])
def test_train_models(model, opt, same):
    same(lambda D: loop(D, model, opt), 1e-4)


@pytest.mark.parametrize("opt", OPTS)
def test_train_optimizers(opt, same):
    same(lambda D: loop(D, "MLP", opt), 1e-4)


def test_lbfgs(same):
    def f(D):
        m = nn.Linear(3, 1).to(D)
        x, y = R(D, 8, 3), R(D, 8, 1)
        o = torch.optim.LBFGS(m.parameters(), max_iter=5)

        def closure():
            o.zero_grad()
            l = F.mse_loss(m(x), y)
            l.backward()
            return l

        o.step(closure)
        return list(m.parameters())

    same(f, 1e-4)


def amp(D, dtype, scaler):
    m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(D)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    s = torch.amp.GradScaler(D, enabled=scaler)
    x, y = R(D, 8, 4), torch.randint(0, 3, (8,)).to(D)
    for _ in range(2):
        o.zero_grad()
        with torch.autocast(device_type=D, dtype=dtype):
            h = m(x)
            l = F.cross_entropy(h.float(), y)
        assert h.dtype == dtype
        s.scale(l).backward()
        s.unscale_(o)
        s.step(o)
        s.update()
    return [l.float()]


def test_autocast_bf16(same):
    same(lambda D: amp(D, torch.bfloat16, False), 1e-3)


def test_autocast_fp16_scaler(same):
    same(lambda D: amp(D, torch.float16, True), 1e-3)


def test_cuda_amp_names(sim):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = torch.cuda.amp.GradScaler()
        with torch.cuda.amp.autocast():
            y = g(2, 3) @ g(3, 2)
    assert y.dtype == torch.float16 and s.scale(y.sum()).device == torch.device("cuda:0")
