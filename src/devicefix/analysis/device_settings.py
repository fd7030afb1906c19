"""Settings that name CUDA outright: an attribute of a class, an entry of a dict, the default of an option."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devicefix.analysis import classes, cuda_sites
from devicefix.analysis.device_variables import is_holder
from devicefix.analysis.evidence import path_of
from devicefix.analysis.tree_index import last_name

if TYPE_CHECKING:
    from devicefix.analysis.facts import FileFacts

#: a file that asks one of these falls back somewhere
QUESTIONS = ("is_available", "device_count")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that is the device of the program, and how the file refers to it."""

    value: ast.expr
    text: str  #: ``Config.device``, ``CONFIG["device"]``, ``--device``
    default: bool = False  #: of a field that callers may leave out


def device_settings(facts: FileFacts) -> Iterator[Setting]:
    """Settings of one file that are read where a device belongs, and name CUDA as the only choice."""
    text = facts.source.text
    if "cuda" not in text or any(question in text for question in QUESTIONS):
        return
    found = [*_class_attributes(facts), *_entries(facts), *_options(facts)]
    if not found:
        return
    attributes, keys, spread = _read_as_devices(facts)
    for setting, kind, name, owner in found:
        if kind == "item":
            used = name in keys or (name == "device" and owner in spread)
        else:
            used = any(attribute == name and _means(facts, base, owner) for base, attribute in attributes)
        if used:
            yield setting


Candidate = tuple[Setting, str, str, str]  #: with the kind of access, the name or key, and the class or dict


def _class_attributes(facts: FileFacts) -> Iterator[Candidate]:
    for node in facts.nodes(ast.ClassDef):
        for statement in node.body:
            if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                if cuda_sites.device_literal(facts, statement.value):
                    fields = isinstance(statement, ast.AnnAssign) and _has_fields(facts, node)
                    name = targets[0].id
                    yield Setting(statement.value, f"{node.name}.{name}", fields), "attribute", name, node.name


def _has_fields(facts: FileFacts, node: ast.ClassDef) -> bool:
    """Whether annotated attributes of a class are parameters of its constructor."""
    named = {last_name(base) for base in node.bases}
    return classes.is_record_class(facts.module.class_(node)) or bool(named & {"BaseModel", "BaseSettings"})


def _entries(facts: FileFacts) -> Iterator[Candidate]:
    for node in facts.nodes(ast.Assign):
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name) or not isinstance(node.value, ast.Dict):
            continue
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                if cuda_sites.device_literal(facts, value):
                    text = f'{node.targets[0].id}["{key.value}"]'
                    yield Setting(value, text), "item", key.value, node.targets[0].id


def _options(facts: FileFacts) -> Iterator[Candidate]:
    """``parser.add_argument("--device", default="cuda")``."""
    for node in facts.nodes(ast.Call):
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "add_argument":
            continue
        default = next((k.value for k in node.keywords if k.arg == "default"), None)
        flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        flag = next((f for f in flags if f.startswith("--")), "")
        named = any(k.arg == "dest" for k in node.keywords)
        if default is not None and flag and not named and cuda_sites.device_literal(facts, default):
            yield Setting(default, flag), "attribute", flag.lstrip("-").replace("-", "_"), ""


def _read_as_devices(facts: FileFacts) -> tuple[set[tuple[str, str]], set[str], set[str]]:
    """What stands where a device belongs: (base, attribute) of ``cfg.device``, and the keys of ``cfg["device"]``; and
    the dicts that are spread in a call, ``**options``."""
    attributes: set[tuple[str, str]] = set()
    keys: set[str] = set()
    spread: set[str] = set()
    for node in facts.nodes(ast.Call):
        values = [k.value for k in node.keywords if k.arg == "device"]
        spread.update(k.value.id for k in node.keywords if k.arg is None and isinstance(k.value, ast.Name))
        if last_name(node.func) in ("to", "device") and node.args:
            values.append(node.args[0])
        for value in values:
            if isinstance(value, ast.Attribute):
                attributes.add((path_of(value.value) or "", value.attr))
            elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
                keys.add(str(value.slice.value))
    return attributes, keys, spread


def _means(facts: FileFacts, base: str, owner: str) -> bool:
    """Whether ``base`` is the class ``owner``, an instance of it or, without a class, something that holds settings."""
    last = base.rpartition(".")[2]
    if is_holder(last) or not owner:
        return is_holder(last)
    if base == owner or last in ("self", "cls"):
        return True
    for parameter in facts.nodes(ast.arg):
        if parameter.arg == last and parameter.annotation is not None and last_name(parameter.annotation) == owner:
            return True
    made = (n for n in facts.nodes(ast.Assign) if isinstance(n.value, ast.Call) and last_name(n.value.func) == owner)
    return any(last_name(target) == last for statement in made for target in statement.targets)
