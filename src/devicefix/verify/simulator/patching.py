"""Replacing attributes of torch and putting every one of them back."""

from __future__ import annotations

from typing import Any

_ABSENT = object()


class Patcher:
    """Remembers what it replaced; `restore` undoes all of it in reverse order."""

    def __init__(self) -> None:
        self._saved: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace ``owner.name``; the first value seen is the one that comes back."""
        key = id(owner), name
        if key not in self._saved:
            # through __dict__, so that a name inherited from a base class is deleted again and not copied down
            own = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
            self._saved[key] = owner, name, own
        setattr(owner, name, value)

    def original(self, owner: Any, name: str) -> Any:
        """What an attribute was before."""
        return self._saved[id(owner), name][2]

    def restore(self) -> None:
        """Put everything back."""
        for owner, name, value in reversed(list(self._saved.values())):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._saved.clear()
