"""Settings from ``pyproject.toml`` and ``devicefix.toml``, with exact complaints about mistakes in them."""

from __future__ import annotations

from devicefix.config.errors import ConfigError
from devicefix.config.resolve import Configuration

__all__ = ["ConfigError", "Configuration"]
