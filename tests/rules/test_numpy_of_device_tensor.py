"""DVF505: tensors on a device that become NumPy arrays."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding

CODE = "DVF505"


def program(body: str, *, decorator: str = "@torch.no_grad()", more: str = "") -> str:
    """A function ``work`` with a body, and a caller with a model on a device."""
    return f"""
import numpy as np
import torch
from torch import nn
{textwrap.dedent(more)}

{decorator}
def work(model, x, device):
{textwrap.indent(textwrap.dedent(body).strip(), " " * 4)}


def run(device):
    torch.manual_seed(0)
    return work(nn.Linear(3, 2).to(device), torch.ones(4, 3), device)
""".lstrip()


def found(source: str) -> list[Finding]:
    result = check(source)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == CODE]


SAFE = {
    "output": ("return model(x.to(device)).numpy()", "return model(x.to(device)).cpu().numpy()"),
    "named output": ("out = model(x.to(device))\nreturn out.numpy()", "return out.cpu().numpy()"),
    "detached": ("return model(x.to(device)).detach().numpy()", "return model(x.to(device)).detach().cpu().numpy()"),
    "data": ("return model(x.to(device)).data.numpy()", "return model(x.to(device)).data.cpu().numpy()"),
    "indexed": ("x = x.to(device)\nreturn x[0].numpy()", "return x[0].cpu().numpy()"),
    "after arithmetic": ("x = x.to(device)\nreturn (x * 2 + 1).numpy()", "return (x * 2 + 1).cpu().numpy()"),
    "classes": ("return model(x.to(device)).argmax(1).numpy()", "return model(x.to(device)).argmax(1).cpu().numpy()"),
    "collected": (
        "kept = []\nfor row in x:\n    kept.append(model(row.to(device)))\nreturn torch.stack(kept).numpy()", "return torch.stack(kept).cpu().numpy()",
    ),
    "in a list": ("return [row.numpy() for row in model(x.to(device))]", "return [row.cpu().numpy() for row in model(x.to(device))]"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "line"), SAFE.values(), ids=SAFE)
def test_cpu_goes_in_between(body: str, line: str) -> None:
    source = program(body)
    assert [f.applicability for f in found(source)] == [Applicability.SAFE]
    text = fix(source).new_text
    assert line in [t.strip() for t in text.splitlines()]
    assert found(text) == []


SILENT = {
    "already": "return model(x.to(device)).cpu().numpy()",
    "to cpu": 'out = model(x.to(device)).to("cpu")\nreturn out.numpy()',
    "forced": "return model(x.to(device)).numpy(force=True)",
    "the host's own": "model(x.to(device))\nreturn x.numpy()",
    "numbers": "return np.array([model(x.to(device)).sum().item(), float(x.sum())])",
    "lists": "return np.array(model(x.to(device)).tolist())",
    "shape": "return np.zeros(model(x.to(device)).shape)",
    "an array's own method": "a = np.ones(3)\nmodel(x.to(device))\nreturn np.sqrt(a)",
    "a method of the tensor in the end": "return np.mean(model(x.to(device)).cpu().numpy())",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_what_is_on_the_host_is_silent(body: str) -> None:
    assert found(program(body)) == []


HIDDEN = {
    "in a comprehension": "rows = [model(r.to(device)) for r in x]\nreturn np.mean([np.asarray(r) for r in rows], axis=0)",
    "a list": "rows = [model(r.to(device)) for r in x]\nreturn np.stack(rows)",
}


@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN)
def test_hidden_conversions_are_reported_only(body: str) -> None:
    source = program(body)
    assert [f.applicability for f in found(source)] == [Applicability.REPORT]
    assert fix(source, unsafe=True).new_text == source


def test_where_gradients_are_recorded_detach_is_needed() -> None:
    source = program("return model(x.to(device)).numpy()", decorator="")
    [finding] = found(source)
    assert finding.applicability is Applicability.SAFE
    assert "model(x.to(device)).detach().cpu().numpy()" in fix(source).new_text


def test_a_failure_that_is_caught_is_repaired_only_on_demand() -> None:
    body = "out = model(x.to(device))\ntry:\n    return out.numpy()\nexcept RuntimeError:\n    return None"
    source = program(body, decorator="")
    [finding] = found(source)
    assert finding.applicability is Applicability.UNSAFE
    assert finding.fix is not None
    assert "caught" in finding.fix.reason
    assert fix(source).new_text == source
    assert "out.detach().cpu().numpy()" in fix(source, unsafe=True).new_text


@pytest.mark.parametrize(
    "body",
    [
        "with torch.no_grad():\n    out = model(x.to(device))\n    a = out.numpy()\nreturn a",
        "return model(x.to(device)).detach().numpy()",
        "return x.to(device).numpy()",
    ],
)
def test_no_detach_where_none_is_needed(body: str) -> None:
    [finding] = found(program(body, decorator=""))
    assert finding.applicability is Applicability.SAFE
    assert (
        ".detach().cpu()" not in fix(program(body, decorator="")).new_text.replace(".detach().cpu().numpy()", "", 1)
        or ".detach()" in body
    )


def test_a_caller_under_no_grad_counts() -> None:
    source = program("return model(x.to(device)).numpy()", decorator="").replace(
        "    return work(", "    with torch.no_grad():\n        return work("
    )
    assert [f.applicability for f in found(source)] == [Applicability.SAFE]


def test_functions_nobody_calls_are_reported_where_a_module_or_a_move_placed_the_tensor() -> None:
    source = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def scores(self, x):
        return self.fc(x).detach().numpy()

    def given(self, x):
        return x.numpy()


def moved(x):
    return x.cuda().numpy()


def shown(image):
    return image.permute(1, 2, 0).numpy()
"""
    lines = {f.span.start.line for f in found(source)}
    assert lines == {12, 19}


def test_data_sets_are_silent() -> None:
    source = """
import torch
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        row = self.x[i].clone()
        a = row.numpy()
        a *= 2
        return row
"""
    assert found(source) == []


@pytest.mark.parametrize(
    "call",
    [
        "np.sqrt(out)",
        "np.percentile(out, 90)",
        "np.median(out)",
        "np.save('f', out)",
    ],
)
def test_functions_of_numpy_are_reported_since_torch_may_be_meant(call: str) -> None:
    source = program(f"out = model(x.to(device))\nreturn {call}")
    assert [f.applicability for f in found(source)] == [Applicability.REPORT]
    assert fix(source, unsafe=True).new_text == source


@pytest.mark.parametrize("call", ["np.array(out)", "np.asarray(out)", "np.asarray(out, dtype=np.float32)"])
def test_what_only_makes_an_array_is_given_host_data(call: str) -> None:
    source = program(f"out = model(x.to(device))\nreturn {call}")
    (finding,) = found(source)
    assert finding.applicability is Applicability.SAFE
    fixed = fix(source).new_text
    assert call.replace("out", "out.cpu()") in fixed or call.replace("out", "out.detach().cpu()") in fixed
    assert fix(fixed).new_text == fixed


@pytest.mark.parametrize(
    "body",
    [
        "loss = nn.functional.mse_loss(model(x.to(device)), x.to(device)[:, :2])\nloss.backward()\nreturn loss.numpy()",
        "out = model(x.to(device))\nout.sum().backward()\nreturn out.numpy()",
    ],
)
def test_what_backward_is_called_on_records_gradients(body: str) -> None:
    [finding] = found(program(body, decorator=""))
    assert finding.applicability is Applicability.SAFE
    assert ".detach().cpu().numpy()" in fix(program(body, decorator="")).new_text


def test_an_entry_point_that_nobody_calls_records_gradients() -> None:
    source = """
import torch
from torch import nn


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(3, 2).to(device)
    out = model(torch.ones(1, 3, device=device))
    return out.numpy()
"""
    [finding] = found(source)
    assert finding.fix is not None
    assert ".detach()" in finding.fix.title
