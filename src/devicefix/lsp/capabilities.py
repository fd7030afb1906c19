"""What the editor said it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsprotocol import types as t


@dataclass(frozen=True)
class Client:
    """The capabilities that make a difference here."""

    pulls: bool = False  #: asks for diagnostics
    refreshes: bool = False  #: can be told to ask again
    resolves: bool = False  #: asks for the edit of an action when it is chosen
    versioned: bool = False  #: takes edits that name the version of the document
    markdown: bool = False  #: shows Markdown in hovers
    related: bool = False  #: shows related places
    tags: bool = False  #: can grey out
    configuration: bool = False  #: answers what its settings are
    registers_configuration: bool = False
    registers_watchers: bool = False

    @classmethod
    def of(cls, capabilities: t.ClientCapabilities) -> Client:
        """Read them off; whatever is missing counts as no."""

        def get(path: str) -> Any:
            value: Any = capabilities
            for name in path.split("."):
                value = getattr(value, name, None)
                if value is None:
                    return None
            return value

        formats = get("text_document.hover.content_format") or ()
        return cls(
            pulls=get("text_document.diagnostic") is not None,
            refreshes=bool(get("workspace.diagnostics.refresh_support")),
            resolves="edit" in (get("text_document.code_action.resolve_support.properties") or ()),
            versioned=bool(get("workspace.workspace_edit.document_changes")),
            markdown=t.MarkupKind.Markdown in formats,
            related=bool(get("text_document.publish_diagnostics.related_information")),
            tags=get("text_document.publish_diagnostics.tag_support") is not None,
            configuration=bool(get("workspace.configuration")),
            registers_configuration=bool(get("workspace.did_change_configuration.dynamic_registration")),
            registers_watchers=bool(get("workspace.did_change_watched_files.dynamic_registration")),
        )
