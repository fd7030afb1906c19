"""Devices whose number comes from a setting: ``torch.device(f"cuda:{args.gpu}")``, ``"cuda:" + str(gpu)``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.analysis import cuda_sites
from devicefix.analysis.evidence import path_of, torch_path
from devicefix.analysis.own_names import defaults_of
from devicefix.analysis.statements import target_names
from devicefix.analysis.tree_index import last_name

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: what the number of the one card of a program is called
NUMBER = re.compile(r"gpu|cuda|card|device", re.IGNORECASE)
#: signs that each process has a card of its own, or that there are several on purpose
SEVERAL = re.compile(
    r"torch\.distributed|\bdist\.|local_?rank|world_?size|multiprocessing|\bmp\.|\.spawn\(|DataParallel|\bProcess\("
    r"|device_ids|device_count|accelerate|deepspeed|\bray\b|\bhvd\b|horovod",
    re.IGNORECASE,
)
#: libraries that run on such a card and nowhere else
CARD_ONLY = re.compile(r"^\s*(?:import|from)\s+(?:tensorrt|torch_tensorrt|pycuda|cupy|triton|pynvml)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NumberedCard:
    """An expression for a card by a number that is a variable."""

    node: ast.expr  #: what a fallback has to go around: the text, or the whole call of ``torch.device``
    whole: bool  #: the node is a device, and no text
    number: ast.expr


def numbered_card(facts: FileFacts, value: ast.expr) -> NumberedCard | None:
    """What an expression says, if it names one card by a number that is set elsewhere and always is one."""
    card = _card(facts, value)
    if card is None or SEVERAL.search(facts.source.text) or CARD_ONLY.search(facts.source.text):
        return None
    if any(cuda_sites.CARD_ONLY_NAMES.search(getattr(f, "name", "")) for f in cuda_sites.enclosing(facts, value)):
        return None
    path = _path(card.number)
    if path is None or not NUMBER.search(path) or re.search(r"rank|local|worker|proc", path, re.IGNORECASE):
        return None
    return None if _may_mean_cpu(facts, path) or _one_of_several(facts, value, path) else card


def _card(facts: FileFacts, value: ast.expr) -> NumberedCard | None:
    if isinstance(value, ast.Call) and torch_path(facts.module, value.func) in ("torch.device", "device"):
        given = [*value.args, *(k.value for k in value.keywords if k.arg in ("type", "device", "index"))]
        if len(given) != len(value.args) + len(value.keywords):
            return None
        if len(given) == 1:
            number = _number(given[0])
            return NumberedCard(given[0], False, number) if number is not None else None
        if len(given) == 2 and isinstance(given[0], ast.Constant) and given[0].value == "cuda":
            return NumberedCard(value, True, given[1]) if not isinstance(given[1], ast.Constant) else None
        return None
    number = _number(value)
    return NumberedCard(value, False, number) if number is not None else None


def _number(text: ast.expr) -> ast.expr | None:
    """``n`` in the spellings of ``cuda:n``."""
    if isinstance(text, ast.JoinedStr) and len(text.values) == 2:
        head, number = text.values
        if _is_text(head, "cuda:") and isinstance(number, ast.FormattedValue) and number.format_spec is None:
            return number.value
    elif isinstance(text, ast.BinOp) and isinstance(text.op, ast.Mod):
        given = text.right
        if isinstance(given, ast.Tuple):
            given = given.elts[0] if len(given.elts) == 1 else text.left
        if _is_text(text.left, "cuda:%d", "cuda:%s", "cuda:%i") and given is not text.left:
            return given
    elif isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add) and _is_text(text.left, "cuda:"):
        return text.right
    elif isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr == "format":
        if _is_text(text.func.value, "cuda:{}", "cuda:{0}", "cuda:{:d}") and len(text.args) == 1 and not text.keywords:
            return text.args[0]
    return None


def _is_text(node: ast.expr, *texts: str) -> bool:
    return isinstance(node, ast.Constant) and node.value in texts


def _path(number: ast.expr) -> str | None:
    """``args.gpu`` for ``args.gpu``, ``str(args.gpu)``, ``int(args.gpu)`` and ``args.gpu[0]``."""
    if isinstance(number, ast.Call) and isinstance(number.func, ast.Name) and number.func.id in ("str", "int"):
        return _path(number.args[0]) if len(number.args) == 1 and not number.keywords else None
    if isinstance(number, ast.Subscript):
        return _path(number.value)
    return path_of(number)


def _may_mean_cpu(facts: FileFacts, path: str) -> bool:
    """Whether some value of the setting stands for no card: it is tested somewhere, or is negative or None at first."""
    last = path.rpartition(".")[2]
    for test in facts.nodes(ast.Compare):
        if any(_mentions(side, last) for side in (test.left, *test.comparators)):
            return True
    for choice in (*facts.nodes(ast.If, ast.IfExp), *facts.nodes(ast.Assert, ast.While)):
        if _mentions(choice.test, last):
            return True
    for argument in facts.nodes(ast.arg):
        if argument.arg == last and _is_none(facts, argument):
            return True
    return any(_option_for_cpu(call, last) for call in facts.nodes(ast.Call)) or any(
        _is_no_card(s.value) for s in facts.nodes(ast.Assign) if any((path_of(t) or "") == path for t in s.targets)
    )


def _mentions(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id == name) or (isinstance(n, ast.Attribute) and n.attr == name)
        for n in ast.walk(node)
    )


def _is_no_card(node: ast.expr | None) -> bool:
    """``None``, ``-1``, ``"cpu"`` and what is chosen from them."""
    for inner in ast.walk(node) if node is not None else ():
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub):
            return True
        if isinstance(inner, ast.Constant) and (inner.value is None or inner.value in ("cpu", "-1", "")):
            return True
    return False


def _is_none(facts: FileFacts, argument: ast.arg) -> bool:
    """Whether the default of a parameter is no card."""
    spec = facts.parents.get(argument)
    if not isinstance(spec, ast.arguments):
        return False
    return any(parameter is argument and _is_no_card(default) for parameter, default in defaults_of(spec))


def _option_for_cpu(call: ast.Call, name: str) -> bool:
    """``add_argument("--gpu", default=-1)``, or with a help text that speaks of the CPU."""
    options = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    destination = [k.value.value for k in call.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)]
    names = {str(option).lstrip("-").replace("-", "_") for option in (*options, *destination)}
    if name not in names:
        return False
    if any(k.arg == "default" and _is_no_card(k.value) for k in call.keywords):
        return True
    texts = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return any("cpu" in text.lower() for text in texts)


def several_cards(facts: FileFacts) -> bool:
    """Whether a file names two cards, or one after the other: ``f"cuda:{i}"`` or ``f"cuda:{i % n}"`` in a loop over
    ``i``."""
    if len(cuda_sites.named_cards(facts)) > 1:
        return True
    for node in (*facts.nodes(ast.JoinedStr, ast.Call), *facts.nodes(ast.BinOp)):
        number = _named_number(facts, node)
        if number is not None and any(_one_of_several(facts, node, name) for name in _names(number)):
            return True
    return False


def _named_number(facts: FileFacts, node: ast.expr) -> ast.expr | None:
    """The number in an expression for a card."""
    if isinstance(node, ast.Call) and last_name(node.func) == "cuda" and len(node.args) == 1:
        return None if isinstance(node.args[0], ast.Constant) else node.args[0]  # x.cuda(i)
    if isinstance(node, ast.Call) and last_name(node.func) not in ("device", "format"):
        return None
    card = _card(facts, node)
    return card.number if card is not None else None


def _names(number: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(number) if isinstance(node, ast.Name)}


def _one_of_several(facts: FileFacts, value: ast.expr, path: str) -> bool:
    """Whether the number runs through a loop around the device, or around the calls of the function that is given it."""
    base = path.partition(".")[0]
    return base in _loop_names(facts, value) or _given_in_turn(facts, value, base)


def _loop_names(facts: FileFacts, node: ast.AST) -> set[str]:
    """The names that loops and comprehensions around a node bind."""
    found: set[str] = set()
    current = facts.parents.get(node)
    while current is not None and not isinstance(current, ast.ClassDef):
        loops = [current] if isinstance(current, (ast.For, ast.AsyncFor, ast.comprehension)) else []
        for loop in (*loops, *getattr(current, "generators", ())):
            found.update(target_names(loop.target))
        current = facts.parents.get(current)
    return found


def _given_in_turn(facts: FileFacts, value: ast.expr, name: str) -> bool:
    """Whether a number is a parameter that the calls in the file give more than one value."""
    function = facts.function(value)
    names = [p.arg for p in function.parameters] if function is not None else []
    if function is None or name not in names:
        return False
    constructed = function.name == "__init__" and function.cls is not None
    called = function.cls.name if constructed and function.cls is not None else function.name
    position = names.index(name) - (1 if function.cls is not None and not function.is_static else 0)
    given: set[object] = set()
    for call in facts.nodes(ast.Call):
        if last_name(call.func) != called:
            continue
        arguments = [k.value for k in call.keywords if k.arg == name] + call.args[position : position + 1]
        for argument in arguments:
            if isinstance(argument, ast.Constant):
                given.add(argument.value)
            elif _loop_names(facts, call) & {n.id for n in ast.walk(argument) if isinstance(n, ast.Name)}:
                return True
    return len(given) > 1
