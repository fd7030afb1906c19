"""Reading the cases: small programs with the behaviour that is expected of the tool."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"

#: What ``expect`` may say.
EXPECTATIONS = ("fix", "report", "clean")

KEYS = frozenset(
    (
        *("title", "family", "rules", "expect", "unsafe", "compare", "source", "why", "notes", "tags"),
        *("before_cpu", "before_cuda", "cuda_arg", "bf16", "naive_breaks", "static", "static_why", "needs", "files"),
    )
)


@dataclass(frozen=True, slots=True)
class Case:
    """One folder with ``before.*``, perhaps ``after.*`` and ``naive.*``, and ``case.toml``."""

    folder: Path
    name: str  #: readable id, ``rule/case`` or ``case``
    settings: dict[str, Any] = field(repr=False)

    def _file(self, stem: str) -> Path | None:
        found = (self.folder / f"{stem}{suffix}" for suffix in (".py", ".ipynb"))
        return next((path for path in found if path.exists()), None)

    @property
    def before(self) -> Path:
        path = self._file("before")
        if path is None:
            raise FileNotFoundError(f"{self.folder} has no before.py or before.ipynb")
        return path

    @property
    def after(self) -> Path | None:
        return self._file("after")

    @property
    def naive(self) -> Path | None:
        return self._file("naive")

    @property
    def helpers(self) -> list[Path]:
        return [self.folder / name for name in self.settings.get("files", ())]

    @property
    def expect(self) -> str:
        return str(self.settings["expect"])

    @property
    def rules(self) -> tuple[str, ...]:
        """The codes that may answer for this case; empty if the case does not say."""
        return tuple(self.settings.get("rules", ()))

    @property
    def unsafe(self) -> bool:
        """The repair is only right with ``--unsafe-fixes``."""
        return bool(self.settings.get("unsafe", False))

    @property
    def compare(self) -> str:
        return str(self.settings.get("compare", "behaviour"))

    @property
    def is_static(self) -> bool:
        """Not runnable here; only the text can be judged."""
        return bool(self.settings.get("static", False))

    @property
    def is_notebook(self) -> bool:
        return self.before.suffix == ".ipynb"

    @property
    def bf16(self) -> str:
        return str(self.settings.get("bf16", ""))

    @property
    def cuda_device(self) -> str:
        return str(self.settings.get("cuda_arg", "cuda"))

    def runs_before(self, device: str) -> bool | None:
        """Whether ``before`` is said to run on ``cpu`` or ``cuda``; None if the case does not say."""
        said = self.settings.get(f"before_{device}")
        return None if said is None else said in ("runs", "ok")


def load_case(folder: Path, root: Path) -> Case:
    """The case in ``folder``; its name is the path from ``root``."""
    settings = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    name = folder.relative_to(root).as_posix() if folder != root else folder.name
    return Case(folder, name, settings)


def discover(root: Path = FIXTURES) -> list[Case]:
    """All cases below ``root``, which may hold cases, folders of cases, or be one case itself."""

    def folders() -> Iterator[Path]:
        yield from sorted(path.parent for path in root.rglob("case.toml"))

    return [load_case(folder, root) for folder in folders()]


def notebook_cells(text: str) -> list[str]:
    """The sources of the code cells of a notebook."""
    cells = json.loads(text)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
