"""Modules that are moved only after the statement that builds them: where another one names them, or the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.batches import following
from devicefix.analysis.evidence import path_of
from devicefix.analysis.references import Reference, references, self_name
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.unmoved import Unmoved
    from devicefix.analysis.values import Scope


def move_after_unpacking(facts: FileFacts, unmoved: Unmoved) -> tuple[ast.Assign, str] | None:
    """The statement ``a, module = build()`` that names the module, and the line that moves it behind that."""
    scope: Scope | None = unmoved.origin.scope
    while scope is not None and isinstance(scope.call, ast.Call) and scope.caller is not None:
        statement = facts.statement(scope.call) if facts.here(scope.call) else None
        if isinstance(statement, ast.Assign) and statement.value is scope.call and len(statement.targets) == 1:
            name = _name(statement.targets[0], unmoved, scope.caller)
            if not name:
                return None
            device = next((r.device for r in _variables(unmoved, scope.caller)), "")
            return (statement, f"{name} = {name}.to({device})") if device else None
        scope = scope.caller
    return None


def move_after_device(facts: FileFacts, unmoved: Unmoved) -> tuple[ast.stmt, str] | None:
    """The statement of the same block that chooses the device once the module is built, and the line behind it."""
    built = facts.statement(unmoved.call)
    mix = unmoved.mixes[0]
    if not isinstance(built, ast.Assign) or built.value is not unmoved.call or len(built.targets) != 1:
        return None
    module, met = built.targets[0], facts.statement(mix.node)
    if not isinstance(module, ast.Name) or met is None or mix.scope.function is not unmoved.origin.scope.function:
        return None
    names = {r.device for r in _variables(unmoved, mix.scope)}
    for statement in following(facts, built):
        if isinstance(statement, ast.Assign) and statement.lineno < met.lineno:
            chosen = names & set(map(path_of, statement.targets))
            if chosen:
                return statement, f"{module.id} = {module.id}.to({chosen.pop()})"
    return None


def _variables(unmoved: Unmoved, scope: Scope) -> Iterator[Reference]:
    wanted = unmoved.mixes[0].partner.device
    return (r for r in references(scope, wanted) if r.kind == "variable" and not r.doubt)


def _name(target: ast.expr, unmoved: Unmoved, caller: Scope) -> str:
    """What an unpacking calls the module, as far as its uses show; "" if it does not name it."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return ""
    return next((path for path in map(path_of, target.elts) if path and _holds(caller, path, unmoved)), "")


def _holds(caller: Scope, path: str, unmoved: Unmoved) -> bool:
    owner, _, attribute = path.rpartition(".")
    if owner and owner == self_name(caller) and caller.self_object is not None:
        values = [caller.self_object.attrs.get(attribute)]
    else:
        values = [scope.names.get(path) for mix in unmoved.mixes for scope in _same_function(mix.scope, caller)]
    return any(v is not None and v.kind is Kind.OBJECT and v.data is unmoved.obj for v in values)


def _same_function(scope: Scope | None, caller: Scope) -> Iterator[Scope]:
    """Later states of the function that unpacks: on the way to where the module meets its inputs."""
    while scope is not None:
        if scope.function is caller.function and scope.module is caller.module:
            yield scope
        scope = scope.caller
