"""The language server: the engine's findings and fixes in an editor."""
