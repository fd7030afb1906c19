"""Which calls of a file may make a tensor that stays on the default device, by their looks alone."""

from __future__ import annotations

import ast
from functools import cache

from devicefix.analysis.tree_index import last_name
from devicefix.torch_api import LEGACY_CONSTRUCTORS

#: libraries without tensors; what their functions are called does not matter
HOST_LIBRARIES = frozenset(
    {"numpy", "math", "random", "scipy", "cv2", "PIL", "pandas", "tensorflow", "jax", "itertools", "collections",
     "sklearn", "matplotlib", "skimage", "string", "cmath", "statistics", "builtins", "typing",
     "typing_extensions", "autograd",
     "sympy", "paddle", "networkx", "librosa", "tqdm", "uuid", "secrets", "hashlib", "re", "os", "sys"}
)  # fmt: skip

#: methods that put a tensor, or what is read off it, elsewhere: the result is not on the default device
READS = frozenset({"item", "tolist", "numpy", "size", "dim", "numel", "type_as", "share_memory_"})
READ_FUNCTIONS = frozenset({"int", "float", "bool", "len", "str", "print"})

#: methods that keep the device and meet no other tensor when they are called with constants and names of sizes
SAME_PLACE = frozenset(
    {"unsqueeze", "squeeze", "view", "reshape", "repeat", "expand", "expand_as", "view_as", "permute",
     "transpose", "t", "flatten",
     "contiguous", "detach", "clone", "float", "double", "half", "long", "int", "bool", "zero_", "uniform_",
     "normal_", "fill_", "exponential_", "exp", "log", "sqrt", "abs", "neg", "cumsum", "flip", "triu",
     "tril", "diag", "numpy",
     "unbind", "chunk", "split", "byte", "bfloat16", "to"}
)  # fmt: skip


@cache
def _static_methods() -> frozenset[str]:
    """Factories that are static methods of modules, and may be called on an instance."""
    from devicefix.torch_api.library_functions import FUNCTIONS

    made = {name for name, row in FUNCTIONS.items() if " creates" in row and name.startswith("torch.nn.")}
    return frozenset(name.rpartition(".")[2] for name in made)


@cache
def factory_names() -> frozenset[str]:
    """Last names of every function of torch that makes a tensor without being given one."""
    from devicefix.torch_api._generated import FUNCTIONS
    from devicefix.torch_api.library_functions import FUNCTIONS as LIBRARIES

    rows = [*FUNCTIONS.items(), *LIBRARIES.items()]
    made = {name.rpartition(".")[2] for name, row in rows if " creates" in row}
    return frozenset(made | {name.rpartition(".")[2] for name in LEGACY_CONSTRUCTORS} | {"new"})


@cache
def _windows() -> frozenset[str]:
    """Names that are factories in ``torch.signal.windows`` only."""
    from devicefix.torch_api._generated import FUNCTIONS

    inside = {n.rpartition(".")[2] for n, row in FUNCTIONS.items() if " creates" in row and ".windows." in n}
    outside = {n.rpartition(".")[2] for n, row in FUNCTIONS.items() if " creates" in row and ".windows." not in n}
    return frozenset(inside - outside)


class FactoryCalls:
    """What the imports and assignments of one file say about names that may be those of factories."""

    def __init__(self) -> None:
        self.names = factory_names()
        self.windows = _windows()
        self.static = _static_methods()
        self.roots: dict[str, bool] = {}  #: names of imported modules: whether one may have factories
        self.members: set[str] = set()  #: factories that were imported by name
        self.aliases: set[str] = set()  #: names and attributes that a factory was assigned to
        self.modules: list[tuple[str, str]] = []  #: ``xp = torch``: a name and the one assigned to it
        self.cards: set[str] = set()  #: ``torch.cuda`` and what is in it, under the names they are known by here
        self.star = False
        self.excused: set[int] = set()

    # -- what is imported ----------------------------------------------------------------------------------------

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note the names that an import binds."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                self._root(alias.asname or root, root)
                if alias.name == "torch.cuda" and alias.asname:
                    self.cards.add(alias.asname)
            return
        library = (node.module or "").partition(".")[0] if not node.level else ""
        for alias in node.names:
            if alias.name == "*":
                self.star = self.star or library not in HOST_LIBRARIES
                continue
            name = alias.asname or alias.name
            if library not in HOST_LIBRARIES and alias.name in self.names:
                self.members.add(name)
            if node.module == "torch.cuda":
                self.cards.add(name)
            self._root(name, library)

    def _root(self, name: str, library: str) -> None:
        self.roots[name] = self.roots.get(name, False) or library not in HOST_LIBRARIES

    def assigned(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Note ``zeros = torch.zeros``, ``Tensor = torch.cuda.FloatTensor if cuda else …``, ``xp = torch``."""
        for option in _options(value):
            name = last_name(option)
            for target in targets:
                if not isinstance(target, (ast.Name, ast.Attribute)):
                    continue
                bound = target.id if isinstance(target, ast.Name) else target.attr
                if name in self.names and (name != bound or isinstance(option, ast.Attribute)):
                    self.aliases.add(bound)
                elif isinstance(option, ast.Name):
                    self.modules.append((bound, option.id))

    # -- what a name means ---------------------------------------------------------------------------------------

    def any_factory(self, names: set[str], paths: list[tuple[str, ...]]) -> bool:
        """Whether one of these names or dotted names may be that of a factory, now that all imports are known."""
        if (
            not names.isdisjoint(self.aliases)
            or not names.isdisjoint(self.cards)
            or not names.isdisjoint(self.members - {"Tensor"})
        ):
            return True
        if self.star and not names.isdisjoint(self.names - {"range", "Tensor", "new"}):
            return True
        return any(map(self._is_factory, paths))

    def _is_factory(self, path: tuple[str, ...]) -> bool:
        name = path[-1]
        if len(path) == 1:
            return name in self.members or self.star
        root = path[0]
        if self.roots.get(root) is False and all(bound != root for bound, _ in self.modules):
            return False
        if name == "new" or name in self.aliases or name in self.static:
            return True
        if name in self.windows:
            return "windows" in path or root in self.members
        return root in self.roots or any(bound == root for bound, _ in self.modules)

    def path(self, node: ast.expr) -> tuple[str, ...]:
        """``torch.cuda`` as its parts; ``("",)`` for what is no dotted name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ("",)
        parts.append(node.id)
        parts.reverse()
        return tuple(parts)

    # -- calls whose result does not stay ------------------------------------------------------------------------

    def is_placed(self, node: ast.Call) -> bool:
        """Whether what a call makes is put on some device in the same expression."""
        if id(node) in self.excused:
            return True
        return any(k.arg == "device" and _is_place(k.value) for k in node.keywords) and not _is_leaf(node)

    def excuse(self, node: ast.Call) -> None:
        """Note the factory call that a move or a conversion to numbers is applied to at once."""
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr in READS or (function.attr == "to" and _moves(node)):
                self._made(function.value)
            elif function.attr == "copy_":  # copies between devices
                for argument in node.args:
                    self._made(argument)
        elif isinstance(function, ast.Name) and function.id in READ_FUNCTIONS:
            for argument in node.args:
                self._made(argument)

    def _made(self, node: ast.expr) -> None:
        while True:
            if isinstance(node, ast.Call):
                function = node.func
                if last_name(function) in self.names and last_name(function) != "new":
                    if not _is_leaf(node):
                        self.excused.add(id(node))
                    return
                if (
                    not isinstance(function, ast.Attribute)
                    or function.attr not in SAME_PLACE
                    or not all(map(_is_plain, node.args))
                ):
                    return
                node = function.value
            elif isinstance(node, ast.Subscript):
                if not _is_plain(node.slice):
                    return
                node = node.value
            elif isinstance(node, ast.UnaryOp):
                node = node.operand
            elif isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
                node = node.left
            elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant):
                node = node.right
            else:
                return


def _options(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.IfExp):
        return [value.body, value.orelse]
    return value.values if isinstance(value, ast.BoolOp) else [value]


def _is_leaf(node: ast.Call) -> bool:
    """Whether gradients are recorded for what a call makes: a copy of it on another device is no leaf."""
    return any(k.arg == "requires_grad" for k in node.keywords)


def _moves(node: ast.Call) -> bool:
    """Whether ``to`` is given a device (or a tensor) and not just a dtype."""
    values = [*node.args[:1], *(k.value for k in node.keywords if k.arg in ("device", "other"))]
    return any(_is_place(value) and not _is_dtype(value) for value in values)


def _is_place(node: ast.expr) -> bool:
    """Whether an expression for a device is neither ``None`` nor the CPU by name."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and not node.value.startswith("cpu")
    if isinstance(node, (ast.Call, ast.IfExp, ast.BoolOp)):
        return not any(isinstance(n, ast.Constant) and (n.value is None or n.value == "cpu") for n in ast.walk(node))
    return True


DTYPES = frozenset(
    {"float", "float16", "float32", "float64", "half", "double", "bfloat16", "int", "int8", "int16", "int32",
     "int64", "long", "short",
     "uint8", "bool", "complex64", "complex128", "cfloat", "dtype"}
)  # fmt: skip


def _is_dtype(node: ast.expr) -> bool:
    name = last_name(node)
    return name in DTYPES or "dtype" in name


_PLAIN = (ast.Constant, ast.UnaryOp, ast.unaryop, ast.Tuple, ast.List, ast.expr_context, ast.Slice)


def _is_plain(node: ast.expr) -> bool:
    """Whether an argument holds no tensor that might be elsewhere: numbers and slices."""
    return all(isinstance(n, _PLAIN) for n in ast.walk(node))
