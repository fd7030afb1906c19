"""Text to a syntax tree, with every way in which that fails turned into a `SourceError`."""

from __future__ import annotations

import ast
import warnings

from devicefix.source.errors import SourceError
from devicefix.source.lines import LineIndex

# What CPython's parser says about code of the last century, and what to say instead.
_PYTHON_2 = (
    ("Missing parentheses in call to 'print'", "print statement"),
    ("Missing parentheses in call to 'exec'", "exec statement"),
    ("multiple exception types must be parenthesized", "except X, name"),
    ("leading zeros in decimal integer literals", "octal number without 0o"),
)


def parse(text: str, path: str) -> ast.Module:
    """``ast.parse`` without warnings. Raises `SourceError` with a one-line message and 1-based position."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, path)
    except SyntaxError as error:
        message = python_2(error, text) or f"syntax error: {error.msg}"
        raise SourceError(path, message, error.lineno or 1, max(error.offset or 1, 1)) from None
    except RecursionError:
        raise SourceError(path, "nested too deeply to be parsed") from None
    except MemoryError:
        raise SourceError(path, "nested too deeply to be parsed") from None
    except UnicodeEncodeError as error:
        raise SourceError(path, f"holds a lone surrogate (U+{ord(error.object[error.start]):04X})") from None
    except ValueError as error:
        raise SourceError(path, f"cannot be parsed: {error}", *_null_byte(text)) from None


def _null_byte(text: str) -> tuple[int, int]:
    at = text.find("\0")
    if at < 0:
        return 0, 0
    lines = LineIndex(text)
    line = lines.line_of(at)
    return line, at - lines.start(line) + 1


def python_2(error: SyntaxError, text: str) -> str:
    """A message for code that only Python 2 accepts, else an empty string."""
    for start, what in _PYTHON_2:
        if str(error.msg).startswith(start):
            return f"looks like Python 2 ({what}); only Python 3 is supported"
    line = LineIndex(text).content(error.lineno or 1).strip()
    if line.startswith("raise ") and "," in line:
        return "looks like Python 2 (raise X, message); only Python 3 is supported"
    if line.startswith(("print ", "exec ")) or line == "print":
        return f"looks like Python 2 ({line.split()[0]} statement); only Python 3 is supported"
    if "<>" in line or "`" in line:
        return "looks like Python 2 (`<>` or backquotes); only Python 3 is supported"
    return ""
