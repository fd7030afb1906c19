"""What paths through a function leave behind, and how they join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devicefix.analysis.device_arguments import either
from devicefix.analysis.joins import join
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame

MAYBE_UNBOUND = frozenset({"maybe_unbound"})
DEVICES = frozenset({Kind.DEVICE, Kind.STRING})  #: kinds of which a device variable may be


class State:
    """What a path through a function leaves behind: its names, and the attributes of ``self``."""

    __slots__ = ("attrs", "names")

    def __init__(self, frame: Frame) -> None:
        self.names = dict(frame.names)
        self.attrs = dict(frame.self_object.attrs) if frame.self_object is not None else None

    def restore(self, frame: Frame) -> None:
        """Give a frame this state."""
        _restore(frame, dict(self.names))
        if frame.self_object is not None and self.attrs is not None:
            frame.self_object.attrs = dict(self.attrs)

    def same_as(self, other: State) -> bool:
        """Whether both hold the same values."""
        return _same(self.names, other.names) and _same(self.attrs or {}, other.attrs or {})


def _same(a: dict[str, Value], b: dict[str, Value]) -> bool:
    return len(a) == len(b) and all(a.get(k) is v for k, v in b.items())


def joined(states: list[State], partial: bool = True) -> State:
    """The join of several paths."""
    result = State.__new__(State)
    result.names = merge([s.names for s in states], partial)
    attrs = [s.attrs for s in states if s.attrs is not None]
    result.attrs = merge(attrs, partial=False) if attrs else None
    return result


def _restore(frame: Frame, names: dict[str, Value]) -> None:
    """Give a frame other names; the dict stays the same one, closures hold it."""
    if frame.names is not names:
        frame.names.clear()
        frame.names.update(names)


def merge(states: list[dict[str, Value]], partial: bool = True) -> dict[str, Value]:
    """Join the names of several paths. A name that some path lacks is kept, marked as perhaps unbound."""
    if len(states) == 1:
        return states[0]
    result = dict(states[0])
    for state in states[1:]:
        for name, value in state.items():
            known = result.get(name)
            if known is value:
                continue
            if known is None:
                result[name] = value.replace(flags=value.flags | MAYBE_UNBOUND) if partial else value
            else:
                device = DEVICES & {known.kind, value.kind} and either(known, value)
                result[name] = device or join(known, value)
        if partial:
            for name in result.keys() - state.keys():
                value = result[name]
                if "maybe_unbound" not in value.flags:
                    result[name] = value.replace(flags=value.flags | MAYBE_UNBOUND)
    return result
