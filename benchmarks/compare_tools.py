"""What other linters say about the bundled example, which has seven device mistakes.

    python benchmarks/compare_tools.py ENVIRONMENTS_FOLDER

Installs each tool into a virtual environment of its own (kept between runs) and prints a table for
docs/comparison.md. Needs a package index.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: (name, what to install, the command)
TOOLS = (
    ("TorchFix", "torchfix==0.7.0", ("torchfix", "--select", "ALL", "train.py")),
    ("ruff", "ruff==0.17.6", ("ruff", "check", "--isolated", "--select", "ALL", "--output-format=concise", "train.py")),
    ("Fixit", "fixit==2.2.1", ("fixit", "lint", "train.py")),
    ("transformers-mlinter", "transformers-mlinter==0.1.5", ("mlinter", "modeling_train.py")),
    ("pylint", "pylint==4.0.4", ("pylint", "--disable=import-error", "train.py")),
    ("devicefix", str(ROOT), ("devicefix", "--output-format", "concise", "train.py")),
)
CODE = re.compile(r"\b(?:TOR|DVF|TRF|[A-Z]{1,4})\d{3,4}\b")


def main() -> None:
    """Run the command line."""
    environments = Path(sys.argv[1]).resolve()
    print("| tool | version | exit status | what it reports |")
    print("|---|---|---|---|")
    for name, package, command in TOOLS:
        print(row(name, package, command, environments / name), flush=True)


def row(name: str, package: str, command: tuple[str, ...], environment: Path) -> str:
    """Install and run one tool."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", package], capture_output=True, check=False)
        if done.returncode:
            shutil.rmtree(environment)
            return f"| {name} | {package} | | could not be installed |"
    version = (
        package.partition("==")[2]
        or subprocess.run(
            [environment / "bin" / "devicefix", "--version"], capture_output=True, text=True, check=True
        ).stdout.split()[-1]
    )
    with tempfile.TemporaryDirectory() as folder:
        for target in ("train.py", "modeling_train.py"):
            shutil.copy(ROOT / "examples" / "train.py", Path(folder, target))
        done = subprocess.run(
            [environment / "bin" / command[0], *command[1:]], cwd=folder, capture_output=True, text=True, check=False
        )
    codes = CODE.findall(done.stdout or done.stderr)
    listed = ", ".join(
        f"{code} ×{codes.count(code)}" if codes.count(code) > 1 else code for code in dict.fromkeys(codes)
    )
    return f"| {name} | {version} | {done.returncode} | {listed or 'nothing'} |"


if __name__ == "__main__":
    main()
