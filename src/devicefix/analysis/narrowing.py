"""What a condition says about the values it tests."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import Kind, Value

if TYPE_CHECKING:
    from devicefix.analysis.frames import Frame
    from devicefix.analysis.interpreter import Interpreter

TENSOR_CLASSES = frozenset({"Tensor", "FloatTensor", "LongTensor", "Parameter", "BoolTensor", "IntTensor"})
SEQUENCE_CLASSES = frozenset({"list", "tuple", "List", "Tuple", "Sequence", "Iterable"})
MAPPING_CLASSES = frozenset({"dict", "Mapping", "Dict", "OrderedDict", "UserDict", "MutableMapping"})
NUMBER_CLASSES = frozenset({"int", "float", "bool", "Number", "Real", "Integral"})
#: kinds about which "is it an instance of X" can be answered
CERTAIN = {
    Kind.TENSOR: "tensor", Kind.SEQUENCE: "sequence", Kind.MAPPING: "mapping", Kind.NUMBER: "number",
    Kind.STRING: "string", Kind.NDARRAY: "ndarray", Kind.NONE: "none",
}  # fmt: skip


def _classes(node: ast.expr) -> set[str] | None:
    """The groups of the classes in the second argument of ``isinstance``; ``None`` if one is not known."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    groups = set()
    for item in nodes:
        name = item.attr if isinstance(item, ast.Attribute) else item.id if isinstance(item, ast.Name) else ""
        if name in TENSOR_CLASSES:
            groups.add("tensor")
        elif name in SEQUENCE_CLASSES:
            groups.add("sequence")
        elif name in MAPPING_CLASSES:
            groups.add("mapping")
        elif name in NUMBER_CLASSES:
            groups.add("number")
        elif name == "str":
            groups.add("string")
        elif name == "ndarray":
            groups.add("ndarray")
        elif name == "Module":
            groups.add("module")
        else:
            return None
    return groups


def _type_test(node: ast.expr) -> tuple[ast.expr, set[str]] | None:
    """``isinstance(x, C)``, ``torch.is_tensor(x)``, ``type(x) is C`` … as (x, groups of C)."""
    if isinstance(node, ast.Call) and not node.keywords:
        function = node.func
        name = last_name(function)
        if name == "isinstance" and len(node.args) == 2:
            groups = _classes(node.args[1])
            return (node.args[0], groups) if groups is not None else None
        if name == "is_tensor" and len(node.args) == 1:
            return node.args[0], {"tensor"}
    return None


def _none_test(node: ast.expr) -> tuple[ast.expr, bool] | None:
    """``x is None`` as (x, True), ``x is not None`` as (x, False)."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant):
        if node.comparators[0].value is None:
            if isinstance(node.ops[0], (ast.Is, ast.Eq)):
                return node.left, True
            if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)):
                return node.left, False
    return None


def truth(it: Interpreter, frame: Frame, test: ast.expr) -> bool | None:
    """Whether a condition is certainly true or false for the values at hand."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(it, frame, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        answers = [truth(it, frame, value) for value in test.values]
        stop = isinstance(test.op, ast.Or)
        if stop in answers:
            return stop
        return None if None in answers else not stop
    if isinstance(test, (ast.Name, ast.Attribute)):
        name = test.id if isinstance(test, ast.Name) else test.attr
        return True if name == "TYPE_CHECKING" else None
    kinds = _type_test(test)
    if kinds is not None:
        value = it.evaluate(frame, kinds[0])
        group = CERTAIN.get(value.kind)
        if group is None or value.has("maybe_none") or value.has("guessed"):
            return None
        return group in kinds[1]
    none = _none_test(test)
    if none is not None:
        value = it.evaluate(frame, none[0])
        if value.kind is Kind.NONE:
            return none[1]
        if value.kind in (Kind.UNKNOWN, Kind.NUMBER) or value.has("maybe_none") or value.has("guessed"):
            return None
        return not none[1]
    return None


def narrow(it: Interpreter, frame: Frame, test: ast.expr, outcome: bool) -> None:
    """Take into the names of a frame what follows from ``test`` being ``outcome``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(it, frame, test.operand, not outcome)
    elif isinstance(test, ast.BoolOp):
        if outcome is isinstance(test.op, ast.And):
            for part in test.values:
                narrow(it, frame, part, outcome)
    elif (none := _none_test(test)) is not None:
        _narrow_none(frame, none[0], none[1] is outcome)
    elif isinstance(test, ast.Name) and outcome:
        _narrow_none(frame, test, False)
    elif (kinds := _type_test(test)) is not None:
        _narrow_type(frame, kinds[0], kinds[1], outcome)


def _narrow_none(frame: Frame, node: ast.expr, is_none: bool) -> None:
    if isinstance(node, ast.Name) and node.id in frame.names:
        value = frame.names[node.id]
        if is_none:
            if value.kind is not Kind.NONE:
                frame.names[node.id] = Value(Kind.NONE)
        elif value.has("maybe_none"):
            frame.names[node.id] = value.replace(flags=value.flags - {"maybe_none"})


def _narrow_type(frame: Frame, node: ast.expr, groups: set[str], outcome: bool) -> None:
    if not isinstance(node, ast.Name) or node.id not in frame.names:
        return
    value = frame.names[node.id]
    if outcome and value.kind is Kind.UNKNOWN:
        if groups == {"tensor"}:
            frame.names[node.id] = Value(Kind.TENSOR, device=value.device, ident=value.ident, origins=value.origins)
        elif groups == {"sequence"}:
            member = Value(Kind.UNKNOWN, device=value.device, ident=("item", value.ident, None))
            frame.names[node.id] = Value(Kind.SEQUENCE, element=member, ident=value.ident)
        elif groups == {"mapping"}:
            member = Value(Kind.UNKNOWN, device=value.device, ident=("item", value.ident, None))
            frame.names[node.id] = Value(Kind.MAPPING, element=member, ident=value.ident)
        elif groups == {"module"}:
            frame.names[node.id] = Value(Kind.MODULE, device=value.device, ident=value.ident)
        elif groups <= {"number", "string"}:
            frame.names[node.id] = Value(Kind.NUMBER if groups == {"number"} else Kind.STRING)
        elif groups == {"ndarray"}:
            frame.names[node.id] = Value(Kind.NDARRAY)
    elif not outcome and value.kind is Kind.TENSOR and value.has("guessed") and groups == {"tensor"}:
        frame.names[node.id] = Value(Kind.UNKNOWN, device=value.device, ident=value.ident)


ACCELERATOR_WORDS = ("cuda", "gpu")


def accelerator_test(test: ast.expr) -> bool | None:
    """True for a condition that holds only with an accelerator (``use_cuda``, ``x.is_cuda``, ``device.type ==
    "cuda"``).

    False for the opposite, ``None`` for anything else.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = accelerator_test(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Call) and not test.args and isinstance(test.func, ast.Attribute):
        return True if test.func.attr == "is_available" and "cuda" in ast.unparse(test.func) else None
    if isinstance(test, (ast.Name, ast.Attribute)):
        name = (test.id if isinstance(test, ast.Name) else test.attr).lower()
        if name.startswith(("no_", "disable")):
            return False if any(word in name for word in ACCELERATOR_WORDS) else None
        return True if any(word in name for word in ACCELERATOR_WORDS) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        value = test.comparators[0].value
        if value in ("cuda", "cpu") and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            return (value == "cuda") is isinstance(test.ops[0], ast.Eq)
    return None


def ends_with_card(statement: ast.If) -> bool:
    """``if self.use_gpu: return …``: what follows in the block runs without an accelerator."""
    return isinstance(statement.body[-1], (ast.Return, ast.Continue)) and accelerator_test(statement.test) is True
