"""Loading a program with an entry point: a Python file, or a notebook whose cells are all run."""

from __future__ import annotations

import inspect
import json
import linecache
import re
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

RESULT = "result"  # what a notebook leaves behind
_HELP = re.compile(r"[\w.]+\?{1,2}\s*$")  # `nn.Linear?`
_MODULE = "__devicefix_program__"


class NoEntryError(LookupError):
    """The program has no such entry."""


def run_entry(path: Path, entry: str, device: str) -> Any:
    """Execute a program and return what its entry returns.

    A ``.py`` file is imported (not as ``__main__``) and its function ``entry`` is called with the device string, or
    with nothing where it takes nothing. A ``.ipynb`` file is run from top to bottom and its global ``result`` is
    returned.
    """
    if path.suffix == ".ipynb":
        return _run_notebook(path)
    module = types.ModuleType(_MODULE)
    module.__file__ = str(path)
    sys.modules[_MODULE] = module  # dataclasses, pickle and workers look a class's module up
    sys.path.insert(0, str(path.resolve().parent))
    source = path.read_bytes()
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    function = getattr(module, entry, None)
    if function is None:
        raise NoEntryError(f"{path.name} has no function {entry!r}")
    return function(*_arguments(function, device))


def _arguments(function: Any, device: str) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (device,)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    return (device,) if positional else ()


def _run_notebook(path: Path) -> Any:
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    sys.path.insert(0, str(path.resolve().parent))
    document = json.loads(path.read_text(encoding="utf-8"))
    for number, cell in enumerate(document["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        code = python_of_cell(source)
        name = f"{path.name}[{number}]"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        exec(compile(code, name, "exec", dont_inherit=True), namespace)
    if RESULT not in namespace:
        raise NoEntryError(f"{path.name} leaves no {RESULT!r}")
    return namespace[RESULT]


def python_of_cell(source: str) -> str:
    """A cell without its magics and shell lines, line numbers kept. A whole-cell magic of another language leaves
    nothing."""
    lines = source.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(("%%time", "%%capture", "%%prun", "%%python")):
        return ""
    kept = []
    for line in lines:
        stripped = line.lstrip()
        if stripped.startswith(("%", "!", "?")) or _HELP.match(stripped):
            indent = line[: len(line) - len(stripped)]
            kept.append(indent + "pass\n" if indent else "\n")
        else:
            kept.append(line)
    return "".join(kept)


def is_program(path: Path) -> bool:
    """Whether `run_entry` can run a file."""
    return path.suffix in (".py", ".ipynb")
