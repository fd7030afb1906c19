"""The keys of a dict of modules: which of them ``nn.ModuleDict`` and ``nn.ParameterDict`` accept as names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: attributes of ``nn.ModuleDict`` and ``nn.ParameterDict``, which no key may have
TAKEN: Final = frozenset(
    {"add_module", "apply", "bfloat16", "buffers", "call_super_init", "children", "clear", "compile", "copy", "cpu",
     "cuda", "double", "dump_patches", "eval", "extra_repr", "float", "forward", "fromkeys", "get", "get_buffer",
     "get_extra_state", "get_parameter", "get_submodule", "half", "ipu", "items", "keys", "load_state_dict",
     "modules", "mtia", "named_buffers", "named_children", "named_modules", "named_parameters", "parameters", "pop",
     "popitem", "register_backward_hook", "register_buffer", "register_forward_hook", "register_forward_pre_hook",
     "register_full_backward_hook", "register_full_backward_pre_hook", "register_load_state_dict_post_hook",
     "register_load_state_dict_pre_hook", "register_module", "register_parameter", "register_state_dict_post_hook",
     "register_state_dict_pre_hook", "requires_grad_", "set_extra_state", "set_submodule", "setdefault",
     "share_memory", "state_dict", "T_destination", "to", "to_empty", "train", "training", "type", "update", "values",
     "xpu", "zero_grad"}
)  # fmt: skip

#: functions and operators whose result is no string
NUMERIC: Final = frozenset({"int", "float", "len", "id", "hash", "round", "tuple", "frozenset", "type"})

TEXT_METHODS: Final = frozenset({"format", "join", "lower", "upper", "replace", "strip"})

DOUBT: Final = "its keys have to be strings without dots, which is not shown: "


def bad_key(facts: FileFacts, key: ast.expr | None, replacement: str, value: ast.expr | None = None) -> str:
    """Why a key cannot be the name of a submodule or parameter; ``""`` if it can, or may.

    ``value`` is what is stored under it: a key that is a number there as well is no name.
    """
    if key is None:
        return "it takes over the keys of another dict, which are not known"
    if isinstance(key, ast.Constant):
        return _bad_name(key.value, replacement)
    if isinstance(key, ast.JoinedStr):
        dotted = any(isinstance(part, ast.Constant) and "." in str(part.value) for part in key.values)
        return "a key with a dot is no legal name" if dotted else ""
    if isinstance(key, (ast.Tuple, ast.UnaryOp, ast.Compare, ast.BoolOp)):
        return "its keys are no strings"
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Name) and key.func.id in NUMERIC:
        return "its keys are no strings"
    names = _choices(facts, key)
    if names:
        return next((note for name in names if (note := _bad_name(name, replacement))), "")
    if _counts(facts, key):
        return "its keys are numbers"
    if value is not None and not _is_text(key) and _computed_with(key, value):
        return "its keys are made at run time, and seem to be numbers"
    return ""


def key_doubt(facts: FileFacts, key: ast.expr | None) -> str:
    """What is not shown of a key that may be a legal name; ``""`` if it is one."""
    if key is None or isinstance(key, ast.Constant) or _choices(facts, key):
        return ""
    if isinstance(key, ast.JoinedStr):
        made = [part.value for part in key.values if isinstance(part, ast.FormattedValue)]
        if all(_counts(facts, inner) or _harmless(facts, inner) for inner in made):
            return ""
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Name) and key.func.id == "str" and len(key.args) == 1:
        if _counts(facts, key.args[0]):
            return ""
    return f"{DOUBT}`{ast.unparse(key)}`"


def _harmless(facts: FileFacts, node: ast.expr) -> bool:
    """An inserted text that takes only known values, all of them without dots."""
    names = _choices(facts, node)
    return bool(names) and all("." not in str(name) for name in names)


def _bad_name(name: object, replacement: str) -> str:
    if not isinstance(name, str):
        return f"the key {name!r} is no string"
    if "." in name or not name:
        return f'the key "{name}" is no legal name'
    if name in TAKEN:
        return f'"{name}" is an attribute of `nn.{replacement}` already'
    return ""


def _is_text(key: ast.expr) -> bool:
    """Whether an expression can only be a string."""
    if isinstance(key, ast.JoinedStr) or (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        return True
    if isinstance(key, ast.BinOp):
        return isinstance(key.op, (ast.Add, ast.Mod)) and (_is_text(key.left) or _is_text(key.right))
    if isinstance(key, ast.Call):
        if isinstance(key.func, ast.Name):
            return key.func.id in ("str", "repr")
        return isinstance(key.func, ast.Attribute) and key.func.attr in TEXT_METHODS
    return False


def _computed_with(key: ast.expr, value: ast.expr) -> bool:
    """Whether a name in the key is also an argument or operand in what is stored under it: a size, not a name."""
    names = {node.id for node in ast.walk(key) if isinstance(node, ast.Name)}
    for node in ast.walk(value):
        inside: list[ast.expr] = []
        if isinstance(node, ast.Call):
            inside = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.BinOp):
            inside = [node.left, node.right]
        if any(isinstance(inner, ast.Name) and inner.id in names for inner in inside):
            return True
    return False


def _loops(facts: FileFacts, name: ast.Name) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Target and iterable of the loops around a name that bind it."""
    current: ast.AST | None = name
    while current is not None and not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef)):
        pairs = [(current.target, current.iter)] if isinstance(current, (ast.For, ast.AsyncFor)) else []
        pairs += [(generator.target, generator.iter) for generator in getattr(current, "generators", ())]
        for target, iterable in pairs:
            if any(isinstance(node, ast.Name) and node.id == name.id for node in ast.walk(target)):
                yield target, iterable
        current = facts.parents.get(current)


def _counts(facts: FileFacts, node: ast.expr) -> bool:
    """Whether an expression is the counter of a loop over ``range`` or ``enumerate``, or computed with it."""
    if isinstance(node, ast.BinOp):
        return not _is_text(node) and (_counts(facts, node.left) or _counts(facts, node.right))
    if not isinstance(node, ast.Name):
        return False
    for target, iterable in _loops(facts, node):
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
            if isinstance(target, ast.Name):
                return iterable.func.id == "range"
            first = target.elts[0] if isinstance(target, ast.Tuple) else None
            if isinstance(first, ast.Name) and first.id == node.id:
                return iterable.func.id == "enumerate"
        return False
    return False


def _choices(facts: FileFacts, key: ast.expr) -> list[object]:
    """The constants that a loop variable takes, where the loop is over a literal or over a constant of the file."""
    if not isinstance(key, ast.Name):
        return []
    for target, iterable in _loops(facts, key):
        place, source = target, iterable
        pairs = False
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and len(source.args) == 1:
            name, source = source.func.id, source.args[0]
            if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                place = target.elts[1]
            elif name not in ("sorted", "list", "set", "tuple", "reversed"):
                return []
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not source.args:
            pairs = source.func.attr == "items"
            if not pairs and source.func.attr != "keys":
                return []
            source = source.func.value
        if pairs:
            if not isinstance(place, ast.Tuple):
                return []
            place = place.elts[0]
        if not isinstance(place, ast.Name) or place.id != key.id:
            return []
        return _constants(_literal(facts, source), pairs)
    return []


def _constants(source: ast.expr | None, pairs: bool) -> list[object]:
    members: list[ast.expr | None] = []
    if isinstance(source, ast.Dict):
        members = list(source.keys)
    elif isinstance(source, (ast.Tuple, ast.List, ast.Set)) and not pairs:
        members = list(source.elts)
    constants: list[object] = [member.value for member in members if isinstance(member, ast.Constant)]
    return constants if len(constants) == len(members) else []


def _literal(facts: FileFacts, source: ast.expr) -> ast.expr | None:
    """A literal, or the one that a name of the file stands for."""
    if not isinstance(source, ast.Name):
        return source
    names = [node for node in facts.nodes(ast.Name) if isinstance(node, ast.Name) and node.id == source.id]
    bound = [node for node in names if not isinstance(node.ctx, ast.Load)]
    parent = facts.parents.get(bound[0]) if len(bound) == 1 else None
    if any(isinstance(node, ast.arg) and node.arg == source.id for node in facts.nodes(ast.arg)):
        return None
    plain = isinstance(parent, ast.Assign) and len(parent.targets) == 1 and facts.parents.get(parent) is facts.tree
    return parent.value if plain and isinstance(parent, ast.Assign) else None
