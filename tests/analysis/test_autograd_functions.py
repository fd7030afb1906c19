"""``torch.autograd.Function`` and hooks on gradients: code that torch calls, and with what."""

from __future__ import annotations

import pytest

from analysis.running import code, codes

FUNCTION = """
class Op({base}):
    @staticmethod
    def forward(ctx, x, k):
        {forward}
        ctx.save_for_backward(x)
        return x * k

    @staticmethod
    def backward(ctx, grad):
        {backward}
        return grad, None

def run(device):
    net = nn.Linear(3, 3).to(device)
    return {call}(net(torch.ones(2, 3, device=device)), 2.0)
"""


def program(
    *, base: str = "torch.autograd.Function", forward: str = "pass", backward: str = "pass", call: str = "Op.apply"
) -> str:
    text = FUNCTION
    for name, value in {"base": base, "forward": forward, "backward": backward, "call": call}.items():
        text = text.replace(f"{{{name}}}", value)
    return code(text)


FAULTS = {
    "forward": {"forward": "x = x + torch.zeros(3)"},
    "backward": {"backward": "grad = grad * torch.ones(3)"},
    "saved": {"backward": "(x,) = ctx.saved_tensors; grad = grad + x * torch.ones(3)"},
    "another name of the base": {"base": "torch.autograd.function.Function", "backward": "grad = grad * torch.ones(3)"},
}


@pytest.mark.parametrize("parts", FAULTS.values(), ids=FAULTS)
def test_apply_runs_forward_and_backward_on_the_device(parts: dict[str, str]) -> None:
    assert codes(program(**parts)) == ["DVF201"]


FINE = {
    "0-dim": {"backward": "grad = grad * torch.tensor(2.0)"},
    "after the gradient": {"backward": "grad = grad * torch.ones_like(grad)"},
    "an attribute of the context": {
        "forward": "ctx.m = torch.ones(3, device=x.device)",
        "backward": "grad = grad * ctx.m",
    },
    "on the host": {"backward": "total = (grad.cpu() * torch.ones(3)).sum()"},
    "no such base": {"base": "object", "call": "Op.apply", "backward": "grad = grad.sum()"},
}


@pytest.mark.parametrize("parts", FINE.values(), ids=FINE)
def test_what_follows_its_inputs_is_silent(parts: dict[str, str]) -> None:
    assert codes(program(**parts)) == []


HOOKS = {
    "lambda": ("h.register_hook(lambda g: g * torch.ones(3))", ["DVF201"]),
    "function": ("def double(g):\n    return g * torch.ones(3)\nh.register_hook(double)", ["DVF201"]),
    "reads": ("h.register_hook(lambda g: print(g.norm().item() * torch.ones(3)))", []),
    "on the host": ("h.detach().cpu().requires_grad_().register_hook(lambda g: g * torch.ones(3))", []),
    "what it sees changes": ("m = torch.ones(3)\nh.register_hook(lambda g: g * m)\nm = m.to(device)", []),
    "unseen": ("h.register_hook(elsewhere)", []),
}


@pytest.mark.parametrize(("body", "expected"), HOOKS.values(), ids=HOOKS)
def test_hooks_get_gradients_of_the_device(body: str, expected: list[str]) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"def run(device):\n    h = nn.Linear(3, 3).to(device)(torch.ones(2, 3, device=device))\n{lines}\n    return h\n"
    assert codes(code(text)) == expected
