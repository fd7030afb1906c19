"""Whether and how a tensor attribute can be registered as a buffer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis import attributes
from devicefix.analysis.attribute_moves import family
from devicefix.analysis.attribute_writes import registers
from devicefix.analysis.attributes import TensorAttribute
from devicefix.analysis.evidence import path_of
from devicefix.analysis.host_reads import gradients_may_be_off
from devicefix.analysis.values import Kind
from devicefix.codemods.changes import (
    Change,
    InsertStatements,
    ReplaceExpression,
    ReplaceStatement,
    RewriteAssignment,
    Unwrap,
)

if TYPE_CHECKING:
    from devicefix.analysis.facts import AttributeWrite, FileFacts
    from devicefix.analysis.model import ClassInfo, FunctionInfo

Assignment = ast.Assign | ast.AnnAssign

#: reasons against a buffer that do not speak against a move where the attribute is used as a tensor
NOT_ALWAYS = "it is also assigned something that is no tensor"
#: kinds of values that no buffer can hold
NO_TENSORS = frozenset({Kind.NUMBER, Kind.STRING, Kind.SEQUENCE, Kind.MAPPING, Kind.NDARRAY, Kind.OBJECT, Kind.MODULE})
UNSURE = "whether it is always a tensor is not known"


def registrable(facts: FileFacts, attribute: TensorAttribute) -> tuple[list[Assignment], str]:
    """The assignments to convert, or the reason why none can be: (statements, note)."""
    built = attributes.built_in_constructor(facts, attribute)
    first = attributes.first_on_each_path(facts, built)
    statements = [w.statement for w in first if w.statement is not None]
    for check in (_shape_of_statement, _class_forbids, _values_forbid, _other_writes):
        note = check(facts, attribute, first)
        if note:
            return [s for s in statements if isinstance(s, (ast.Assign, ast.AnnAssign))], note
    return [s for s in statements if isinstance(s, (ast.Assign, ast.AnnAssign))], ""


def _shape_of_statement(facts: FileFacts, attribute: TensorAttribute, first: list[AttributeWrite]) -> str:
    if not first:
        return "it is not set when the module is built"
    for write in first:
        statement = write.statement
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
            return "it is not set by a plain assignment"
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Tuple) and isinstance(statement, ast.Assign):
            if not _pairs(statement) or not _one_line(facts, statement):
                return "it is set together with other targets"
        elif len(targets) != 1 or not isinstance(targets[0], ast.Attribute) or path_of(targets[0]) is None:
            return "it is set together with other targets"
        if not attributes.after_super_init(facts, statement):
            return "it is set before `super().__init__()`, where no buffer can be registered"
        parent = facts.parents.get(statement)
        while parent is not None and not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(parent, (ast.For, ast.While)):
                return "it is set in a loop"
            parent = facts.parents.get(parent)
    return ""


def _class_forbids(facts: FileFacts, attribute: TensorAttribute, first: list[AttributeWrite]) -> str:
    cls, name = attribute.cls, attribute.name
    if name.startswith("__") and not name.endswith("__"):
        return "its name is private to the class, which `register_buffer` knows nothing of"
    if name in cls.assignments:
        return "the class has an attribute of that name, which would have to go first"
    if name in cls.methods:
        return "the class has a property or method of that name"
    for relative in map(facts.module.class_, family(facts, cls)):
        if relative is not cls and (name in relative.assignments or name in relative.methods):
            return f"`{relative.name}` has an attribute, property or method of that name"
    if any(_names(method, name) for method in map(cls.methods.get, ("__getstate__", "__setstate__", "__reduce__"))):
        return "the class pickles it in its own way"
    if any(method in cls.methods for method in ("_apply", "to", "cuda")):
        return "the class moves tensors itself"
    if any(
        isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__slots__" for t in s.targets)
        for s in cls.node.body
    ):
        return "the class has `__slots__`"
    return ""


def _names(method: FunctionInfo | None, name: str) -> bool:
    """Whether a method speaks of an attribute by its name, as in ``state["mask"]``."""
    if method is None:
        return False
    return any(isinstance(node, ast.Constant) and node.value == name for node in ast.walk(method.node))


def _values_forbid(facts: FileFacts, attribute: TensorAttribute, first: list[AttributeWrite]) -> str:
    for write in attribute.writes:
        value = write.value
        if value.is_tensor and (value.has("requires_grad") or value.has("graph")):
            built = write.statement in {w.statement for w in first}
            if built:
                return (
                    "it requires grad or is computed from parameters, so a buffer would not be trained or would "
                    "keep a stale graph"
                )
        if value.is_tensor and value.has("parameter"):
            return "it is a parameter"
    return ""


def _other_writes(facts: FileFacts, attribute: TensorAttribute, first: list[AttributeWrite]) -> str:
    converted = {write.statement for write in first}
    for write in facts.records.writes:  # a method that a subclass overrides may return something else
        if write.statement in converted and write.name == attribute.name and write.value.kind in NO_TENSORS:
            return NOT_ALWAYS
    for write in attribute.writes:
        if write.value.kind not in (Kind.TENSOR, Kind.NONE, Kind.UNKNOWN):
            return NOT_ALWAYS
        if write.value.kind is Kind.UNKNOWN and write.statement in converted:
            return UNSURE
    for node in attribute.cls.walk():
        if isinstance(node, ast.Delete) and any(path_of(t) == f"self.{attribute.name}" for t in node.targets):
            return "it is deleted somewhere"
        if registers(node, attribute.name):
            return "elsewhere the class registers it as a buffer, so here it may stay on the CPU on purpose"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("Parameter", "ParameterList")
        ):
            if any(path_of(a) == f"self.{attribute.name}" for a in node.args):
                return "a parameter is made from it"
    return ""


def registration(facts: FileFacts, attribute: TensorAttribute, statements: list[Assignment]) -> list[Change]:
    """Changes that turn the assignments into registrations."""
    changes: list[Change] = []
    settings = facts.settings
    persistent = ", persistent=False" if settings.allows((1, 6)) and not settings.persistent_buffers else ""
    for statement in statements:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if isinstance(target, ast.Tuple):
            assert isinstance(statement, ast.Assign)
            changes.append(_split(facts, statement, persistent))
            continue
        assert isinstance(target, ast.Attribute)
        if isinstance(statement, ast.AnnAssign):
            changes.extend(_annotation_in_class(facts, attribute, statement))
        owner = ast.unparse(target.value)
        if settings.buffer_style == "nn.Buffer" and settings.allows((2, 5)):
            prefix, suffix = f"{owner}.{attribute.name} = {_nn(facts)}.Buffer(", f"{persistent})"
        else:
            prefix, suffix = f'{owner}.register_buffer("{attribute.name}", ', f"{persistent})"
        changes.append(RewriteAssignment(statement, prefix, suffix))
        changes.extend(_without_move(statement.value))
    return changes


def registration_doubt(facts: FileFacts, attribute: TensorAttribute) -> str:
    """Why a registration may not be safe: "" where it keeps the keys of checkpoints, or is asked to change them."""
    relatives = map(facts.module.class_, family(facts, attribute.cls))
    if any("__getattr__" in relative.methods for relative in relatives):
        return "`__getattr__` may know the name as well, and then no buffer can be registered under it"
    if facts.settings.persistent_buffers or facts.settings.allows((1, 6)):
        return ""
    return "before torch 1.6 every buffer is part of `state_dict()`, and older checkpoints lack it"


def _pairs(statement: ast.Assign) -> list[tuple[ast.Attribute, ast.expr]]:
    """``self.a, self.b = x, y`` as pairs; nothing for other shapes."""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return []
    pairs = [
        (t, v)
        for t, v in zip(target.elts, value.elts, strict=False)
        if isinstance(t, ast.Attribute) and path_of(t) is not None
    ]
    named = {path_of(t) for t, _ in pairs}
    reads = {path_of(n) for _, v in pairs for n in ast.walk(v) if isinstance(n, ast.Attribute)}
    whole = len(pairs) == len(target.elts) and not any(isinstance(v, ast.Starred) for _, v in pairs)
    return pairs if whole and not named & reads else []  # one that reads another could not be taken apart


def _one_line(facts: FileFacts, statement: ast.stmt) -> bool:
    return statement.lineno == statement.end_lineno and isinstance(
        facts.parents.get(statement), (ast.FunctionDef, ast.If)
    )


def _split(facts: FileFacts, statement: ast.Assign, persistent: str) -> Change:
    """Several attributes set at once become one statement each; those that meet a device become buffers."""
    cls = facts.function(statement)
    met = {a.name for a in attributes.attributes_met(facts) if cls is not None and a.cls is cls.cls}
    lines = []
    for target, value in _pairs(statement):
        code = facts.source.segment(value)
        if target.attr in met:
            lines.append(f'{ast.unparse(target.value)}.register_buffer("{target.attr}", {code}{persistent})')
        else:
            lines.append(f"{ast.unparse(target)} = {code}")
    return ReplaceStatement(statement, tuple(lines))


def _annotation_in_class(facts: FileFacts, attribute: TensorAttribute, statement: ast.AnnAssign) -> list[Change]:
    """A call takes no annotation: it moves to the class body, where type checkers look for buffers."""
    if attribute.name in attribute.cls.annotations:
        return []
    body = attribute.cls.node.body
    anchor = (
        body[1]
        if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        else body[0]
    )
    annotation = facts.source.segment(statement.annotation)
    blank = 0 if isinstance(anchor, ast.AnnAssign) else 1
    return [InsertStatements(anchor, (f"{attribute.name}: {annotation}",), "before", blank_after=blank)]


def _without_move(value: ast.expr | None) -> list[Change]:
    """A move at the end of the value (``torch.zeros(3).cuda()``) has no place in a buffer that follows its module."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "cuda" or (value.func.attr == "to" and any("cuda" in ast.unparse(a) for a in value.args)):
            return [Unwrap(value, value.func.value)]
    return []


def _nn(facts: FileFacts) -> str:
    for statement in facts.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "torch":
            for alias in statement.names:
                if alias.name == "nn":
                    return alias.asname or "nn"
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "torch.nn" and alias.asname:
                    return alias.asname
    return "torch.nn"


# -- attributes that cause no crash, but should be something else ------------------------------------------------------


def graph_attributes(facts: FileFacts) -> Iterator[TensorAttribute]:
    """Attributes of modules that are computed from parameters in the constructor and used elsewhere."""
    done: set[tuple[ast.AST, str]] = set()
    for write in facts.records.writes:
        cls = write.scope.function.cls if write.scope.function is not None else None
        if cls is None or cls.module is not facts.module or not write.owner.is_module or not write.value.is_tensor:
            continue
        if write.scope.function is None or write.scope.function.name != "__init__" or write.value.has("parameter"):
            continue
        if (
            not write.value.has("graph")
            or (cls.node, write.name) in done
            or write.statement is None
            or not facts.here(write.statement)
        ):
            continue
        if gradients_may_be_off(facts, write.statement, write.scope):
            continue
        done.add((cls.node, write.name))
        readers = [n for n in attributes.used_names(cls, write.name) if _method_name(facts, n) != "__init__"]
        if readers and not _computed_again(cls, write.name):
            attribute = TensorAttribute(cls, write.name, True)
            attribute.writes = [write]
            yield attribute


def _computed_again(cls: ClassInfo, name: str) -> bool:
    """Whether another method than the constructor gives the attribute a new value."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        for method, function in cls.methods.items()
        if method != "__init__"
        for node in ast.walk(function.node)
    )


def copies_per_call(facts: FileFacts) -> Iterator[tuple[TensorAttribute, list[Change]]]:
    """Constant tables that ``forward`` copies with ``self.t.to(x.device)`` every time, with the changes that undo
    it."""
    done: set[tuple[ast.AST, str]] = set()
    for write in facts.records.writes:
        cls = write.scope.function.cls if write.scope.function is not None else None
        if cls is None or cls.module is not facts.module or not write.owner.is_module or not write.value.is_tensor:
            continue
        value = write.value
        if (
            (cls.node, write.name) in done
            or value.has("parameter")
            or value.has("buffer")
            or value.device is None
            or not value.device.host
        ):
            continue
        done.add((cls.node, write.name))
        readers = [n for n in attributes.used_names(cls, write.name) if _method_name(facts, n) != "__init__"]
        moves = [_device_move(facts, n) for n in readers]
        changes = [
            ReplaceExpression(m, ast.unparse(m.func.value))
            for m in moves
            if m is not None and isinstance(m.func, ast.Attribute)
        ]
        if readers and len(changes) == len(readers):
            attribute = TensorAttribute(cls, write.name, True)
            attribute.writes = attributes.writes_of(facts, cls, write.name)
            if all(_method_name(facts, w.statement) == "__init__" for w in attribute.writes if w.statement is not None):
                yield attribute, list(changes)


def _device_move(facts: FileFacts, node: ast.Attribute) -> ast.Call | None:
    """``self.t.to(x.device)`` around a read of ``self.t``."""
    method = facts.parents.get(node)
    call = facts.parents.get(method) if method is not None else None
    if call is not None and _is_kept(facts, call):
        return None  # without the move the buffer itself would be kept, and changed with what keeps it
    if isinstance(method, ast.Attribute) and method.attr == "to" and isinstance(call, ast.Call) and call.func is method:
        values = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
        if len(values) == 1 and not [k for k in call.keywords if k.arg not in ("device", "non_blocking")]:
            value = values[0]
            if (
                isinstance(value, ast.Attribute)
                and value.attr == "device"
                and path_of(value.value) not in (None, "self")
            ):
                return call
    return None


def _is_kept(facts: FileFacts, value: ast.AST) -> bool:
    """``self.bias.data = value``."""
    parent = facts.parents.get(value)
    return isinstance(parent, ast.Assign) and any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in parent.targets)


def _method_name(facts: FileFacts, node: ast.AST | None) -> str:
    function = facts.function(node) if node is not None else None
    return function.name if function is not None else ""
