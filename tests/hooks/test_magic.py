"""The cell magic, in a real IPython shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("IPython")

MODEL = """\
import torch
from torch import nn

device = torch.device("cpu")
model = nn.Linear(3, 2).to(device)
"""
FAULT = "x = torch.ones(4, 3)\nx.to(device)\nout = model(x)\n"
FIXED = "x = torch.ones(4, 3)\nx = x.to(device)\nout = model(x)\n"


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def notebook(shell: Any) -> Any:
    """A shell without history that has loaded the extension; ``replaced`` holds what a front end would be told."""
    shell.reset()
    shell.history_manager.input_hist_raw[:] = [""]
    shell.replaced = []
    shell.set_next_input = lambda text, replace=False: shell.replaced.append((text, replace))
    shell.run_cell("%load_ext devicefix", store_history=True).raise_error()
    return shell


def run(notebook: Any, cell: str) -> None:
    notebook.run_cell(cell, store_history=True).raise_error()


def needs_torch() -> None:
    pytest.importorskip("torch")


def test_a_clean_cell_says_nothing_and_runs(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(notebook, "%%devicefix\nanswer = 6 * 7\n")
    assert capsys.readouterr().out == ""
    assert notebook.user_ns["answer"] == 42


def test_a_cell_is_checked_together_with_those_before_it(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, MODEL)
    run(notebook, "%%devicefix\n" + FAULT)
    out = capsys.readouterr().out
    assert "cell:2:1: DVF101" in out
    assert "safe fix: assign the result to `x`" in out
    assert notebook.user_ns["out"].shape == (4, 2)
    assert notebook.replaced == []


def test_earlier_cells_with_the_magic_count_as_well(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, "%%devicefix\n" + MODEL)
    run(notebook, "%%devicefix\n" + FAULT)
    assert "DVF101" in capsys.readouterr().out


def test_findings_of_earlier_cells_are_not_repeated(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, MODEL)
    run(notebook, FAULT)
    run(notebook, "%%devicefix\ny = 1\n")
    assert capsys.readouterr().out == ""


def test_write_replaces_the_cell_and_runs_the_repaired_one(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, MODEL)
    run(notebook, "%%devicefix --write\n" + FAULT)
    assert notebook.replaced == [(FIXED.rstrip("\n"), True)]
    assert "fixed 1, 0 remaining" in capsys.readouterr().out
    assert notebook.user_ns["out"].shape == (4, 2)


def test_diff_shows_the_change_and_runs_the_cell_as_it_was(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, MODEL)
    run(notebook, "%%devicefix --diff\n" + FAULT)
    assert "-x.to(device)\n+x = x.to(device)\n" in capsys.readouterr().out
    assert notebook.replaced == []


UNREGISTERED = """\
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


tower = Tower().to(device)
y = tower(torch.ones(4, 3, device=device))
"""


def test_unsafe_fixes_are_made_only_when_asked_for(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, MODEL)
    run(notebook, "%%devicefix --write\n" + UNREGISTERED)
    assert "unsafe fix: make it an `nn.ModuleList`" in capsys.readouterr().out
    assert notebook.replaced == []
    run(notebook, "%%devicefix --write --unsafe-fixes\n" + UNREGISTERED)
    assert "nn.ModuleList([nn.Linear(3, 3)])" in notebook.replaced[0][0]


def test_no_run(notebook: Any) -> None:
    run(notebook, "%%devicefix --no-run\nnever = 1\n")
    assert "never" not in notebook.user_ns


def test_select(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs_torch()
    run(notebook, MODEL)
    run(notebook, "%%devicefix --select DVF2\n" + FAULT)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("line", "said"), [
    ("--select DVF777", "unknown rule `DVF777`"),
    ("--wrote", "unrecognized arguments: --wrote"),
    ("--select 'x", "No closing quotation"),
    ("--help", "--unsafe-fixes"),
])  # fmt: skip
def test_mistakes_are_told_and_nothing_runs(
    notebook: Any, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    run(notebook, f"%%devicefix {line}\nnever = 1\n")
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "never" not in notebook.user_ns


def test_a_cell_that_is_no_python_is_left_to_the_shell(notebook: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = notebook.run_cell("%%devicefix\nthis is = no python\n", store_history=True)
    assert "devicefix:" in capsys.readouterr().out
    assert not result.success or result.error_in_exec is None


def test_shell_lines_do_not_disturb(notebook: Any) -> None:
    run(notebook, "%%devicefix\n%config Completer.use_jedi = False\nfine = 1\n")
    assert notebook.user_ns["fine"] == 1


def test_it_can_be_unloaded(notebook: Any) -> None:
    run(notebook, "%unload_ext devicefix")
    assert notebook.find_cell_magic("devicefix") is None
