"""From a snapshot to what the engine reads, and from the engine's offsets back to documents."""

from __future__ import annotations

import codecs
import json
from bisect import bisect_right
from typing import TYPE_CHECKING

from devicefix.lsp.positions import Encoding, Places
from devicefix.source.text import SourceText

if TYPE_CHECKING:
    from lsprotocol import types as t

    from devicefix.lsp.documents import Part, Snapshot

BOM = "\ufeff"


def source_of(snapshot: Snapshot) -> SourceText:
    """The source of a snapshot. Raises `SourceError`.

    A notebook is written down as the file that it would be saved as, so that it is read as on the command line.
    """
    if snapshot.is_notebook:
        from devicefix.source.notebook import NotebookSource

        cells = [{"cell_type": "code", "metadata": {}, "source": part.text} for part in snapshot.parts]
        return NotebookSource.from_bytes(json.dumps({"cells": cells}).encode(), snapshot.path)
    text = snapshot.parts[0].text
    if text.startswith(BOM):  # some editors hand the byte order mark over
        body = SourceText.from_text(text[1:], snapshot.path)
        return SourceText(codecs.BOM_UTF8 + body.raw, body.text, "utf-8", True, snapshot.path)
    return SourceText.from_text(text, snapshot.path)


def texts_of(source: SourceText, snapshot: Snapshot) -> list[str]:
    """The text of each part of a source that came from this snapshot."""
    if snapshot.is_notebook:
        from devicefix.source.notebook import NotebookSource

        assert isinstance(source, NotebookSource)
        return source.cell_texts()
    mark = BOM if snapshot.parts[0].text.startswith(BOM) else ""
    return [mark + source.text]


class Locator:
    """Where offsets of a snapshot's source are in its documents."""

    def __init__(self, snapshot: Snapshot, encoding: Encoding) -> None:
        self._parts = snapshot.parts
        self._shift = 1 if not snapshot.is_notebook and snapshot.parts[0].text.startswith(BOM) else 0
        self._encoding: Encoding = encoding
        self._starts: list[int] = []
        self._places: dict[int, Places] = {}
        at = -self._shift
        for part in snapshot.parts:
            self._starts.append(at)
            at += len(part.text) + 1  # the engine joins cells with one line end

    def part_at(self, offset: int) -> int:
        """The number of the part that holds an offset."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def locate(self, start: int, end: int) -> tuple[Part, t.Range]:
        """The document and range of ``text[start:end]``; cut off at the end of a cell."""
        index = self.part_at(start)
        base = self._starts[index]
        return self._parts[index], self._of(index).range(start - base, end - base)

    def span(self, uri: str, place: t.Range) -> tuple[int, int]:
        """The offsets of an editor's range. Raises `KeyError` for a document that is no part of this."""
        for index, part in enumerate(self._parts):
            if part.uri == uri:
                start, end = self._of(index).span(place)
                base = self._starts[index]
                return max(start + base, 0), max(end + base, 0)
        raise KeyError(uri)

    def _of(self, index: int) -> Places:
        if index not in self._places:
            self._places[index] = Places(self._parts[index].text, self._encoding)
        return self._places[index]
