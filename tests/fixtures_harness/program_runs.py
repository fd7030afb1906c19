"""Running a case's program and comparing what it returns."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import types
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixture_cases import notebook_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

SILENT_CELL_MAGICS = ("%%capture", "%%time")


def python_of_notebook(text: str) -> str:
    """The code cells as one program, without magics, shell lines, help requests and cells in other languages."""
    kept: list[str] = []
    for source in notebook_cells(text):
        lines = source.splitlines()
        if lines and lines[0].startswith("%%"):
            if not lines[0].startswith(SILENT_CELL_MAGICS):
                continue
            lines = lines[1:]
        kept += [line for line in lines if not line.lstrip().startswith(("%", "!")) and not line.rstrip().endswith("?")]
    return "\n".join(kept) + "\n"


@contextlib.contextmanager
def clean_surroundings(folder: Path) -> Iterator[None]:
    """Undo what a program does to the process: imports from its folder, environment, torch's and other global state."""
    import torch

    modules, path, environment = set(sys.modules), list(sys.path), dict(os.environ)
    argv, dtype = list(sys.argv), torch.get_default_dtype()
    sys.path.insert(0, str(folder))
    sys.argv = ["program"]
    random.seed(0)
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).parent == folder:
                del sys.modules[name]
        sys.path[:] = path
        sys.argv[:] = argv
        os.environ.clear()
        os.environ.update(environment)
        torch.set_default_dtype(dtype)
        torch.set_default_device(None)
        torch.set_grad_enabled(True)


def run_program(path: Path, device: str, entry: str = "run") -> Any:
    """Execute the program and call its entry with ``device``; a notebook's value is its ``result``."""
    text = path.read_bytes()
    is_notebook = path.suffix == ".ipynb"
    source: str | bytes = python_of_notebook(text.decode("utf-8")) if is_notebook else text
    name = "program_under_test"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    with clean_surroundings(path.parent):
        sys.modules[name] = module  # dataclasses and pickle look their module up
        try:
            exec(compile(source, str(path), "exec"), module.__dict__)
            value = module.__dict__["result"] if is_notebook else module.__dict__[entry](device)
            return on_host(value)
        finally:
            sys.modules.pop(name, None)


def on_host(value: Any) -> Any:
    """``value`` with every tensor copied to the CPU."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {key: on_host(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [on_host(item) for item in value]
    return value


def difference(left: Any, right: Any, tolerance: float = 1e-5, where: str = "result") -> str | None:
    """Where two results differ in structure, dtype, shape or value; None if they are alike."""
    import torch

    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        if left.dtype != right.dtype:
            return f"{where}: dtype {left.dtype} became {right.dtype}"
        if left.shape != right.shape:
            return f"{where}: shape {tuple(left.shape)} became {tuple(right.shape)}"
        if left.is_sparse:
            left, right = left.to_dense(), right.to_dense()
        if left.dtype.is_floating_point or left.dtype.is_complex:
            same = torch.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            same = torch.equal(left, right)
        return None if same else f"{where}: values differ"
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return f"{where}: keys {sorted(map(str, left))} became {sorted(map(str, right))}"
        pairs = [(f"{where}[{key!r}]", left[key], right[key]) for key in left]
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return f"{where}: {len(left)} items became {len(right)}"
        pairs = [(f"{where}[{i}]", a, b) for i, (a, b) in enumerate(zip(left, right, strict=False))]
    else:
        return None if left == right else f"{where}: {left!r} became {right!r}"
    return next((found for name, a, b in pairs if (found := difference(a, b, tolerance, name))), None)
