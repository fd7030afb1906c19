"""Tells what each value of a program is, where it lives and what it meets, without running the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.project import Project
    from devicefix.analysis.relevance import Relevance
    from devicefix.settings import Settings
    from devicefix.source.text import SourceText


def analyse(
    source: SourceText, *, project: Project, settings: Settings, relevance: Relevance | None = None
) -> FileFacts:
    """Everything that the rules want to know about one file; the interpreter is loaded only when it is needed.

    ``relevance`` saves a second look at which functions matter.
    """
    from devicefix.analysis.entry import analyse as run

    return run(source, project=project, settings=settings, relevance=relevance)
