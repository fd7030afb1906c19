"""The same fault is found and repaired alike in every spelling, and the repaired text is left alone."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest
import tool_port
from program_runs import difference, run_program
from spellings import Spelling, spellings

if TYPE_CHECKING:
    from pathlib import Path

SPELLINGS = list(spellings())

each_spelling = pytest.mark.parametrize("spelling", SPELLINGS, ids=[spelling.name for spelling in SPELLINGS])


@pytest.fixture
def needs_rule(spelling: Spelling) -> None:
    if not tool_port.tool_is_there() or spelling.code not in tool_port.known_codes():
        pytest.skip(f"there is no {spelling.code} yet")


def write(folder: Path, text: bytes) -> Path:
    path = folder / "program.py"
    path.write_bytes(text)
    return path


@each_spelling
def test_spelling_is_valid_and_means_the_same(spelling: Spelling, tmp_path: Path) -> None:
    compile(spelling.fault, "fault", "exec")
    compile(spelling.repair, "repair", "exec")
    if importlib.util.find_spec("torch") is not None:
        before = run_program(write(tmp_path, spelling.fault), "cpu")
        assert difference(before, run_program(write(tmp_path, spelling.repair), "cpu")) is None


@each_spelling
@pytest.mark.usefixtures("needs_rule")
def test_fault_is_found_and_repaired(spelling: Spelling, tmp_path: Path) -> None:
    path = write(tmp_path, spelling.fault)
    assert {found.code for found in tool_port.check(path)} == {spelling.code}
    assert tool_port.fix(path, unsafe=False).decode() == spelling.repair.decode()


@each_spelling
@pytest.mark.usefixtures("needs_rule")
def test_repaired_text_is_left_alone(spelling: Spelling, tmp_path: Path) -> None:
    assert tool_port.check(write(tmp_path, spelling.repair)) == []
