"""A look at the bytes of a file that tells whether parsing it can lead to anything.

The filter is sound, for two reasons. A rule that looks at the spelling only looks for ``cuda``. Every other finding needs
a value that is known to be a tensor or a module, and another device for it: in a file that does not mention torch such
values come from other files of the project, by an import, or are seen by their use, and then a call of a method moves or
converts them. (That a module of the standard library is meant by its name is taken for granted.) A file that passes is
looked at again, as a tree: see `glance`.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.analysis.relevance import Relevance
    from devicefix.source.text import SourceText

#: with one of these a file may be about devices
TORCH = (b"torch", b"cuda")

_BEGIN = rb"(?:^|[\r\f;:\"]|\\n)[ \t\f]*"  #: of a statement; in a notebook, of a string or behind an escape

#: what an import takes from where
_IMPORT = re.compile(_BEGIN + rb"(?:import[ \t\\]+([^\r\n;#\"]*)|from[ \t\\]*([.\w]*))", re.MULTILINE)
_MODULE = re.compile(rb"(?:^|,)[ \t]*(\w+)")

#: methods that move or convert, see ``MOVE_METHODS`` and ``DTYPE_METHODS``; there may be comments behind the dot
_METHOD = re.compile(
    rb"\.(?:[\s\\]|#[^\n]{0,999}\n)*"
    rb"(?:to|cpu|xpu|ipu|hpu|npu|mtia|mlu|musa|half|float|double|bfloat16|cfloat|cdouble|chalf|int|long|short|char|byte"
    rb"|bool|type)\b"
)

#: an encoding whose ASCII letters are not what they seem
_CODING = re.compile(rb"coding[:=][ \t]*(?!utf-?8\b|latin-?1\b|ascii\b)", re.IGNORECASE)

#: libraries without tensors that half of all files import
_OTHERS = frozenset(
    ("numpy", "scipy", "pandas", "matplotlib", "sklearn", "setuptools", "pytest", "yaml", "requests", "tqdm")
)


def may_have_findings(raw: bytes) -> bool:
    """Whether a file is worth parsing."""
    if _mentions(raw) or _is_recoded(raw):
        return True
    return not raw.isascii() and _mentions(_in_ascii(raw))


def _mentions(raw: bytes) -> bool:
    return any(word in raw for word in TORCH) or _METHOD.search(raw) is not None or _imports_from_project(raw)


def _imports_from_project(raw: bytes) -> bool:
    """Whether something is imported that may be a file of the project."""
    for match in _IMPORT.finditer(raw):
        names, source = match.groups()
        if names is None:
            if source[:1] in (b".", b"") or _is_other(source.partition(b".")[0]):
                return True
        elif b"\\" in names or any(map(_is_other, _MODULE.findall(names))):
            return True
    return False


def _is_other(name: bytes) -> bool:
    text = name.decode("ascii", "replace")
    return text not in sys.stdlib_module_names and text not in _OTHERS


def _is_recoded(raw: bytes) -> bool:
    """Whether the letters may stand for others: a file says which encoding it is in."""
    head = raw[:400]
    return b"coding" in head and _CODING.search(head) is not None


def _in_ascii(raw: bytes) -> bytes:
    """The text with its names as Python reads them, ``ｔｏ`` as ``to``."""
    import unicodedata

    text = unicodedata.normalize("NFKC", raw.decode("utf-8", "replace"))
    return re.sub(r"[^\x00-\x7f]", "_", text).encode("ascii")


def glance(source: SourceText) -> tuple[bool, Relevance]:
    """Whether a file's tree shows that there is nothing to find, and what was seen of it.

    This needs little of the analysis to be loaded. Raises `SourceError` for a file that cannot be parsed.
    """
    from devicefix.analysis.depth import room_for_depth
    from devicefix.analysis.relevance import Relevance

    tree = source.tree()
    with room_for_depth():
        relevance = Relevance(tree)
    return not relevance.functions and "cuda" not in source.text, relevance
