"""DVF504: where torch.load puts tensors."""

from __future__ import annotations

import pytest

from devicefix import check, fix
from devicefix.findings import Applicability, Finding
from devicefix.settings import Settings

HEAD = "import io\nimport os\n\nimport torch\nfrom torch import nn\n\n\n"


def found(program: str) -> list[Finding]:
    result = check(HEAD + program)
    assert result.errors == []
    return [finding for finding in result.findings if finding.code == "DVF504"]


def rewritten(program: str, *, unsafe: bool = False) -> str:
    return fix(HEAD + program, unsafe=unsafe, settings=Settings(select=("DVF504",))).new_text


@pytest.mark.parametrize(
    "body",
    [
        "model.load_state_dict(torch.load(path))",
        "model.load_state_dict(torch.load(path)['model'], strict=False)",
        "state = torch.load(path)\n    model.load_state_dict(state)",
        "saved = torch.load(path)\n    model.load_state_dict(saved['model'])\n    epoch = saved['epoch']\n    return epoch",
        "saved = torch.load(path)\n    state = saved.get('state_dict', saved)\n    model.load_state_dict(state)",
        "saved = torch.load(path)\n    model.load_state_dict({k[7:]: v for k, v in saved.items()})",
        "saved = torch.load(path)\n    new = {}\n    for k, v in saved.items():\n        if k.startswith('m.'):\n            new[k[2:]] = v\n    model.load_state_dict(new)",
        "saved = torch.load(path)\n    model.load_state_dict(saved['model'])\n    optimizer.load_state_dict(saved['optimizer'])",
        "saved = torch.load(path)\n    saved['w'] = saved['w'].unsqueeze(1)\n    model.load_state_dict(saved)",
    ],
)  # fmt: skip
def test_what_only_goes_into_load_state_dict_is_read_to_the_cpu(body: str) -> None:
    program = f"def restore(model, optimizer, path):\n    {body}\n"
    (finding,) = found(program)
    assert finding.applicability is Applicability.SAFE
    assert 'torch.load(path, map_location="cpu")' in rewritten(program)


def test_a_device_variable_at_hand_is_used() -> None:
    program = "def restore(path):\n    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n    model = nn.Linear(1, 1).to(device)\n    model.load_state_dict(torch.load(path))\n    return model\n"
    assert "torch.load(path, map_location=device)" in rewritten(program)


def test_what_meets_tensors_on_a_device_goes_there() -> None:
    program = "def shift(path, x, device: torch.device):\n    saved = torch.load(path)\n    return x.to(device) - saved['mean']\n"
    (finding,) = found(program)
    assert finding.applicability is Applicability.SAFE
    assert "torch.load(path, map_location=device)" in rewritten(program)


def test_a_number_becomes_the_name_of_a_card() -> None:
    program = "def restore(net, path):\n    rank = int(os.environ['LOCAL_RANK'])\n    net = net.to(rank)\n    net.load_state_dict(torch.load(path))\n    return net\n"
    assert 'torch.load(path, map_location=f"cuda:{rank}")' in rewritten(program)


def test_states_of_generators_go_to_the_cpu() -> None:
    program = (
        "def restore(model, path, device: torch.device):\n    saved = torch.load(path)\n    model.to(device)\n"
        "    model.load_state_dict(saved['model'])\n    torch.set_rng_state(saved['rng'])\n"
    )
    assert 'torch.load(path, map_location="cpu")' in rewritten(program)


def test_other_uses_need_unsafe_fixes() -> None:
    program = "def restore(model, path, sink):\n    saved = torch.load(path)\n    model.load_state_dict(saved['model'])\n    sink(saved)\n"
    (finding,) = found(program)
    assert finding.applicability is Applicability.UNSAFE
    assert rewritten(program) == HEAD + program
    assert 'map_location="cpu"' in rewritten(program, unsafe=True)


def test_the_argument_stands_where_the_signature_has_it() -> None:
    program = "def restore(model, path):\n    model.load_state_dict(torch.load(path, weights_only=True))\n"
    assert 'torch.load(path, map_location="cpu", weights_only=True)' in rewritten(program)


@pytest.mark.parametrize(
    "call",
    ["torch.hub.load_state_dict_from_url(URL)", "torch.utils.model_zoo.load_url(URL)"],
)
def test_downloads(call: str) -> None:
    program = f'URL = "https://example.org/a.pth"\n\n\ndef restore(model):\n    model.load_state_dict({call})\n'
    assert f'{call[:-1]}, map_location="cpu")' in rewritten(program)
    official = program.replace("example.org", "download.pytorch.org/models")
    assert found(official) == []


def test_a_misplaced_map_location_is_reported_once() -> None:
    (finding,) = found("def restore(model, path):\n    model.load_state_dict(torch.load(path), map_location='cpu')\n")
    assert finding.applicability is Applicability.REPORT
    assert "load_state_dict" in finding.message


@pytest.mark.parametrize(
    "body",
    [
        "model.load_state_dict(torch.load(path, map_location='cpu'))",
        "model.load_state_dict(torch.load(path, 'cpu'))",
        "model.load_state_dict(torch.load(path, map_location=lambda storage, loc: storage))",
        "model.load_state_dict(torch.load(path, map_location=None))",
        "model.load_state_dict(torch.load(path, **options))",
        "model.load_state_dict(torch.load(*options))",
        # the author looked after it
        "if torch.cuda.is_available():\n        s = torch.load(path)\n    else:\n        s = torch.load(path, map_location='cpu')\n    model.load_state_dict(s)",
        "s = torch.load(path) if torch.cuda.is_available() else torch.load(path, 'cpu')\n    model.load_state_dict(s)",
        "if options.gpu is None:\n        s = torch.load(path)\n    else:\n        s = torch.load(path, map_location=options.gpu)\n    model.load_state_dict(s)",
        "try:\n        s = torch.load(path)\n    except RuntimeError:\n        s = torch.load(path, map_location='cpu')\n    model.load_state_dict(s)",
        # written by the same process
        "torch.save(model.state_dict(), path)\n    model.load_state_dict(torch.load(path))",
        # no tensors, or nobody knows what
        "scaler.load_state_dict(torch.load(path))",
        "scheduler.load_state_dict(torch.load(path))",
        "return torch.load(path)",
        "data = torch.load(path)\n    return len(data)",
        "model.load_state_dict(pickle.load(path))",
        "model.load_state_dict(np.load(path))",
    ],
)  # fmt: skip
def test_silent(body: str) -> None:
    assert (
        found(
            f"import pickle\nimport numpy as np\n\n\ndef restore(model, path, options, scaler, scheduler):\n    {body}\n"
        )
        == []
    )


def test_data_sets_are_host_code() -> None:
    program = (
        "from torch.utils.data import Dataset\n\n\nclass Cached(Dataset):\n    def __init__(self, model):\n        self.model = model\n\n"
        "    def __getitem__(self, i):\n        self.model.load_state_dict(torch.load(f'{i}.pt'))\n        return torch.load(f'{i}.pt')\n"
    )
    assert found(program) == []


def test_a_second_run_changes_nothing() -> None:
    program = "def restore(model, path):\n    model.load_state_dict(torch.load(path))\n"
    once = rewritten(program)
    assert fix(once, settings=Settings(select=("DVF504",))).new_text == once
