"""An interrupt at any moment of a write leaves the old file or the new one, and nothing beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from devicefix.source import write
from devicefix.source.write import write_atomically


class Interrupted(BaseException):
    pass


def interrupted_at(step: int, target: Path) -> bool:
    """Write, with an interrupt before the given line or return of the writing code; False when it has fewer."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename != write.__file__:
            return None
        if event in ("line", "return"):
            seen += 1
            if seen == step:
                sys.settrace(None)
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        write_atomically(target, b"new")
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
    return False


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    target = tmp_path / "a.py"
    step = 0
    interrupted = True
    while interrupted:
        step += 1
        target.write_bytes(b"old")
        interrupted = interrupted_at(step, target)
        assert target.read_bytes() in (b"old", b"new"), step
        assert os.listdir(tmp_path) == ["a.py"], step
    assert step > 10


def test_a_file_of_that_name_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.py"
    target.write_bytes(b"old")
    other = tmp_path / ".a.py.abc.tmp"
    other.write_bytes(b"somebody's")
    monkeypatch.setattr(write.secrets, "token_hex", lambda size: "abc")
    with pytest.raises(write.SourceError, match=r"a\.py"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert other.read_bytes() == b"somebody's"
