"""Devices by a number that is a setting: always a card, or perhaps the CPU, or the card of a process."""

from __future__ import annotations

import ast

import pytest

from devicefix import check, fix

HEAD = "import argparse\n\nimport torch\nfrom torch import nn\n\n\ndef net(device):\n    return nn.Linear(2, 2).to(device)\n\n\n"
TEST = "if torch.cuda.is_available() else"

SPELLINGS = [
    ('torch.device(f"cuda:{args.gpu}")', f'torch.device(f"cuda:{{args.gpu}}" {TEST} "cpu")'),
    ('torch.device("cuda:%d" % args.gpu)', f'torch.device("cuda:%d" % args.gpu {TEST} "cpu")'),
    ('torch.device("cuda:%s" % (args.gpu,))', f'torch.device("cuda:%s" % (args.gpu,) {TEST} "cpu")'),
    ("torch.device('cuda:' + str(args.gpu))", f"torch.device('cuda:' + str(args.gpu) {TEST} 'cpu')"),
    ('torch.device("cuda:{}".format(args.gpu))', f'torch.device("cuda:{{}}".format(args.gpu) {TEST} "cpu")'),
    ('torch.device("cuda", args.gpu)', f'torch.device("cuda", args.gpu) {TEST} torch.device("cpu")'),
    ('torch.device("cuda", index=args.gpu)', f'torch.device("cuda", index=args.gpu) {TEST} torch.device("cpu")'),
    ('torch.device(f"cuda:{args.gpu_ids[0]}")', f'torch.device(f"cuda:{{args.gpu_ids[0]}}" {TEST} "cpu")'),
    ('f"cuda:{args.gpu}"', f'f"cuda:{{args.gpu}}" {TEST} "cpu"'),
]


@pytest.mark.parametrize(("before", "after"), SPELLINGS, ids=[before for before, _ in SPELLINGS])
def test_each_spelling_gets_a_fallback(before: str, after: str) -> None:
    text = f"{HEAD}def run(args):\n    device = {before}\n    return net(device)\n"
    assert codes(text) == ["DVF402"]
    new = fix(text).new_text
    assert f"    device = {after}\n" in new
    ast.parse(new)
    assert codes(new) == []


SILENT = [
    pytest.param('import tensorrt as trt\n\n\ndef run(device_id):\n    device = torch.device(f"cuda:{device_id}")\n    net(device)', id="library-for-cards"),
    pytest.param('def run_on_gpu(gpu):\n    device = torch.device(f"cuda:{gpu}")\n    net(device)', id="function-for-cards"),
    pytest.param('def run(gpu):\n    device = torch.device(f"cuda:{gpu}" if torch.cuda.is_available() else "cpu")\n    net(device)', id="test-inside"),
    pytest.param('def run(gpu):\n    device = torch.device(f"cuda:{gpu}") if gpu >= 0 else torch.device("cpu")\n    net(device)', id="sign-tested"),
    pytest.param('def run(gpu):\n    if gpu is not None:\n        device = torch.device(f"cuda:{gpu}")\n        net(device)', id="none-tested"),
    pytest.param('def run(gpu=-1):\n    device = torch.device(f"cuda:{gpu}")\n    net(device)', id="negative-default"),
    pytest.param('def run(gpu=None):\n    device = torch.device(f"cuda:{gpu}")\n    net(device)', id="none-as-default"),
    pytest.param('def run(gpu):\n    device = torch.device(f"cuda:{gpu}")\n    if gpu == -1:\n        device = torch.device("cpu")\n    net(device)', id="corrected-later"),
    pytest.param('def run(local_rank):\n    device = torch.device(f"cuda:{local_rank}")\n    net(device)', id="rank"),
    pytest.param('import torch.distributed as dist\n\n\ndef run(gpu):\n    device = torch.device(f"cuda:{gpu}")\n    net(device)', id="distributed"),
    pytest.param('import torch.multiprocessing as mp\n\n\ndef run(gpu):\n    device = torch.device(f"cuda:{gpu}")\n    net(device)\n\n\nmp.spawn(run)', id="spawned"),
    pytest.param('def run():\n    for gpu in range(2):\n        device = torch.device(f"cuda:{gpu}")\n        net(device)', id="loop"),
    pytest.param('def run(i):\n    device = torch.device(f"cuda:{i}")\n    net(device)', id="any-number"),
    pytest.param('def run(gpu):\n    device = torch.device(f"{gpu}")\n    net(device)', id="no-card-named"),
    pytest.param('def run(gpu):\n    try:\n        device = torch.device(f"cuda:{gpu}")\n    except RuntimeError:\n        device = None\n    net(device)', id="tried"),
    pytest.param('assert torch.cuda.is_available()\n\n\ndef run(gpu):\n    device = torch.device(f"cuda:{gpu}")\n    net(device)', id="asserted"),
    pytest.param('p = argparse.ArgumentParser()\np.add_argument("--gpu", default=-1)\nargs = p.parse_args()\ndevice = torch.device(f"cuda:{args.gpu}")\nnet(device)', id="option-with-negative-default"),
    pytest.param('p = argparse.ArgumentParser()\np.add_argument("--gpu-id", default=0, help="-1 for CPU")\nargs = p.parse_args()\ndevice = torch.device(f"cuda:{args.gpu_id}")\nnet(device)', id="help-speaks-of-the-cpu"),
    pytest.param('def run(gpu):\n    return torch.device(f"cuda:{gpu}")', id="returned"),
    pytest.param('def run(gpu):\n    label = f"cuda:{gpu}"\n    return label', id="only-text"),
]  # fmt: skip


@pytest.mark.parametrize("code", SILENT)
def test_numbers_that_are_left_alone(code: str) -> None:
    assert codes(f"{HEAD}{code}\n") == []


def codes(text: str) -> list[str]:
    result = check(text)
    assert result.errors == []
    return [finding.code for finding in result.findings if finding.code == "DVF402"]
