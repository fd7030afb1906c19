"""Generators that sit on another device than the numbers drawn with them, and where they should be created."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.devices import differ
from devicefix.analysis.evidence import path_of
from devicefix.analysis.references import references

if TYPE_CHECKING:
    from devicefix.analysis.facts import Draw, FileFacts
    from devicefix.analysis.values import Origin


@dataclass(slots=True)
class MisplacedGenerator:
    """A generator with the draws that refuse it."""

    call: ast.Call | None  #: what created it; ``None`` if that is in another file
    origins: list[Origin] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)


def misplaced_generators(facts: FileFacts) -> Iterator[MisplacedGenerator]:
    """Generators that are on another device than the numbers drawn with them, in source order."""
    found: dict[ast.AST, MisplacedGenerator] = {}
    for draw in facts.records.draws:
        if not facts.here(draw.node) or not differ(draw.generator.device, draw.device):
            continue
        origin = next((o for o in draw.generator.origins if o.kind == "generator"), None)
        if origin is None:
            # on a card: the call that draws on the CPU is where to look
            found.setdefault(draw.node, MisplacedGenerator(None)).draws.append(draw)
            continue
        known = isinstance(origin.node, ast.Call) and facts.here(origin.node)
        node = origin.node if known else draw.node
        entry = found.setdefault(node, MisplacedGenerator(node if isinstance(node, ast.Call) and known else None))
        entry.draws.append(draw)
        entry.origins.append(origin)
    yield from sorted(found.values(), key=lambda g: (g.call or g.draws[0].node).lineno)


def generator_device(facts: FileFacts, generator: MisplacedGenerator) -> tuple[str, str, str]:
    """Where to create it: (device expression or "", doubt, why there is none)."""
    call = generator.call
    if call is None or not generator.origins:
        return "", "", "its device is not decided here"
    if generator.origins[0].detail == "global":
        return (
            "",
            "",
            "`torch.manual_seed` returns the CPU's own generator; create one with `torch.Generator(device=…)`",
        )
    drawn = {draw.device for draw in generator.draws}
    others = [d for d in facts.records.draws if any(o.node is call for o in d.generator.origins)]
    if any(d.device is not None and not differ(d.generator.device, d.device) for d in others):
        return "", "", "the same generator also serves draws on the CPU, so a second one is needed"
    if len(drawn) != 1:
        return "", "", "numbers are drawn with it on several devices"
    device = drawn.pop()
    common: list[str] | None = None
    doubts: dict[str, str] = {}
    for origin in generator.origins:
        here = references(origin.scope, device)
        doubts.update((r.device, r.doubt) for r in here if r.doubt)
        common = [r.device for r in here if common is None or r.device in common]
    if not common:
        literal = _literal(generator.draws) or _spelled(facts, call, generator.draws)
        if not literal:
            return "", "", "where it is created, nothing names the device that the numbers are drawn on"
        common = [literal]
    return common[0], doubts.get(common[0], "") or _escapes(facts, call, {d.node for d in others}), ""


def _literal(draws: list[Draw]) -> str:
    """The device text that every draw carries as a constant."""
    texts = set()
    for draw in draws:
        given = next((k.value for k in draw.node.keywords if k.arg == "device"), None)
        texts.add(ast.unparse(given) if isinstance(given, ast.Constant) else "")
    text = texts.pop() if len(texts) == 1 else ""
    return text.replace("'", '"')


def _spelled(facts: FileFacts, call: ast.Call, draws: list[Draw]) -> str:
    """``self.device`` of ``device=self.device`` at every draw, where it means the same at the creation.

    That is so in one function, for a parameter or an attribute of one that the function does not bind anew.
    """
    function = facts.function(call)
    texts = set()
    for draw in draws:
        given = next((k.value for k in draw.node.keywords if k.arg == "device"), None)
        path = path_of(given) if given is not None else None
        if path is None or facts.function(draw.node) is not function:
            return ""
        texts.add(path)
    text = texts.pop() if len(texts) == 1 else ""
    root = text.partition(".")[0]
    if not text or "[" in text or function is None or root not in {p.arg for p in function.parameters}:
        return ""
    bound = (n for n in ast.walk(function.node) if isinstance(n, (ast.Name, ast.Attribute)))
    return "" if any(isinstance(n.ctx, ast.Store) and path_of(n) in (root, text) for n in bound) else text


def on_the_host_instead(facts: FileFacts, draw: Draw) -> ast.Call | None:
    """The call that makes the generator of a sampler on a device, if nothing but samplers draws with it."""
    ident = draw.generator.ident
    call = ident[1] if isinstance(ident, tuple) and ident[0] == "new" else None
    if not isinstance(call, ast.Call) or not facts.here(call):
        return None
    draws = [d for d in facts.records.draws if d.generator.ident == ident]
    if not all(d.host for d in draws) or _escapes(facts, call, {d.node for d in draws}):
        return None
    return call if len(call.args) + len(call.keywords) == 1 else None


def _escapes(facts: FileFacts, call: ast.Call, draws: set[ast.Call]) -> str:
    """Why other users of the generator may mind; "" when every use of its name is a draw that was seen."""
    statement = facts.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return (
            "" if isinstance(facts.parents.get(call), ast.keyword) else "it is not seen where else the generator goes"
        )
    target = path_of(statement.targets[0])
    if target is None:
        return "it is not seen where else the generator goes"
    function = facts.function(call)
    inside = function.node if function is not None and isinstance(statement.targets[0], ast.Name) else facts.tree
    for node in ast.walk(inside):
        if (
            not isinstance(node, (ast.Name, ast.Attribute))
            or not isinstance(node.ctx, ast.Load)
            or path_of(node) != target
        ):
            continue
        parent = facts.parents.get(node)
        if isinstance(parent, ast.Attribute):
            continue
        if isinstance(parent, ast.keyword) and parent.arg == "generator":
            parent = facts.parents.get(parent)
        if parent in draws:
            continue
        return f"`{target}` is also used in other places, which may draw on the CPU"
    return ""
