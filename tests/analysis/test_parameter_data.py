"""Modules that get to a device tensor by tensor."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check

LOSS = """
    import itertools

    import torch
    from torch import nn


    def run(device):
        net = nn.Linear(3, 2).to(device)
        loss = nn.BCEWithLogitsLoss({given})
        {moves}
        return loss(net(torch.ones(4, 3).to(device)), torch.ones(4, 2).to(device))
"""
ONE, TWO = "pos_weight=torch.ones(2)", "weight=torch.ones(2), pos_weight=torch.ones(2)"

LOSSES = [
    pytest.param(ONE, "loss.pos_weight = loss.pos_weight.to(device)", id="assigned"),
    pytest.param(ONE, "loss.pos_weight = loss.pos_weight.cuda()", id="by-name"),
    pytest.param(ONE, "setattr(loss, 'pos_weight', loss.pos_weight.to(device))", id="setattr"),
    pytest.param(ONE, "loss.register_buffer('pos_weight', loss.pos_weight.to(device))", id="registered-again"),
    pytest.param(ONE, "loss._buffers['pos_weight'] = loss.pos_weight.to(device)", id="dict-of-buffers"),
    pytest.param(ONE, "for k, v in loss._buffers.items(): loss._buffers[k] = v.to(device)", id="dict-in-a-loop"),
    pytest.param(ONE, "for k, v in list(loss.named_buffers()): setattr(loss, k, v.to(device))", id="names-in-a-loop"),
    pytest.param(ONE, "loss.pos_weight.data = loss.pos_weight.data.to(device)", id="data"),
    pytest.param(ONE, "loss.pos_weight = torch.full((2,), 3.0, device=device)", id="another-one"),
    pytest.param(TWO, "loss.weight, loss.pos_weight = loss.weight.to(device), loss.pos_weight.to(device)", id="both"),
]


@pytest.mark.parametrize(("given", "moves"), LOSSES)
def test_the_tensors_of_a_loss(given: str, moves: str) -> None:
    assert codes(LOSS.format(given=given, moves=moves)) == []


LEFT = [
    pytest.param(TWO, "loss.weight = loss.weight.to(device)", id="one-of-two"),
    pytest.param(ONE, "loss.pos_weight = loss.pos_weight * 2", id="scaled"),
    pytest.param(ONE, "weight = loss.pos_weight.to(device)", id="copy"),
    pytest.param(ONE, "loss._buffers['pos_weight'] = torch.ones(2)", id="another-on-the-cpu"),
    pytest.param(ONE, "loss.register_buffer('steps', torch.zeros(1).to(device))", id="another-buffer"),
]


@pytest.mark.parametrize(("given", "moves"), LEFT)
def test_a_loss_that_is_left_behind(given: str, moves: str) -> None:
    assert "DVF502" in codes(LOSS.format(given=given, moves=moves))


NET = """
    import itertools

    import torch
    from torch import nn


    def run(device):
        net, other = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)), nn.Linear(3, 3)
        optimizer = torch.optim.SGD({given}, lr=0.1)
        {loop}
            {body}
        return net(torch.ones(4, 3).to(device))
"""
GROUPS = "for p in [p for group in optimizer.param_groups for p in group['params']]:"
MOVE = "p.data = p.data.to(device)"

MOVED = [
    pytest.param("net.parameters()", "for p in optimizer.param_groups[0]['params']:", MOVE, id="first-group"),
    pytest.param("net.parameters()", GROUPS, MOVE, id="groups"),
    pytest.param("[{'params': net.parameters()}]", GROUPS, MOVE, id="list-of-groups"),
    pytest.param("params=net.parameters()", GROUPS, MOVE, id="by-keyword"),
    pytest.param("[p for p in net.parameters() if p.requires_grad]", GROUPS, MOVE, id="chosen"),
    pytest.param("itertools.chain(net.parameters(), other.parameters())", GROUPS, MOVE, id="chain"),
    pytest.param("net.parameters()", "for p in list(net.parameters()):", MOVE, id="list"),
    pytest.param(
        "net.parameters()", "for p in filter(lambda p: p.requires_grad, net.parameters()):", MOVE, id="filter"
    ),
    pytest.param("net.parameters()", "for name, p in net.named_parameters():", MOVE, id="names"),
    pytest.param("net.parameters()", "for name, p in dict(net.named_parameters()).items():", MOVE, id="dict"),
    pytest.param("net.parameters()", "for p in list(net.parameters()) + list(other.parameters()):", MOVE, id="sum"),
]


@pytest.mark.parametrize(("given", "loop", "body"), MOVED)
def test_parameters_moved_one_by_one(given: str, loop: str, body: str) -> None:
    assert codes(NET.format(given=given, loop=loop, body=body)) == []


UNMOVED = [
    pytest.param("net.parameters()", GROUPS, "p.data = p.data * 0.5", id="scaled"),
    pytest.param("net.parameters()", GROUPS, "p.data = torch.zeros(3, 3)", id="replaced-on-the-cpu"),
    pytest.param("net.parameters()", GROUPS, "p.data.clamp_(-1, 1)", id="in-place"),
    pytest.param("net.parameters()", GROUPS, "copy = p.data.to(device)", id="copied"),
    pytest.param("other.parameters()", GROUPS, MOVE, id="of-another-model"),
    pytest.param("net.parameters()", "for p in other.parameters():", MOVE, id="loop-over-another-model"),
]


@pytest.mark.parametrize(("given", "loop", "body"), UNMOVED)
def test_parameters_that_stay(given: str, loop: str, body: str) -> None:
    assert codes(NET.format(given=given, loop=loop, body=body)) == ["DVF502"]


def test_parameters_read_after_the_move_are_where_the_model_is() -> None:
    text = """
        import torch
        from torch import nn


        def run(device):
            net = nn.Linear(3, 3)
            net.to(device)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.data.add_(torch.ones(3, device=device))
            return net(torch.ones(2, 3).to(device))
    """
    assert codes(text) == []


def codes(text: str) -> list[str]:
    result = check(textwrap.dedent(text))
    assert result.errors == []
    return [finding.code for finding in result.findings if finding.code.startswith("DVF50")]
