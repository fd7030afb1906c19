"""How the scattered accelerator names of a file become one device variable."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from devicefix import torch_api
from devicefix.analysis import classes, cuda_sites
from devicefix.analysis.card_calls import is_for_cards
from devicefix.analysis.cuda_sites import Site
from devicefix.analysis.device_variables import DeviceVariables
from devicefix.analysis.evidence import path_of
from devicefix.analysis.inputs_at_hand import device_at_hand, own_weight, rebound
from devicefix.analysis.numbered_cards import several_cards
from devicefix.analysis.statements import target_names
from devicefix.codemods.changes import Change, EditCall, InsertStatements, ReplaceExpression, Unwrap, UnwrapIf

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts


@dataclass(slots=True, eq=False)
class Unification:
    """One site and what becomes of it."""

    node: ast.AST
    changes: tuple[Change, ...] = ()
    title: str = ""
    existing: str = ""  #: the device variable that is there already
    flag: str = ""
    doubt: str = ""
    note: str = ""
    group: str = ""
    chosen_by: ast.AST | None = None  #: the call that gives each process a card of its own, or changes the card
    chosen_here: bool = False  #: by a ``with`` block


def unify(facts: FileFacts) -> Iterator[Unification]:
    """Every site that names CUDA outright, with its repair."""
    if is_test_file(facts):
        return  # tests are written for the machines that they run on
    sites = [s for s in cuda_sites.cuda_sites(facts) if not cuda_sites.in_host_class(facts, s.node)]
    if not sites:
        return
    if several_cards(facts) or is_for_cards(facts):
        return  # two cards on purpose, or nothing without one
    variables = DeviceVariables(facts)
    open_sites = [s for s in sites if s.guard is None]
    rank = cuda_sites.ranks_in_use(facts)
    if rank is not None:
        if open_sites:
            note = (
                "each process owns a card here; `.cuda()` follows `set_device`, and one device for all would "
                "pile them onto the first card"
            )
            here = isinstance(facts.parents.get(rank), ast.withitem)
            if here:
                note = '`.cuda()` and "cuda" follow the current card, which a `with` chooses'
            yield Unification(open_sites[0].node, note=note, chosen_by=rank, chosen_here=here)
        return
    new = _NewVariable(facts, variables, open_sites)
    for site in open_sites:
        step = _repair(facts, variables, site, new)
        if step is not None:
            yield step
    yield from _fold_guards(facts, variables, [s for s in sites if s.guard is not None])


def is_test_file(facts: FileFacts) -> bool:
    """Whether a file holds tests, by its name and what is in it."""
    name = facts.path.name
    if not (name.startswith("test_") or name.endswith("_test.py") or facts.path.parent.name in ("test", "tests")):
        return False
    return any(
        isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name.startswith("test")
        for n in facts.nodes(ast.FunctionDef, ast.AsyncFunctionDef)
    )


KEPT = "a tensor attribute of a module: it should be a buffer, which is another rule's business"


class _NewVariable:
    """The definition that is added when nothing in the file chooses a device."""

    def __init__(self, facts: FileFacts, variables: DeviceVariables, sites: list[Site]) -> None:
        self.facts = facts
        self.name = variables.free_name()
        self.anchor, self.where = variables.anchor()
        self.blank = 1
        main = _main_block(facts, sites)
        if main:
            imports = [n for n, s in enumerate(main) if isinstance(s, (ast.Import, ast.ImportFrom))]
            self.anchor, self.where = (main[imports[-1]], "after") if imports else (main[0], "before")
            self.blank = 1 if imports else 0
        texts = {s.text for s in sites if ":" in s.text and "{" not in s.text}
        self.card = texts.pop() if len(texts) == 1 else "cuda"
        self.elsewhere = any(s.kind != "location" for s in sites)  #: whether something else asks for the variable

    @property
    def changes(self) -> tuple[Change, ...]:
        if self.anchor is None:
            return ()
        line = f"{self.name} = {definition(self.facts, self.card)}"
        place: Literal["before", "after"] = "before" if self.where == "before" else "after"
        return (InsertStatements(self.anchor, (line,), place, blank_before=self.blank, blank_after=self.blank),)


def _main_block(facts: FileFacts, sites: list[Site]) -> list[ast.stmt]:
    """The body of ``if __name__ == "__main__":`` if all sites are in it, and the file imports torch before."""
    if not sites or not any(isinstance(s, ast.Import) and s.names[0].name == "torch" for s in facts.tree.body):
        return []
    for statement in facts.tree.body:
        if isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test) and not statement.orelse:
            inside = {id(node) for part in statement.body for node in ast.walk(part)}
            simple = not any(isinstance(s, (ast.FunctionDef, ast.ClassDef)) for s in statement.body)
            simple = simple and statement.body[0].lineno > statement.lineno
            if simple and all(id(site.node) in inside for site in sites):
                return statement.body
    return []


def definition(facts: FileFacts, card: str, test: str = "") -> str:
    """``torch.device("cuda" if torch.cuda.is_available() else "cpu")`` in the spelling that the settings ask for."""
    torch = torch_name(facts)
    accelerator = facts.settings.device_expression == "accelerator" and facts.settings.allows((2, 6))
    if accelerator and not test and card == "cuda":
        available = f"{torch}.accelerator.is_available()"
        return f'{torch}.accelerator.current_accelerator() if {available} else {torch}.device("cpu")'
    return f'{torch}.device("{card}" if {test or f"{torch}.cuda.is_available()"} else "cpu")'


def torch_name(facts: FileFacts) -> str:
    """What the file calls torch; "" if it does not import it under a name."""
    for statement in facts.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "torch":
                    return alias.asname or "torch"
                if alias.name.startswith("torch.") and not alias.asname:
                    return "torch"
    for node in facts.nodes(ast.Import):
        if any(a.name == "torch" and not a.asname for a in node.names):
            return "torch"
    return ""


def _indexed(facts: FileFacts, site: Site) -> Unification:
    """``x.cuda(args.gpu)``: the device is defined once the number is known, and keeps it."""
    path = site.text[len("cuda:{") : -1]
    base = path.partition(".")[0]
    function = facts.function(site.node)
    body = (
        function.node.body
        if function is not None and isinstance(function.node, (ast.FunctionDef, ast.AsyncFunctionDef))
        else facts.tree.body
    )
    binding = [s for s in body if isinstance(s, (ast.Assign, ast.AnnAssign)) and base in set(_targets(s))]
    if len(binding) != 1 or not torch_name(facts):
        return Unification(
            site.node, note=f"`{path}` chooses the card; where a device could be made from it is not clear"
        )
    name = DeviceVariables(facts).free_name()
    torch = torch_name(facts)
    line = f'{name} = {torch}.device(f"{site.text}" if {torch}.cuda.is_available() else "cpu")'
    change = InsertStatements(binding[0], (line,), "after")
    group = f"indexed-device:{binding[0].lineno}:{path}"
    return Unification(site.node, (change, *_changes(site, name)), f"add `{name}` and use it", group=group)


def _targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        yield from target_names(target)


def _repair(facts: FileFacts, variables: DeviceVariables, site: Site, new: _NewVariable) -> Unification | None:
    existing = variables.at(site.node)
    if existing is None and site.kind == "location" and not new.elsewhere:
        return None  # a file for the card, and nothing else here that needs a device
    if "{" in site.text:
        if existing is not None:
            note = (
                f"`{existing.text}` is the device here, and `{site.text[6:-1]}` names a card as well; which one "
                "is meant is for a person to say"
            )
            return Unification(site.node, existing=existing.text, note=note)
        return _indexed(facts, site)
    if existing is None:
        if cuda_sites.is_distributed(facts, site):
            note = "the processes of `torch.distributed` have a card each, which `.cuda()` follows"
            return Unification(site.node, note=note)
        own = (_in_module(facts, site) or _beside_input(facts, site)) if site.kind != "location" else None
        if own is not None:
            device, note = own
            if not device and note == KEPT:
                return None
            if not device:
                return Unification(site.node, note=note)
            return Unification(site.node, _changes(site, device), f"use `{device}`")
        if not new.changes or not torch_name(facts):
            return Unification(site.node, note="the file has no import of torch to put a device variable after")
        title = f"add `{new.name}` and use it"
        return Unification(site.node, (*new.changes, *_changes(site, new.name)), title, group="new-device-variable")
    return Unification(site.node, _changes(site, existing.text), f"use `{existing.text}`", existing=existing.text)


def _changes(site: Site, device: str) -> tuple[Change, ...]:
    if site.kind in ("keyword", "location", "to"):
        assert site.argument is not None
        return (ReplaceExpression(site.argument, device),)
    given = [i for i, a in enumerate(site.node.args) if not _is_flag(a)]
    keep = [a for a in site.node.args if _is_flag(a)]
    drop = tuple(range(len(site.node.args))) if given or keep else ()
    keywords = tuple(("non_blocking", ast.unparse(a)) for a in keep[:1])
    present = tuple(k.arg for k in site.node.keywords if k.arg in ("device", "async"))
    return (
        EditCall(
            site.node, method="to", insert_positional=(device,), remove_positionals=drop, remove_keywords=present,
            set_keywords=keywords,
        ),
    )  # fmt: skip


def _is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _in_module(facts: FileFacts, site: Site) -> tuple[str, str] | None:
    """Inside a module: the device of an input, or of a LightningModule; (device, note). ``None`` elsewhere."""
    function = facts.function(site.node)
    if function is None or function.cls is None:
        return None
    objects = facts.records.classes.get(function.cls, [])
    if _lightning(function.cls):
        name = function.parameters[0].arg if function.parameters else "self"
        return f"{name}.device", ""
    if not any(o.is_module for o in objects):
        if "forward" not in function.cls.methods or function.name == "__init__":
            return None
        device = device_at_hand(facts, function, site.node)  # its base is not seen, and a module by all appearance
        return (device, "") if device else None
    if function.name == "__init__":
        parent = facts.parents.get(site.node)
        values = [m.receiver for m in facts.records.moves if m.call is site.node]
        if (
            isinstance(parent, ast.Assign)
            and isinstance(parent.targets[0], ast.Attribute)
            and any(v.is_tensor for v in values)
        ):
            return "", KEPT
        return "", "the module's own `.to(device)` should move it; what is moved in the constructor stays on that card"
    device = device_at_hand(facts, function, site.node) or own_weight(facts, function, site.node)
    if device:
        return device, ""
    return "", "no tensor input or weight is at hand to take the device from"


def _beside_input(facts: FileFacts, site: Site) -> tuple[str, str] | None:
    """A new tensor in a function that is given tensors, none of which it moves: it follows the first of them."""
    function = facts.function(site.node)
    receiver = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    if function is None or not isinstance(receiver, ast.Call) or not _is_factory(receiver):
        return None
    moved = {
        n.func.value.id
        for n in ast.walk(function.node)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in ("cuda", "to")
        and isinstance(n.func.value, ast.Name)
    }
    for argument in function.parameters:
        name = argument.arg
        if name in function.evidence.tensors and name not in moved and name not in rebound(function.node, site.node):
            return f"{name}.device", ""
    return None


def _is_factory(node: ast.Call) -> bool:
    path = path_of(node.func) or ""
    fact = torch_api.function(f"torch.{path.rpartition('.')[2]}")
    return fact is not None and fact.creates


def _lightning(cls: object) -> bool:
    node = getattr(cls, "node", None)
    return isinstance(node, ast.ClassDef) and any(
        (path_of(b) or "").rpartition(".")[2] in classes.OWNED_MODULE_NAMES for b in node.bases
    )


# -- guards that only move -------------------------------------------------------------------------------------------


def _fold_guards(facts: FileFacts, variables: DeviceVariables, sites: list[Site]) -> Iterator[Unification]:
    """``if use_cuda: x = x.cuda()``, more than once: derive one device from the flag, and always move."""
    flags = Counter(s.flag for s in sites if s.flag)
    guards: dict[ast.AST, list[Site]] = {}
    for site in sites:
        if site.guard is not None and site.flag:
            guards.setdefault(site.guard, []).append(site)
    foldable = {g: members for g, members in guards.items() if _only_moves(g, members)}
    per_flag = Counter(members[0].flag for members in foldable.values())
    for guard, members in foldable.items():
        flag = members[0].flag
        if flags[flag] < 2 or per_flag[flag] < 2:
            continue
        place = _flag_definition(facts, flag)
        if place is None or not torch_name(facts):
            continue
        existing = variables.at(members[0].node)
        changes: list[Change] = []
        name = existing.text if existing is not None else variables.free_name()
        if existing is None:
            cards = {s.text for s in members if ":" in s.text}
            card = cards.pop() if len(cards) == 1 else "cuda"
            changes.append(InsertStatements(place, (f"{name} = {definition(facts, card, flag)}",), "after"))
        if isinstance(guard, ast.If):
            changes.append(UnwrapIf(guard))
        else:
            assert isinstance(guard, ast.IfExp)
            changes.append(Unwrap(guard, guard.body))
        for site in members:
            changes.extend(_changes(site, name))
        yield Unification(
            members[0].node, tuple(changes), f"move to `{name}` in any case", flag=flag, group=f"fold:{flag}"
        )


def _only_moves(guard: ast.AST, members: list[Site]) -> bool:
    """Whether a guard protects nothing but moves, each kept under the name it had."""
    if isinstance(guard, ast.IfExp):
        body = guard.body
        return (
            len(members) == 1
            and body is members[0].node
            and isinstance(body, ast.Call)
            and isinstance(body.func, ast.Attribute)
            and (ast.dump(body.func.value) == ast.dump(guard.orelse))
        )
    if not isinstance(guard, ast.If) or guard.orelse:
        return False
    moves = {id(s.node) for s in members}
    for statement in guard.body:
        value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if not all(isinstance(p, ast.Call) and id(p) in moves for p in parts):
            return False
    return True


def _flag_definition(facts: FileFacts, flag: str) -> ast.stmt | None:
    """The one module-level statement that sets a flag."""
    if "." in flag:
        found = [
            s for s in facts.tree.body
            if isinstance(s, ast.Assign) and any(path_of(t) == flag for t in s.targets)
        ]  # fmt: skip
    else:
        found = [s for s in facts.module.bindings.get(flag, ()) if isinstance(s, ast.Assign) and s in facts.tree.body]
        if len(found) != len(facts.module.bindings.get(flag, ())):
            return None
    return found[0] if len(found) == 1 else None
