"""Room for expressions that are nested as deeply as generated code may nest them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: levels of nesting that an expression may have
DEEP = 12_000


@contextmanager
def room_for_depth() -> Iterator[None]:
    """Let functions recurse as deep as a sum of a thousand terms needs, which is a tree a thousand levels deep."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
