"""Pairs of programs that look alike: one with a fault, and one where the same line is right."""

from __future__ import annotations

import pytest

from rules.programs import added, codes, found, levels, lines, marked, source

LOADER = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\nfrom elsewhere import Base\n\n\n"


def of(text: str) -> list[str]:
    return codes(source(text, head=LOADER))


# -- tensors that are moved together ---------------------------------------------------------------------------------

SENT = """
    def embed(model, tokenizer, texts, target=None):
        place = next(model.parameters()).device
        encoded = tokenizer.batch_encode_plus(texts, return_tensors="pt")
        mask = encoded.attention_mask.to(place)
        output = model(encoded.input_ids.to(place), mask=mask)
        hidden = output.last_hidden_state.detach()
        mask = mask[..., None].bool()
        hidden.to(target)
        mask.to({place})
        return hidden.masked_fill(~mask, 0.0)
    """


def test_what_is_on_a_device_moves_with_all_or_not_at_all() -> None:
    assert levels(source(SENT.format(place="target")), "DVF101") == ["unsafe", "unsafe"]
    assert levels(source(SENT.format(place="texts.device")), "DVF101") == ["unsafe", "safe"]


# -- the device of a name next to it ---------------------------------------------------------------------------------


def test_a_tensor_in_an_operation_follows_the_other_operand() -> None:
    text = source(
        """
        class Mix(nn.Module):
            def apply(self, image: torch.Tensor, settings: dict[str, torch.Tensor]):
                dims = settings["dims"].round().to(torch.int) + 2
                return torch.index_select(torch.tensor(image.shape), dim=0, index=dims)
        """
    )
    assert added(text, "DVF201")[0].endswith("torch.tensor(image.shape, device=dims.device), dim=0, index=dims)")


def test_a_tensor_of_numbers_follows_the_buffer_that_it_meets() -> None:
    text = source(
        """
        class Nodes(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("spikes", torch.zeros(3))
                self.register_buffer("tau", torch.tensor(3.0))

            def kernel(self, step):
                t = torch.arange(0, 10, step)
                return torch.exp(-t / self.tau)

            def forward(self, x):
                return x * self.kernel(0.5).sum()
        """
    )
    assert added(text, "DVF201") == ["t = torch.arange(0, 10, step, device=self.tau.device, dtype=self.tau.dtype)"]


# -- leaves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grad", "level"), [("True", "report"), ("False", "safe")])
def test_a_variable_that_requires_grad_is_a_leaf(grad: str, level: str) -> None:
    text = source(
        f"""
        class Attack:
            def __init__(self, device):
                self.delta = torch.autograd.Variable(torch.zeros(3), requires_grad={grad})
                self.delta.to(device)
        """
    )
    assert levels(text, "DVF101") == [level]


# -- what is made of a tensor by an old constructor ------------------------------------------------------------------


def test_an_old_constructor_takes_no_tensor_of_a_card() -> None:
    text = """
        def calibrate(logits: torch.Tensor):
            {first}
            scale = torch.FloatTensor([0.5])
            return (logits / scale).exp()
        """
    assert of(text.format(first="logits = torch.FloatTensor(logits)")) == []
    assert of(text.format(first="logits = logits.exp()")) == ["DVF202"]


# -- containers of parameters ----------------------------------------------------------------------------------------

HELD = """
    class Tokens(Base):
        def __init__(self, width):
            super().__init__()
            {made}

        def loss(self, x: torch.Tensor):
            mask = torch.zeros(3, dtype=torch.bool, device=x.device)
            return torch.where(mask, x, {used})
    """


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("self.t = nn.ParameterList(); self.t.append(nn.Parameter(torch.zeros(width)))", "self.t[0]"),
        (
            "self.t = nn.ParameterList([nn.Parameter(torch.zeros(1))]); self.t.append(nn.Parameter(torch.zeros(width)))",
            "self.t[1]",
        ),
        ("self.t = nn.ParameterDict({}); self.t['a'] = nn.Parameter(torch.zeros(width))", "self.t['a']"),
    ],
)
def test_parameters_are_where_the_owner_of_their_container_puts_them(made: str, used: str) -> None:
    assert of(HELD.format(made=made, used=used)) == []


def test_other_tensors_are_not() -> None:
    assert of(HELD.format(made="pass", used="torch.zeros(3)")) == ["DVF201"]


# -- attributes ------------------------------------------------------------------------------------------------------


def test_what_is_computed_from_parameters_is_reported_where_that_happens() -> None:
    text = source(
        """
        class Prompt(nn.Module):
            def __init__(self, key=False):
                super().__init__()
                self.key = key
                self.prompt = nn.Parameter(torch.zeros(4, 5, 3))
                if key:
                    self.key = nn.Parameter(torch.zeros(4, 3))
                else:
                    mean = torch.mean(self.prompt, dim=1)
                    self.key = mean  # !

            def normal(self, x):
                return x * torch.sum(x**2)

            def forward(self, x):
                return torch.matmul(self.normal(x), self.normal(self.key).t())
        """
    )
    assert lines(text, "DVF301") == marked(text)


def test_a_module_that_takes_itself_to_the_card_has_its_tensors_there() -> None:
    text = """
        class Mlp(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layer = nn.Linear(n, n)
                self.scale = torch.ones(n, device="cuda")
                {placed}

            def forward(self, x):
                return self.layer(x) * self.scale
        """
    assert found(source(text.format(placed="self.cuda()")), "DVF301") == []
    assert len(found(source(text.format(placed="pass")), "DVF301")) == 1


# -- sums on the CPU -------------------------------------------------------------------------------------------------

SINK = """
    class Sink:
        def __init__(self, rows, device):
            self.rows = rows
            self.device = device
            self.sums = None

        def start(self, columns):
            self.sums = torch.zeros((self.rows, columns))

        def write(self, row, tile: torch.Tensor):
            if self.sums is None:
                self.start(tile.shape[0])
            self.sums[row] += tile * 0.5

        def finish(self):
            inner = self.sums[1:]
            return {result}
    """


def test_sums_that_are_moved_when_complete_are_collected_on_the_cpu() -> None:
    assert of(SINK.format(result="inner.to(self.device)")) == []
    assert of(SINK.format(result="inner")) == ["DVF201"]


# -- batches in attributes -------------------------------------------------------------------------------------------

STRATEGY = """
    class Strategy:
        def __init__(self, device):
            self.device = device
            self.model = nn.Linear(3, 2).to(device)

        def unpack(self):
            for i in range(len(self.batch)):
                {moved}

        def attributes(self, data):
            for self.batch in DataLoader(data):
                self.unpack()
                self.model(self.batch[0])

        def names(self, data):
            for batch in DataLoader(data):
                self.batch = batch
                self.unpack()
                self.model(self.batch[0])
    """


def test_items_of_a_batch_may_be_moved_by_a_method() -> None:
    assert of(STRATEGY.format(moved="self.batch[i] = self.batch[i].to(self.device)")) == []
    assert set(of(STRATEGY.format(moved="print(self.batch[i])"))) == {"DVF501"}


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("torch.load(path, weights_only=True)", 'torch.load(path, map_location="cpu", weights_only=True)'),
        ("torch.load(path, weights_only = True)", 'torch.load(path, weights_only = True, map_location = "cpu")'),
    ],
)
def test_arguments_keep_their_spelling(call: str, after: str) -> None:
    text = source(f"def restore(model, path):\n    state = {call}\n    model.load_state_dict(state)\n")
    assert added(text, "DVF504") == [f"state = {after}"]


def test_a_name_of_a_parameter_is_no_tensor() -> None:
    text = source(
        """
        def show(model, path):
            state = torch.load(path)
            for name, parameter in model.named_parameters():
                print(state[name])
        """
    )
    assert found(text, "DVF504") == []


# -- code for cards --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(device: torch.device):\n    s = torch.cuda.Stream()\n    return s, torch.zeros(2, device=device)", 1),
        ("def f(device: torch.device):\n    s = torch.cuda.Stream(device)\n    return s, torch.zeros(2, device=device)", 0),
        ("def f(device: torch.device):\n    s = torch.cuda.Stream(device=device)\n    return s, torch.zeros(2, device=device)", 0),
        ("def f(device: torch.device):\n    s: torch.cuda.Event = torch.cuda.Event()\n    return s, torch.zeros(2, device=device)", 0),
        ("def f(device: torch.device, group: 'dist.ProcessGroup'):\n    s = torch.cuda.Stream()\n    return s, torch.zeros(2, device=device)", 0),
        (
            ("def need(device):\n    if device.type != 'cuda':\n        raise ValueError\n\n\n"
            "def f(device: torch.device):\n    need(device)\n    torch.cuda.synchronize()\n    return torch.zeros(2, device=device)"),
            0,
        ),
        (
            ("def look(device):\n    if device.type != 'cuda':\n        print(device)\n\n\n"
            "def f(device: torch.device):\n    look(device)\n    torch.cuda.synchronize()\n    return torch.zeros(2, device=device)"),
            1,
        ),
    ],
)  # fmt: skip
def test_code_that_says_that_there_is_a_card(text: str, expected: int) -> None:
    assert len(found(source(text), "DVF403")) == expected


CHECKED = """
    def check():
        return torch.rand(3).cuda()

    def main():
        {body}
    """


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if torch.cuda.is_available(): check()", []),
        ("return check() if torch.cuda.is_available() else None", []),
        ("check()", ["DVF401"]),
        ("return check if torch.cuda.is_available() else None", ["DVF401"]),
        ("check()\n        if torch.cuda.is_available(): check()", ["DVF401"]),
    ],
)
def test_a_function_that_is_only_called_where_there_is_a_card(body: str, expected: list[str]) -> None:
    assert of(CHECKED.format(body=body)) == expected


# -- tensors that are moved where they are used ----------------------------------------------------------------------

ONE_HOT = """
    def one_hot(x, classes):
        row = torch.zeros(classes)
        if isinstance(x, torch.Tensor):
            {used}
        else:
            row[list(x)] = 1.0
        return row
    """


@pytest.mark.parametrize(
    ("used", "level"),
    [("row[x] = 1.0", "report"), ("row[x] += 1.0", "report"), ("return row[x]", "safe")],
)
def test_a_tensor_that_is_written_to_is_not_moved_there(used: str, level: str) -> None:
    assert levels(source(ONE_HOT.format(used=used)), "DVF201") == [level]
