"""Tensors that are turned into NumPy arrays although they are on an accelerator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from devicefix.analysis.host_tables import handed_in
from devicefix.analysis.values import DType, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.facts import FileFacts, HostRead
    from devicefix.analysis.values import Scope

#: functions of NumPy that convert whatever they are given (others call a method of the tensor, or read its shape)
CONVERTERS: Final = frozenset(
    {
        "array", "asarray", "asanyarray", "ascontiguousarray", "asfarray", "stack", "concatenate", "vstack",
        "hstack", "dstack", "column_stack", "save", "savetxt", "array_equal", "allclose", "isclose", "histogram",
        "percentile", "quantile", "median", "unique", "interp", "where", "sqrt", "exp", "log", "log10", "log2",
        "log1p", "abs", "absolute", "sin", "cos", "tanh", "isnan", "isfinite", "maximum", "minimum", "add",
        "subtract", "multiply", "divide", "power", "square", "sign", "floor", "ceil", "dot", "matmul",
        "linalg.norm", "linalg.inv", "linalg.svd", "linalg.eigh", "linalg.solve", "average", "nanmean", "flip",
        "pad", "tile",
    }
)  # fmt: skip
#: these call the method of that name of a tensor, but convert a list of tensors
REDUCTIONS: Final = frozenset(
    {"mean", "sum", "std", "var", "max", "min", "amax", "amin", "argmax", "argmin", "prod", "cumsum", "nansum", "nanstd",
     "nanmax", "nanmin", "argsort", "sort", "diff"}
)  # fmt: skip
GRAD_CONTEXTS = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


@dataclass(slots=True)
class Conversion:
    """One conversion to an array, over all the ways in which it was reached."""

    read: HostRead
    tensor: ast.expr  #: the expression that is on the device
    device: Device
    hidden: bool  #: the tensor is an element of the argument, or the call stands in a comprehension
    needs_grad: bool  #: it also fails on the CPU, because gradients are recorded


def conversions(facts: FileFacts) -> Iterator[Conversion]:
    """Conversions of this file whose tensor is on a device, in source order."""
    groups: dict[tuple[ast.Call, int], list[HostRead]] = {}
    kept = {("item", mix.culprit.ident, id(mix.node)) for mix in facts.mixes if handed_in(facts, mix)}
    for read in facts.records.host_reads:
        if read.value.ident in kept:
            continue  # looked up in a table on the host, once the index is there
        if _converts(read) and facts.ran_here(read.scope):
            groups.setdefault((read.node, id(read.argument)), []).append(read)
    for reads in sorted(groups.values(), key=lambda r: (r[0].node.lineno, r[0].node.col_offset)):
        found = _conversion(facts, reads)
        if found is not None:
            yield found


def _converts(read: HostRead) -> bool:
    if read.without_card:
        return False
    if read.how == "numpy":
        forced = [k.value for k in read.node.keywords if k.arg == "force"] + read.node.args[:1]
        return not forced or (isinstance(forced[0], ast.Constant) and not forced[0].value)
    if read.value.has("guessed"):
        return False  # the output of unseen code may be an array already
    library, _, name = read.how.partition(".")
    if name in REDUCTIONS and read.inside and not isinstance(read.argument, ast.GeneratorExp):
        return library in ("numpy", "np")
    return library in ("numpy", "np") and name in CONVERTERS


def _conversion(facts: FileFacts, reads: list[HostRead]) -> Conversion | None:
    seen = [r for r in reads if r.value.device is not None and not r.value.device.assumed] or reads
    away = next((r for r in seen if r.value.device is not None and not r.value.device.host), None)
    if away is None or away.value.device is None:
        return None
    function = away.node.func
    tensor = function.value if away.argument is None and isinstance(function, ast.Attribute) else away.argument
    if tensor is None:
        return None
    if away.value.device.assumed and not placed_here(facts, tensor, away.scope):
        return None
    hidden = away.argument is not None and (away.inside or _in_comprehension(facts, away.node))
    return Conversion(away, tensor, away.value.device, hidden, needs_grad(facts, tensor, away))


def _in_comprehension(facts: FileFacts, node: ast.AST) -> bool:
    current: ast.AST | None = facts.parents.get(node)
    while current is not None and not isinstance(current, ast.stmt):
        if isinstance(current, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return True
        current = facts.parents.get(current)
    return False


def placed_here(facts: FileFacts, tensor: ast.expr, scope: Scope) -> bool:
    """Whether a tensor surely is where a module or a move of the same function put it."""
    return any(_is_module_call(call, scope) or _is_move(call) for call in _calls_behind(facts, tensor))


def _calls_behind(facts: FileFacts, expression: ast.expr, depth: int = 4) -> Iterator[ast.Call]:
    """Calls whose result an expression is made from, through methods, subscripts and names assigned once."""
    current: ast.expr = expression
    while True:
        if isinstance(current, ast.Call):
            yield current
            if not isinstance(current.func, ast.Attribute):
                return
            current = current.func.value
        elif isinstance(current, (ast.Attribute, ast.Subscript, ast.Starred)):
            current = current.value
        else:
            break
    if isinstance(current, ast.Name) and depth:
        value = _only_assignment(facts, current)
        if value is not None:
            yield from _calls_behind(facts, value, depth - 1)


def _only_assignment(facts: FileFacts, name: ast.Name) -> ast.expr | None:
    function = facts.function(name)
    if function is None:
        return None
    found = [
        node
        for node in ast.walk(function.node)
        if isinstance(node, ast.Name) and node.id == name.id and isinstance(node.ctx, ast.Store)
    ]
    if len(found) != 1:
        return None
    statement = facts.parents.get(found[0])
    return statement.value if isinstance(statement, ast.Assign) else None


def _is_module_call(call: ast.Call, scope: Scope) -> bool:
    function = call.func
    value: Value | None = None
    if isinstance(function, ast.Name):
        value = scope.names.get(function.id)
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and scope.self_object is not None:
        value = scope.self_object.attrs.get(function.attr)
    return value is not None and value.is_module


def _is_move(call: ast.Call) -> bool:
    """``.to(device)``, ``.cuda()``; a conversion of the dtype is none."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
        return False
    given = ast.unparse(call.args[0]) if call.args else ""
    return call.func.attr == "cuda" or any(word in given.lower() for word in ("device", "cuda", "gpu"))


def needs_grad(facts: FileFacts, tensor: ast.expr, read: HostRead) -> bool:
    """Whether the tensor surely is part of a graph, so that NumPy refuses it on the CPU as well."""
    calls = list(_calls_behind(facts, tensor))
    if any(isinstance(c.func, ast.Attribute) and c.func.attr in ("detach", "argmax", "cpu", "data") for c in calls):
        return False
    if any(isinstance(n, ast.Attribute) and n.attr in ("data", "grad") for n in ast.walk(tensor)):
        return False
    value = read.value
    if _differentiated(facts, tensor):
        return True
    if value.has("parameter") or (value.has("leaf") and value.has("requires_grad")):
        return value.has("requires_grad")
    if (
        value.dtype not in (DType.FLOAT, DType.UNKNOWN)
        or not _reached(read.scope)
        or gradients_may_be_off(facts, read.node, read.scope)
    ):
        return False
    if value.has("graph"):
        return True
    return any(_is_module_call(call, read.scope) for call in calls) and value.dtype is DType.FLOAT


def _reached(scope: Scope) -> bool:
    """Whether the code was reached from some other code of the file, is run when the file is, or is an entry point."""
    return scope.function is None or scope.caller is not None or not scope.function.parameters


def _differentiated(facts: FileFacts, tensor: ast.expr) -> bool:
    """Whether ``.backward()`` is called on a name that is bound once: what it stands for records gradients."""
    if not isinstance(tensor, ast.Name) or _only_assignment(facts, tensor) is None:
        return False
    function = facts.function(tensor)
    return function is not None and any(
        isinstance(node, ast.Attribute) and node.attr == "backward" and isinstance(node.value, ast.Name)
        and node.value.id == tensor.id
        for node in ast.walk(function.node)
    )  # fmt: skip


def gradients_may_be_off(facts: FileFacts, node: ast.AST | None, scope: Scope | None) -> bool:
    """Whether the code around, some caller, or the file may have switched the recording of gradients off."""
    while scope is not None:
        if scope.function is not None and (
            scope.function.decorators & GRAD_CONTEXTS or _has_grad_block(scope.function.node)
        ):
            return True
        while node is not None and node in facts.parents:
            if isinstance(node, (ast.With, ast.AsyncWith)) and any(
                _names(i.context_expr) & GRAD_CONTEXTS for i in node.items
            ):
                return True
            node = facts.parents.get(node)
        node, scope = scope.call, scope.caller
    # set_grad_enabled(False), or a model that is frozen somewhere
    return bool(_names(facts.tree) & {"set_grad_enabled", "requires_grad_", "requires_grad"})


def _has_grad_block(function: ast.AST) -> bool:
    """Whether a part of the function, perhaps the one that made the value, runs without recording."""
    return any(
        _names(item.context_expr) & GRAD_CONTEXTS
        for node in ast.walk(function) if isinstance(node, (ast.With, ast.AsyncWith)) for item in node.items
    )  # fmt: skip


def _names(node: ast.AST) -> set[str]:
    return {
        n.attr if isinstance(n, ast.Attribute) else n.id
        for n in ast.walk(node)
        if isinstance(n, (ast.Attribute, ast.Name))
    }


__all__ = ["Conversion", "conversions", "placed_here"]
