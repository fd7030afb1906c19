"""Reads messages so that garbage on the wire costs one message and not the connection."""

from __future__ import annotations

import re
from typing import BinaryIO

_LENGTH = re.compile(rb"Content-Length:[ \t]*(\d{1,9})[ \t]*\r?\n\Z", re.IGNORECASE)
LARGEST = 256 * 1024 * 1024  #: a longer message is a damaged header


class Resynchronising:
    """A stream whose header lines are found again after bytes that belong to no message.

    pygls wants a header to be a line of its own, spelled exactly. After a body that is longer than its header says,
    the next header stands at the end of the rest of that body, and would be lost with everything that follows.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """The next line; a header at its end is handed over alone."""
        line = self._stream.readline()
        match = _LENGTH.search(line)
        if match is not None and int(match[1]) <= LARGEST:
            return b"Content-Length: %d\r\n" % int(match[1])
        if b"content-length" in line.lower():
            return b"damaged\r\n"
        return b"\r\n" if line.isspace() else line

    def read(self, count: int) -> bytes:
        """The body of a message."""
        return self._stream.read(count)
