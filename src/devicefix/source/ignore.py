"""What ``.gitignore`` files say about a path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class IgnoreFiles:
    """The ``.gitignore`` files that hold for a tree: those inside it, and those above it up to the repository root."""

    def __init__(self, root: Path) -> None:
        self._specs: dict[Path, GitIgnoreSpec | None] = {}
        self._above: tuple[Path, ...] = ()
        absolute = root.absolute()
        chain = [absolute, *absolute.parents]
        top = next((folder for folder in chain if (folder / ".git").exists()), None)
        if top is not None:
            self._above = tuple(chain[1 : chain.index(top) + 1])
        # A folder that was named on purpose is walked although a file above it ignores it.
        self._above = tuple(folder for folder in self._above if not self._says(folder, absolute, is_dir=True))
        self._top = top

    def ignored(self, path: Path, folders: tuple[Path, ...], *, is_dir: bool) -> bool:
        """Whether ``path`` is ignored. ``folders``: the folders of the walk that hold it, outermost first."""
        for folder in (*reversed(folders), *self._above):
            verdict = self._says(folder, path, is_dir=is_dir)
            if verdict is not None:
                return verdict
        return False

    def _says(self, folder: Path, path: Path, *, is_dir: bool) -> bool | None:
        spec = self._spec(folder)
        if spec is None:
            return None
        relative = path.relative_to(folder).as_posix() + ("/" if is_dir else "")
        return spec.check_file(relative).include

    def _spec(self, folder: Path) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            lines = _lines(folder / ".git" / "info" / "exclude") + _lines(folder / ".gitignore")
            self._specs[folder] = _compiled(lines) if lines else None
        return self._specs[folder]


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.split("\n") if line.strip() and not line.startswith("#")]


def _compiled(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # slow to import, and many trees have no such file

    good = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git passes over patterns that it does not understand
        good.append(line)
    return GitIgnoreSpec.from_lines(good)


class Patterns:
    """Patterns of the settings, written as in ``.gitignore`` and relative to one folder."""

    def __init__(self, patterns: tuple[str, ...], base: Path) -> None:
        self._spec = _compiled(list(patterns)) if patterns else None
        self._base = base

    def match(self, path: Path, *, is_dir: bool) -> bool:
        """Whether a pattern means this path."""
        if self._spec is None:
            return False
        try:
            relative = path.relative_to(self._base).as_posix()
        except ValueError:
            relative = path.as_posix().lstrip("/")
        return bool(self._spec.match_file(relative + ("/" if is_dir else "")))
