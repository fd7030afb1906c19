"""What can be done with ``nn.ModuleList``, ``nn.ModuleDict`` and their sisters, and what only with a list or a dict."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: methods that mean the same for the plain container and for the registering one
METHODS: Final = {
    "ModuleList": frozenset({"append", "extend", "insert"}),
    "ParameterList": frozenset({"append", "extend"}),
    "ModuleDict": frozenset({"items", "keys", "values", "update", "pop", "clear"}),
    "ParameterDict": frozenset({"items", "keys", "values", "update", "pop", "clear", "get"}),
}

#: functions that only iterate over what they are given, or ask for its length
READERS: Final = frozenset(
    {"len", "enumerate", "zip", "reversed", "iter", "list", "tuple", "map", "any", "all", "sum", "dict", "print",
     "sorted", "filter", "chain", "bool", "set"}
)  # fmt: skip

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


def trouble_in_use(facts: FileFacts, node: ast.Attribute, replacement: str) -> str:
    """Why ``node``, a use of the container, would not work with ``nn.<replacement>``; ``""`` if it would."""
    parent = facts.parents.get(node)
    line = f"line {node.lineno}"
    mapping = replacement.endswith("Dict")
    plain = "dict" if mapping else "list"
    if isinstance(parent, ast.Attribute):
        if parent.attr in METHODS[replacement]:
            return ""
        return f"{line} uses `.{parent.attr}`, which `nn.{replacement}` does not have in this form"
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _subscript(facts, parent, replacement, line)
    if isinstance(parent, ast.Call) and node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        if name in READERS or name == replacement:
            return ""
        return f"{line} hands it to `{name}`, which may want a plain {plain}"
    if isinstance(parent, ast.AugAssign) and parent.target is node:
        return "" if isinstance(parent.op, ast.Add) and not mapping else f"{line} changes it with an operator"
    if isinstance(parent, ast.Compare):
        allowed = (ast.Is, ast.IsNot, ast.In, ast.NotIn) if mapping else (ast.Is, ast.IsNot)
        return "" if all(isinstance(op, allowed) for op in parent.ops) else f"{line} compares it"
    iterated = isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node
    tested = isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and parent.test is node
    spread = isinstance(parent, ast.Starred) or (isinstance(parent, ast.keyword) and parent.arg is None)
    negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Tuple, ast.List))
    if iterated or tested or spread or negated or unpacked:
        return ""
    return f"{line} uses it where a plain {plain} may be wanted"


def _subscript(facts: FileFacts, node: ast.Subscript, replacement: str, line: str) -> str:
    if replacement.endswith("Dict"):
        if isinstance(node.ctx, ast.Load):
            constant = isinstance(node.slice, ast.Constant) and not isinstance(node.slice.value, str)
            return f"{line} looks up a key that is no string" if constant else ""
        return bad_key(facts, node.slice, replacement)
    if isinstance(node.slice, ast.Slice) and not isinstance(node.ctx, ast.Load):
        return f"{line} assigns to a slice of it"
    if isinstance(node.ctx, ast.Del) and replacement == "ParameterList":
        return f"{line} deletes from it"
    return ""


def bad_key(facts: FileFacts, key: ast.expr | None, replacement: str) -> str:
    """Why a key is not shown to be a legal name of a submodule or parameter; ``""`` if it is."""
    if key is None:
        return "it takes over the keys of another dict, which are not known"
    if isinstance(key, ast.Constant):
        return _bad_name(key.value, replacement)
    if isinstance(key, ast.JoinedStr):
        for part in key.values:
            if isinstance(part, ast.Constant):
                if "." in str(part.value):
                    return "a key with a dot is no legal name"
            elif not (isinstance(part, ast.FormattedValue) and _counts(facts, part.value)):
                return "its keys are made at run time, and may hold dots"
        return ""
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Name) and key.func.id == "str" and len(key.args) == 1:
        return "" if _counts(facts, key.args[0]) else "its keys are made at run time, and may hold dots"
    if isinstance(key, ast.Name):
        names = _literal_choices(facts, key)
        if names:
            return next((note for name in names if (note := _bad_name(name, replacement))), "")
    return "its keys are made at run time: they may be no strings, or hold dots"


def _bad_name(name: object, replacement: str) -> str:
    if not isinstance(name, str):
        return f"the key {name!r} is no string"
    if "." in name or not name:
        return f'the key "{name}" is no legal name'
    if name in TAKEN:
        return f'"{name}" is an attribute of `nn.{replacement}` already'
    return ""


def _loops(facts: FileFacts, name: ast.Name) -> list[tuple[ast.expr, ast.expr]]:
    """Target and iterable of the loops around a name."""
    found: list[tuple[ast.expr, ast.expr]] = []
    current: ast.AST | None = name
    while current is not None and not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(current, (ast.For, ast.AsyncFor)):
            found.append((current.target, current.iter))
        for generator in getattr(current, "generators", ()):
            found.append((generator.target, generator.iter))
        current = facts.parents.get(current)
    return found


def _counts(facts: FileFacts, node: ast.expr) -> bool:
    """Whether an expression is the counter of a loop over ``range`` or ``enumerate``."""
    if not isinstance(node, ast.Name):
        return False
    for target, iterable in _loops(facts, node):
        if not (isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name)):
            continue
        if isinstance(target, ast.Name) and target.id == node.id:
            return iterable.func.id == "range"
        if isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name) and target.elts[0].id == node.id:
            return iterable.func.id == "enumerate"
    return False


def _literal_choices(facts: FileFacts, name: ast.Name) -> list[object]:
    """The constants that a loop variable takes, where the loop is over a literal."""
    for target, iterable in _loops(facts, name):
        if isinstance(target, ast.Name) and target.id == name.id and isinstance(iterable, (ast.Tuple, ast.List)):
            if all(isinstance(e, ast.Constant) for e in iterable.elts):
                return [e.value for e in iterable.elts if isinstance(e, ast.Constant)]
    return []
