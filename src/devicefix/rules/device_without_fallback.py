"""DVF402: the device variable knows only CUDA."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis import cuda_sites
from devicefix.analysis.device_settings import device_settings
from devicefix.analysis.device_variables import DeviceVariables
from devicefix.analysis.evidence import path_of
from devicefix.analysis.guards import guard_of, uses_streams
from devicefix.analysis.numbered_cards import numbered_card, several_cards
from devicefix.analysis.one_device import torch_name
from devicefix.analysis.own_names import defaults_of
from devicefix.analysis.tree_index import last_name
from devicefix.codemods.changes import ReplaceExpression
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import short

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF402", "device-without-fallback"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Every device variable and default argument that names CUDA alone."""
    if "cuda" not in facts.source.text:
        return
    yield from _contexts_taken_for_devices(facts)
    if not _LITERAL.search(facts.source.text):
        return
    if several_cards(facts):
        return  # two cards on purpose
    yield from _defaults(facts)
    if cuda_sites.ranks_in_use(facts) is not None:
        return
    yield from _settings(facts)
    yield from _for_all(facts)
    variables = DeviceVariables(facts)
    for node in facts.nodes(ast.Assign, ast.AnnAssign):
        if node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        path = path_of(target)
        if path is None or path not in variables.uses or isinstance(facts.parents.get(node), ast.ClassDef):
            continue
        literal = _literal(node.value)
        if literal is not None:
            only = cuda_sites.device_literal(facts, node.value) and len(variables.definitions.get(path, ())) == 1
        else:
            only = numbered_card(facts, node.value) is not None and _assigned_once(facts, path, node)
        if not only:
            continue
        if guard_of(facts, node)[0] is not None or cuda_sites.in_host_class(facts, node):
            continue
        if uses_streams(facts, node):
            continue
        torch = torch_name(facts)
        message = f"{short(node.value)} is the only choice for `{path}`: the program stops on a machine without CUDA"
        if not torch:
            yield finding(
                facts, CODE, NAME, node.value, message, note="torch is not imported under a name in this file"
            )
            continue
        change = _with_fallback(facts, node.value, torch)
        yield finding(facts, CODE, NAME, node.value, message, fix=fix("fall back to the CPU", change))


def _settings(facts: FileFacts) -> Iterator[Finding]:
    """``class Config: device = "cuda"``, ``{"device": "cuda"}``, ``add_argument("--device", default="cuda")``."""
    torch = torch_name(facts)
    for setting in device_settings(facts):
        if cuda_sites.in_host_class(facts, setting.value):
            continue
        message = f"{short(setting.value)} is the only choice for `{setting.text}`: "
        if setting.default:
            message += "whoever leaves it out needs CUDA"
            yield finding(facts, CODE, NAME, setting.value, message, note=IN_SIGNATURE)
            continue
        message += "the program stops on a machine without CUDA"
        repair = fix("fall back to the CPU", _with_fallback(facts, setting.value, torch)) if torch else None
        note = "" if torch else "torch is not imported under a name in this file"
        yield finding(facts, CODE, NAME, setting.value, message, fix=repair, note=note)


def _for_all(facts: FileFacts) -> Iterator[Finding]:
    """``torch.set_default_device("cuda")``, ``with torch.device("cuda"):``."""
    torch = torch_name(facts)
    chosen = [node.args[0] for node in facts.nodes(ast.Call)
              if len(node.args) == 1 and path_of(node.func) == f"{torch}.set_default_device"]  # fmt: skip
    chosen += [item.context_expr for node in facts.nodes(ast.With, ast.AsyncWith) for item in node.items
               if not any(isinstance(n, ast.Attribute) and n.attr == "is_cuda" for n in ast.walk(node))]  # fmt: skip
    for value in chosen if torch else ():
        if not cuda_sites.device_literal(facts, value) or cuda_sites.in_host_class(facts, value):
            continue
        if uses_streams(facts, value):
            continue
        if guard_of(facts, value)[0] is None:
            message = f"{short(value)} is the only choice for new tensors: the program stops on a machine without CUDA"
            repair = fix("fall back to the CPU", _with_fallback(facts, value, torch))
            yield finding(facts, CODE, NAME, value, message, fix=repair)


#: why the default of a parameter or field stays
IN_SIGNATURE = "the default is part of the signature, and callers may rely on it"


def _assigned_once(facts: FileFacts, path: str, here: ast.stmt) -> bool:
    """Whether a name gets one value in its function, and an attribute one in the file."""
    found: list[ast.stmt] = []
    for statement in facts.nodes(ast.Assign, ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(path_of(target) == path for target in targets):
            found.append(statement)
    if "." not in path:
        found = [statement for statement in found if facts.function(statement) is facts.function(here)]
    return found == [here]


def _with_fallback(facts: FileFacts, value: ast.expr, torch: str) -> ReplaceExpression:
    """Put the test for CUDA around the name of the card, or around the device where there is no such name."""
    card = numbered_card(facts, value)
    node = card.node if card is not None else _literal(value) or value
    code = facts.source.segment(node)
    quote = next((c for c in code if c in "\"'"), '"')
    cpu = f"{quote}cpu{quote}"
    if card is not None and card.whole:
        cpu = f"{facts.source.segment(node.func) if isinstance(node, ast.Call) else torch}({cpu})"
    elif card is None:
        code = f"{quote}{cuda_sites.device_literal(facts, value)}{quote}"
    return ReplaceExpression(node, f"{code} if {torch}.cuda.is_available() else {cpu}")


def _defaults(facts: FileFacts) -> Iterator[Finding]:
    """``def f(x, device="cuda")``: whoever leaves it out needs a card."""
    for node in facts.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        for parameter, default in defaults_of(node.args):
            if not cuda_sites.device_literal(facts, default) or not _used_as_device(node, parameter.arg):
                continue
            message = f"`{parameter.arg}={ast.unparse(default)}` is the default: a caller who leaves it out needs CUDA"
            yield finding(facts, CODE, NAME, default, message, note=IN_SIGNATURE)


def _used_as_device(function: ast.AST, name: str) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            values = [k.value for k in node.keywords if k.arg == "device"]
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "device") and node.args:
                values.append(node.args[0])
            if any(isinstance(v, ast.Name) and v.id == name for v in values):
                return True
    return False


def _literal(value: ast.expr) -> ast.Constant | None:
    """The string in ``"cuda"`` or ``torch.device("cuda")``."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


#: a text that begins with the name of the device
_LITERAL = re.compile(r"cuda(?<=[\"']cuda)")
_CONTEXT = re.compile(r"cuda\W+device\b")


def _contexts_taken_for_devices(facts: FileFacts) -> Iterator[Finding]:
    """``device = torch.cuda.device("cuda:0")`` makes a context manager, which no ``.to()`` accepts."""
    if not _CONTEXT.search(facts.source.text):
        return
    context = f"{torch_name(facts) or 'torch'}.cuda.device"
    for node in facts.nodes(ast.Call):
        if last_name(node.func) != "device" or path_of(node.func) != context:
            continue
        current: ast.AST | None = node
        while isinstance(current, (ast.Call, ast.IfExp)):
            current = facts.parents.get(current)
        if isinstance(current, ast.Assign):
            message = f"{short(node)} is a context manager, no device: `.to()` refuses it"
            yield finding(facts, CODE, NAME, node, message, note="`torch.device` may be meant")
            return


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="the device variable names CUDA and has no fallback",
    explanation="""
`device = torch.device("cuda")` is the one place that decides, as it should be, but it decides without asking: on a
machine without CUDA the first use stops with "Torch not compiled with CUDA enabled" or "No CUDA GPUs are available".

The same goes for a card whose number is a setting, `torch.device(f"cuda:{args.gpu}")` or `"cuda:" + str(gpu)`.

Settings count as well where the file reads them as a device and never asks whether there is one: an attribute of a
class, an entry of a dict (`{"device": "cuda"}`), the default of an option on the command line. The default of a
parameter, or of a data class's field, is part of a signature and only reported. The device of all new tensors,
`torch.set_default_device("cuda")` or `with torch.device("cuda"):`, is a choice as well.

A choice that is already inside a test for CUDA, that is one of several, or that names one of several cards is left
alone, and so is a number that may stand for the CPU (one that is compared, or is -1 or `None` at first) or that belongs
to one of several processes.
""",
    fix_safety="""
The fix puts the test for CUDA around the name and keeps its index. It is safe: where CUDA is available the value is
the same, and elsewhere the program could not run. `torch.cuda.device(…)`, a context manager that is easily taken for
a device, is reported without a fix.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn

device = torch.device("cuda:0")


def run(_):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    return model(torch.ones(4, 3, device=device)).detach()
""",
            after="""
import torch
from torch import nn

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def run(_):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    return model(torch.ones(4, 3, device=device)).detach()
""",
        ),
    ),
    silent=(
        """
import torch

if torch.cuda.is_available():
    device = torch.device("cuda")
else:
    device = torch.device("cpu")


def run(_):
    return torch.ones(2, device=device)
""",
    ),
    references=("https://pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",),
)
