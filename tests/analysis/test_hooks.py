"""Forward hooks see, and may replace, what goes into a module and what comes out."""

from __future__ import annotations

import pytest

from analysis.running import code, codes

PROGRAM = """
from library import unseen


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
        {build}

    def bring(self, module, args):
        return tuple(a.to(self.fc.weight.device) for a in args)

    def look(self, module, args):
        print(args[0].shape)

    def forward(self, x):
        return self.fc(x)


def with_options(module, args, kwargs):
    return tuple(a.to(module.fc.weight.device) for a in args), kwargs


def sometimes(module, args):
    if args[0].device != module.fc.weight.device:
        return (args[0].to(module.fc.weight.device),)


def run(device):
    net = Net().to(device)
    {prepare}
    return [net(x) for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(4, 2)))]
"""


def hooked(*, build: str = "pass", prepare: str = "pass") -> list[str]:
    """Codes found where hooks are registered."""
    return codes(code(PROGRAM.replace("{build}", build).replace("{prepare}", prepare)))


REGISTER = "torch.nn.modules.module.register_module_forward_pre_hook"


@pytest.mark.parametrize(
    "prepare",
    [
        "net.register_forward_pre_hook(lambda m, a: (a[0].to(device),))",
        "net.register_forward_pre_hook(lambda m, a: a[0].to(device))",
        "net.register_forward_pre_hook(lambda m, a: tuple(t.to(device) for t in a))",
        "handle = net.register_forward_pre_hook(net.bring, prepend=True)",
        "net.register_forward_pre_hook(with_options, with_kwargs=True)",
        "net.register_forward_pre_hook(sometimes)",
        "net.register_forward_pre_hook(unseen)",
        "net.fc.register_forward_pre_hook(lambda m, a: (a[0].to(device),))",
        "for m in net.modules():\n        m.register_forward_pre_hook(lambda m, a: (a[0].to(device),))",
        "for n, m in net.named_children():\n        m.register_forward_pre_hook(lambda m, a: (a[0].to(device),))",
        f"{REGISTER}(lambda m, a: (a[0].to(device),))",
    ],
)
def test_a_pre_hook_that_moves(prepare: str) -> None:
    assert hooked(prepare=prepare) == []


@pytest.mark.parametrize(
    "prepare",
    [
        "pass",
        "net.register_forward_pre_hook(lambda m, a: print(a))",
        "net.register_forward_pre_hook(net.look)",
        "net.register_forward_pre_hook(lambda m, a: (a[0].float(),))",
        "net.register_forward_hook(lambda m, a, o: o * 2)",
        "nn.Linear(2, 1).register_forward_pre_hook(lambda m, a: (a[0].to(device),))",
    ],
)
def test_a_hook_that_moves_no_input(prepare: str) -> None:
    assert hooked(prepare=prepare) == ["DVF501"]


def test_hooks_of_the_constructor() -> None:
    assert hooked(build="self.register_forward_pre_hook(self.bring)") == []
    assert hooked(build="self.register_forward_pre_hook(self.look)") == ["DVF501"]


HOST = """
def run(device):
    net = nn.Linear(2, 1).to(device)
    net.register_forward_hook({hook})
    with torch.no_grad():
        return net(torch.rand(2, 2, device=device)).numpy()
"""


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("lambda m, a, o: o.cpu()", []),
        ("lambda m, a, o: unseen(o)", []),
        ("unseen", []),
        ("lambda m, a, o: print(o.mean())", ["DVF505"]),
        ("lambda m, a, o: o + 1", ["DVF505"]),
    ],
)
def test_the_output_is_what_a_hook_makes_of_it(hook: str, expected: list[str]) -> None:
    assert codes(code("from library import unseen\n" + HOST.replace("{hook}", hook))) == expected


def test_a_long_function_that_registers_a_hook_is_followed() -> None:
    lines = "\n".join("    print('ready')" for _ in range(40))
    assert (
        codes(
            code(f"""
def attach(model, device):
{lines}
    model.register_forward_pre_hook(lambda m, a: (a[0].to(device),))


def run(device):
    net = nn.Linear(2, 1).to(device)
    attach(net, device)
    return [net(x) for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(4, 2)))]
""")
        )
        == []
    )
