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
    with pytest.raises(RuntimeError, match="mat1"):
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
    if hasattr(torch, "accelerator"):
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
    with pytest.raises(RuntimeError, match="cuda:1.* mat1 |mat1 is on cuda:0, different from other tensors on cuda:1"):
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


def snapshot():
    """Every attribute of the places that the simulator touches."""
    places = [
        torch, torch.Tensor, torch.cuda, torch.UntypedStorage, torch._C, torch._VF, torch._C._nn, torch.nn.functional, torch.jit,
        torch.autograd, torch.autograd.Function, torch.autograd.function.BackwardCFunction, torch.serialization, torch.linalg,
        torch.amp.autocast_mode.autocast, torch.backends.cudnn, torch.backends.cuda, torch.version, threading.Thread,
        torch.utils.data.dataloader._BaseDataLoaderIter, torch.autograd.profiler.record_function, torch.distributed,
        torch.utils._device,
    ]  # fmt: skip
    return {
        (str(place), name): value for place in places for name, value in vars(place).items() if "__" not in name[:2]
    }


def test_every_attribute_is_restored():
    import sys

    with simulated_accelerator("cuda"):  # what torch imports lazily is imported now
        nn.Linear(1, 1).cuda()(g(1)).sum().backward()
    before, modules = snapshot(), set(sys.modules)
    with simulated_accelerator("cuda"):
        torch.set_default_device("cuda")
        during = snapshot()
        nn.Linear(1, 1)(torch.ones(1)).sum().backward()
    after = snapshot()
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] is not after[name]] == []
    assert sum(during.get(name) is not before[name] for name in before) > 100
    assert set(sys.modules) >= modules


def test_restored_after_an_error():
    before = snapshot()
    with pytest.raises(ZeroDivisionError), simulated_accelerator("cuda"):
        raise ZeroDivisionError
    assert [name for name, value in snapshot().items() if before.get(name) is not value] == []


def test_refusals(sim):
    from devicefix.verify import NotSimulatedError

    with pytest.raises(RuntimeError, match="already active"), simulated_accelerator("cuda"):
        pass
    for call in (
        lambda: torch.cuda.CUDAGraph(),
        lambda: torch._subclasses.fake_tensor.FakeTensorMode().__enter__(),
        lambda: torch.distributed.init_process_group("nccl"),
        lambda: np.from_dlpack(g(2)),
    ):
        with pytest.raises(NotSimulatedError, match="simulated accelerator cannot do"):
            call()


def test_only_cuda_is_simulated():
    from devicefix.verify import NotSimulatedError

    with pytest.raises(NotSimulatedError, match="only 'cuda'"), simulated_accelerator("xpu"):
        pass
    with pytest.raises(ValueError, match="at least one"), simulated_accelerator("cuda", count=0):
        pass


def test_generators(sim):
    on_card, on_cpu = torch.Generator("cuda").manual_seed(1), torch.Generator().manual_seed(1)
    assert on_card.device.type == "cuda" and on_cpu.device.type == "cpu" and isinstance(on_cpu, torch.Generator)
    assert torch.equal(torch.rand(3, generator=on_card, device="cuda").cpu(), torch.rand(3, generator=on_cpu))
    for make in (torch.rand, torch.randn):
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
            make(2, generator=on_cpu, device="cuda")
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        torch.randperm(4, generator=on_card)
    with pytest.raises(RuntimeError, match="generator"):
        g(3).normal_(generator=on_cpu)
    with pytest.raises(RuntimeError, match="generator"):
        torch.multinomial(g(3).abs(), 1, generator=on_cpu)
    assert g(3).normal_(generator=on_card).is_cuda
    for _ in range(50):  # a CPU generator may get the address of a freed one of the card
        torch.Generator("cuda")
        torch.rand(1, generator=torch.Generator())


def test_device_contexts(sim):
    with torch.device("cuda"):
        assert torch.zeros(1).is_cuda and torch.tensor([1.0]).is_cuda and torch.arange(2).is_cuda
        assert nn.Linear(1, 1).weight.is_cuda and torch.ones(1, device="cpu").device.type == "cpu"
        with torch.device("cuda:1"):
            assert torch.empty(1).device.index == 1
        assert torch.empty(1).device.index == 0
    with torch.cuda.device(1):
        assert torch.empty(1, device="cuda").device.index == 1 and torch.ones(1).cuda().device.index == 1
    assert torch.ones(1).device.type == "cpu"


def test_views_and_in_place(sim):
    x = g(4, 3)
    for view in (
        x[1],
        x[:, 0],
        x.t(),
        x.view(-1),
        x.unsqueeze(0),
        x.expand(2, 4, 3),
        x.diagonal(),
        x.unfold(0, 2, 1),
        *x.unbind(),
        *x.split(2),
    ):
        assert view.is_cuda and view.untyped_storage()._cdata == x.untyped_storage()._cdata
        with pytest.raises(RuntimeError, match="same device"):
            view + torch.ones(view.shape)
    h = torch.zeros(4, 3)
    for change in (lambda: h.add_(x), lambda: x.mul_(h), lambda: h.addmm_(x, g(3, 3)), lambda: h.lerp_(x, 0.5)):
        with pytest.raises(RuntimeError, match="same device"):
            change()
    assert h.sum() == 0 and not h.is_cuda
    h.copy_(x)
    h[0] = x[1]
    assert not h.is_cuda and x.zero_().is_cuda and x.resize_(2, 2).is_cuda and x.set_(g(3)).is_cuda
    x.data = torch.ones(3)
    assert not x.is_cuda


def test_two_cards(sim):
    a, b = g(2), g(2).to("cuda:1")
    with pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
        a + b
    assert (a.to(b.device) + b).device.index == 1 and (a + b.to(a)).device.index == 0
    assert torch.zeros((), device="cuda:1").device.index == 1
    with pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
        a * torch.tensor(2.0, device="cuda:1")  # only 0-dim tensors of the CPU act like numbers
    m = nn.Linear(2, 2).to("cuda:1")
    assert {p.device.index for p in m.parameters()} == {1} and m(b).device.index == 1


def test_vmap_sees_the_device(sim):
    assert torch.vmap(lambda row: row + torch.ones(3, device=row.device))(g(2, 3)).is_cuda
    with pytest.raises(RuntimeError, match="same device"):
        torch.vmap(lambda row: row + torch.ones(3))(g(2, 3))


def test_the_table_for_real_cards_can_be_written(sim, tmp_path, capsys):
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "scripts" / "gpu_table.py"
    spec = importlib.util.spec_from_file_location("gpu_table", path)
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    (tmp_path / "fixtures.jsonl").write_text('{"fixture": "r/c", "on": "cuda", "verdict": "confirmed"}\n')
    (tmp_path / "junit.xml").write_text(
        '<testsuites><testcase classname="tests.verify.test_x" name="t"><failure message="bad"/></testcase></testsuites>'
    )
    table.main(tmp_path)
    out = capsys.readouterr().out
    assert "card: Simulated GPU" in out and "| r/c | confirmed |" in out and "- `t`: bad" in out
