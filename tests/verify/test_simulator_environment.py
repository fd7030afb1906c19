"""Everything around the operators: loaders, checkpoints, copies, torch.cuda, threads, several cards, a clean exit."""

# ruff: noqa: E741, N803, N805, N806, PT006, PT012, PT018, RUF043

from __future__ import annotations

import copy
import io
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from devicefix.verify import simulated_accelerator


def g(*shape):
    return torch.randn(*shape, device="cuda")


def c(*shape):
    return torch.randn(*shape)


def R(D, *shape):
    return torch.randn(*shape).to(D)


class DS(torch.utils.data.Dataset):
    def __len__(s):
        return 10

    def __getitem__(s, i):
        return torch.full((3,), float(i)), i


class BadDS(DS):
    def __getitem__(s, i):
        return torch.ones(3, device="cuda"), i


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("pin", [False, True])
def test_dataloader(workers, pin, same):
    def f(D):
        dl = torch.utils.data.DataLoader(
            DS(),
            4,
            shuffle=True,
            num_workers=workers,
            pin_memory=pin and D == "cuda",
            generator=torch.Generator().manual_seed(0),
        )
        r = []
        for x, y in dl:
            assert x.device.type == "cpu" and (D == "cpu" or not pin or x.is_pinned())
            r.append((x.to(D, non_blocking=True) * 2).sum().item() + y.to(D).sum().item())
        return r

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(f)


def test_dataloader_unmoved_batch(sim):
    m = nn.Linear(3, 1).cuda()
    with pytest.raises(RuntimeError, match="mat1 is on cpu"):
        for x, _ in torch.utils.data.DataLoader(DS(), 4, num_workers=2):
            m(x)


def test_cuda_in_forked_worker(sim):
    torch.zeros(1, device="cuda")
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        next(iter(torch.utils.data.DataLoader(BadDS(), 4, num_workers=1)))


@pytest.mark.parametrize(
    "loc,want",
    [
        (None, "cuda:1"),
        ("cpu", "cpu"),
        ("cuda:0", "cuda:0"),
        ("cuda", "cuda:0"),
        ({"cuda:1": "cuda:0"}, "cuda:0"),
        (lambda s, l: s, "cpu"),
    ],
)
def test_checkpoint(sim, loc, want):
    m = nn.Linear(3, 2).to("cuda:1")
    o = torch.optim.Adam(m.parameters())
    m(g(1, 3).to("cuda:1")).sum().backward()
    o.step()
    b = io.BytesIO()
    torch.save({"model": m.state_dict(), "opt": o.state_dict(), "epoch": 3}, b)
    b.seek(0)
    s = torch.load(b, map_location=loc)
    assert str(s["model"]["weight"].device) == want and torch.equal(s["model"]["weight"].cpu(), m.weight.detach().cpu())
    assert (
        str(s["opt"]["state"][0]["exp_avg"].device) == want and s["opt"]["state"][0]["step"].device.type == "cpu"
        if loc is None
        else True
    )
    n = nn.Linear(3, 2).cuda()
    n.load_state_dict(s["model"])  # copies across devices
    assert n.weight.device == torch.device("cuda:0")
    o2 = torch.optim.Adam(n.parameters())
    o2.load_state_dict(s["opt"])
    assert o2.state[n.weight]["exp_avg"].device == torch.device("cuda:0")
    n(g(1, 3)).sum().backward()
    o2.step()


def test_checkpoint_reads_outside(tmp_path):
    with simulated_accelerator("cuda"):
        torch.save(nn.Linear(2, 2).cuda().state_dict(), tmp_path / "a.pt")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA"):
        torch.load(tmp_path / "a.pt")
    assert torch.load(tmp_path / "a.pt", map_location="cpu")["weight"].device.type == "cpu"


def test_checkpoint_too_many_devices(tmp_path):
    with simulated_accelerator("cuda", count=2):
        torch.save(torch.ones(2, device="cuda:1"), tmp_path / "a.pt")
    with (
        simulated_accelerator("cuda", count=1),
        pytest.raises(RuntimeError, match="CUDA device 1 but torch.cuda.device_count\\(\\) is 1"),
    ):
        torch.load(tmp_path / "a.pt")


def test_deepcopy_pickle(sim):
    import pickle

    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).cuda()
    n = copy.deepcopy(m)
    assert n[0].weight.device == torch.device("cuda:0") and n[0].weight is not m[0].weight and n[1].running_mean.is_cuda
    assert pickle.loads(pickle.dumps(m))[0].weight.is_cuda
    assert copy.deepcopy(g(3)).is_cuda and g(3).clone().is_cuda


def test_module_moves(sim):
    m = nn.Linear(2, 2)
    m.register_buffer("b", torch.ones(2))
    m.plain = torch.ones(2)
    p = m.weight
    assert m.cuda() is m and m.weight is p and type(m.weight) is nn.Parameter and m.b.is_cuda and not m.plain.is_cuda
    m.to("cuda:1")
    assert {str(v.device) for v in m.state_dict().values()} == {"cuda:1"}
    assert m.cpu().weight.device.type == "cpu" and m.to(0).weight.device.index == 0
    assert m.half().weight.dtype == torch.float16 and m.weight.is_cuda
    with torch.device("meta"):
        e = nn.Linear(2, 2)
    assert e.to_empty(device="cuda").weight.is_cuda
    assert nn.Linear(2, 2, device="cuda").weight.is_cuda


def test_device_attributes(sim):
    x = g(3)
    assert (x.device, x.is_cuda, x.is_cpu, x.get_device(), x.type()) == (
        torch.device("cuda:0"),
        True,
        False,
        0,
        "torch.cuda.FloatTensor",
    )
    assert x.to("cuda") is x and x.cuda() is x and x.to("cuda:1") is not x and x.to(x.device, torch.float32) is x
    assert x[1:].is_cuda and x.detach().is_cuda and x.data.is_cuda and x.view(1, 3).t().is_cuda and x.T.is_cuda
    assert "device='cuda:0'" in repr(x) and x.cpu().device.type == "cpu" and c(2).cpu() is not None
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor) and type(x) is torch.Tensor
    assert (
        torch.cuda.FloatTensor(2).is_cuda and x.type(torch.FloatTensor).device.type == "cpu" and c(2).type_as(x).is_cuda
    )
    assert x.new(2).is_cuda and torch.as_tensor(x).is_cuda and torch.as_tensor(np.ones(2), device="cuda").is_cuda
    assert torch.tensor(1, device="cuda:1").device.index == 1 and torch.zeros(2, device=1).device.index == 1
    assert x.to(c(1)).device.type == "cpu" and c(1).to(x).is_cuda and x.untyped_storage().device.type == "cuda"
    assert x.numpy(force=True).shape == (3,)


def test_from_numpy_copy_semantics(sim):
    a = np.zeros(3, dtype="f4")
    t = torch.from_numpy(a).cuda()
    t.add_(1)
    assert a.sum() == 0 and t.sum().item() == 3
    u = torch.as_tensor(a, device="cuda")
    u.add_(1)
    assert a.sum() == 0


def test_default_device(sim):
    torch.set_default_device("cuda")
    try:
        assert (
            torch.zeros(1).is_cuda
            and torch.tensor([1]).is_cuda
            and nn.Linear(1, 1).weight.is_cuda
            and torch.arange(2).is_cuda
        )
    finally:
        torch.set_default_device(None)
    with torch.device("cuda:1"):
        assert torch.randn(2).device.index == 1
    assert not torch.zeros(1).is_cuda


def test_cuda_api(sim):
    C = torch.cuda
    assert (
        C.is_available()
        and C.device_count() == 2
        and C.current_device() == 0
        and C.get_device_name(0)
        and C.get_device_properties(0).total_memory
    )
    with C.device(1):
        assert C.current_device() == 1 and torch.zeros(1, device="cuda").device.index == 1
    C.set_device("cuda:1")
    assert g(1).device.index == 1
    C.set_device(0)
    C.synchronize()
    C.empty_cache()
    C.manual_seed_all(1)
    C.reset_peak_memory_stats()
    e, f = C.Event(enable_timing=True), C.Event(enable_timing=True)
    e.record()
    f.record()
    assert e.elapsed_time(f) >= 0 and C.memory_allocated() == 0 and C.max_memory_allocated() == 0
    with C.stream(C.Stream()):
        g(1)
    C.set_rng_state(C.get_rng_state())
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "cuda"
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        C.set_device(5)


def test_dataparallel(same):
    def f(D):
        m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(D)
        if D == "cuda":
            m = nn.DataParallel(m)
        o = m(R(D, 6, 4))
        o.sum().backward()
        return [o] + [p.grad for p in m.parameters()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(f)


def test_model_parallel(sim):
    a, b = nn.Linear(3, 3).to("cuda:0"), nn.Linear(3, 2).to("cuda:1")
    b(a(g(2, 3)).to("cuda:1")).sum().backward()
    assert a.weight.grad.device.index == 0 and b.weight.grad.device.index == 1
    with pytest.raises(RuntimeError, match="mat1 is on cuda:0, different from other tensors on cuda:1"):
        b(a(g(2, 3)))


def test_threads(sim):
    r = []
    t = threading.Thread(target=lambda: r.append((torch.ones(2, device="cuda") + 1).sum().item()))
    t.start()
    t.join()
    assert r == [4.0]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as p:
        assert [x.item() for x in p.map(lambda i: torch.tensor(i, device="cuda") * 2, range(3))] == [0, 2, 4]


def test_compile_and_script(sim):
    m = torch.compile(nn.Linear(2, 2).cuda())
    assert m(g(1, 2)).is_cuda

    @torch.compile
    def f(x):
        return x + 1

    @torch.jit.script
    def h(x):
        return x + torch.ones(2, device=x.device)

    assert f(g(2)).is_cuda and h(g(2)).is_cuda


def test_clean_exit():
    before = (torch.Tensor.to, torch.cuda.is_available, torch.tensor, torch.device, threading.Thread.start)
    with simulated_accelerator("cuda"):
        x = g(2)
    assert before == (torch.Tensor.to, torch.cuda.is_available, torch.tensor, torch.device, threading.Thread.start)
    assert not torch.cuda.is_available() and x.device.type == "cpu" and torch.Tensor(2).shape == (2,)
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(1, device="cuda")
