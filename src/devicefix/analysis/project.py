"""Which file an import means. Files are read when somebody asks for them, once, and never executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from devicefix.analysis.model import ModuleInfo
from devicefix.source.text import SourceError, SourceText

#: larger files hold generated tables far more often than classes that somebody derives from
MAXIMUM_BYTES = 2_000_000


class Project:
    """The source files around the ones that are checked.

    ``roots`` are folders from which absolute imports are resolved, besides the folder above each file's package and
    the file's own folder. ``overlay`` holds unsaved texts by path.
    """

    def __init__(self, roots: Sequence[Path] = (), overlay: Mapping[Path, str] | None = None) -> None:
        self.roots = tuple(root.absolute() for root in roots)
        self.overlay = dict(overlay or {})
        self._modules: dict[Path, ModuleInfo | None] = {}
        self._found: dict[tuple[Path, str], Path | None] = {}
        self._packages: dict[Path, tuple[Path, tuple[str, ...]]] = {}
        #: which other files each file asked for, found or not; a cache needs them
        self.dependencies: dict[Path, set[Path]] = {}

    def add(self, path: Path, source: SourceText) -> ModuleInfo:
        """Register a file whose text is already at hand."""
        path = path.absolute()
        info = ModuleInfo(path, source, self, self._package(path)[1])
        self._modules[path] = info
        return info

    def forget(self, path: Path) -> None:
        """Drop what is known of a file that changed."""
        self._modules.pop(path.absolute(), None)
        self._found.clear()

    def resolve(self, importer: ModuleInfo, module: str, level: int = 0) -> ModuleInfo | None:
        """The module that ``import module`` (or ``from ..module import``) names in a file; ``None`` if not found here."""
        path = self._locate(importer, module, level)
        if path is None or path == importer.path:
            return None
        self.dependencies.setdefault(importer.path, set()).add(path)
        return self._load(path)

    def _locate(self, importer: ModuleInfo, module: str, level: int) -> Path | None:
        key = (importer.path.parent, "." * level + module)
        if key in self._found:
            return self._found[key]
        parts = module.split(".") if module else []
        top, _package = self._package(importer.path)
        if level:
            base = importer.path.parent
            for _ in range(level - 1):
                base = base.parent
            bases: tuple[Path, ...] = (base,)
        else:
            bases = (top, importer.path.parent, *self.roots, *(root / "src" for root in self.roots))
        self._found[key] = path = next((p for base in bases if (p := self._file(base, parts)) is not None), None)
        return path

    def _file(self, base: Path, parts: list[str]) -> Path | None:
        stem = base.joinpath(*parts)
        candidates = [stem / "__init__.py"] if not parts else [stem.with_name(stem.name + ".py"), stem / "__init__.py"]
        for path in candidates:
            if path in self.overlay or path in self._modules or path.is_file():
                return path
        return None

    def _package(self, path: Path) -> tuple[Path, tuple[str, ...]]:
        """The folder above the outermost package of a file, and the dotted package the file is in."""
        folder = path.parent
        if folder not in self._packages:
            names: list[str] = []
            top = folder
            while (top / "__init__.py").is_file() and top.parent != top:
                names.insert(0, top.name)
                top = top.parent
            self._packages[folder] = (top, tuple(names))
        return self._packages[folder]

    def _load(self, path: Path) -> ModuleInfo | None:
        if path in self._modules:
            return self._modules[path]
        self._modules[path] = None  # a cycle of imports finds nothing rather than looping
        try:
            if path in self.overlay:
                source = SourceText.from_text(self.overlay[path], path)
            else:
                if path.stat().st_size > MAXIMUM_BYTES:
                    return None
                source = SourceText.from_bytes(path.read_bytes(), path)
            self._modules[path] = ModuleInfo(path, source, self, self._package(path)[1])
        except (OSError, SourceError):
            pass  # an import that cannot be read is an unknown module, not an error of the importing file
        return self._modules[path]
