"""How a file calls something of a library: by the imports that it has already."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.statements import top_level

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts


def spelling(facts: FileFacts, name: str, place: ast.AST) -> str | None:
    """``nn.ModuleList`` for ``torch.nn.ModuleList``, as it is written at ``place``; ``None`` if no import offers it.

    Only imports at the top level count. Names that the function around ``place`` binds itself are not used.
    """
    function = facts.function(place)
    taken = function.locals if function is not None else frozenset()
    best: str | None = None
    for local, meaning in _imported(facts):
        if local in taken or not _means_one_thing(facts, local):
            continue
        if name == meaning:
            return local
        if name.startswith(f"{meaning}."):
            spelled = local + name[len(meaning) :]
            if best is None or len(spelled) < len(best):
                best = spelled
    return best


def _imported(facts: FileFacts) -> list[tuple[str, str]]:
    """Names that the file's imports bind, with what they mean."""
    found: list[tuple[str, str]] = []
    for statement in top_level(facts.tree.body):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                root = alias.name.partition(".")[0]
                found.append((alias.asname, alias.name) if alias.asname else (root, root))
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            found.extend((alias.asname or alias.name, f"{statement.module}.{alias.name}") for alias in statement.names)
    return found


def _means_one_thing(facts: FileFacts, local: str) -> bool:
    """Whether a name is bound once, or several times by the same import (``import torch``, ``import torch.nn``)."""
    if len(facts.module.bindings.get(local, ())) < 2:
        return True
    meanings = {meaning for name, meaning in _imported(facts) if name == local}
    imports = (ast.Import, ast.ImportFrom)
    return len(meanings) == 1 and all(isinstance(s, imports) for s in facts.module.bindings[local])
