"""Moving the parts of a batch: where, in which style, and to which device."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devicefix.analysis.batch_fields import field_uses
from devicefix.analysis.batch_uses import ends_on_host, inline_uses, item_of, key_of, stays
from devicefix.analysis.batches import Batch, Part, binding, leaves, loads, parts, structure
from devicefix.analysis.loaders import GRAPHS, AttributeKey
from devicefix.analysis.met_uses import uses_where_met
from devicefix.analysis.module_devices import named_devices
from devicefix.analysis.move_style import Style, neighbouring_style
from devicefix.analysis.records import is_record
from devicefix.analysis.values import Kind, Value
from devicefix.codemods.changes import AppendToExpression, Change, InsertStatements, ReplaceExpression

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

LONGEST_LINE = 100


@dataclass(slots=True)
class Repair:
    """How a batch gets where it is wanted."""

    title: str = ""
    changes: list[Change] = field(default_factory=list)
    note: str = ""  #: why there is no way


def repair(facts: FileFacts, batch: Batch) -> Repair:
    """The moves that bring the parts of a batch to the device that they meet."""
    device = batch.device
    if device is None:
        return Repair(note="its parts are wanted on several devices")
    held = next((key.name for path in batch.paths for key in path if isinstance(key, AttributeKey)), "")
    graphs = all(origin.detail == GRAPHS for origin in batch.origins)
    names = parts(facts, batch)
    if held and not graphs and not (names and all(field_uses(facts, batch, part) for part in names)):
        way = "move that (with a `.to` of its class), or each tensor where it is used"
        return Repair(note=f"`{held}` is an attribute of an object: {way}")
    direct = _direct_use(facts, batch)
    if names is None and direct is None:
        return _where_met(facts, batch)
    devices = named_devices([(origin.scope, mixes) for origin, mixes in batch.by_scope()])
    style = neighbouring_style(facts, batch, device, devices)
    definition: Change | None = None
    if style is None:
        if not devices:
            return Repair(note="no device variable, tensor or module on that device has a name here")
        text = devices[0].text
        if (
            devices[0].kind == "module"
            and isinstance(batch.place, (ast.For, ast.AsyncFor))
            and not _taken(facts, batch.place, "device")
        ):
            definition = InsertStatements(batch.place, (f"device = {text}",))
            text = "device"
        style = Style(f".to({text})", None)
    if direct is not None:
        return Repair(f"move it with `{style.suffix}`", [AppendToExpression(direct, style.suffix)])
    return _with_moves(facts, batch, names or [], style, definition)


def _where_met(facts: FileFacts, batch: Batch) -> Repair:
    """Moves behind the loop, of what its names no longer stand for."""
    uses = uses_where_met(facts, batch.mixes)
    if not uses:
        return Repair(note="which of the loop's names hold the unmoved tensors is not known")
    names = ", ".join(f"`{ast.unparse(use)}`" for use, _ in uses)
    moves: list[Change] = [AppendToExpression(use, f".to({device})") for use, device in uses]
    return Repair(f"move {names} with `.to({uses[0][1]})` where it is used", moves)


def _direct_use(facts: FileFacts, batch: Batch) -> ast.expr | None:
    """``next(iter(loader))`` or ``next(iter(loader))[0]``, used without a name."""
    if not isinstance(batch.place, ast.Call) or len(batch.paths) != 1:
        return None
    found: ast.expr = batch.place
    for key in batch.paths[0]:
        item = facts.parents.get(found)
        if not (
            isinstance(item, ast.Subscript)
            and item.value is found
            and isinstance(item.slice, ast.Constant)
            and item.slice.value == key
        ):
            return None
        found = item
    return None if found is batch.place and isinstance(facts.parents.get(found), ast.Assign) else found


def _with_moves(facts: FileFacts, batch: Batch, names: list[Part], style: Style, definition: Change | None) -> Repair:
    result = Repair(changes=[definition] if definition is not None else [])
    whole: list[Part] = []
    inline_names: list[str] = []
    for part in names:
        uses = inline_uses(facts, batch, part)
        kept = stays(facts, batch, part)
        if uses is None and not kept and isinstance(batch.place, ast.comprehension):
            uses = field_uses(facts, batch, part)
        if uses is not None:
            inline_names.append(part.name)
            result.changes.extend(AppendToExpression(use, style.suffix) for use in uses)
        elif kept:
            return Repair(note=f"`{part.name}` is also used with tensors on the CPU")
        elif isinstance(batch.place, ast.comprehension):
            text, handed = _container(facts, batch, part, style.suffix), _uses(facts, batch, part)
            if text is None or len(handed) != 1 or part.is_tensor:
                return Repair(note="inside a comprehension there is no room for a statement")
            inline_names.append(part.name)
            result.changes.append(ReplaceExpression(handed[0], text))
        else:
            whole.append(part)
    # a graph moves all that it holds
    graphs = {part.name for part in whole if all(o.detail == GRAPHS for o in batch.origins) and not part.prefix}
    lines: dict[tuple[ast.stmt, str], list[str]] = {}
    for anchor, where, group in _by_anchor(facts, batch, whole):
        tensors = [part.name for part in group if part.is_tensor or part.name in graphs]
        lines.setdefault((anchor, where), []).extend(_tensor_lines(tensors, style))
        for part in group:
            if part.name not in tensors:
                text = _container_line(facts, batch, part, style.suffix)
                uses = inline_uses(facts, batch, part, only_way=True) if text is None else None
                items = _item_lines(facts, batch, part, style.suffix) if text is None and uses is None else None
                if text is None and uses is None and not items:
                    uses = field_uses(facts, batch, part)
                if text is not None:
                    lines[anchor, where].append(text)
                elif items:
                    lines[anchor, where].extend(items)
                elif uses is not None:
                    result.changes.extend(AppendToExpression(use, style.suffix) for use in uses)
                else:
                    return Repair(note=f"`{part.name}` is a container whose contents are not known well enough")
    for (anchor, where), texts in lines.items():
        if texts:
            result.changes.append(InsertStatements(anchor, tuple(texts), "before" if where == "before" else "after"))
    moved = ", ".join(f"`{name}`" for name in dict.fromkeys([*(p.name for p in whole), *inline_names]))
    result.title = f"move {moved} with `{style.suffix}`"
    if not result.changes:
        return Repair(note="no use of the unmoved tensors was found")
    return result


def _taken(facts: FileFacts, place: ast.AST, name: str) -> bool:
    function = facts.function(place)
    if function is not None and (name in function.locals or name in function.outer_names):
        return True
    return name in facts.module.bindings or any(
        isinstance(node, ast.Name) and node.id == name
        for node in ast.walk(function.node if function is not None else facts.tree)
    )


# -- moves as statements ---------------------------------------------------------------------------------


def _by_anchor(facts: FileFacts, batch: Batch, names: list[Part]) -> Iterator[tuple[ast.stmt, str, list[Part]]]:
    """Where the statements go, and which names each place takes care of."""
    groups: dict[int, tuple[ast.stmt, str, list[Part]]] = {}
    for part in names:
        if part.anchor is not None:
            anchor, where = part.anchor, "after"
        else:
            assert isinstance(batch.place, (ast.For, ast.AsyncFor))
            anchor, where = _head(batch.place, part.name)
        groups.setdefault(id(anchor), (anchor, where, []))[2].append(part)
    yield from groups.values()


def _head(loop: ast.For | ast.AsyncFor, name: str) -> tuple[ast.stmt, str]:
    """The head of a loop body: behind the moves that are there already."""
    last: ast.stmt | None = None
    for statement in loop.body:
        if not _is_move(statement):
            break
        last = statement
    if last is not None and not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(last)):
        return last, "after"
    return loop.body[0], "before"


def _is_move(statement: ast.stmt) -> bool:
    """``x = x.to(…)`` or ``x, y = x.to(…), y.to(…)``."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    pairs = (
        list(zip(target.elts, value.elts, strict=False))
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        else [(target, value)]
    )
    return all(
        isinstance(t, ast.Name) and isinstance(v, ast.Call) and isinstance(v.func, ast.Attribute)
        and v.func.attr in ("to", "cuda") and isinstance(v.func.value, ast.Name) and v.func.value.id == t.id
        for t, v in pairs
    )  # fmt: skip


def _tensor_lines(names: list[str], style: Style) -> list[str]:
    separate = [f"{name} = {name}{style.suffix}" for name in names]
    if len(names) < 2 or style.one_per_line:
        return separate
    joined = f"{', '.join(names)} = {', '.join(f'{name}{style.suffix}' for name in names)}"
    return [joined] if len(joined) <= LONGEST_LINE else separate


def _container_line(facts: FileFacts, batch: Batch, part: Part, suffix: str) -> str | None:
    text = _container(facts, batch, part, suffix)
    return f"{part.name} = {text}" if text is not None else None


def _container(facts: FileFacts, batch: Batch, part: Part, suffix: str) -> str | None:
    """What a name should stand for instead: a container like it, moved."""
    value = structure(facts, batch.place, part.prefix)
    if value.kind is Kind.UNKNOWN and (None,) in part.rests and all(len(rest) == 1 for rest in part.rests):
        # `model(**batch)`: the entries are inputs of the model, unless some others are taken out
        only = all(_is_input(facts, part, use) for use in _uses(facts, batch, part))
        value = Value(Kind.MAPPING, element=Value(Kind.TENSOR if only else Kind.UNKNOWN))
    if _moves_itself(value):
        return f"{part.name}{suffix}"
    if is_record(value) or _stays_partly(facts, batch, part, value):
        return None
    function = facts.function(batch.place)
    used = {n.id for n in ast.walk(function.node if function is not None else facts.tree) if isinstance(n, ast.Name)}
    return _moved(facts, part.name, value, part.rests, suffix, used)


def _is_input(facts: FileFacts, part: Part, use: ast.Name) -> bool:
    """Whether a use of a batch hands it to a call whole, or takes out an entry that has to be moved as well."""
    item = item_of(facts, use)
    return isinstance(facts.parents.get(use), ast.keyword) or (item is not None and (key_of(item),) in part.rests)


def _moves_itself(value: Value) -> bool:
    """Whether a value is the output of a tokenizer, whose ``to`` moves all that it holds and returns it."""
    return value.kind is Kind.OBJECT and value.data.external == "transformers.BatchEncoding"


def _item_lines(facts: FileFacts, batch: Batch, part: Part, suffix: str) -> list[str] | None:
    """``batch["a"] = {k: v.to(device) …}``: containers and tensors of a dict that also holds others."""
    value = structure(facts, batch.place, part.prefix)
    if value.kind is not Kind.MAPPING or not isinstance(value.items, dict) or value.element is not None:
        return None
    used = {node.id for node in facts.nodes(ast.Name) if isinstance(node, ast.Name)}
    wanted: dict[object, list[tuple[object, ...]]] = {}
    for key, *rest in part.rests:
        wanted.setdefault(key, []).append(tuple(rest))
    lines = []
    for key, rests in wanted.items():
        member = value.items.get(key)
        item = f"{part.name}[{json.dumps(key)}]"
        if member is None or not isinstance(key, str) or is_record(member):
            return None
        inside = Part(part.name, (*part.prefix, key), [(name,) for name in _keys(member)], part.anchor)
        if rests == [()]:
            text: str | None = f"{item}{suffix}"
        else:
            text = None if stays(facts, batch, inside) else _moved(facts, item, member, rests, suffix, used)
        if text is None:
            return None
        lines.append(f"{item} = {text}")
    return lines


def _keys(value: Value) -> list[object]:
    if isinstance(value.items, dict):
        return list(value.items)
    return list(range(len(value.items))) if value.items is not None else [None]


def _uses(facts: FileFacts, batch: Batch, part: Part) -> list[ast.Name]:
    """Where the name of a part is read."""
    bound = binding(facts, batch.place)
    inside = [facts.parents[part.anchor]] if part.anchor is not None else bound[2] if bound is not None else []
    return loads(part.name, inside)


def _stays_partly(facts: FileFacts, batch: Batch, part: Part, value: Value) -> bool:
    """Whether some tensor of the container is used on the CPU, and moving everything would take it away from there."""
    inside = Part(part.name, part.prefix, [(key,) for key in _keys(value)], part.anchor)
    if binding(facts, batch.place) is None or stays(facts, batch, inside):
        return True
    for use in _uses(facts, batch, part):
        item = item_of(facts, use)
        if item is None or any(rest[:1] == (key_of(item),) for rest in part.rests):
            continue
        member = value.items.get(key_of(item)) if isinstance(value.items, dict) else value.element
        if member is not None and member.is_tensor and not ends_on_host(facts, item):
            return True
    return False


def _moved(
    facts: FileFacts, expression: str, value: Value, rests: list[tuple[object, ...]], suffix: str, used: set[str]
) -> str | None:
    """A new container with its tensors moved."""
    members = leaves(value)
    if value.kind not in (Kind.MAPPING, Kind.SEQUENCE) or not members:
        return None
    if value.kind is Kind.MAPPING:
        key, name = ("k", "v") if not {"k", "v"} & _names_in(suffix) else ("key", "value")
    else:
        name = _singular(expression, used, suffix)
    if all(len(rest) == 1 for rest in rests):
        inner: str | None = f"{name}{suffix}"
        if not all(v.is_tensor for v in members):
            torch = _torch_name(facts)
            inner = f"{name}{suffix} if {torch}.is_tensor({name}) else {name}" if torch else None
    elif value.kind is Kind.SEQUENCE and value.element is not None and not value.items:
        inner = _moved(facts, name, value.element, [rest[1:] for rest in rests], suffix, used | {name})
    else:
        inner = None
    if inner is None:
        return None
    if value.kind is Kind.MAPPING:
        return f"{{{key}: {inner} for {key}, {name} in {expression}.items()}}"
    loop = f"{inner} for {name} in {expression}"
    return f"tuple({loop})" if value.data == "tuple" and value.items else f"[{loop}]"


def _names_in(code: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(f"x{code}")) if isinstance(n, ast.Name)}


def _singular(name: str, used: set[str], suffix: str) -> str:
    taken = used | _names_in(suffix)
    for candidate in (name[:-1] if name.endswith("s") and len(name) > 2 else "", "t", "tensor", "item"):
        if candidate.isidentifier() and candidate not in taken:
            return candidate
    return "element"


def _torch_name(facts: FileFacts) -> str:
    """What ``torch`` is called in the file; "" if it is not imported as a module."""
    for statements in facts.module.bindings.values():
        for statement in statements:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    if alias.name == "torch":
                        return alias.asname or "torch"
    return ""


__all__ = ["Repair", "repair"]
