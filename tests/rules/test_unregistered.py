"""DVF302 and DVF303: modules and parameters in plain lists and dicts."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check, fix
from devicefix.analysis.container_keys import TAKEN
from devicefix.analysis.container_uses import METHODS
from devicefix.findings import Applicability, Finding

HEAD = "import torch\nfrom torch import nn\n\n\n"


def module(init: str, forward: str, more: str = "") -> str:
    """A module class ``Net`` with the given bodies, and a program that runs it on a device."""
    body = (
        "class Net(nn.Module):\n"
        "    def __init__(self, depth=2):\n"
        "        super().__init__()\n"
        f"{textwrap.indent(textwrap.dedent(init), ' ' * 8).rstrip()}\n\n"
        "    def forward(self, x):\n"
        f"{textwrap.indent(textwrap.dedent(forward), ' ' * 8).rstrip()}\n"
    )
    run = "\n\ndef run(device):\n    net = Net().to(device)\n    return net(torch.ones(2, 3, device=device))\n"
    return HEAD + textwrap.dedent(more) + body + run


def found(program: str, code: str) -> list[Finding]:
    result = check(program)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == code]


LOOP = """
    for layer in self.layers:
        x = layer(x)
    return x
"""

#: how the list is set up, and how that reads afterwards
LISTS = {
    "literal": (
        "self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]",
        "self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])",
    ),
    "comprehension": (
        "self.layers = [nn.Linear(3, 3) for _ in range(depth)]",
        "self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(depth)])",
    ),
    "appended": (
        "self.layers = []\nfor _ in range(depth):\n    self.layers.append(nn.Linear(3, 3))",
        "self.layers = nn.ModuleList()\nfor _ in range(depth):\n    self.layers.append(nn.Linear(3, 3))",
    ),
    "list()": (
        "self.layers = list()\nself.layers.append(nn.Linear(3, 3))",
        "self.layers = nn.ModuleList()\nself.layers.append(nn.Linear(3, 3))",
    ),
    "extended": (
        "self.layers = []\nself.layers += [nn.Linear(3, 3)]",
        "self.layers = nn.ModuleList()\nself.layers += [nn.Linear(3, 3)]",
    ),
    "from a name": (
        "layers = [nn.Linear(3, 3) for _ in range(depth)]\nself.layers = layers",
        "layers = [nn.Linear(3, 3) for _ in range(depth)]\nself.layers = nn.ModuleList(layers)",
    ),
    "tuple": (
        "self.layers = (nn.Linear(3, 3), nn.Linear(3, 3))",
        "self.layers = nn.ModuleList((nn.Linear(3, 3), nn.Linear(3, 3)))",
    ),
    "annotated": (
        "self.layers: list[nn.Module] = [nn.Linear(3, 3)]",
        "self.layers: nn.ModuleList = nn.ModuleList([nn.Linear(3, 3)])",
    ),
    "comments": (
        "self.layers = [  # two of them\n    nn.Linear(3, 3),  # first\n    nn.Linear(3, 3),\n]",
        "self.layers = nn.ModuleList([  # two of them\n    nn.Linear(3, 3),  # first\n    nn.Linear(3, 3),\n])",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_becomes_a_module_list(name: str) -> None:
    before, after = LISTS[name]
    program = module(before, LOOP)
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.UNSAFE
    assert "state_dict" in (finding.fix.reason if finding.fix else "")
    assert fix(program, unsafe=True).new_text == module(after, LOOP)
    assert not fix(program).changed


DICTS = {
    "literal": ('self.layers = {"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}', True),
    "dict()": ("self.layers = dict(a=nn.Linear(3, 3), b=nn.Linear(3, 3))", True),
    "filled": ('self.layers = {}\nself.layers["a"] = nn.Linear(3, 3)', True),
    "numbered": ('self.layers = {f"layer{i}": nn.Linear(3, 3) for i in range(depth)}', True),
    "str of a counter": ("self.layers = {str(i): nn.Linear(3, 3) for i in range(depth)}", True),
    "over a literal": ('self.layers = {name: nn.Linear(3, 3) for name in ("a", "b")}', True),
    "dot": ('self.layers = {"a.b": nn.Linear(3, 3)}', False),
    "number": ("self.layers = {0: nn.Linear(3, 3)}", False),
    "counter itself": ("self.layers = {i: nn.Linear(3, 3) for i in range(depth)}", False),
    "clash": ('self.layers = {"type": nn.Linear(3, 3)}', False),
    "clash with forward": ('self.layers = {"forward": nn.Linear(3, 3)}', False),
    "splat": ('first = {"a": nn.Linear(3, 3)}\nself.layers = {**first, "b": nn.Linear(3, 3)}', False),
    "filled with a number": ("self.layers = {}\nself.layers[0] = nn.Linear(3, 3)", False),
}


@pytest.mark.parametrize("name", DICTS)
def test_a_dict_becomes_a_module_dict_where_its_keys_are_names(name: str) -> None:
    init, fixed = DICTS[name]
    program = module(init, "for layer in self.layers.values():\n    x = layer(x)\nreturn x")
    (finding,) = found(program, "DVF302")
    assert (finding.applicability is Applicability.UNSAFE) is fixed
    assert ("nn.ModuleDict(" in fix(program, unsafe=True).new_text) is fixed


ONLY_LISTS = {
    "sort": "self.layers.sort(key=id)",
    "remove": "self.layers.remove(self.layers[0])",
    "copy": "other = self.layers.copy()",
    "slice assignment": "self.layers[:1] = []",
    "concatenation": "both = [nn.ReLU()] + self.layers",
    "repetition": "self.layers *= 2",
    "comparison": "assert self.layers != []",
    "isinstance": "assert isinstance(self.layers, list)",
    "handed on": "register(self.layers)",
    "alias": "layers = self.layers",
}


@pytest.mark.parametrize("name", ONLY_LISTS)
def test_what_only_a_list_can_do_is_left_to_a_person(name: str) -> None:
    program = module(
        f"self.layers = [nn.Linear(3, 3)]\n{ONLY_LISTS[name]}", LOOP, "def register(layers):\n    pass\n\n\n"
    )
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.REPORT
    assert finding.note
    assert not fix(program, unsafe=True).changed


@pytest.mark.parametrize(
    "statement",
    ["len(self.layers)", "first = self.layers[0]", "tail = self.layers[1:]", "first, = self.layers", "names = [str(m) for m in self.layers]",
     "pairs = list(zip(self.layers, range(2)))", "assert self.layers is not None", "size = 1 if self.layers else 0",
     "self.layers[0] = nn.Linear(3, 3)", "self.stack = lambda: nn.Sequential(*self.layers)"],
)  # fmt: skip
def test_what_both_can_do_does_not_stand_in_the_way(statement: str) -> None:
    program = module(f"self.layers = [nn.Linear(3, 3)]\n{statement}", LOOP)
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.UNSAFE


OTHER_REPORTS = {
    "lists of lists": (
        "self.layers = [[nn.Linear(3, 3)], [nn.Linear(3, 3)]]",
        "for row in self.layers:\n    x = row[0](x)\nreturn x",
    ),
    "not only modules": ('self.layers = [nn.Linear(3, 3), "end"]', "return self.layers[0](x)"),
    "changed under another name": (
        "layers = [nn.Linear(3, 3)]\nself.layers = layers\nlayers.append(nn.Linear(3, 3))",
        LOOP,
    ),
    "two targets": ("layers = self.layers = [nn.Linear(3, 3)]", LOOP),
}


@pytest.mark.parametrize("name", OTHER_REPORTS)
def test_other_reports(name: str) -> None:
    program = module(*OTHER_REPORTS[name])
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.REPORT, name


def test_before_super_init_nothing_can_be_registered() -> None:
    program = module("pass", LOOP).replace(
        "        super().__init__()\n        pass\n",
        "        self.layers = [nn.Linear(3, 3)]\n        super().__init__()\n",
    )
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.REPORT
    assert "super().__init__()" in finding.note


STATELESS = """
class Shift(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.register_buffer("by", torch.full((3,), by), persistent=False)

    def forward(self, x):
        return x + self.by


"""


def test_members_that_save_nothing_make_a_safe_fix() -> None:
    program = module("self.layers = [Shift(0.5), Shift(1.0)]", LOOP, STATELESS)
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.SAFE
    assert "nn.ModuleList([Shift(0.5), Shift(1.0)])" in fix(program).new_text


@pytest.mark.parametrize(
    "change",
    [(", persistent=False", ""), ("return x + self.by", "return x + self.by if self.training else x"),
     ("        self.register_buffer", "        self.drop = nn.Dropout()\n        self.register_buffer"),
     ("        self.register_buffer", "        self.gain = nn.Parameter(torch.ones(3))\n        self.register_buffer")],
)  # fmt: skip
def test_members_that_save_something_or_know_the_mode_do_not(change: tuple[str, str]) -> None:
    program = module("self.layers = [Shift(0.5), Shift(1.0)]", LOOP, STATELESS.replace(*change))
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    ("imports", "spelled"),
    [("import torch\nimport torch.nn as nn\n", "nn.ModuleList"), ("import torch\nimport torch.nn as tnn\nfrom torch import nn\n", "nn.ModuleList"),
     ("import torch\nfrom torch import nn\nfrom torch.nn import ModuleList\n", "ModuleList")],
)  # fmt: skip
def test_the_file_s_own_spelling_is_used(imports: str, spelled: str) -> None:
    program = module("self.layers = [nn.Linear(3, 3)]", LOOP).replace("import torch\nfrom torch import nn\n", imports)
    assert f"self.layers = {spelled}([nn.Linear(3, 3)])" in fix(program, unsafe=True).new_text


def test_an_import_is_added_where_none_offers_it() -> None:
    program = module("self.layers = [Linear(3, 3)]", LOOP).replace(
        "from torch import nn\n", "from torch.nn import Linear, Module\n"
    )
    program = (
        program.replace("(nn.Module)", "(Module)").replace("import torch\n", "").partition("\n\ndef run")[0] + "\n"
    )
    text = fix(program, unsafe=True).new_text
    assert "self.layers = ModuleList([Linear(3, 3)])" in text
    assert "import" in text.split("class")[0]
    assert "ModuleList" in text.split("class")[0]


SILENT = {
    "registered by add_module": (
        'self.layers = []\nfor i in range(depth):\n    m = nn.Linear(3, 3)\n    self.add_module(f"m{i}", m)\n    self.layers.append(m)',
        LOOP,
    ),
    "registered by setattr": (
        'self.layers = []\nfor i in range(depth):\n    m = nn.Linear(3, 3)\n    setattr(self, f"m{i}", m)\n    self.layers.append(m)',
        LOOP,
    ),
    "registered by Sequential": (
        "layers = [nn.Linear(3, 3)]\nself.net = nn.Sequential(*layers)\nself.layers = layers",
        LOOP,
    ),
    "named as well": ("self.a = nn.Linear(3, 3)\nself.b = nn.Linear(3, 3)\nself.layers = [self.a, self.b]", LOOP),
    "already a module list": ("self.layers = nn.ModuleList([nn.Linear(3, 3)])", LOOP),
    "no tensors": ("self.layers = [nn.ReLU(), nn.Dropout(0.1)]", LOOP),
    "not used on tensors": ("self.fc = nn.Linear(3, 3)\nself.layers = [nn.Linear(3, 3)]", "return self.fc(x)"),
    "moved where it is called": (
        "self.layers = [nn.Linear(3, 3)]",
        "for layer in self.layers:\n    x = layer.to(x.device)(x)\nreturn x",
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert found(module(*SILENT[name]), "DVF302") == []


def test_a_class_that_moves_its_list_itself_is_silent() -> None:
    program = module("self.layers = [nn.Linear(3, 3)]", LOOP).replace(
        "    def forward",
        "    def _apply(self, fn):\n        super()._apply(fn)\n        for layer in self.layers:\n            layer._apply(fn)\n        return self\n\n    def forward",
    )
    assert found(program, "DVF302") == []


def test_a_class_without_a_caller_is_judged_too() -> None:
    program = module("self.layers = [nn.Linear(3, 3)]", LOOP).partition("\n\ndef run")[0] + "\n"
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.UNSAFE


def test_a_plain_class_is_another_matter() -> None:
    program = (
        module("self.layers = [nn.Linear(3, 3)]", LOOP)
        .replace("class Net(nn.Module)", "class Net")
        .replace("        super().__init__()\n", "")
    )
    assert found(program, "DVF302") == []


# -- parameters ------------------------------------------------------------------------------------------------------

SUM = "for p in self.scales:\n    x = x * p\nreturn x"

PARAMETERS = {
    "comprehension": ("self.scales = [nn.Parameter(torch.ones(3)) for _ in range(depth)]", "nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(depth)])"),
    "appended": ("self.scales = []\nfor _ in range(depth):\n    self.scales.append(nn.Parameter(torch.ones(3)))", "self.scales = nn.ParameterList()"),
    "literal": ("self.scales = [nn.Parameter(torch.ones(3))]", "nn.ParameterList([nn.Parameter(torch.ones(3))])"),
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_become_a_parameter_list(name: str) -> None:
    init, after = PARAMETERS[name]
    program = module(init, SUM)
    (finding,) = found(program, "DVF303")
    assert finding.applicability is Applicability.UNSAFE
    rewritten = fix(program, unsafe=True)
    assert after in rewritten.new_text
    assert rewritten.remaining == []
    assert not fix(program).changed


def test_parameters_in_a_dict() -> None:
    program = module('self.scales = {"a": nn.Parameter(torch.ones(3))}', 'return x * self.scales["a"]')
    assert 'nn.ParameterDict({"a": nn.Parameter(torch.ones(3))})' in fix(program, unsafe=True).new_text


@pytest.mark.parametrize(
    "use", ["self.scales.insert(0, nn.Parameter(torch.ones(3)))", "self.scales.pop()", "self.scales.sort(key=id)"]
)
def test_parameter_lists_can_do_less(use: str) -> None:
    program = module(f"self.scales = [nn.Parameter(torch.ones(3)) for _ in range(depth)]\n{use}", SUM)
    (finding,) = found(program, "DVF303")
    assert finding.applicability is Applicability.REPORT


SILENT_PARAMETERS = {
    "named as well": "self.a = nn.Parameter(torch.ones(3))\nself.scales = [self.a]",
    "registered": 'self.scales = []\nfor i in range(depth):\n    p = nn.Parameter(torch.ones(3))\n    self.register_parameter(f"p{i}", p)\n    self.scales.append(p)',
    "registered by setattr": 'self.scales = []\nfor i in range(depth):\n    p = nn.Parameter(torch.ones(3))\n    setattr(self, f"p{i}", p)\n    self.scales.append(p)',
    "already a parameter list": "self.scales = nn.ParameterList([nn.Parameter(torch.ones(3))])",
    "of a registered module": "self.fc = nn.Linear(3, 3)\nself.scales = [self.fc.bias]",
}


@pytest.mark.parametrize("name", SILENT_PARAMETERS)
def test_groups_of_registered_parameters_are_silent(name: str) -> None:
    result = check(module(SILENT_PARAMETERS[name], SUM))
    assert result.findings == []


# -- what torch really offers ----------------------------------------------------------------------------------------


def test_the_lists_of_methods_and_names_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for name, methods in METHODS.items():
        replacement = getattr(torch.nn, name)
        plain = dict if name.endswith("Dict") else list
        for method in methods:
            assert hasattr(replacement, method), (name, method)
            assert hasattr(plain, method), (name, method)
    taken = {n for cls in (torch.nn.ModuleDict, torch.nn.ParameterDict) for n in dir(cls()) if not n.startswith("_")}
    assert taken - TAKEN == set()


NESTED = {
    "sequential": "self.layers = [nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(depth)]",
    "sequential in a sequential": "self.layers = [nn.Sequential(nn.Sequential(nn.Linear(3, 3)), nn.ReLU())]",
    "blocks": "self.layers = [Block() for _ in range(depth)]",
    "built by a function": "self.layers = []\nfor _ in range(depth):\n    self.layers.append(block())",
}
BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleList([nn.Linear(3, 3)])

    def forward(self, x):
        return self.inner[0](x)


def block():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU())


"""


@pytest.mark.parametrize("name", NESTED)
def test_modules_that_hold_the_layers_are_members_too(name: str) -> None:
    program = module(NESTED[name], LOOP, BLOCK)
    (finding,) = found(program, "DVF302")
    assert finding.applicability is Applicability.UNSAFE
    assert found(program, "DVF502") == []
    assert "nn.ModuleList(" in fix(program, unsafe=True).new_text


RUN_TIME_KEYS = {
    "names": ("{name: nn.Linear(3, 3) for name in depth}", "strings without dots"),
    "items": ("{name: nn.Linear(3, size) for name, size in depth.items()}", "strings without dots"),
    "f-string": ('{f"head_{name}": nn.Linear(3, 3) for name in depth}', "strings without dots"),
    "pairs": ("dict((name, nn.Linear(3, 3)) for name in depth)", "strings without dots"),
    "text of the name": ("{str(size): nn.Linear(3, size) for size in depth}", "strings without dots"),
    "constant of the file": ("{name: nn.Linear(3, 3) for name in NAMES}", ""),
    "dict of the file": ("{name: nn.Linear(3, size) for name, size in SIZES.items()}", ""),
    "sorted": ("{name: nn.Linear(3, 3) for name in sorted(SIZES)}", ""),
    "sizes": ("{size: nn.Linear(3, size) for size in depth}", None),
    "computed": ("{i + 1: nn.Linear(3, 3) for i in range(2)}", None),
    "length": ("{len(name): nn.Linear(3, 3) for name in depth}", None),
    "pair as key": ("{(name, 1): nn.Linear(3, 3) for name in depth}", None),
    "constant with dots": ("{name: nn.Linear(3, 3) for name in DOTTED}", None),
    "f-string with a dot": ('{f"head.{name}": nn.Linear(3, 3) for name in depth}', None),
}
CONSTANTS = 'NAMES = ("a", "b")\nSIZES = {"a": 3, "b": 3}\nDOTTED = ["a.b"]\n\n\n'


@pytest.mark.parametrize("name", RUN_TIME_KEYS)
def test_keys_made_at_run_time(name: str) -> None:
    value, doubt = RUN_TIME_KEYS[name]
    program = module(
        f"self.layers = {value}", "for layer in self.layers.values():\n    x = layer(x)\nreturn x", CONSTANTS
    )
    (finding,) = found(program, "DVF302")
    if doubt is None:
        assert finding.applicability is Applicability.REPORT
        return
    assert finding.fix is not None
    assert finding.applicability is Applicability.UNSAFE
    assert doubt in finding.fix.reason
    assert ("strings without dots" in finding.fix.reason) is bool(doubt)
    assert "state_dict" in finding.fix.reason
