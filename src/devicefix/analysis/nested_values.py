"""Values inside lists, tuples and dicts."""

from __future__ import annotations

from typing import Any

from devicefix.analysis.values import Value


def map_members(value: Value, function: Any) -> Value:
    """A list, tuple or dict with a function applied to each of its values."""
    items: Any = value.items
    if isinstance(items, dict):
        items = {k: function(v) for k, v in items.items()}
    elif items is not None:
        items = tuple(function(v) for v in items)
    return value.replace(items=items, element=function(value.element) if value.element is not None else None)
