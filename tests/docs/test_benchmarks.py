"""The benchmarks run, on a folder of one file."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import fetch_corpus  # noqa: E402


def table(script: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("| ")]


@pytest.mark.slow
def test_the_benchmark_of_a_corpus_runs() -> None:
    rows = table("bench_corpus.py", str(ROOT / "examples"))
    assert any(row.startswith("| devicefix, check, in process |") for row in rows)
    assert sum(" lines | 7 | " in row for row in rows) == 3


@pytest.mark.slow
def test_the_benchmark_of_the_start_runs() -> None:
    assert any(row.startswith("| the example, --diff |") for row in table("bench_start.py", "--times", "1"))


def test_only_python_files_inside_the_folder_are_unpacked(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("pkg/a.py", "pkg/data.bin", "../outside.py", "/root.py", "pkg/sub/b.py"):
            archive.writestr(name, "x = 1\n")
    assert fetch_corpus.unpack(wheel, tmp_path / "out" / "a") == 2
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert there == {"out/a/pkg/a.py", "out/a/pkg/sub/b.py"}


def test_every_package_of_the_corpus_has_a_version() -> None:
    lines = (ROOT / "benchmarks" / "corpus.txt").read_text(encoding="utf-8").split()
    assert len(lines) > 80
    assert all(line.count("==") == 1 for line in lines)
