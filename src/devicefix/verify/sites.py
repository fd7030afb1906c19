"""Lines of the user's program: found cheaply while it runs, resolved to file, line and text only when a message needs
them.

A *raw site* is ``(code object, offset of the current instruction)``. Taking one costs a short walk up the stack and no
table look-up, so that every created or moved tensor can remember one.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

RawSite = tuple[CodeType, int]

_USER, _LIBRARY, _MACHINERY = 1, 2, 3
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_kind_of_file: dict[str, int] = {}


def _classify(filename: str) -> int:
    """Whose code a file is: the user's, an installed library's, or machinery (torch, devicefix, the standard
    library)."""
    path = os.path.abspath(filename) if not filename.startswith("<") else filename
    parts = path.replace("\\", "/").split("/")
    installed = "site-packages" in parts or "dist-packages" in parts
    if path.startswith(("<frozen", _HERE)):
        kind = _MACHINERY
    elif installed:
        inside = parts[max(i for i, p in enumerate(parts) if p in ("site-packages", "dist-packages")) + 1]
        kind = _MACHINERY if inside in ("torch", "torchgen", "functorch", "_pytest", "pluggy", "pytest") else _LIBRARY
    elif any(path.startswith(root + os.sep) for root in _stdlib_roots()):
        kind = _MACHINERY
    else:
        kind = _USER
    _kind_of_file[filename] = kind
    return kind


@lru_cache(maxsize=1)
def _stdlib_roots() -> tuple[str, ...]:
    roots = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:  # a torch built from source is not in site-packages
        roots.add(os.path.dirname(torch.__file__))
    return tuple(os.path.abspath(root) for root in roots if root)


def user_site() -> RawSite | None:
    """The innermost line of the user's own code that is being executed, else of an installed library, else None."""
    frame: FrameType | None = sys._getframe(1)
    library: RawSite | None = None
    while frame is not None:
        code = frame.f_code
        kind = _kind_of_file.get(code.co_filename) or _classify(code.co_filename)
        if kind == _USER:
            return code, frame.f_lasti
        if kind == _LIBRARY and library is None:
            library = code, frame.f_lasti
        frame = frame.f_back
    return library


def user_frame() -> FrameType | None:
    """The frame of `user_site`, for a look at its local variables when something has gone wrong."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if (_kind_of_file.get(code.co_filename) or _classify(code.co_filename)) == _USER:
            return frame
        frame = frame.f_back
    return None


def is_user_file(filename: str) -> bool:
    """Whether a file is the user's own rather than an installed library's or Python's."""
    return (_kind_of_file.get(filename) or _classify(filename)) == _USER


@dataclass(frozen=True)
class Site:
    """A place in a program, as shown to a person."""

    path: str
    line: int
    end_line: int
    column: int  # 1-based, in characters; 1 where Python does not tell (before 3.11)
    end_column: int
    function: str
    text: str  # the call or, where unknown, the whole line

    @property
    def short(self) -> str:
        """``model.py:31``, with the path relative to the working directory where it lies below it."""
        return f"{shown_path(self.path)}:{self.line}"

    def as_dict(self) -> dict[str, Any]:
        """For json."""
        return {
            "path": shown_path(self.path),
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "function": self.function,
            "text": self.text,
        }


def shown_path(path: str) -> str:
    """A path as the user would type it."""
    if path.startswith("<"):
        return path
    relative = os.path.relpath(path) if os.path.splitdrive(path)[0] == os.path.splitdrive(os.getcwd())[0] else path
    return path if relative.startswith("..") else relative


def resolve(raw: RawSite | None) -> Site | None:
    """Turn a raw site into file, line, function and source text."""
    if raw is None:
        return None
    code, offset = raw
    line, end_line, start, end = _position(code, offset)
    text = _text(code.co_filename, line, end_line, start, end)
    function = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
    source_line = linecache.getline(code.co_filename, line).encode("utf-8", "replace")
    last_line = linecache.getline(code.co_filename, end_line).encode("utf-8", "replace")
    column = len(source_line[:start].decode("utf-8", "replace")) + 1 if start is not None else 1
    end_column = len(last_line[:end].decode("utf-8", "replace")) + 1 if end is not None else len(last_line.rstrip()) + 1
    return Site(code.co_filename, line, end_line, column, end_column, "" if function == "<module>" else function, text)


def _position(code: CodeType, offset: int) -> tuple[int, int, int | None, int | None]:
    """Line, last line, and the byte columns of the expression being evaluated (None before Python 3.11)."""
    if sys.version_info >= (3, 11):
        for index, (line, end_line, start, end) in enumerate(code.co_positions()):
            if index == offset // 2:
                first = line or code.co_firstlineno
                return first, end_line or first, start, end
    for begin, stop, line_number in code.co_lines():
        if begin <= offset < stop and line_number is not None:
            return line_number, line_number, None, None
    return code.co_firstlineno, code.co_firstlineno, None, None


def _text(filename: str, line: int, end_line: int, start: int | None, end: int | None) -> str:
    """The source of an expression on one line of output, cut to a readable length."""
    lines = [linecache.getline(filename, number) for number in range(line, end_line + 1)]
    if not any(lines):
        return ""
    if start is None or end is None:
        text = lines[0]
    else:
        raw = [piece.encode("utf-8", "replace") for piece in lines]
        raw[-1] = raw[-1][:end]
        raw[0] = raw[0][start:]
        text = b"".join(raw).decode("utf-8", "replace")
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:97] + "..."


def is_statement_of_its_own(site: Site) -> bool:
    """Whether the expression at a site stands alone as a statement, so that its value is dropped (``x.to(device)``)."""
    try:
        tree = ast.parse("".join(linecache.getlines(site.path)))
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Expr) and node.lineno == site.line and isinstance(node.value, ast.Call)
        for node in ast.walk(tree)
    )
