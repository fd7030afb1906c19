"""Modules and parameters in plain lists and dicts: whether ``nn.ModuleList`` and its sisters can take their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis import attributes
from devicefix.analysis.container_keys import bad_key, key_doubt
from devicefix.analysis.container_uses import keys_stored, trouble_in_use
from devicefix.analysis.ownership import holds_saved_state, modules_inside
from devicefix.analysis.spelling import spelling
from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import Kind, Obj, Value, elements, module_objects
from devicefix.codemods.changes import AddImport, Change, ReplaceExpression, WrapExpression

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts, Mix
    from devicefix.analysis.model import ClassInfo

Assignment = ast.Assign | ast.AnnAssign


@dataclass(slots=True)
class Container:
    """An attribute of a module class that keeps modules or parameters in a plain list, tuple or dict."""

    cls: ClassInfo
    name: str
    kind: str  #: ``modules`` or ``parameters``
    mixes: list[Mix] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)  #: what was written to it
    assignments: list[Assignment] = field(default_factory=list)  #: ``self.name = …``, in the order of the text

    @property
    def is_mapping(self) -> bool:
        """Whether it is a dict."""
        return any(value.kind is Kind.MAPPING for value in self.values)

    @property
    def replacement(self) -> str:
        """The class of ``torch.nn`` that would register the members."""
        return ("Module" if self.kind == "modules" else "Parameter") + ("Dict" if self.is_mapping else "List")

    def members(self) -> Iterator[Value]:
        """Everything seen in the container."""
        for value in self.values:
            for member in (*elements(value), *([value.element] if value.element is not None else ())):
                yield from module_objects(member) or (member,)


def containers_met(facts: FileFacts, kind: str) -> Iterator[Container]:
    """Containers whose members meet another device than they are on, in source order."""
    for met in attributes.attributes_met(facts, kind):
        if not met.is_module:
            continue
        found = Container(met.cls, met.name, kind, met.mixes)
        found.values = [
            write.value for write in facts.records.writes
            if write.name == met.name and write.value.kind in (Kind.SEQUENCE, Kind.MAPPING)
            and any(write.statement is w.statement for w in met.writes)
        ]  # fmt: skip
        found.assignments = list(_assignments(met.cls, met.name))
        yield found


def _assignments(cls: ClassInfo, name: str) -> Iterator[Assignment]:
    for node in cls.walk():
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Attribute) and t.attr == name and _is_self(t.value) for t in targets):
                yield node


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def registering(facts: FileFacts, container: Container) -> tuple[list[Change], str]:
    """The changes that register the members, or the reason why a person has to: (changes, note)."""
    note = _trouble(facts, container)
    if note:
        return [], note
    changes: list[Change] = []
    for statement in container.assignments:
        value = statement.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            continue
        full = f"torch.nn.{container.replacement}"
        spelled = spelling(facts, full, statement)
        if spelled is None:
            spelled = container.replacement
            changes.append(AddImport("torch.nn", spelled))
        if _is_empty(value):
            changes.append(ReplaceExpression(value, f"{spelled}()"))
        else:
            changes.append(WrapExpression(value, f"{spelled}(", ")"))
        if isinstance(statement, ast.AnnAssign):
            changes.append(ReplaceExpression(statement.annotation, spelled))
    return changes, ""


def _is_empty(value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple)):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    if not isinstance(value, ast.Call) or value.args or value.keywords:
        return False
    return last_name(value.func) in ("list", "dict", "tuple", "OrderedDict")


def _trouble(facts: FileFacts, container: Container) -> str:
    """Why the container cannot simply be replaced."""
    if not container.assignments or not container.values:
        return "it is not assigned in this class"
    if {value.kind for value in container.values} != {container.values[0].kind}:
        return "it is a list in one place and a dict in another"
    for member in container.members():
        if member.kind in (Kind.SEQUENCE, Kind.MAPPING):
            return f"its members are lists or dicts themselves: each has to become an `nn.{container.replacement}`"
        fits = member.is_module if container.kind == "modules" else member.is_tensor
        if not fits and member.kind is not Kind.UNKNOWN:
            return "it does not hold " + container.kind + " only"
    for statement in container.assignments:
        note = _trouble_in_assignment(facts, container, statement)
        if note:
            return note
    for use in uses(facts, container):
        note = trouble_in_use(facts, use, container.replacement)
        if note:
            return note
    return ""


def _trouble_in_assignment(facts: FileFacts, container: Container, statement: Assignment) -> str:
    value = statement.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Attribute):
        return f"line {statement.lineno} assigns several things at once"
    if not attributes.after_super_init(facts, statement):
        return "it is set before `super().__init__()`, when nothing can be registered yet"
    written = [write.value.kind for write in facts.records.writes if write.statement is statement]
    if Kind.SEQUENCE not in written and Kind.MAPPING not in written:
        return f"what line {statement.lineno} assigns is not known to be a list or dict"
    if isinstance(value, ast.Name) and _changed_later(facts, statement, value.id):
        return f"the list `{value.id}` is changed after it was assigned; a module list would be a copy of it"
    if container.is_mapping:
        return _bad_keys(facts, value, container.replacement)
    return ""


def _changed_later(facts: FileFacts, statement: Assignment, name: str) -> bool:
    function = facts.function(statement)
    for node in ast.walk(function.node if function is not None else facts.tree):
        if isinstance(node, ast.Name) and node.id == name and node.lineno > (statement.end_lineno or statement.lineno):
            parent = facts.parents.get(node)
            method = isinstance(parent, ast.Attribute) and isinstance(facts.parents.get(parent), ast.Call)
            stored = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)
            if method or stored or isinstance(parent, ast.AugAssign):
                return True
    return False


def _bad_keys(facts: FileFacts, value: ast.expr, replacement: str) -> str:
    keys = _keys(value)
    if keys is None:
        return "" if _is_empty(value) else "its keys are not known"
    return next((note for key, stored in keys if (note := bad_key(facts, key, replacement, stored))), "")


def _keys(value: ast.expr) -> list[tuple[ast.expr | None, ast.expr | None]] | None:
    """The keys of a dict as it is written, each with its value; ``None`` if that cannot be seen."""
    if isinstance(value, ast.Dict):
        return list(zip(value.keys, value.values, strict=True))
    if isinstance(value, ast.DictComp):
        return [(value.key, value.value)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        if not value.args:
            return [(ast.Constant(k.arg) if k.arg else None, k.value) for k in value.keywords]
        pairs = value.args[0]
        if len(value.args) == 1 and not value.keywords and isinstance(pairs, (ast.GeneratorExp, ast.ListComp)):
            if isinstance(pairs.elt, ast.Tuple) and len(pairs.elt.elts) == 2:
                return [(pairs.elt.elts[0], pairs.elt.elts[1])]
    return None


def _key_doubt(facts: FileFacts, container: Container) -> str:
    """What is not shown of the keys of a dict; ``""`` if all are legal names."""
    if not container.is_mapping:
        return ""
    keys = [key for s in container.assignments if s.value is not None for key, _ in _keys(s.value) or ()]
    keys += [key for use in uses(facts, container) if (key := keys_stored(facts, use)) is not None]
    return next((doubt for key in keys if (doubt := key_doubt(facts, key))), "")


def uses(facts: FileFacts, container: Container) -> Iterator[ast.Attribute]:
    """Every ``x.name`` of the file that may mean the container, apart from the plain assignments."""
    plain: set[ast.AST] = set()
    for statement in container.assignments:
        plain.update(statement.targets if isinstance(statement, ast.Assign) else [statement.target])
    for node in facts.nodes(ast.Attribute):
        if node.attr == container.name and node not in plain:
            if not _is_self(node.value) or _inside(facts, node, container.cls):
                yield node


def _inside(facts: FileFacts, node: ast.AST, cls: ClassInfo) -> bool:
    """Whether a node stands in the class or in one that may derive from it."""
    current: ast.AST | None = node
    while current is not None:
        if isinstance(current, ast.ClassDef):
            return current is cls.node or any(cls.name in ast.unparse(base) for base in current.bases)
        current = facts.parents.get(current)
    return True


GROWING = "`parameters()` and `state_dict()`: old checkpoints lack these keys, and an optimizer gets more to train"


def doubt(facts: FileFacts, container: Container) -> str:
    """What registering changes besides the device, or what it needs; ``""`` if it is shown to change nothing."""
    return "; ".join(filter(None, (_key_doubt(facts, container), _change(container))))


def _change(container: Container) -> str:
    if container.kind == "parameters":
        return f"they join {GROWING}"
    built = [member.data for member in container.members() if member.kind is Kind.OBJECT]
    if any(member.kind is not Kind.OBJECT for member in container.members()) or not built:
        return "it is not known what all members hold: they may add parameters and keys of `state_dict()`"
    follow = any(_depends_on_mode(inner) for obj in built for inner in modules_inside(obj))
    if any(holds_saved_state(obj) for obj in built):
        mode = "; they also follow `.train()` and `.eval()` from then on" if follow else ""
        return f"the members join {GROWING}{mode}"
    return "the members would follow `.train()` and `.eval()` from then on" if follow else ""


def _depends_on_mode(obj: Obj) -> bool:
    if obj.external:
        return "Dropout" in obj.external or "Norm" in obj.external or obj.external.endswith("RReLU")
    assert obj.cls is not None
    return any(isinstance(n, ast.Attribute) and n.attr == "training" for n in obj.cls.walk())
