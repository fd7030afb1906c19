"""DVF201: a tensor made on the default device meets one on the module's device."""

from __future__ import annotations

import pytest

from rules.programs import added, found, levels, lines, marked, repaired, source

CODE = "DVF201"


def forward(body: str, *, init: str = "", signature: str = "self, x") -> str:
    """A module that was moved, with a body of ``forward``."""
    init = "\n".join(f"        {line}" for line in init.splitlines())
    body = "\n".join(f"        {line}" for line in body.splitlines())
    return source(
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n{init}\n\n"
        f"    def forward({signature}):\n{body}\n\n\n"
        "def run(device):\n    model = Net().to(device)\n    return model(torch.randn(2, 3, device=device))\n"
    )


FLOATS = [
    pytest.param("return x + torch.ones(2, 3)  # !", "return x + torch.ones(2, 3, device=x.device, dtype=x.dtype)  # !", id="ones"),
    pytest.param("return x + torch.ones(2, 3,)  # !", "return x + torch.ones(2, 3, device=x.device, dtype=x.dtype,)  # !", id="trailing-comma"),
    pytest.param("n = torch.randn(x.shape)  # !\nreturn x + n", "n = torch.randn(x.shape, device=x.device, dtype=x.dtype)  # !", id="randn"),
    pytest.param("n = torch.randn(*x.shape)  # !\nreturn x + n", "n = torch.randn(*x.shape, device=x.device, dtype=x.dtype)  # !", id="star-args"),
    pytest.param("n = torch.zeros(2, 3, dtype=torch.float32)  # !\nreturn x + n", "n = torch.zeros(2, 3, dtype=torch.float32, device=x.device)  # !", id="explicit-dtype"),
    pytest.param("n = torch.eye(3)  # !\nreturn x @ n", "n = torch.eye(3, device=x.device, dtype=x.dtype)  # !", id="eye"),
    pytest.param("n = torch.full((2, 3), 0.5)  # !\nreturn x * n", "n = torch.full((2, 3), 0.5, device=x.device, dtype=x.dtype)  # !", id="full-of-floats"),
    pytest.param("n = torch.linspace(0, 1, 3)  # !\nreturn x * n", "n = torch.linspace(0, 1, 3, device=x.device, dtype=x.dtype)  # !", id="linspace"),
    pytest.param("n = torch.tensor([1.0, 2.0, 3.0])  # !\nreturn x * n", "n = torch.tensor([1.0, 2.0, 3.0], device=x.device, dtype=x.dtype)  # !", id="tensor-of-floats"),
    pytest.param("x = self.fc(x)\nn = torch.rand(2, 3)  # !\nreturn torch.cat([x, n])", "n = torch.rand(2, 3, device=x.device, dtype=x.dtype)  # !", id="cat"),
    pytest.param("return self.fc(torch.zeros(2, 3))  # !", "return self.fc(torch.zeros(2, 3, device=x.device, dtype=x.dtype))  # !", id="into-a-module"),
    pytest.param("x += torch.ones(2, 3)  # !\nreturn x", "x += torch.ones(2, 3, device=x.device, dtype=x.dtype)  # !", id="augmented"),
    pytest.param("f = lambda y: y + torch.ones(3)  # !\nreturn f(x)", "f = lambda y: y + torch.ones(3, device=y.device, dtype=y.dtype)  # !", id="lambda"),
    pytest.param("'äß'; n = torch.ones(3); return x + n  # !", "'äß'; n = torch.ones(3, device=x.device, dtype=x.dtype); return x + n  # !", id="unicode-and-semicolons"),
    pytest.param("if self.training: x = x + torch.ones(3)  # !\nreturn x", "if self.training: x = x + torch.ones(3, device=x.device, dtype=x.dtype)  # !", id="one-line-if"),
    pytest.param("return [x + torch.ones(3) for _ in range(2)][0]  # !", "return [x + torch.ones(3, device=x.device, dtype=x.dtype) for _ in range(2)][0]  # !", id="comprehension"),
    pytest.param("return (x - torch.ones(3)).abs().mean() if self.training else x  # !", "return (x - torch.ones(3, device=x.device, dtype=x.dtype)).abs().mean() if self.training else x  # !", id="conditional"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), FLOATS)
def test_device_and_dtype_of_what_it_meets(body: str, expected: str) -> None:
    text = forward(body)
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == [expected]


DEVICE_ONLY = [
    pytest.param("n = torch.arange(3)  # !\nreturn x * n", "n = torch.arange(3, device=x.device)  # !", id="arange"),
    pytest.param("n = torch.arange(x.size(1))[None]  # !\nreturn x * n", "n = torch.arange(x.size(1), device=x.device)[None]  # !", id="arange-of-size"),
    pytest.param("n = torch.randint(0, 2, (2, 3))  # !\nreturn x * n", "n = torch.randint(0, 2, (2, 3), device=x.device)  # !", id="randint"),
    pytest.param("n = torch.tensor([1, 2, 3])  # !\nreturn x * n", "n = torch.tensor([1, 2, 3], device=x.device)  # !", id="tensor-of-ints"),
    pytest.param("n = torch.full((3,), 2)  # !\nreturn x * n", "n = torch.full((3,), 2, device=x.device)  # !", id="full-of-ints"),
    pytest.param("n = torch.ones(2, 3, dtype=torch.bool)  # !\nreturn x.masked_fill(n, 0)", "n = torch.ones(2, 3, dtype=torch.bool, device=x.device)  # !", id="mask"),
    pytest.param("n = torch.ones(2, 3)  # !\nreturn x.masked_fill(n == 0, 0)", "n = torch.ones(2, 3, device=x.device)  # !", id="mask-by-comparison"),
    pytest.param("t = torch.zeros(2, dtype=torch.long)  # !\nreturn F.cross_entropy(x, t)", "t = torch.zeros(2, dtype=torch.long, device=x.device)  # !", id="targets"),
    pytest.param("i = torch.tensor([[0, 1, 2]])  # !\nreturn x.gather(1, i)", "i = torch.tensor([[0, 1, 2]], device=x.device)  # !", id="gather"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), DEVICE_ONLY)
def test_integers_and_masks_get_no_dtype(body: str, expected: str) -> None:
    text = forward(body)
    assert lines(text, CODE) == marked(text)
    assert added(text, CODE) == [expected]


def test_a_call_over_several_lines_keeps_its_comments() -> None:
    text = forward("n = torch.zeros(  # !\n    2,  # rows\n    3,  # columns\n)  # noise\nreturn x + n")
    new = repaired(text, CODE)
    assert lines(text, CODE) == marked(text)
    for comment in ("# rows", "# columns", "# noise"):
        assert comment in new
    assert "device=x.device" in new


def test_inside_an_f_string_there_is_no_fix() -> None:
    text = forward("print(f'{x + torch.ones(3)}')  # !\nreturn x")
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["report"]
    assert repaired(text, CODE, unsafe=True) == text


def test_line_endings_and_tabs_stay() -> None:
    text = forward("return x + torch.ones(2, 3)").replace("    ", "\t").replace("\n", "\r\n")
    assert repaired(text, CODE) == text.replace("ones(2, 3)", "ones(2, 3, device=x.device, dtype=x.dtype)")


MOVED = [
    pytest.param("import numpy as np\nn = torch.from_numpy(np.ones(3))  # !\nreturn x * n", "n = torch.from_numpy(np.ones(3)).to(x.device)  # !", id="from-numpy"),
    pytest.param("n = F.one_hot(torch.tensor([0, 1]), 3)\nreturn x * n", "n = F.one_hot(torch.tensor([0, 1], device=x.device), 3)", id="through-one-hot"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), MOVED)
def test_without_the_keyword_the_result_is_moved(body: str, expected: str) -> None:
    assert added(forward(body), CODE) == [expected]


REFERENCES = [
    pytest.param("forward", "self, x, y=None", "n = torch.ones(2, 3)\nreturn x + n if y is None else x + y", "x", id="not-the-optional-one"),
    pytest.param("forward", "self, x", "h = self.fc(x)\nx = x.shape\nn = torch.ones(2, 3)\nreturn h + n", "h", id="not-a-name-rebound-to-a-shape"),
    pytest.param("forward", "self, x", "b = x.size(0)\nn = torch.ones(b, 3)\nreturn n + x", "x", id="not-the-number"),
    pytest.param("forward", "self, x", "n = torch.ones(2, 3)\nh = self.fc(x)\nreturn h + n", "x", id="not-one-made-later"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "signature", "body", "expected"), REFERENCES)
def test_the_reference_is_a_tensor_that_is_alive(method: str, signature: str, body: str, expected: str) -> None:
    (line,) = added(forward(body, signature=signature), CODE)
    assert f"device={expected}.device" in line


def test_a_weight_is_the_reference_where_no_tensor_is() -> None:
    text = forward("return self.fc(self.start())").replace(
        "    def forward", "    def start(self):\n        return torch.zeros(1, 3)\n\n    def forward"
    )
    assert added(text, CODE) == ["return torch.zeros(1, 3, device=self.fc.weight.device, dtype=self.fc.weight.dtype)"]


def test_a_device_variable_is_the_reference_in_a_script() -> None:
    text = source("def run(device):\n    model = nn.Linear(3, 2).to(device)\n    return model(torch.ones(2, 3))")
    assert added(text, CODE) == ["return model(torch.ones(2, 3, device=device))"]


def test_a_parameter_is_threaded_only_unsafely() -> None:
    text = source(
        "def noise(n):\n    return torch.randn(n, 3)  # !\n\n\ndef run(device):\n    x = torch.ones(2, 3, device=device)\n    return x + noise(2)"
    )
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["unsafe"]
    assert added(text, CODE) == []
    assert added(text, CODE, unsafe=True) == [
        "def noise(n, device=None):", "return torch.randn(n, 3, device=device)  # !", "return x + noise(2, device=x.device)",
    ]  # fmt: skip


REPORTS = [
    pytest.param("g = torch.Generator()\nn = torch.randn(3, generator=g)  # !\nreturn x + n", "generator", id="generator"),
    pytest.param("b = torch.empty(3)\nn = torch.ones(3, out=b)\nreturn x + n", None, id="out"),
    pytest.param("n = torch.ones(3, pin_memory=True)  # !\nreturn x + n", "pinned", id="pinned"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "note"), REPORTS)
def test_arguments_that_forbid_a_device_are_reported(body: str, note: str | None) -> None:
    for finding in found(forward(body), CODE):
        if note is not None:
            assert finding.applicability.value == "report"
            assert note in finding.note


ONE_USER = "\n\n\ndef run(device):\n    return torch.ones(2, 3, device=device) * SCALE"


def test_a_global_constant_is_moved_where_one_function_uses_it() -> None:
    text = source(f"SCALE = torch.ones(3)  # !{ONE_USER}")
    assert lines(text, CODE) == marked(text)
    assert levels(text, CODE) == ["safe"]
    assert added(text, CODE) == ["return torch.ones(2, 3, device=device) * SCALE.to(device)"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("def other(device):\n    return torch.zeros(2, 3, device=device) - SCALE", id="several-functions"),
        pytest.param("def other():\n    SCALE.mul_(2)", id="in-place"),
        pytest.param("def other():\n    SCALE[0] = 1", id="item"),
        pytest.param("if len(SCALE):\n    SCALE = torch.ones(3) * 2", id="bound-twice"),
    ],
)
def test_a_global_tensor_that_many_use_or_that_changes_is_reported(more: str) -> None:
    text = source(f"SCALE = torch.ones(3)\n\n\n{more}{ONE_USER}")
    assert set(levels(text, CODE)) == {"report"}
    assert all("imported" in finding.note for finding in found(text, CODE))


SILENT = [
    pytest.param("n = torch.ones(2, 3, device=x.device)\nreturn x + n", id="device-given"),
    pytest.param("n = torch.ones(2, 3).to(x.device)\nreturn x + n", id="moved-in-the-chain"),
    pytest.param("n = torch.ones(2, 3)\nn = n.to(x)\nreturn x + n", id="moved-later"),
    pytest.param("n = torch.ones(2, 3).type_as(x)\nreturn x + n", id="type-as"),
    pytest.param("kw = {'device': x.device, 'dtype': x.dtype}\nn = torch.ones(2, 3, **kw)\nreturn x + n", id="factory-kwargs"),
    pytest.param("return x + torch.zeros_like(x)", id="like"),
    pytest.param("return x + x.new_ones(2, 3)", id="new"),
    pytest.param("with torch.device(x.device):\n    n = torch.ones(2, 3)\nreturn x + n", id="device-context"),
    pytest.param("return x * torch.tensor(0.5)", id="zero-dim"),
    pytest.param("return x + torch.tensor([1.0, 2.0]).sum().item()", id="number"),
    pytest.param("i = torch.randperm(x.size(0))\nreturn x[i]", id="index"),
    pytest.param("i = torch.arange(2)\nreturn x[i, i]", id="two-indices"),
    pytest.param("if torch.rand(1) < 0.5:\n    return x\nreturn x * 2", id="condition"),
    pytest.param("if torch.rand([]).item() < 0.5:\n    return x\nreturn x * 2", id="layer-drop"),
    pytest.param("for i in torch.randperm(2):\n    x = x + int(i)\nreturn x", id="loop"),
    pytest.param("b = torch.empty(2, 3)\nb.copy_(x)\nreturn b", id="copy"),
    pytest.param("b = torch.zeros(2, 3)\nb[:] = x\nreturn b", id="slice-assignment"),
    pytest.param("n = torch.ones(2, 3)\nreturn x.cpu() + n", id="on-the-cpu"),
    pytest.param("n = torch.ones(2, 3)\nm = n * 2\nreturn x", id="never-meets"),
    pytest.param("out = torch.tensor([])\nreturn x", id="placeholder"),
    pytest.param("n = torch.as_tensor(x)\nreturn x + n", id="as-tensor-of-a-tensor"),
    pytest.param("l = torch.tensor([3, 2])\nreturn nn.utils.rnn.pack_padded_sequence(x, l)", id="lengths"),
]  # fmt: skip


@pytest.mark.parametrize("body", SILENT)
def test_what_is_right_is_silent(body: str) -> None:
    assert found(forward(body), CODE) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def run():\n    return torch.ones(2) + torch.zeros(2)", id="all-on-the-cpu"),
        pytest.param("torch.set_default_device('cuda')\nm = nn.Linear(2, 2)\nm(torch.ones(1, 2))", id="default-device"),
        pytest.param("class D(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return torch.ones(2) + torch.rand(2)", id="dataset"),
        pytest.param("def collate(items):\n    return torch.stack(items) + torch.ones(2)", id="collate"),
        pytest.param("class Net(nn.Module):\n    def table(self, size=(14, 14), most=100):\n        return torch.div(torch.arange(0, most * (size[1] + 1)), size[1], rounding_mode='trunc')", id="numbers-by-default"),
        pytest.param("class Net(nn.Module):\n    def grid(self, n, times):\n        h = torch.arange(n)\n        times = torch.Tensor(times).long()\n        return torch.stack([times, h])", id="name-bound-anew"),
        pytest.param("class MelFeatureExtractor:\n    def fade(self, wave: torch.Tensor):\n        wave[-3:] *= torch.linspace(1, 0, 3)\n        return wave", id="feature-extractor"),
        pytest.param("import numpy as np\ndef f(x):\n    return np.zeros(2) + np.ones(2)", id="numpy"),
    ],
)  # fmt: skip
def test_code_without_a_second_device_is_silent(text: str) -> None:
    assert found(source(text), CODE) == []
