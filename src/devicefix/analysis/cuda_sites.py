"""Places that name an accelerator outright, and what guards them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis import classes, own_moves, workers
from devicefix.analysis.crossings import scratch_calls
from devicefix.analysis.evidence import path_of, torch_path
from devicefix.analysis.tree_index import last_name
from devicefix.analysis.values import Kind

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts
    from devicefix.analysis.values import Value

#: words that make a condition one about the accelerator
GUARD_WORDS = ("cuda", "gpu", "is_available", "accelerator", "device", "mps", "backend")
#: definitions that override or wrap the move itself
MOVERS = frozenset({"cuda", "to", "_apply", "cpu", "to_device", "move_to_cuda", "to_cuda", "move_to", "to_gpu"})


#: ``.cuda(`` or a text that begins with ``cuda``: one of these is in every file with a site
_SITE = re.compile(r"""cuda(?:(?<=["']cuda)|(?:\W|#[^\n]*\n)*\()""")


@dataclass(slots=True, eq=False)
class Site:
    """One expression that puts something on CUDA by name."""

    node: ast.Call
    kind: str  #: ``cuda`` (``x.cuda()``), ``to`` (``x.to("cuda")``), ``keyword`` (``device="cuda"``), ``location``
    text: str  #: ``cuda`` or ``cuda:1``
    argument: ast.expr | None = None  #: the literal that names the device
    guard: ast.AST | None = None  #: the ``if`` or conditional expression that protects it
    flag: str = ""  #: the name that the guard tests, when it tests nothing else


def cuda_sites(facts: FileFacts) -> list[Site]:
    """Every site of a file, in source order."""
    if not _SITE.search(facts.source.text):
        return []
    found = []
    scratch = scratch_calls(facts)  # these follow an input, not a device variable
    for node in facts.nodes(ast.Call):
        site = _site(facts, node) if node not in scratch else None
        if site is not None and not _excused(facts, site):
            site.guard, site.flag = guard_of(facts, node)
            found.append(site)
    return sorted(found, key=lambda s: (s.node.lineno, s.node.col_offset))


def _site(facts: FileFacts, node: ast.Call) -> Site | None:
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr == "cuda" and torch_path(facts.module, function.value) != "torch":
            index = _cuda_index(node)
            return None if index is None else Site(node, "cuda", index)
        if function.attr == "to":
            values = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "device")]
            for value in values:
                text = device_literal(facts, value)
                if text:
                    return Site(node, "to", text, value)
    if len(node.args) > 1 and torch_path(facts.module, function) == "torch.load":
        text = device_literal(facts, node.args[1])
        if text:
            return Site(node, "location", text, node.args[1])
    for keyword in node.keywords:
        if keyword.arg == "device":
            text = device_literal(facts, keyword.value)
            if text and _makes_tensors(facts, node):
                return Site(node, "keyword", text, keyword.value)
        elif keyword.arg == "map_location" and torch_path(facts.module, function) in LOADS:
            text = device_literal(facts, keyword.value)
            if text:
                return Site(node, "location", text, keyword.value)
    return None


#: what reads tensors from a file to a device
LOADS = frozenset({"torch.load", "torch.jit.load", "torch.hub.load_state_dict_from_url"})


def _cuda_index(node: ast.Call) -> str | None:
    """``cuda`` or ``cuda:k`` for ``x.cuda(…)``; ``None`` when the card is computed."""
    given = [a for a in node.args if not (isinstance(a, ast.Constant) and isinstance(a.value, bool))]
    given += [k.value for k in node.keywords if k.arg == "device"]
    if not given:
        return "cuda"
    value = given[0]
    if isinstance(value, ast.Constant):
        if value.value is None:
            return "cuda"
        if isinstance(value.value, int):
            return f"cuda:{value.value}"
        if isinstance(value.value, str) and value.value.startswith("cuda"):
            return value.value
    path = path_of(value)
    if path is not None and path.rpartition(".")[2] in INDEX_NAMES:
        return f"cuda:{{{path}}}"
    return None


#: what the number of a card is called when it comes from the command line
INDEX_NAMES = frozenset({"gpu", "gpu_id", "gpu_idx", "gpuid", "cuda_id", "device_id", "cuda_index", "card"})


def device_literal(facts: FileFacts, node: ast.expr) -> str:
    """``cuda`` or ``cuda:k`` for a literal or a ``torch.device`` of one; "" otherwise."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name, _, number = node.value.partition(":")
        return node.value if name == "cuda" and (not number or number.isdigit()) else ""
    if (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and torch_path(facts.module, node.func) in ("torch.device", "device")
    ):
        return device_literal(facts, node.args[0])
    return ""


def _makes_tensors(facts: FileFacts, node: ast.Call) -> bool:
    """Whether the call is one of torch that takes a device."""
    path = path_of(node.func)
    if path is None:
        return False
    last = path.rpartition(".")[2]
    if path.startswith("nn.") or ".nn." in path:
        return torch_api.module_class(f"torch.nn.{last}") is not None
    fact = torch_api.function(f"torch.{last}")
    if fact is not None and fact.device:
        return True
    return last in (
        "new_zeros",
        "new_ones",
        "new_full",
        "new_tensor",
        "zeros_like",
        "ones_like",
        "rand_like",
        "randn_like",
        "full_like",
    )


def _excused(facts: FileFacts, site: Site) -> bool:
    """Overrides of the move itself, other objects with a method of that name, loaders' workers, ``map_location``."""
    node = site.node
    if _comes_back(facts, site) or _reached_by_workers(facts, site):
        return True
    if site.kind == "cuda" and isinstance(node.func, ast.Attribute):
        receiver = node.func.value
        if isinstance(receiver, ast.Call) and path_of(receiver.func) == "super":
            return True
        moves = [m for m in facts.records.moves if m.call is node]
        if moves and all(_own_cuda(m.receiver) for m in moves):
            return True
    if site.kind == "to":
        moves = [m for m in facts.records.moves if m.call is node]
        if moves and all(own_moves.is_something_else(m.receiver) for m in moves):
            return True
    current = facts.parents.get(node)
    while current is not None:
        if isinstance(current, ast.Lambda) and any(a.arg in ("storage", "loc", "s") for a in current.args.args):
            return True
        if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if CARD_ONLY_NAMES.search(current.name):
                return True
            if (
                current.name in worker_functions(facts)
                or current.name in MOVERS
                or "collate" in current.name
                or current.name in ("__getitem__", "worker_init_fn")
            ):
                return True
            if any(_mentions_guard(d) for d in current.decorator_list):
                return True
        current = facts.parents.get(current)
    return False


#: functions that say by their name that they are for the card
CARD_ONLY_NAMES = re.compile(
    r"(?:^|_)(?:to|on|for|move|use|with)_(?:gpu|cuda)|(?:gpu|cuda)_only|^(?:gpu|cuda)_|tensorrt|(?:^|_)trt(?:_|$)"
)


def is_distributed(facts: FileFacts, site: Site) -> bool:
    """Whether the function around a site calls ``torch.distributed``: its processes have a card each."""
    function = facts.function(site.node)
    if "dist" not in facts.source.text or function is None:
        return False
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute):
            head = path_of(node) or ""
            if head.startswith(("torch.distributed.", "dist.")) and "is_available" not in head:
                return True
    return False


def _comes_back(facts: FileFacts, site: Site) -> bool:
    """``net.to("cuda")`` … ``net.to(device)``: two devices on purpose."""
    function = site.node.func
    inside = facts.function(site.node)
    if (
        not isinstance(function, ast.Attribute)
        or inside is None
        or not isinstance(facts.parents.get(site.node), ast.Expr)
    ):
        return False
    receiver = ast.unparse(function.value)
    for node in ast.walk(inside.node):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call is site.node:
            continue
        if call.func.attr == "to" and ast.unparse(call.func.value) == receiver:
            given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "device")]
            if any(path_of(value) is not None for value in given):
                return True
    return False


def _reached_by_workers(facts: FileFacts, site: Site) -> bool:
    """Whether a data set calls the helper around a site: in a worker no spelling of the device is right."""
    if not (facts.records.item_methods or facts.records.callbacks):
        return False
    found = workers.worker_functions(facts)
    scopes = [*facts.records.scopes.get(site.node, ()), *(m.scope for m in facts.records.moves if m.call is site.node)]
    return any(workers.worker_of(scope, found) is not None for scope in scopes)


def worker_functions(facts: FileFacts) -> set[str]:
    """Functions that run in the data loader's workers, or make the batches that it pins."""
    return {
        keyword.value.id for node in facts.nodes(ast.Call) for keyword in node.keywords
        if keyword.arg in ("collate_fn", "worker_init_fn", "batch_sampler", "sampler") and isinstance(keyword.value,
        ast.Name)
    }  # fmt: skip


def _own_cuda(value: Value) -> bool:
    return value.kind in (Kind.NDARRAY, Kind.STRING, Kind.NUMBER) or (
        value.kind is Kind.OBJECT and not value.data.is_module and value.data.cls is not None
    )


# -- guards ------------------------------------------------------------------------------------------------------------


def guard_of(facts: FileFacts, node: ast.AST, called: bool = False) -> tuple[ast.AST | None, str]:
    """The condition on an accelerator that protects a node, and the flag it tests, if it is just that.

    ``called``: the node is the call of a function of the file, and what it protects is what is in there.
    """
    child: ast.AST = node
    current = facts.parents.get(node)
    while current is not None:
        if (
            isinstance(current, (ast.If, ast.IfExp, ast.While))
            and child is not current.test
            and _mentions_guard(current.test)
        ):
            positive = child in current.body if isinstance(current.body, list) else child is current.body
            return current, (path_of(current.test) or "") if positive else ""
        if (
            isinstance(current, (ast.If, ast.IfExp))
            and child is not current.test
            and _flag_defined_by_guard(facts, current.test)
        ):
            return current, path_of(current.test) or ""
        if isinstance(current, ast.Try) and child in current.body and current.handlers and not called:
            return current, ""
        if isinstance(current, ast.BoolOp) and any(_mentions_guard(v) for v in current.values if v is not child):
            return current, ""
        if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            leaver = _early_leave(current.body, child)
            if leaver is not None:
                return leaver, ""
            guard = _guard_of_calls(facts, current) if not called else None
            if guard is not None:
                return guard, ""
        child, current = current, facts.parents.get(current)
    return None, ""


def _guard_of_calls(facts: FileFacts, function: ast.AST) -> ast.AST | None:
    """The condition around a call of a function that the file only calls where there is an accelerator."""
    if isinstance(function, ast.Module) or not isinstance(facts.parents.get(function), ast.Module):
        return None
    name = getattr(function, "name", "")
    guard = None
    for use in facts.module.index.names(name):
        call = facts.parents.get(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return None
        guard, _ = guard_of(facts, call, called=True)
        if guard is None:
            return None
    return guard


def _mentions_guard(test: ast.AST) -> bool:
    for node in ast.walk(test):
        word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        if word and any(w in word.lower() for w in GUARD_WORDS):
            return True
    return False


def _flag_defined_by_guard(facts: FileFacts, test: ast.expr) -> bool:
    """``if flag:`` where ``flag = torch.cuda.is_available()``."""
    if not isinstance(test, ast.Name):
        return False
    return any(
        isinstance(s, ast.Assign) and _mentions_guard(s.value) and "is_available" in ast.unparse(s.value)
        for s in facts.module.bindings.get(test.id, ())
    )


def _early_leave(body: list[ast.stmt], child: ast.AST) -> ast.stmt | None:
    """``if not torch.cuda.is_available(): return`` (or raise, exit, an assertion) above a statement of the same
    body."""
    for statement in body:
        if statement is child:
            return None
        if isinstance(statement, ast.Assert) and _mentions_guard(statement.test):
            return statement
        if isinstance(statement, ast.If) and _mentions_guard(statement.test) and statement.body:
            last = statement.body[-1]
            if isinstance(last, (ast.Return, ast.Raise)):
                return statement
            if (
                isinstance(last, ast.Expr)
                and isinstance(last.value, ast.Call)
                and path_of(last.value.func) in ("sys.exit", "exit", "quit", "os._exit", "pytest.skip")
            ):
                return statement
    return None


#: functions of ``torch.cuda`` that say which card ``"cuda"`` means
CURRENT = frozenset({"set_device", "device", "device_of"})


def ranks_in_use(facts: FileFacts) -> ast.AST | None:
    """Code that places each process on a card of its own: ``set_device``, process groups; or that changes the card."""
    for node in facts.nodes(ast.Call):
        last = last_name(node.func)
        if last in ("init_process_group", "DistributedDataParallel", "DDP"):
            return node
        if last in CURRENT and (path_of(node.func) or "").endswith(f"cuda.{last}"):
            if last == "set_device" or isinstance(facts.parents.get(node), ast.withitem):
                return node
    return None


def named_cards(facts: FileFacts) -> set[str]:
    """Every card that a file names by its number: ``"cuda:1"``, ``x.cuda(1)``, ``x.to(1)``, ``torch.device("cuda", 1)``."""
    texts = {
        node.value for node in facts.nodes(ast.Constant)
        if isinstance(node.value, str) and node.value.startswith("cuda:") and node.value[5:].isdigit()
    }  # fmt: skip
    for call in facts.nodes(ast.Call):
        name = last_name(call.func)
        if name in ("cuda", "to", "device"):
            given = call.args[-1:] if name == "device" else call.args[:1]
            given = [*given, *(k.value for k in call.keywords if k.arg in ("device", "index"))]
            texts |= {f"cuda:{n.value}" for n in given if isinstance(n, ast.Constant) and type(n.value) is int}
    return texts


def in_host_class(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a node stands in a data set, a sampler or another class that works on the CPU."""
    current = facts.parents.get(node)
    while current is not None:
        if isinstance(current, ast.ClassDef):
            bases = [last_name(base) for base in current.bases]
            return "Module" not in bases and any(n.endswith(classes.HOST_SUFFIXES) for n in (current.name, *bases))
        current = facts.parents.get(current)
    return False


def enclosing(facts: FileFacts, node: ast.AST) -> Iterator[ast.AST]:
    """Functions and classes around a node, innermost first."""
    current = facts.parents.get(node)
    while current is not None:
        if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield current
        current = facts.parents.get(current)
