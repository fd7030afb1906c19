"""How a device is named at a place: the nearest tensor that surely is one there."""

from __future__ import annotations

import pytest

from rules.programs import added, levels, source

CODE = "DVF201"


def forward(body: str, signature: str = "x", init: str = "pass") -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return source(
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n        {init}\n\n"
        f"    def forward(self, {signature}):\n{lines}\n\n\ndef run(device):\n    model = Net().to(device)\n    t = torch.randn(2, 3, device=device)\n    return model(t)\n"
    )


def device(text: str) -> str | None:
    """The device that the only rewritten factory call was given."""
    new = [line for line in added(text, CODE) if "torch.zeros" in line]
    if not new:
        return None
    assert len(new) == 1
    return new[0].partition("device=")[2].partition(",")[0].partition(")")[0]


def test_settings_that_a_model_was_moved_by_name_its_device() -> None:
    text = source(
        """
        class Options:
            def __init__(self, device):
                self.device = device
                self.spare_device = "cpu"

        def draw(net, options):
            return net(torch.zeros(2, 3))

        def run(device):
            options = Options(device)
            return draw(nn.Linear(3, 3).to(options.device), options)
        """
    )
    assert device(text) == "options.device"


def test_settings_of_another_device_do_not() -> None:
    text = source(
        """
        class Options:
            def __init__(self, device):
                self.device = device

        def draw(net, options):
            return net(torch.zeros(2, 3))

        def run(device, other):
            return draw(nn.Linear(3, 3).to(device), Options(other))
        """
    )
    assert device(text) == "next(net.parameters("  # up to the first parenthesis


ELSEWHERE = [
    pytest.param("from settings import DEVICE", "DEVICE", id="imported"),
    pytest.param("import settings", "settings.DEVICE", id="of-a-module"),
    pytest.param("from settings import options", "options.run.device", id="of-an-object"),
    pytest.param(
        "import argparse\noptions = argparse.ArgumentParser().parse_args()", "options.device", id="of-arguments"
    ),
]


@pytest.mark.parametrize(("imports", "path"), ELSEWHERE)
def test_what_moves_of_the_file_name_is_used_elsewhere(imports: str, path: str) -> None:
    text = f"{imports}\n" + source(
        f"""
        def build():
            return nn.Linear(3, 3).to({path})

        def draw():
            return build()(torch.zeros(2, 3))
        """
    )
    assert device(text) == path


@pytest.mark.parametrize("line", ["DEVICE = 3", "for DEVICE in range(2): pass"])
def test_not_where_the_name_is_another_thing(line: str) -> None:
    text = "from settings import DEVICE\n" + source(
        f"""
        def build():
            return nn.Linear(3, 3).to(DEVICE)

        def draw():
            {line}
            return build()(torch.zeros(2, 3))
        """
    )
    assert device(text) is None


def test_not_a_name_that_only_the_program_binds() -> None:
    text = source(
        """
        def build():
            return nn.Linear(3, 3).to(options.device)

        def draw():
            return build()(torch.zeros(2, 3))

        if __name__ == "__main__":
            options = read_options()
            draw()
        """
    )
    assert device(text) is None


ORDER = [
    pytest.param("return x + torch.zeros(3)", "x.device", id="what-it-meets"),
    pytest.param("h = self.fc(x)\nreturn h + torch.zeros(3)", "h.device", id="what-it-meets-before-the-input"),
    pytest.param("n = torch.zeros(3)\nh = self.fc(x)\nreturn h + n", "x.device", id="only-what-is-alive"),
    pytest.param("b, c = x.shape\nn = torch.zeros(b, c)\nreturn self.fc(n)", "x.device", id="sizes-come-from-it"),
    pytest.param("return self.fc(torch.zeros(2, 3))", "x.device", id="input-before-weight"),
    pytest.param("x = x[0]\nreturn x + torch.zeros(3)", "x.device", id="rebound-to-a-tensor"),
    pytest.param("n = x.size(0)\nx = n\nreturn self.fc(torch.zeros(x, 3))", "self.fc.weight.device", id="rebound-to-a-number"),
    pytest.param("x = [x, x]\nreturn x[0] + torch.zeros(3)", "x[0].device", id="rebound-to-a-list"),
    pytest.param("d = {'a': x}\nx = None\nreturn d['a'] + torch.zeros(3)", 'd["a"].device', id="in-a-dict"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ORDER)
def test_the_order_of_references(body: str, expected: str) -> None:
    assert device(forward(body)) == expected


NEVER = [
    pytest.param("h = x if y is None else y\nreturn h + torch.zeros(3)", "x, y=None", "y.device", id="optional"),
    pytest.param("if self.training:\n    h = self.fc(x)\nreturn x + torch.zeros(3)", "x", "h.device", id="perhaps-unbound"),
    pytest.param("for h in []:\n    pass\nreturn x + torch.zeros(3)", "x", "h.device", id="loop-variable"),
    pytest.param("n = torch.zeros(3)\ny = x * 2\nreturn y + n", "x", "y.device", id="made-later"),
    pytest.param("k = x.cpu()\nreturn x + torch.zeros(3) + k.to(x.device)", "x", "k.device", id="on-the-cpu"),
    pytest.param("s = x.shape\nreturn x + torch.zeros(s)", "x", "s.device", id="shape"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "signature", "never"), NEVER)
def test_what_is_no_reference(body: str, signature: str, never: str) -> None:
    assert device(forward(body, signature)) not in (never, None)


def test_a_parameter_that_may_be_none_is_not_asked() -> None:
    text = source(
        "def f(device, mask=None):\n    x = torch.ones(3, device=device)\n    if mask is not None:\n        x = x * mask\n    return x + torch.zeros(3)"
    )
    assert device(text) in ("device", "x.device")


def test_an_element_of_a_list_that_may_be_empty_is_unsafe() -> None:
    text = source(
        "def f(device, n):\n    xs = [torch.ones(3, device=device) for _ in range(n)]\n    return torch.stack(xs) + torch.zeros(3)\n"
    )
    assert set(levels(text, CODE)) <= {"safe", "unsafe"}
    if levels(text, CODE) == ["unsafe"]:
        assert added(text, CODE) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("def f(args):\n    m = nn.Linear(3, 3).to(args.device)\n    return m(torch.zeros(2, 3))", "args.device", id="args"),
        pytest.param("def f(device):\n    m = nn.Linear(3, 3).to(device)\n    return m(torch.zeros(2, 3))", "device", id="parameter"),
        pytest.param("dev = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nm = nn.Linear(3, 3).to(dev)\nm(torch.zeros(2, 3))", "dev", id="script"),
        pytest.param("dev = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n\n\ndef f():\n    m = nn.Linear(3, 3).to(dev)\n    return m(torch.zeros(2, 3))", "dev", id="global"),
        pytest.param("class T:\n    def __init__(self, device):\n        self.device = device\n        self.m = nn.Linear(3, 3).to(device)\n\n    def go(self):\n        return self.m(torch.zeros(2, 3))", "self.device", id="attribute"),
    ],
)  # fmt: skip
def test_device_variables(text: str, expected: str) -> None:
    assert device(source(text)) == expected


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        pytest.param(("self.fc = nn.Linear(3, 3)", "self.zero = self.make()"), "self.fc.weight.device", id="weight-before"),
        pytest.param(("self.register_buffer('zero', self.make())", "self.fc = nn.Linear(3, 3)"), None, id="weight-after"),
        pytest.param(("self.register_buffer('zero', None)", "self.fc = nn.Linear(3, 3)"), "self.fc.weight.device", id="empty-buffer"),
        pytest.param(("self.zero = self.make()", "self.device = device", "self.fc = nn.Linear(3, 3).to(device)"), None, id="device-after"),
    ],
)  # fmt: skip
def test_what_the_constructor_sets_later_names_nothing(init: tuple[str, ...], expected: str | None) -> None:
    text = source(
        "class Net(nn.Module):\n    def __init__(self, device):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "\n    def make(self):\n        return torch.zeros(2, 3)\n\n    def forward(self, ids):\n"
        "        return self.fc(self.make())\n\n\n"
        "def run(device):\n    return Net(device).to(device)(torch.ones(2, device=device))\n"
    )
    assert device(text) == expected
