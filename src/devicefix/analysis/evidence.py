"""What the uses of a name say about it, where nothing else is known.

A parameter has no value to look at. But who calls ``x.unsqueeze(0)`` means a tensor, and who calls ``m.parameters()``
means a module. Names are taken flow-insensitively, so a name that is used as two things has no evidence at all.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from devicefix import torch_api
from devicefix.analysis.statements import statements
from devicefix.analysis.tree_index import last_name, push_children

if TYPE_CHECKING:
    from devicefix.analysis.model import ClassInfo, ModuleInfo
    from devicefix.torch_api import ModuleClass

EMPTY: Mapping[str, ModuleClass] = {}

#: attributes that tensors share with arrays or shapes; they count only together with something else
SHARED = frozenset({"shape", "size", "dtype", "device", "T", "ndim", "dim", "mean", "sum", "view", "long"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Names (dotted, with constant subscripts) by the sort of use found."""

    tensors: frozenset[str]  #: used in a way that only a tensor allows
    likely_tensors: frozenset[str]  #: used in a way that fits a tensor and little else
    modules: frozenset[str]  #: used in a way that only a module allows
    called: frozenset[str]
    iterated: frozenset[str]
    floating: frozenset[str] = frozenset()  #: given to layers that take floating tensors only


def path_of(node: ast.expr) -> str | None:
    """``x``, ``self.x``, ``batch['k']`` as text; ``None`` for anything that is no plain path."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = path_of(node.value)
        return f"{base}.{node.attr}" if base else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        base = path_of(node.value)
        return f"{base}[{node.slice.value!r}]" if base else None
    return None


def torch_path(module: ModuleInfo, node: ast.expr) -> str:
    """``torch.nn.functional.relu`` for ``F.relu``, ``torch.device`` for ``th.device``; other paths as they are
    written."""
    path = path_of(node) or ""
    head, dot, rest = path.partition(".")
    return f"{module.torch_names.get(head, head)}{dot}{rest}"


def annotation_kind(node: ast.expr | None, module: ModuleInfo | None = None) -> str:
    """``tensor``, ``optional tensor``, ``module``, ``device``, ``number`` … for an annotation; ``""`` if it says
    nothing.

    ``module`` knows what the file's imports call the types of torch.
    """
    if node is None:
        return ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return ""
    if isinstance(node, ast.Subscript):
        outer = last_name(node.value)
        if outer == "Optional":
            inner = annotation_kind(node.slice, module)
            return f"optional {inner}" if inner else ""
        if outer == "Annotated" and isinstance(node.slice, ast.Tuple) and node.slice.elts:
            return annotation_kind(node.slice.elts[0], module)
        if outer in ("Float", "Int", "Bool", "Shaped", "Num", "Integer", "Complex", "UInt", "Inexact", "Real"):
            # jaxtyping: Float[Tensor, "b t"]
            first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            return annotation_kind(first, module)
        if outer in ("List", "list", "Sequence", "Tuple", "tuple", "Iterable"):
            return "sequence"
        if outer in ("Dict", "dict", "Mapping"):
            return "mapping"
        if outer == "Union" and isinstance(node.slice, ast.Tuple):
            return _union([annotation_kind(e, module) for e in node.slice.elts])
        return ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([annotation_kind(node.left, module), annotation_kind(node.right, module)])
    if isinstance(node, ast.Constant) and node.value is None:
        return "none"
    name = last_name(node)
    if isinstance(node, ast.Name) and module is not None:
        name = module.torch_names.get(name, name).rpartition(".")[2]
    if name in (
        "Tensor",
        "FloatTensor",
        "LongTensor",
        "BoolTensor",
        "IntTensor",
        "HalfTensor",
        "DoubleTensor",
        "ByteTensor",
    ):
        return {
            "FloatTensor": "float tensor",
            "HalfTensor": "float tensor",
            "DoubleTensor": "float tensor",
            "LongTensor": "int tensor",
            "IntTensor": "int tensor",
            "BoolTensor": "bool tensor",
        }.get(name, "tensor")
    if name in ("int", "float", "bool"):
        return "number"
    return {
        "Module": "module",
        "device": "device",
        "dtype": "dtype",
        "str": "string",
        "ndarray": "ndarray",
        "DataLoader": "loader",
        "list": "sequence",
        "tuple": "sequence",
        "dict": "mapping",
        "PackedSequence": "packed",
    }.get(name, "")


def _union(kinds: list[str]) -> str:
    rest = [kind for kind in kinds if kind != "none"]
    if len(set(rest)) != 1 or not rest[0]:
        return ""
    return f"optional {rest[0]}" if len(rest) < len(kinds) else rest[0]


@cache
def shows_tensor(name: str) -> bool:
    """Whether hardly anything but a tensor has a method of this name."""
    return name not in torch_api.NOT_ONLY_OF_TENSORS and torch_api.method(name) is not None


#: methods of modules that are also what parts of a configuration are called
PHASES = frozenset({"train", "eval"})


def collect_evidence(function: ast.AST, module: ModuleInfo, layers: Mapping[str, ModuleClass] = EMPTY) -> Evidence:
    """Read the uses of all names in a function (functions inside it included, for what they capture).

    ``layers``: what the class of the function keeps in attributes, see `layers_of`.
    """
    strong: set[str] = set()
    likely: defaultdict[str, int] = defaultdict(int)
    modules: set[str] = set()
    phased: set[str] = set()  #: ``model.train``, which is no module's unless it is called
    called: set[str] = set()
    iterated: set[str] = set()
    joined: set[str] = set()
    fed: set[str] = set()
    defaults: Counter[str] = Counter()  #: how often a name is bound under `if name is None`
    floating: set[str] = set()
    bound: Counter[str] = Counter()
    only_tensors, only_modules = torch_api.TENSOR_ONLY_ATTRIBUTES, torch_api.MODULE_ONLY_ATTRIBUTES
    arguments = getattr(function, "args", None) if layers else None
    receiver = arguments.args[0].arg if arguments is not None and arguments.args else ""
    stack: list[Any] = [function]
    while stack:
        node = stack.pop()
        cls = node.__class__
        if cls is ast.Name or cls is ast.Constant:
            if cls is ast.Name and node.ctx.__class__ is ast.Store:
                bound[node.id] += 1
            continue
        if cls is ast.Attribute:
            name = node.attr
            if name in only_tensors:
                if (path := path_of(node.value)) is not None:
                    strong.add(path)
            elif name in only_modules:
                if (path := path_of(node.value)) is not None:
                    if name in PHASES:
                        phased.add(f"{path}.{name}")
                    else:
                        modules.add(path)
            elif name in SHARED and (path := path_of(node.value)) is not None:
                likely[path] += 1
            stack.append(node.value)
            continue
        if cls is ast.Call:
            path = path_of(node.func)
            if path is not None:
                called.add(path)
                owner, dot, name = path.rpartition(".")
                if dot and shows_tensor(name):
                    likely[owner] += 1
                if owner == receiver and name in layers:
                    fed.update(_fed(node, layers[name]))
                    first = path_of(node.args[0]) if node.args and layers[name].float_input else None
                    if first is not None:
                        floating.add(first)
            _read_call(node, module, strong, likely, joined)
        elif cls is ast.If:
            defaults.update(_set_if_none(node))
        elif cls is ast.For or cls is ast.comprehension or cls is ast.AsyncFor:
            path = path_of(node.iter)
            if path is not None:
                iterated.add(path)
        push_children(node, stack)
    modules.update(path.rpartition(".")[0] for path in phased & called)
    rebound = {name for name, count in bound.items() if defaults[name] < count}
    for path in joined - bound.keys():  # a name that is bound anew says nothing about what it was before
        likely[path] += 1
    strong -= {path for path in strong if path.endswith("]") and _member_of(path, rebound, function)}
    strong |= fed - rebound
    strong -= modules | called  # tensors are not called
    return Evidence(
        frozenset(strong),
        frozenset(p for p, n in likely.items() if n >= 1 and p not in modules and p not in called) | strong,
        frozenset(modules),
        frozenset(called),
        frozenset(iterated),
        frozenset(floating - rebound),
    )


def _member_of(path: str, rebound: set[str], function: ast.AST) -> bool:
    """Whether a path like ``pair[0]`` belongs to a parameter that is bound anew: what it holds then is not what was
    given."""
    root, _, key = path.partition("[")
    given = getattr(function, "args", None)
    if root not in rebound or given is None or not key[:-1].lstrip("-").isdigit():
        return False
    return any(parameter.arg == root for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _set_if_none(node: ast.If) -> Iterator[str]:
    """The name in ``if name is None: name = …``, once for each time that it is bound there."""
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or not isinstance(test.ops[0], ast.Is):
        return
    for statement in statements(node.body):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and target.id == test.left.id:
                    yield target.id


def layers_of(cls: ClassInfo) -> dict[str, ModuleClass]:
    """The attributes that the constructor binds to layers of torch which take one tensor."""
    found: dict[str, ModuleClass] = {}
    others: set[str] = set()
    constructor = cls.methods.get("__init__")
    body = constructor.node.body if constructor is not None else []
    for statement in statements(body) if isinstance(body, list) else ():
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    layer = _layer(statement.value, cls.module)
                    if layer is None:
                        others.add(target.attr)
                    else:
                        found[target.attr] = layer
    return {name: layer for name, layer in found.items() if name not in others}


def _fed(node: ast.Call, layer: ModuleClass) -> Iterator[str]:
    """What a call of a layer gives it as tensors."""
    pairs = [*zip(layer.forward_parameters, node.args, strict=False), *((k.arg or "", k.value) for k in node.keywords)]
    for parameter, argument in pairs:
        path = path_of(argument)
        if path is not None and parameter in layer.forward_parameters and not parameter.startswith(OPTIONS):
            yield path


#: how the names of arguments of layers begin that are no tensors
OPTIONS = ("is_", "need_", "average_", "src_is_", "tgt_is_", "memory_is_", "output_size")


def _layer(value: ast.expr, module: ModuleInfo) -> ModuleClass | None:
    """``nn.Linear(…)``, or the first layer of ``nn.Sequential(…)``."""
    if not isinstance(value, ast.Call):
        return None
    fact = torch_api.module_class(torch_path(module, value.func))
    if fact is not None and fact.container == "sequential":
        return _layer(value.args[0], module) if value.args else None
    takes_one = fact is not None and fact.output == "tensor" and not fact.loss and fact.forward_parameters
    return fact if takes_one and last_name(value.func) != "Identity" else None


def _read_call(
    node: ast.Call, module: ModuleInfo, strong: set[str], likely: defaultdict[str, int], joined: set[str]
) -> None:
    """A value handed to a function of torch in the place of a tensor is one."""
    home, _, name = torch_path(module, node.func).rpartition(".")
    if home in ("torch", "F", "functional") or home.endswith("functional") or home.startswith("torch.linalg"):
        prefix = "torch." if home == "torch" else "torch.linalg." if "linalg" in home else "torch.nn.functional."
        fact = torch_api.function(prefix + name)
        if fact is None or not fact.tensor_args:
            return
        if name in ("is_tensor", "as_tensor", "tensor"):
            return
        for argument, parameter in zip(node.args, fact.parameters, strict=False):
            if fact.takes_tensor(parameter):
                if isinstance(argument, (ast.Tuple, ast.List)):  # torch.cat((x, y))
                    joined.update(member.id for member in argument.elts if isinstance(member, ast.Name))
                path = path_of(argument)
                if path is not None:
                    likely[path] += 1
                    if prefix == "torch.nn.functional.":
                        strong.add(path)
