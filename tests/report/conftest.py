"""A folder with a file of findings, a clean one, a broken one and a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import toy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg/a b.py").write_text(toy.CODE, "utf-8")
    Path("clean.py").write_text("x = 1\n")
    Path("broken.py").write_text("def f(:\n")
    cell = {"cell_type": "code", "source": "x.to(d)", "outputs": [], "metadata": {}}
    Path("n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return tmp_path
