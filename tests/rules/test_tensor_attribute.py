"""DVF301: a tensor kept as a plain attribute of a module."""

from __future__ import annotations

import pytest

from rules.programs import added, codes, found, levels, lines, marked, repaired, source

CODE = "DVF301"


def net(
    init: str, forward: str = "return x + self.t", *, more: str = "", base: str = "nn.Module", before: str = ""
) -> str:
    """A module that is moved and called."""

    def block(text: str) -> str:
        return "".join(f"        {line}\n" if line else "\n" for line in text.splitlines())

    more = "".join(f"    {line}\n" if line else "\n" for line in more.splitlines())
    return source(
        f"class Net({base}):\n{more}    def __init__(self, n=3):\n{block(before)}        super().__init__()\n{block(init)}\n"
        f"    def forward(self, x):\n{block(forward)}\n\n"
        "def run(device):\n    return Net().to(device)(torch.ones(2, 3, device=device))\n"
    )


FIXED = [
    pytest.param("self.t = torch.ones(3)  # !", 'self.register_buffer("t", torch.ones(3), persistent=False)  # !', id="plain"),
    pytest.param("self.t = torch.ones(n).cuda()  # !", 'self.register_buffer("t", torch.ones(n), persistent=False)  # !', id="cuda-goes"),
    pytest.param("self.t = torch.ones(3); self.n = n  # !", 'self.register_buffer("t", torch.ones(3), persistent=False); self.n = n  # !', id="semicolon"),
    pytest.param("if n: self.t = torch.ones(3)  # !\nelse: self.t = torch.zeros(3)", 'if n: self.register_buffer("t", torch.ones(3), persistent=False)  # !', id="one-line-if"),
    pytest.param("'ß'; self.t = torch.ones(3)  # !", "'ß'; self.register_buffer(\"t\", torch.ones(3), persistent=False)  # !", id="unicode"),
    pytest.param("t = torch.ones(3)\nself.t = t  # !", 'self.register_buffer("t", t, persistent=False)  # !', id="by-name"),
    pytest.param("self.t = torch.tensor([1.0, 2.0, 3.0],)  # !", 'self.register_buffer("t", torch.tensor([1.0, 2.0, 3.0],), persistent=False)  # !', id="trailing-comma"),
    pytest.param("self.t = torch.ones(*(3,))  # !", 'self.register_buffer("t", torch.ones(*(3,)), persistent=False)  # !', id="star-args"),
    pytest.param("self.t = (lambda k: torch.ones(k))(3)  # !", 'self.register_buffer("t", (lambda k: torch.ones(k))(3), persistent=False)  # !', id="lambda"),
]  # fmt: skip


@pytest.mark.parametrize(("init", "expected"), FIXED)
def test_the_assignment_becomes_a_registration(init: str, expected: str) -> None:
    text = net(init)
    assert marked(text)[0] in lines(text, CODE)
    assert set(levels(text, CODE)) == {"safe"}
    assert expected in added(text, CODE)
    assert codes(repaired(text, CODE)) == []


def test_lines_and_comments_stay() -> None:
    text = net(
        "self.t = torch.tensor(  # !\n    [\n        1.0,  # first\n        2.0,\n        3.0,\n    ]\n)  # last"
    )
    new = repaired(text, CODE)
    assert 'self.register_buffer("t", torch.tensor(  # !' in new
    assert "1.0,  # first" in new
    assert "), persistent=False)  # last" in new


def test_line_endings_and_tabs_stay() -> None:
    text = net("self.t = torch.ones(3)").replace("    ", "\t").replace("\n", "\r\n")
    assert repaired(text, CODE) == text.replace(
        "self.t = torch.ones(3)", 'self.register_buffer("t", torch.ones(3), persistent=False)'
    )


def test_an_annotation_moves_to_the_class() -> None:
    text = net("self.t: torch.Tensor = torch.ones(3)")
    assert added(text, CODE) == ["t: torch.Tensor", "", 'self.register_buffer("t", torch.ones(3), persistent=False)']


def test_the_first_none_is_the_one_to_convert() -> None:
    text = net("self.t = None", "if self.t is None:\n    self.t = torch.ones(3)\nreturn x + self.t")
    new = repaired(text, CODE)
    assert new == text or 'register_buffer("t", None, persistent=False)' in new


def test_attributes_that_are_set_together() -> None:
    text = net("self.t, self.u = torch.ones(3), torch.zeros(3)", "return x + self.t + self.u")
    assert [line for line in added(text, CODE) if "register_buffer" in line] == [
        'self.register_buffer("t", torch.ones(3), persistent=False)', 'self.register_buffer("u", torch.zeros(3), persistent=False)',
    ]  # fmt: skip


def test_a_base_class_in_between() -> None:
    text = net("self.t = torch.ones(3)  # !", base="Base").replace(
        "class Net", "class Base(nn.Module):\n    pass\n\n\nclass Net", 1
    )
    assert lines(text, CODE) == marked(text)


def test_a_copy_at_every_call_is_unsafe() -> None:
    text = net("self.t = torch.ones(3)  # !", "return x + self.t.to(x.device)")
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["unsafe"]
    assert added(text, CODE) == []
    assert added(text, CODE, unsafe=True) == [
        'self.register_buffer("t", torch.ones(3), persistent=False)  # !',
        "return x + self.t",
    ]


REPORTS = [
    pytest.param(net("pass", before="self.t = torch.ones(3)  # !"), "super().__init__()", id="before-super"),
    pytest.param(net("self.t = torch.ones(3, requires_grad=True)  # !"), "requires grad", id="requires-grad"),
    pytest.param(net("self.t = torch.ones(3)  # !", more="t = None\n"), "class has an attribute", id="class-attribute"),
    pytest.param(net("self.t = torch.ones(3)  # !", more="def cuda(self, *a):\n    return super().cuda(*a)\n\n"), "moves tensors itself", id="own-cuda"),
    pytest.param(net("self.t = torch.ones(3)  # !", more="def drop(self):\n    del self.t\n\n"), "deleted", id="deleted"),
    pytest.param(net("for _ in range(2):\n    self.t = torch.ones(3)  # !"), "loop", id="loop"),
    pytest.param(net("self.t = self.u = torch.ones(3)  # !"), "other targets", id="chained"),
    pytest.param(net("self.t = torch.ones(3)  # !", more="def reset(self):\n    self.t = 1\n\n"), "no tensor", id="number-later"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "note"), REPORTS)
def test_what_cannot_be_registered_is_reported(text: str, note: str) -> None:
    finding = found(text, CODE)[0]
    assert (finding.span.start.line, finding.applicability.value) == (marked(text)[0], "report")
    assert note in finding.note
    assert repaired(text, CODE, unsafe=True) == text


PLAIN_CLASS = "class Scale:\n    def __init__(self):\n        self.t = torch.ones(3)  # !\n\n    def __call__(self, x):\n        return x * self.t\n\n\n"


def test_the_tensor_of_a_plain_class_is_moved_where_it_is_used() -> None:
    text = source(PLAIN_CLASS + "def run(device):\n    return Scale()(torch.ones(3, device=device))")
    assert lines(text, CODE) == marked(text)
    assert repaired(text, CODE) == text.replace("x * self.t", "x * self.t.to(x.device)")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("self.t = torch.ones(3)", "self.t = torch.ones(3, device=device)", id="one-call"),
        pytest.param("self.t = make(3)", "self.t = make(3).to(device)", id="helper"),
        pytest.param("self.t = torch.ones(3) + torch.eye(3)[0]", "self.t = (torch.ones(3) + torch.eye(3)[0]).to(device)", id="two-calls"),
    ],
)  # fmt: skip
def test_a_plain_class_that_knows_the_device(line: str, expected: str) -> None:
    text = source(
        "def make(n):\n    return torch.arange(n) / n\n\n\n"
        f"class Scale:\n    def __init__(self, device):\n        {line}\n        self.device = device\n\n"
        "    def __call__(self, x):\n        return x * self.t\n\n\n"
        "def run(device):\n    return Scale(device)(torch.ones(3, device=device))"
    )
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]


def test_a_plain_class_is_reported_where_several_functions_use_the_tensor() -> None:
    text = source(
        PLAIN_CLASS
        + "def run(device):\n    s = Scale()\n    x = torch.ones(3, device=device)\n    return s(x) + x * s.t"
    )
    assert levels(text, CODE) == ["report"]
    assert lines(text, CODE) == marked(text)


@pytest.mark.parametrize(
    "value", ["self.w.weight.sum(0)", "self.w.weight * 2", "torch.exp(self.w.bias)", "self.w.weight @ self.w.bias"]
)
def test_computed_from_parameters(value: str) -> None:
    text = net(f"self.w = nn.Linear(3, 3)\nself.t = {value}  # !")
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["report"]
    assert "graph" in found(text, CODE)[0].message


@pytest.mark.parametrize(
    "value",
    ["self.w.weight", "self.w.weight.data.sum(0)", "self.w.weight.detach() * 2", "torch.zeros_like(self.w.weight)", "self.w.weight > 0",
     "self.w.weight.new_zeros(3)", "self.w.weight.argmax(0)", "self.b.running_mean * 2"],
)  # fmt: skip
def test_taken_from_parameters_without_a_graph(value: str) -> None:
    text = net(f"self.w = nn.Linear(3, 3)\nself.b = nn.BatchNorm1d(3)\nself.t = {value}")
    assert "graph" not in "".join(f.message for f in found(text, CODE))


@pytest.mark.parametrize("line", ["self.w.requires_grad_(False)", "self.w.weight.requires_grad = False"])
def test_frozen_parameters_have_no_graph(line: str) -> None:
    assert found(net(f"self.w = nn.Linear(3, 3)\n{line}\nself.t = self.w.weight * 2"), CODE) == []


SILENT = [
    pytest.param('self.register_buffer("t", torch.ones(3))', "return x + self.t", "", id="buffer"),
    pytest.param('self.register_buffer("t", torch.ones(3), persistent=False)', "return x + self.t", "", id="buffer-non-persistent"),
    pytest.param("self.t = nn.Buffer(torch.ones(3))", "return x + self.t", "", id="nn-buffer"),
    pytest.param("self.t = nn.Parameter(torch.ones(3))", "return x + self.t", "", id="parameter"),
    pytest.param("self.t = torch.ones(3)\nself.t = nn.Parameter(self.t)", "return x + self.t", "", id="becomes-a-parameter"),
    pytest.param("self.t = torch.tensor([0, 2])", "a, b = self.t.tolist()\nreturn x[a:b]", "", id="read-as-numbers"),
    pytest.param("self.t = torch.tensor(0.5)", "return x * self.t", "", id="zero-dim"),
    pytest.param("self.t = torch.randperm(2)", "return x[self.t]", "", id="index"),
    pytest.param("self.t = torch.ones(3)", "return x", "", id="not-used"),
    pytest.param("self.t = torch.ones(3)", "return x.cpu() + self.t", "", id="on-the-cpu"),
    pytest.param("self.t = torch.zeros(3)", "self.t += x.detach().cpu().sum(0)\nreturn x", "", id="accumulator"),
    pytest.param("self.t = torch.ones(3)", "self.t = self.t.to(x.device)\nreturn x + self.t", "", id="moved-in-place"),
    pytest.param("self.t = torch.ones(3)", "return x + self.t", "def _apply(self, fn):\n    super()._apply(fn)\n    self.t = fn(self.t)\n    return self\n\n", id="own-apply"),
    pytest.param("self.t = [1, 2, 3]", "return x + torch.tensor(self.t, device=x.device)", "", id="list"),
    pytest.param("self.t = nn.Linear(3, 3)", "return self.t(x)", "", id="module"),
    pytest.param("self.t = n", "return x + self.t", "", id="number"),
    pytest.param("self.t = torch.device('cpu')", "return x", "", id="device"),
    pytest.param("self.t = torch.ones(3)\nself.b = nn.BatchNorm1d(3)", "return self.b(x)", "", id="beside-a-layer"),
]  # fmt: skip


@pytest.mark.parametrize(("init", "forward", "more"), SILENT)
def test_what_is_right_is_silent(init: str, forward: str, more: str) -> None:
    assert [f for f in found(net(init, forward, more=more), CODE) if f.applicability.value != "unsafe"] == []


def test_a_dropped_move_of_a_property_is_the_one_finding() -> None:
    text = source(
        """
        class Scene:
            def __init__(self, points):
                self._points = points

            @property
            def points(self):
                return self._points

        def run(device):
            scene = Scene(torch.ones(2, 3))
            scene.points.to(device)
            return nn.Linear(3, 3).to(device)(scene.points)
        """
    )
    assert codes(text) == ["DVF101"]


def test_what_is_computed_at_run_time_follows_what_it_is_computed_from() -> None:
    text = source("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.latest = None
        self.base = torch.rand(5)
        self.twice = self.base * 2

    def forward(self, x):
        if self.latest is None:
            self.latest = self.base.sort().values[2:4]
        return x.unsqueeze(0) + self.latest + self.base + self.twice
""")
    assert [f.message.split("`")[1] for f in found(text, CODE)] == ["self.base", "self.twice"]
