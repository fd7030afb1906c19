"""A tensor that one branch makes beside the inputs and another on the CPU."""

from __future__ import annotations

import textwrap

import pytest

from analysis.running import code, codes

PROGRAM = """
class Pool(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
{body}


def run(device):
    return Pool("decay").to(device)(torch.rand(2, 4, 3).to(device))
"""
USE = "return self.fc((x * w[None, :, None]).sum(1))"


def pooled(body: str, use: str = USE) -> list[str]:
    """Codes found where ``w`` is made by some statements and then used."""
    return codes(code(PROGRAM.replace("{body}", textwrap.indent(textwrap.dedent(body) + use, " " * 8))))


def two(test: str) -> str:
    """``w`` beside ``x`` if a test holds, and on the CPU otherwise."""
    return f"if {test}:\n    w = torch.ones(4, device=x.device)\nelse:\n    w = torch.ones(4)\n"


@pytest.mark.parametrize(
    "test", ["self.kind == 'mean'", "self.kind != 'mean'", "x.ndim == 3", "self.kind in ('a', 'b')"]
)
def test_the_choice_has_nothing_to_do_with_devices(test: str) -> None:
    assert pooled(two(test)) == ["DVF201"]


@pytest.mark.parametrize(
    "test",
    [
        "x.is_cuda",
        "self.fast",
        "self.kind == 'gpu'",
        "x.device.type == 'cuda'",
        "self.kind == 'mean' and x.is_cuda",
        "torch.cuda.is_available()",
        "self.kind == self.other",
        "self.backend == 'native'",
    ],
)
def test_the_choice_may_be_about_devices(test: str) -> None:
    assert pooled(two(test)) == []


@pytest.mark.parametrize(
    "use",
    [
        "if self.kind == 'mean':\n    return x * w[:, None]\nreturn self.fc(x.sum(1)) * w.tolist()[0]",
        "return self.fc(x.sum(1)) * w if self.kind == 'mean' else w.tolist()",
        "while self.kind == 'mean':\n    x = x * w[:, None]\nreturn x",
        "match self.kind:\n    case 'mean':\n        return x * w[:, None]\nreturn w.numpy()",
    ],
)
def test_a_choice_that_is_made_again_proves_nothing(use: str) -> None:
    assert pooled(two("self.kind == 'mean'"), use) == []


def test_a_tensor_that_is_moved_afterwards() -> None:
    assert pooled(two("self.kind == 'mean'") + "w = w.to(x.device)\n") == []
    assert pooled(two("self.kind == 'mean'"), "return x * w.to(x)[:, None]") == []
    assert pooled("w = torch.ones(4)\nif self.kind == 'mean':\n    w = w.to(x.device)\n") == []


def test_match() -> None:
    cases = """
    match {subject}:
        case {first}:
            w = x.new_full((4,), 0.25)
        case _:
            w = 0.5 ** torch.arange(4)
    """
    dedented = textwrap.dedent(cases)
    assert pooled(dedented.replace("{subject}", "self.kind").replace("{first}", "'mean'")) == ["DVF201"]
    assert pooled(dedented.replace("{subject}", "x.device.type").replace("{first}", "'cuda'")) == []
    assert pooled(dedented.replace("{subject}", "self.kind").replace("{first}", "'mean' if x.is_cuda")) == []


def test_in_a_loop_the_choice_is_made_again() -> None:
    body = textwrap.indent(two("self.kind == 'mean'"), "    ")
    assert pooled(f"for _ in range(2):\n{body}    x = x * w[:, None]\n", "return x") == []
