"""Files as text: bytes to lines and back, notebooks, finding the files, writing them safely."""

from __future__ import annotations

from devicefix.source.errors import DiscoveryError, SourceError
from devicefix.source.load import load_source, read_source
from devicefix.source.text import SourceText

__all__ = ["DiscoveryError", "SourceError", "SourceText", "load_source", "read_source"]
