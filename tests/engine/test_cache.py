"""The cache gives what a fresh run gives, whatever changed in between, and does no more work than it has to."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devicefix.engine.cache import index
from devicefix.engine.cache.files import read, write
from devicefix.engine.outcome import Outcome
from devicefix.engine.run import run
from devicefix.settings import Settings

MODULE = "from torch import nn\n\n\nclass Base(nn.Module):\n    pass\n"
PLAIN = "class Base:\n    pass\n"
NET = """\
import torch
from torch import nn
from {where} import Base


class Net(Base):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.table = torch.zeros(3)

    def forward(self, x):
        return self.fc(x) + self.table
"""
FAULT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 3)
        return self.fc(x) + h
"""
CLEAN = "import torch\n\n\ndef f(x):\n    return torch.relu(x)\n"


class Place:
    """A project and a cache, old enough that times tell about changes."""

    def __init__(self, folder: Path) -> None:
        self.project, self.cache = folder / "project", folder / "cache"
        self.project.mkdir()

    def write(self, name: str, text: str, *, age: float = 100) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.grow_old(age)
        if age == 0:
            os.utime(path)
        return path

    def remove(self, name: str) -> None:
        path = self.project / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.grow_old()

    def grow_old(self, age: float = 100) -> None:
        """Everything was changed long ago, and each at its own time, as it would be if nobody hurried."""
        for path in [self.project, *self.project.rglob("*")]:
            status = path.stat()
            if status.st_mtime > time.time() - 50:
                Place.clock += 1
                os.utime(path, (0, 1_600_000_000 + Place.clock))

    clock = 0

    def run(self, *paths: str, cached: bool = True, **more: Any) -> list[Outcome]:
        chosen = [self.project / path for path in paths] or [self.project]
        options = more.pop("settings", Settings(jobs=1))
        return list(run(chosen, options, cache=(lambda: self.cache) if cached else None, **more))

    def computed(self, *paths: str, **more: Any) -> set[str]:
        """Which files were not known; the results must be those of a fresh run."""
        outcomes = self.run(*paths, **more)
        fresh = self.run(*paths, cached=False, **more)
        assert list(map(shown, outcomes)) == list(map(shown, fresh))
        return {Path(o.path).relative_to(self.project).as_posix() for o in outcomes if not o.cached}


def shown(outcome: Outcome) -> Any:
    return (
        outcome.path, outcome.findings, outcome.errors, outcome.applied, outcome.diff, outcome.lines or {}, outcome.edits or [],
        outcome.notebook, outcome.skipped, outcome.more_unsafe,
    )  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write("base.py", MODULE)
    made.write("net.py", NET.format(where="base"))
    made.write("fault.py", FAULT)
    made.write("clean.py", CLEAN)
    made.write("other.py", "x = 1\n")
    return made


EVERY = {"base.py", "net.py", "fault.py", "clean.py", "other.py"}


def test_the_second_run_computes_nothing(place: Place) -> None:
    assert place.computed() == EVERY
    assert place.computed() == set()
    found = [f for o in place.run() for f in o.findings]
    assert {f.code for f in found} == {"DVF301", "DVF201"}
    assert all(f.fix is not None and f.fix.title for f in found)


def test_a_changed_file_and_what_depends_on_it_are_computed(place: Place) -> None:
    place.run()
    place.write("fault.py", FAULT + "# more\n")
    assert place.computed() == {"fault.py"}
    place.write("base.py", PLAIN)
    assert place.computed() == {"base.py", "net.py"}
    place.write("base.py", MODULE)
    assert place.computed() == {"base.py", "net.py"}
    assert place.computed() == set()


def test_a_file_that_comes_or_goes_matters_to_those_who_looked_for_it(place: Place) -> None:
    place.run()
    place.remove("base.py")
    assert place.computed() == {"net.py"}
    assert place.computed() == set()
    place.write("base/__init__.py", MODULE)
    assert place.computed() == {"net.py", "base/__init__.py"}
    place.write("base.py", PLAIN)  # nearer than the folder
    assert place.computed() == {"net.py", "base.py"}
    place.write("unrelated.py", PLAIN)
    assert place.computed() == {"unrelated.py"}


def test_a_folder_that_becomes_a_package_changes_what_imports_mean(place: Place) -> None:
    place.write("pkg/inner.py", NET.format(where="base"))
    place.run()
    place.write("pkg/base.py", PLAIN)  # the file's own folder comes before the project's
    assert "pkg/inner.py" in place.computed()
    place.write("pkg/__init__.py", "")
    assert "pkg/inner.py" in place.computed()
    assert place.computed() == set()


def test_dependencies_reach_through_other_files(place: Place) -> None:
    place.write("middle.py", "from base import Base as Base\n")
    place.write("far.py", NET.format(where="middle"))
    place.run()
    place.write("base.py", PLAIN)
    assert place.computed() == {"base.py", "far.py", "net.py"}


def test_star_imports_are_dependencies(place: Place) -> None:
    place.write("stars.py", "from base import *\n")
    place.write("far.py", NET.format(where="stars"))
    place.run()
    place.write("base.py", PLAIN)
    assert {"base.py", "far.py", "net.py"} <= place.computed()


def test_a_file_that_was_only_touched_is_known(place: Place) -> None:
    place.run()
    os.utime(place.project / "net.py", (0, 1_500_000_000))
    assert place.computed() == set()


def test_a_change_that_time_and_size_do_not_show_is_seen_when_it_is_recent(place: Place) -> None:
    path = place.project / "base.py"
    path.write_text(MODULE)
    stamp = path.stat().st_mtime_ns
    place.run()
    path.write_text(MODULE.replace("nn.Module", "nn_Module"))
    os.utime(path, ns=(stamp, stamp))
    assert place.computed() == {"base.py", "net.py"}


@pytest.mark.parametrize(
    "changed",
    [
        Settings(jobs=1, select=("DVF3",)),
        Settings(jobs=1, ignore=("DVF201",)),
        Settings(jobs=1, per_file_ignores=(("net.py", ("ALL",)),)),
        Settings(jobs=1, extend_unsafe_fixes=("ALL",)),
        Settings(jobs=1, unfixable=("DVF301",)),
        Settings(jobs=1, torch_version=(1, 5)),
        Settings(jobs=1, persistent_buffers=True),
    ],
)
def test_settings_that_matter_have_results_of_their_own(place: Place, changed: Settings) -> None:
    place.run()
    assert place.computed(settings=changed) == EVERY
    assert place.computed(settings=changed) == set()
    assert place.computed() == set()


def test_settings_that_do_not_matter_share_results(place: Place) -> None:
    place.run()
    assert (
        place.computed(settings=Settings(jobs=1, unsafe_fixes=True, output_format="json", exclude=("other.py",)))
        == set()
    )


def test_settings_of_one_folder_only(place: Place) -> None:
    inner = place.write("inner/m.py", FAULT)
    place.run()

    def settings_of(path: Path | str) -> Settings:
        return Settings(jobs=1, ignore=("ALL",)) if Path(path).name == inner.name else Settings(jobs=1)

    assert place.computed(settings_of=settings_of) == {"inner/m.py"}
    assert place.computed(settings_of=settings_of) == set()


def test_folders_that_imports_are_resolved_from_are_part_of_the_question(place: Place) -> None:
    place.run()
    assert place.computed("net.py", "fault.py") == {"net.py", "fault.py"}
    assert place.computed("net.py", "fault.py") == set()
    assert place.computed() == set()


def test_one_way_to_write_a_path_is_as_good_as_another(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run()
    monkeypatch.chdir(place.project)
    for spelling in (".", "./", "../project", str(place.project)):
        outcomes = list(run([spelling], Settings(jobs=1), cache=lambda: place.cache))
        assert all(o.cached for o in outcomes), spelling
        assert all(f.path == o.path for o in outcomes for f in o.findings)


@pytest.mark.parametrize("name", ["a b.py", "é.py", "日本.py", "new\nline.py", "tab\t.py", "%00.py", "'q\".py"])
def test_odd_names(place: Place, name: str) -> None:
    place.write(name, FAULT)
    assert name in place.computed()
    assert place.computed() == set()


def test_edits_are_kept_when_they_were_asked_for(place: Place) -> None:
    place.run()
    assert place.computed(want_edits=True) == {"net.py", "fault.py"}
    assert place.computed(want_edits=True) == set()
    assert place.computed() == set()
    known = [o for o in place.run(want_edits=True) if o.findings]
    assert all(o.text and all(o.edits or []) for o in known)


def test_fixing_uses_what_is_known_of_files_without_fixes(place: Place) -> None:
    place.run()
    assert place.computed(mode="diff") == {"net.py", "fault.py"}
    assert {Path(o.path).name for o in place.run(mode="write") if not o.cached} == {"net.py", "fault.py"}
    assert "device=" in (place.project / "fault.py").read_text()
    place.grow_old()
    assert place.computed() == {"net.py", "fault.py"}
    assert place.computed(mode="write") == set()


def test_a_diff_leaves_nothing_in_the_cache_that_is_not_on_disk(place: Place) -> None:
    place.write("user.py", "from fault import Net\n\n\ndef f(x):\n    return Net()(x)\n")
    place.run(mode="diff")
    place.computed()
    assert place.computed() == set()


def test_files_with_errors_are_always_looked_at(place: Place) -> None:
    place.write("broken.py", "import torch\ndef f(:\n")
    place.run()
    assert place.computed() == {"broken.py"}


def test_a_run_that_is_stopped_keeps_what_it_has(place: Place) -> None:
    outcomes = run([place.project], Settings(jobs=1), cache=lambda: place.cache)
    first = next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert place.computed() == EVERY - {Path(first.path).name}


def test_what_changes_during_the_run_is_not_kept(place: Place) -> None:
    outcomes = run([place.project], Settings(jobs=1), cache=lambda: place.cache)
    for outcome in outcomes:
        if outcome.path.endswith("net.py"):
            place.write("base.py", PLAIN)
    assert {"base.py", "net.py"} <= place.computed()
    assert place.computed() == set()


def test_a_lonely_file_does_without(place: Place) -> None:
    place.run("net.py")
    assert not place.cache.exists()


def test_deleted_files_leave_the_index(place: Place) -> None:
    place.run()
    place.remove("fault.py")
    place.write("clean.py", CLEAN + "\n")
    place.run()
    [file] = place.cache.rglob("*.index")
    assert "fault.py" not in file.read_text()
    [records] = place.cache.rglob("*.findings")
    assert len(read(records)) == 1


def test_notebooks_are_known(place: Place) -> None:
    cell = {"cell_type": "code", "source": FAULT, "outputs": [], "metadata": {}}
    place.write("n.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert "n.ipynb" in place.computed()
    assert place.computed() == set()
    assert any(o.notebook and o.findings for o in place.run())


# -- damage ------------------------------------------------------------------------------------------------------------


def kept(place: Place) -> list[Path]:
    return sorted(path for path in place.cache.rglob("*") if path.suffix in (".index", ".findings"))


def anew(place: Place) -> None:
    """A cache as a run leaves it."""
    shutil.rmtree(place.cache, ignore_errors=True)
    place.run()


def test_files_are_json_with_a_checksum(place: Place) -> None:
    place.run()
    assert len(kept(place)) == 2
    for path in kept(place):
        head, _, body = path.read_bytes().partition(b"\n")
        assert head.startswith(b"devicefix cache ")
        json.loads(body)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_not_noticed(place: Place, data: st.DataObject) -> None:
    anew(place)
    path = data.draw(st.sampled_from(kept(place)))
    raw = bytearray(path.read_bytes())
    kind = data.draw(st.sampled_from(["flip", "cut", "garbage", "empty", "folder", "gone"]))
    if kind == "flip":
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del raw[data.draw(st.integers(0, len(raw) - 1)) :]
    elif kind == "garbage":
        raw = bytearray(data.draw(st.binary(max_size=50)))
    elif kind == "empty":
        raw = bytearray()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "gone":
        path.write_bytes(raw)
    assert place.computed() <= EVERY
    if kind == "folder":
        path.rmdir()
    place.run()
    assert place.computed() == set()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["folders", "paths", "names", "files"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_content_of_another_shape_counts_as_none(place: Place, data: st.DataObject) -> None:
    """Whoever writes a checksum that fits still cannot make a run fail."""
    anew(place)
    for path in kept(place):
        content = read(path)
        if data.draw(st.booleans()):
            write(path, data.draw(JSON))
        else:
            key = data.draw(st.sampled_from(sorted(content)))
            content[key] = data.draw(JSON)
            write(path, content)
    place.run()
    place.run()


def test_a_cache_that_cannot_be_written_is_no_error(place: Place) -> None:
    place.cache.write_text("a file where a folder should be")
    assert place.computed() == EVERY
    assert place.computed() == EVERY


def test_writing_is_atomic(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run()
    before = {path: path.read_bytes() for path in kept(place)}

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    place.write("clean.py", CLEAN + "# more\n")
    place.run()
    assert {path: path.read_bytes() for path in kept(place)} == before
    assert not list(place.cache.rglob("*.tmp"))


# -- any history -------------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "p/a", "p/d", "p/__init__")
ATOMS = (PLAIN, MODULE, FAULT, "", "Base = 1\n")


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A file that defines `Base`, or takes it from somewhere, and perhaps uses it."""
    kind = draw(st.sampled_from(["atom", "import", "star", "net"]))
    if kind == "atom":
        return draw(st.sampled_from(ATOMS))
    where = draw(st.sampled_from(["a", "b", "c", "d", "p", "p.a", "p.d", ".a", ".d", "."]))
    if kind == "import":
        return f"from {where} import Base\n"
    return f"from {where} import *\n" if kind == "star" else NET.format(where=where)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(NAMES), texts(), min_size=3),
    st.lists(st.tuples(st.sampled_from(NAMES), st.none() | texts()), max_size=4),
)
def test_after_any_history_the_results_are_those_of_a_fresh_run(
    tmp_path_factory: pytest.TempPathFactory, begin: dict[str, str], steps: list[tuple[str, str | None]]
) -> None:
    place = Place(tmp_path_factory.mktemp("history"))
    for name, text in {"kept": "", "kept_too": "", **begin}.items():
        place.write(f"{name}.py", text)
    place.computed()
    for name, text in steps:
        if text is not None:
            place.write(f"{name}.py", text)
        elif (place.project / f"{name}.py").exists():
            place.remove(f"{name}.py")
        place.computed()
        assert place.computed() == set()


def test_recent_means_seconds() -> None:
    assert index.is_recent(time.time_ns())
    assert not index.is_recent(time.time_ns() - 10_000_000_000)
