"""Write ``src/devicefix/torch_api/_generated.py`` from the installed torch.

    python scripts/generate_torch_api.py           # write
    python scripts/generate_torch_api.py --check   # write nothing, exit 1 when the file would change

Signatures and types come from torch's operator schemas (``native_functions.yaml``, shipped in the wheel), from
``inspect`` and from constructing modules; what none of them says is in ``supplement.py`` and ``semantics.py`` beside
the target. The notation of a row is::

    (positional:t, list_of_tensors:t*, *variadic, *, keyword) returns flag key=value …
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

from torch_api_classes import modules, optimizers  # noqa: E402
from torch_api_functions import attributes, functions, methods  # noqa: E402

TARGET = ROOT / "src" / "devicefix" / "torch_api" / "_generated.py"


def tables() -> dict[str, dict[str, str]]:
    """All tables, by the name that they have in the generated module."""
    return {
        "FUNCTIONS": functions(),
        "METHODS": methods(),
        "MODULES": modules(),
        "OPTIMIZERS": optimizers(),
        "ATTRIBUTES": attributes(),
    }


def render() -> str:
    """The text of ``_generated.py``."""
    out = [
        '"""Tables of PyTorch, written by scripts/generate_torch_api.py; do not edit."""',
        "# fmt: off",
        "",
        "from __future__ import annotations",
        "",
        f'TORCH_VERSION = "{torch.__version__.partition("+")[0]}"',
    ]
    for name, table in tables().items():
        out += ["", f"{name}: dict[str, str] = {{", *(f'    "{key}": "{row}",' for key, row in table.items()), "}"]
    return "\n".join(out) + "\n"


def main() -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(description="Write the tables of PyTorch.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when the file would change")
    check = parser.parse_args().check
    text = render()
    if check:
        if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print(
            f"{TARGET.relative_to(ROOT)} is out of date for torch {torch.__version__}: run this script without --check"
        )
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
