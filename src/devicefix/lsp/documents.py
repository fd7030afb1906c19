"""What is open in the editor.

pygls keeps documents as well, but splits lines as ``str.splitlines`` does: one form feed or ``U+2028`` in a file and
every later incremental change lands on the wrong line. Here a line ends where the protocol says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types as t
from pygls.uris import to_fs_path

from devicefix.lsp.positions import Encoding, Places

PYTHON = ("python", "")


@dataclass
class Document:
    """One text: a file, an unsaved buffer, or the cell of a notebook."""

    uri: str
    language: str
    version: int
    text: str
    notebook: str = ""  #: the notebook that it is a cell of
    revision: int = 0  #: unlike the editor's version, never the same for two texts: an editor may begin again at 0


@dataclass
class Notebook:
    """An open notebook: the documents of its cells in order."""

    uri: str
    cells: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """One document at one moment."""

    uri: str
    version: int
    text: str
    revision: int


@dataclass(frozen=True)
class Snapshot:
    """What is checked as a whole: a file, or the cells of a notebook, at one moment."""

    key: str  #: the address of the file or notebook
    path: Path
    parts: tuple[Part, ...]
    is_notebook: bool = False

    @property
    def revision(self) -> tuple[tuple[str, int], ...]:
        """Changes with every edit, and when cells come, go or move."""
        return tuple((part.uri, part.revision) for part in self.parts)


class NotOpen(KeyError):
    """The editor asks about something that it has not opened, or has closed."""


class Documents:
    """Every open document and notebook. ``key`` is what findings belong to: a notebook stands for its cells."""

    def __init__(self) -> None:
        self.encoding: Encoding = "utf-16"
        self._documents: dict[str, Document] = {}
        self._notebooks: dict[str, Notebook] = {}
        self._revisions = itertools.count(1)

    # -- questions ---------------------------------------------------------------------------------------------------

    def open_keys(self) -> list[str]:
        """Files and notebooks that are open."""
        return [d.uri for d in self._documents.values() if not d.notebook and is_python(d)] + list(self._notebooks)

    def get(self, uri: str) -> Document | None:
        """An open document or cell."""
        return self._documents.get(uri)

    def key_of(self, uri: str) -> str:
        """The file or notebook that an address belongs to. Raises `NotOpen`."""
        document = self._documents.get(uri)
        if document is not None:
            return document.notebook or uri
        if uri in self._notebooks:
            return uri
        raise NotOpen(uri)

    def is_notebook(self, key: str) -> bool:
        """Whether a key is a notebook's."""
        return key in self._notebooks

    def snapshot(self, key: str) -> Snapshot:
        """A file or notebook as it is now. Raises `NotOpen`."""
        notebook = self._notebooks.get(key)
        if notebook is None:
            document = self._documents.get(key)
            if document is None or document.notebook:
                raise NotOpen(key)
            part = _part(document)
            return Snapshot(key, path_of(key), (part,) if is_python(document) else ())
        cells = (self._documents.get(cell) for cell in notebook.cells)
        parts = tuple(_part(c) for c in cells if c is not None and is_python(c))
        return Snapshot(key, path_of(key), parts, is_notebook=True)

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether nothing was edited since."""
        try:
            return self.snapshot(snapshot.key).revision == snapshot.revision
        except NotOpen:
            return False

    # -- files -------------------------------------------------------------------------------------------------------

    def open(self, item: t.TextDocumentItem, notebook: str = "") -> None:
        """Remember a document."""
        revision = next(self._revisions)
        self._documents[item.uri] = Document(item.uri, item.language_id, item.version, item.text, notebook, revision)

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._documents.pop(uri, None)

    def change(
        self, identifier: t.VersionedTextDocumentIdentifier, changes: Iterable[t.TextDocumentContentChangeEvent]
    ) -> None:
        """Apply edits. Raises `NotOpen`."""
        document = self._documents.get(identifier.uri)
        if document is None:
            raise NotOpen(identifier.uri)
        for change in changes:
            if isinstance(change, t.TextDocumentContentChangePartial):
                start, end = Places(document.text, self.encoding).span(change.range)
                document.text = document.text[:start] + change.text + document.text[end:]
            else:
                document.text = change.text
        document.version = identifier.version
        document.revision = next(self._revisions)

    # -- notebooks ---------------------------------------------------------------------------------------------------

    def open_notebook(self, notebook: t.NotebookDocument, cells: Sequence[t.TextDocumentItem]) -> None:
        """Remember a notebook and its cells."""
        self._notebooks[notebook.uri] = Notebook(notebook.uri, [cell.document for cell in notebook.cells])
        for cell in cells:
            self.open(cell, notebook.uri)

    def change_notebook(self, uri: str, change: t.NotebookDocumentChangeEvent) -> list[str]:
        """Apply edits of cells and of their order; returns the cells that are gone. Raises `NotOpen`."""
        notebook = self._notebooks.get(uri)
        if notebook is None:
            raise NotOpen(uri)
        gone: list[str] = []
        if change.cells is None:
            return gone
        structure = change.cells.structure
        if structure is not None:
            array = structure.array
            added = [cell.document for cell in array.cells or ()]
            notebook.cells[array.start : array.start + array.delete_count] = added
            for item in structure.did_open or ():
                self.open(item, uri)
            for closed in structure.did_close or ():
                self.close(closed.uri)
                gone.append(closed.uri)
        for edited in change.cells.text_content or ():
            self.change(edited.document, edited.changes)
        return gone

    def close_notebook(self, uri: str) -> list[str]:
        """Forget a notebook; returns the cells that it had."""
        notebook = self._notebooks.pop(uri, None)
        cells = [d.uri for d in self._documents.values() if d.notebook == uri]
        for cell in cells:
            self.close(cell)
        return cells if notebook is not None else []


def _part(document: Document) -> Part:
    return Part(document.uri, document.version, document.text, document.revision)


def is_python(document: Document) -> bool:
    """Whether a document is Python."""
    return document.language in PYTHON


def path_of(uri: str) -> Path:
    """A path for an address. Documents that are in no folder get a name in one that does not exist."""
    local = to_fs_path(uri)
    if local:
        return Path(local)
    parts = urlsplit(uri)
    name = unquote(parts.path).replace("\\", "/").rpartition("/")[2] or "untitled"
    return Path(f"/{parts.scheme or 'untitled'}:") / name
