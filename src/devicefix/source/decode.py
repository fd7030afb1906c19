"""Bytes to text by the rules of PEP 263."""

from __future__ import annotations

import codecs
import io
import tokenize

from devicefix.source.errors import SourceError


def decode(raw: bytes, path: str) -> tuple[str, str, bool]:
    """Return the text without its byte order mark, the name of the encoding, and whether there was a mark.

    Line ends are kept. Raises `SourceError` for an unknown or wrong encoding.
    """
    bom = raw.startswith(codecs.BOM_UTF8)
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SourceError(path, "encoded as UTF-16, which Python does not read as source code", 1, 1)
    encoding = "utf-8"
    body = raw[len(codecs.BOM_UTF8) :] if bom else raw
    # A declaration is looked for in the first two lines only; most files have none, so the cheap test comes first.
    if b"coding" in raw[:400] or b"coding" in b"\n".join(raw.split(b"\n", 2)[:2]):
        try:
            encoding = tokenize.detect_encoding(io.BytesIO(_first_lines(raw)).readline)[0]
        except SyntaxError as error:
            raise SourceError(path, str(error.msg), 1, 1) from None
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    try:
        return body.decode(encoding), encoding, bom
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        column = error.start - (body.rfind(b"\n", 0, error.start) + 1) + 1
        what = f"byte 0x{body[error.start]:02x} is not valid {encoding}"
        raise SourceError(path, what, line, column) from None
    except (LookupError, UnicodeError, ValueError) as error:
        raise SourceError(path, f"cannot be decoded as {encoding}: {error}", 1, 1) from None


def _first_lines(raw: bytes) -> bytes:
    """The first two lines with ``\\n`` ends, so that a declaration behind a lone carriage return is seen as well."""
    head = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw
    return b"\n".join(head.split(b"\n", 2)[:2]) + b"\n"
