"""The extension in a real VS Code (code-server): its tests in the extension host, and a person's clicks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from editors.families import cases
from lsp import programs

pytestmark = pytest.mark.editor
ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
INSTALLED = Path(os.environ.get("DEVICEFIX_EDITORS", Path.home() / ".cache" / "devicefix-editors"))
CELLS = [
    "import torch\nfrom torch import nn\n",
    "%matplotlib inline\n",
    "model = nn.Linear(3, 2).cuda()\n",
    'note = "é😀"; x = torch.ones(4, 3).cuda()',
]


@pytest.fixture(scope="module")
def node() -> str:
    """Node, once everything else that is needed has been found."""
    program = shutil.which("node")
    if not program:
        pytest.skip("node is not installed")
    if not (INSTALLED / "node_modules" / ".bin" / "code-server").exists():
        pytest.skip(f"there is no VS Code in {INSTALLED} (scripts/install_editors.sh --vscode installs it)")
    browser = os.environ.get("DEVICEFIX_CHROMIUM", "/usr/bin/chromium")
    if not Path(browser).exists():
        pytest.skip("Chromium is not installed (DEVICEFIX_CHROMIUM may name one)")
    if not (EXTENSION / "node_modules" / ".bin" / "esbuild").exists():
        pytest.skip("the extension's packages are not installed (npm ci in editors/vscode)")
    build(program, "build")
    return program


def build(node: str, script: str) -> None:
    done = subprocess.run(["npm", "run", "-s", script], cwd=EXTENSION, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def run(node: str, script: str, folder: Path, plan: dict[str, Any]) -> dict[str, Any]:
    report = folder.parent / "report.json"
    plan = {"report": str(report), **plan}
    plan_file = folder.parent / "plan.json"
    plan_file.write_text(json.dumps(plan))
    environment = {
        **os.environ,
        "DEVICEFIX_EDITORS": str(INSTALLED),
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        [node, str(EXTENSION / "e2e" / script), str(folder), str(plan_file)],
        cwd=folder.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=420,
    )
    assert report.exists(), done.stdout + done.stderr
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def notebook(path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "id": "m0", "metadata": {}, "source": ["# é😀\n"]},
        *(
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"c{number}",
                "metadata": {},
                "outputs": [],
                "source": text.splitlines(keepends=True),
            }
            for number, text in enumerate(CELLS)
        ),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    data = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def sources(path: Path) -> list[str]:
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


FIXED_CELLS = [
    'import torch\nfrom torch import nn\n\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    CELLS[1],
    "model = nn.Linear(3, 2).to(device)\n",
    'note = "é😀"; x = torch.ones(4, 3).to(device)',
]


def test_extension_host(node: str, tmp_path: Path):
    folder = tmp_path / "project"
    folder.mkdir()
    files = [(case, end, case.write(folder, end)) for case in cases() for end in ("\n", "\r\n")]
    (folder / "menu.py").write_text(programs.MOVE)
    notebook(folder / "n.ipynb")
    result = run(
        node,
        "host.mjs",
        folder,
        {
            "files": [{"name": path.name, "findings": case.findings} for case, _, path in files],
            "menu": "menu.py",
            "unsaved": programs.MOVE,
            "fixed": programs.MOVE_FIXED,
            "notebook": "n.ipynb",
            "cells": [0, 0, 1, 1],
            "editedCells": 3,
            "machineSettings": {"devicefix.interpreter": sys.executable},
        },
    )
    for test in result["results"]:
        print("ok  " if test["ok"] else "FAIL", f"{test['ms']:6} ms", test["name"], test.get("error", ""))
    assert result["failed"] == 0
    for case, end, path in files:
        assert path.read_bytes() == case.expected(end), path.name
    assert (folder / "menu.py").read_text() == programs.MOVE_FIXED
    assert [text.rstrip("\n") for text in sources(folder / "n.ipynb")] == [text.rstrip("\n") for text in FIXED_CELLS]


def test_clicks(node: str, tmp_path: Path):
    build(node, "package")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "bulb.py").write_text(programs.MOVE)
    (folder / "saved.py").write_text(programs.NET)
    notebook(folder / "n.ipynb")
    pictures = os.environ.get("DEVICEFIX_PICTURES")
    result = run(
        node,
        "clicks.mjs",
        folder,
        {
            "vsix": str(EXTENSION / "devicefix.vsix"),
            "bulb": "bulb.py",
            "bulbText": "x.to(device)",
            "bulbFixed": "x = x.to(device)",
            "saved": "saved.py",
            "savedFixed": 'self.register_buffer("table"',
            "notebook": "n.ipynb",
            "notebookFixed": "torch.ones(4, 3).to(device)",
            "machineSettings": {"devicefix.interpreter": sys.executable},
            "pictures": pictures,
        },
    )
    for step in result["steps"]:
        print(f"{step['ms']:6} ms", step["what"])
    assert result["problem"] is None
    assert (folder / "bulb.py").read_text() == programs.MOVE_FIXED
    saved = (folder / "saved.py").read_text()
    assert "torch.randn(2, 4, device=" in saved
    after = sources(folder / "n.ipynb")
    assert re.sub("  # edited(?: again)*", "", after[2]).strip() == FIXED_CELLS[2].strip()
    assert after[1] == CELLS[1]
