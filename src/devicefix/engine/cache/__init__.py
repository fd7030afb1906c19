"""What earlier runs found, kept in the user's cache folder.

A result is used again only if nothing that it came from has changed: the bytes of the file, the files that the analysis
read for it, the places where it looked for files in vain, the settings, and this program. The files hold JSON with a
checksum; one that cannot be read is as good as none.
"""

from __future__ import annotations

from devicefix.engine.cache.store import Cache

__all__ = ["Cache"]
