"""One module per output format. Each has ``render(outcomes, style) -> Iterator[str]``, the text piece by piece."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from devicefix.settings import OUTPUT_FORMATS

if TYPE_CHECKING:
    from devicefix.engine.outcome import Outcome
    from devicefix.report.style import Style

Renderer = Callable[[Iterable["Outcome"], "Style"], Iterator[str]]

#: Formats that show the edits of fixes.
WITH_EDITS = ("json", "sarif", "rdjson")


def renderer(output_format: str) -> Renderer:
    """The function that writes a format. Raises `ValueError` for an unknown one."""
    if output_format not in OUTPUT_FORMATS:
        raise ValueError(f"unknown output format `{output_format}`; there are {', '.join(OUTPUT_FORMATS)}")
    module = importlib.import_module(f"devicefix.report.{output_format}")
    render: Renderer = module.render
    return render
