"""Which file an import means. Files are read when somebody asks for them, once, and never executed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from devicefix.analysis.model import ModuleInfo
from devicefix.analysis.trace import Looked, Trace
from devicefix.source.errors import SourceError
from devicefix.source.outline import Outline
from devicefix.source.stamps import NO_STAMP, Stamp, stamp_of
from devicefix.source.text import SourceText

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
        self._found: dict[tuple[Path, str], tuple[Path | None, tuple[str, ...]]] = {}
        self._paths: dict[str, Path] = {}  #: of modules that were found, one for each file
        self._packages: dict[Path, tuple[Path, tuple[str, ...]]] = {}
        self._looked = Looked()
        #: which other files each file asked for and found
        self.dependencies: dict[Path, set[Path]] = {}
        #: everything that was asked for since `begin`, found or not; a cache needs it
        self.trace = Trace()
        self._traced: set[ModuleInfo] = set()  #: importers whose package is in the trace
        self.stamps: dict[Path, Stamp] = {}  #: of the files that were read

    def begin(self) -> Trace:
        """A new record of what is asked for, filled from now on."""
        self.trace = Trace()
        self._traced = set()
        return self.trace

    @property
    def parsed(self) -> int:
        """How many characters have been parsed of the modules that are kept."""
        return sum(info.parsed for info in self._modules.values() if info is not None)

    def trim(self, characters: int) -> None:
        """Let go of the modules that were used least recently, as long as the others have more text than this.

        To be called between two analyses: what one of them holds must stay the same object.
        """
        size = self.parsed
        for info in self._modules.values():
            if info is not None:
                info.shrink()
        for path, info in list(self._modules.items()):
            if size <= characters:
                break
            if info is not None:
                size -= info.parsed
                info.release()
            del self._modules[path]
            self.stamps.pop(path, None)

    def let_go(self, path: Path) -> None:
        """Drop a module whose analysis is done; it is read again when somebody imports it."""
        path = path.absolute()
        info = self._modules.pop(path, None)
        self.stamps.pop(path, None)
        if info is not None:
            info.release()

    def add(self, path: Path, source: SourceText) -> ModuleInfo:
        """Register a file whose text is already at hand."""
        path = path.absolute()
        info = ModuleInfo(path, source, self, self._package(path)[1])
        known = self._modules.pop(path, None)
        if known is not None and known.in_parts:  # else the source may share its tree
            known.release()
        self._modules[path] = info
        return info

    def share_tree(self, source: SourceText) -> None:
        """Spare a file from being parsed again, if it was read for another one before."""
        known = self._modules.get(source.path.absolute())
        if known is not None:
            source.share_tree(known.source)

    def forget(self, path: Path) -> None:
        """Drop what is known of a file that changed."""
        self._modules.pop(path.absolute(), None)
        self.stamps.pop(path.absolute(), None)
        self._found.clear()
        self._looked.clear()

    def resolve(self, importer: ModuleInfo, module: str, level: int = 0) -> ModuleInfo | None:
        """The module that ``import module`` (or ``from ..module import``) names in a file; ``None`` if not found
        here."""
        path = self._locate(importer, module, level)
        if path is None or path == importer.path:
            return None
        self.dependencies.setdefault(importer.path, set()).add(path)
        return self._load(path)

    def may_bind(self, importer: ModuleInfo, module: str, level: int, name: str) -> bool:
        """Whether a module can have a global name, as far as its text tells; it is not parsed for that."""
        path = self._locate(importer, module, level)
        if path is None or path in self.overlay or path in self._modules:
            return path is not None
        try:
            raw = path.read_bytes()
        except OSError:
            return False
        return name.encode() in raw or b"import *" in raw

    def _locate(self, importer: ModuleInfo, module: str, level: int) -> Path | None:
        key = (importer.folder, "." * level + module)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._search(importer, module, level)
        path, missing = found
        self.trace.absent.update(missing)
        if path is not None:
            stamp = self.stamps.get(path)
            if stamp is None:
                stamp = self.stamps[path] = NO_STAMP if path in self.overlay else stamp_of(path)
            self.trace.read[str(path)] = stamp
        if not level:
            self._trace_package(importer)
        return path

    def _search(self, importer: ModuleInfo, module: str, level: int) -> tuple[Path | None, tuple[str, ...]]:
        """The file of a module, and where it was looked for in vain before."""
        parts = module.split(".") if module else []
        missing: dict[str, None] = {}
        for base in self._bases(importer, level):
            for path in _candidates(base, parts) if self.overlay else ():
                if path in self.overlay:
                    return path, tuple(missing)
            file, without = self._looked.find(str(base), parts)
            missing.update(dict.fromkeys(without))
            if file:
                return self._paths.setdefault(file, Path(file)), tuple(missing)
        return None, tuple(missing)

    def _bases(self, importer: ModuleInfo, level: int) -> Iterable[Path]:
        """The folders below which the module of an import may be."""
        if level:
            return (importer.folder, *importer.folder.parents)[level - 1 : level]
        top, _package = self._package(importer.path)
        sources = (root / "src" for root in self.roots)
        return dict.fromkeys((top, importer.folder, *self.roots, *sources))

    def _trace_package(self, importer: ModuleInfo) -> None:
        """What was taken for the folder above the package of a file depends on where ``__init__.py`` is."""
        if importer in self._traced:
            return
        self._traced.add(importer)
        top, names = self._package(importer.path)
        folder = importer.folder
        for _ in names:
            self.trace.present.add(str(folder / "__init__.py"))
            folder = folder.parent
        self.trace.absent.add(str(top / "__init__.py"))

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
            self._modules[path] = known = self._modules.pop(path)  # the last ones were used last
            return known
        self._modules[path] = None  # a cycle of imports finds nothing rather than looping
        try:
            if path in self.overlay:
                source = SourceText.from_text(self.overlay[path], path)
            else:
                if path.stat().st_size > MAXIMUM_BYTES:
                    return None
                source = SourceText.from_bytes(path.read_bytes(), path)
                source.drop_bytes()
            self._modules[path] = ModuleInfo(path, source, self, self._package(path)[1], self._outline(source))
        except (OSError, SourceError):
            pass  # an import that cannot be read is an unknown module, not an error of the importing file
        return self._modules[path]

    @staticmethod
    def _outline(source: SourceText) -> Outline | None:
        """The file in parts; None where it has to be parsed as a whole."""
        try:
            return Outline(source.text, source.name)
        except SourceError:
            return None


def _candidates(base: Path, parts: list[str]) -> list[Path]:
    """The files that may hold a module."""
    stem = base.joinpath(*parts)
    return [stem.with_name(stem.name + ".py"), stem / "__init__.py"] if parts else [stem / "__init__.py"]
