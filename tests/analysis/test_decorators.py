"""What is called under the name of a decorated function or class."""

from __future__ import annotations

import textwrap

import pytest

from analysis.running import code, codes, value_of

LOOP = """
class Loop:
    def __init__(self, model, place):
        self.model, self.place = model, place

    {decorator}
    def step(self, x, y):
        return F.mse_loss(self.model(x), y)

    def epoch(self, loader):
        return [self.step(x, y) for x, y in loader]


def run(device):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(4, 2), torch.rand(4, 1)))
    return Loop(nn.Linear(2, 1).to(device), device).epoch(loader)
"""


def loop(decorator: str, definition: str = "") -> list[str]:
    """Codes found in a training loop whose step is decorated."""
    return codes(code(textwrap.dedent(definition) + LOOP.replace("{decorator}", decorator)))


@pytest.mark.parametrize(
    "decorator",
    [
        "@torch.no_grad()",
        "@torch.inference_mode()",
        "@torch.jit.export",
        "@torch.compile",
        "@torch.cuda.amp.autocast(enabled=False)",
        "@functools.lru_cache(maxsize=None)",
        "@typing.override",
        "@abc.abstractmethod",
        "@library.deprecated('soon')",
        "@library.STEPS.register('step')",
    ],
)
def test_harmless_decorators_change_no_device(decorator: str) -> None:
    assert loop(decorator, "import abc, functools, typing\nimport library\n") == ["DVF501"]


@pytest.mark.parametrize(
    "decorator", ["@placed", "@placed('cuda')", "@library.placed", "@library.tools[0]", "@steps.on"]
)
def test_nothing_is_known_of_arguments_under_an_unseen_decorator(decorator: str) -> None:
    assert loop(decorator, "import library\nfrom library import placed, steps\n") == []


@pytest.mark.parametrize(
    "body",
    [
        "return f(self, *[t.to(self.place) for t in tensors])",
        "return f(self, *(t.to(self.place) for t in tensors))",
        "return f(self, *map(lambda t: t.to(self.place), tensors))",
        "x, y = tensors\n        return f(self, x.to(self.place), y=y.to(self.place))",
        "return f(self, *unseen(tensors))",
        "tensors = [t.to(self.place) for t in tensors]\n        return f(self, *tensors)",
    ],
)
def test_a_wrapper_that_moves_is_followed(body: str) -> None:
    assert loop("@placed", f"def placed(f):\n    def inner(self, *tensors):\n        {body}\n    return inner\n") == []


@pytest.mark.parametrize(
    "body",
    [
        "return f(self, *tensors)",
        "print(len(tensors))\n        return f(self, *tensors)",
        "x, y = tensors\n        return f(self, x, y=y)",
        "x, y = tensors\n        return f(self, x.to(self.place), y)",
    ],
)
def test_a_wrapper_that_hands_on_is_followed(body: str) -> None:
    found = loop("@watched", f"def watched(f):\n    def inner(self, *tensors):\n        {body}\n    return inner\n")
    assert found == ["DVF501"]


@pytest.mark.parametrize(
    "definition",
    [
        "def phase(f):\n    return f\n",
        "SEEN = []\ndef phase(f):\n    SEEN.append(f)\n    return f\n",
        "import contextlib\n@contextlib.contextmanager\ndef phase_of():\n    yield\nphase = phase_of()\n",
    ],
)
def test_decorators_that_give_the_function_itself(definition: str) -> None:
    decorator = "@phase_of()" if "phase_of" in definition else "@phase"
    assert loop(decorator, definition) == ["DVF501"]


def test_an_object_in_place_of_a_method_gets_no_instance() -> None:
    definition = "class Placed:\n    def __init__(self, f):\n        self.f = f\n    def __get__(self, o, t):\n        return 1\n"
    assert loop("@Placed", definition) == []


def test_a_decorator_of_the_class_body() -> None:
    program = LOOP.replace(
        "    {decorator}\n",
        "    def placed(f):\n        def inner(self, x, y):\n            return f(self, x.to(self.place), "
        "y.to(self.place))\n        return inner\n\n    @placed\n",
    )
    assert codes(code(program)) == []


CLASS = """
{decorator}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(x)

{below}

def run(device):
    net = Net().to(device)
    {prepare}
    return [net(x) for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(4, 2)))]
"""


def of_class(*, decorator: str = "", below: str = "", prepare: str = "pass") -> list[str]:
    """Codes found where a module class, or an instance, is changed."""
    text = CLASS.replace("{decorator}", decorator).replace("{below}", below).replace("{prepare}", prepare)
    return codes(code("from library import MODELS, moves\n" + text))


PATCH = "def f(self, x):\n    return self.fc(x.to(self.fc.weight.device))\nNet.forward = f"
SUBCLASS = """
def placed(cls):
    class Placed(cls):
        def forward(self, x):
            return super().forward(x.to(self.fc.weight.device))
    return Placed
Net = placed(Net)
"""


def test_classes_that_stay_what_they_are() -> None:
    assert of_class() == ["DVF501"]
    assert of_class(decorator="@MODELS.register_module()") == ["DVF501"]
    assert of_class(below="Net.title = 'net'") == ["DVF501"]
    assert of_class(prepare="net.title = 'net'") == ["DVF501"]


def test_classes_and_instances_that_were_changed() -> None:
    assert of_class(decorator="@moves") == []
    assert of_class(below="Net = moves(Net)") == []
    assert of_class(below=PATCH) == []
    assert of_class(below=SUBCLASS) == []
    assert of_class(prepare="old = net.forward; net.forward = lambda x: old(x.to(device))") == []
    assert of_class(prepare="net.forward = moves(net.forward)") == []


def test_a_function_that_is_bound_anew() -> None:
    head = "def double(f):\n    def inner(x):\n        return f(x).to('cuda:1')\n    return inner\ndef make(n):\n    return torch.ones(n)\n"
    assert value_of(head + "x = make(2)").device.host  # type: ignore[union-attr]
    assert not value_of(head + "make = double(make)\nx = make(2)").device.host  # type: ignore[union-attr]


def test_a_decorated_function_that_calls_itself() -> None:
    assert value_of(
        "def twice(f):\n    return lambda n: f(n)\n@twice\ndef x_of(n):\n    return x_of(n - 1)\nx = x_of(3)"
    )
