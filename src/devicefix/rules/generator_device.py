"""DVF203: a random generator on one device, the numbers drawn on another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.generators import (
    MisplacedGenerator,
    generator_device,
    misplaced_generators,
    on_the_host_instead,
)
from devicefix.codemods.changes import EditCall
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import place, short

if TYPE_CHECKING:
    from devicefix.analysis.facts import DefaultDevice, FileFacts

CODE, NAME = "DVF203", "generator-device"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Generators on another device than the draws, and samplers under a changed default device."""
    for generator in misplaced_generators(facts):
        yield _misplaced(facts, generator)
    seen: set[ast.Call] = set()
    for call, name, cause, _scope in facts.records.shuffles:
        if facts.here(call) and call not in seen:
            seen.add(call)
            yield _shuffles(facts, call, name, cause)


def _misplaced(facts: FileFacts, generator: MisplacedGenerator) -> Finding:
    draw = generator.draws[0]
    call = generator.call
    related = ((draw.node, "numbers are drawn here"),)
    by = f"`{draw.by if draw.by.startswith('torch.') else '.' + draw.by}`"
    if call is None:
        message = f"the generator is {place(draw.generator.device)}, but {by} draws {place(draw.device)} with it"
        note = "give it one that is on the CPU (`torch.Generator()`)"
        if not draw.host:
            note += ", or let it draw on that device"
        made = on_the_host_instead(facts, draw) if draw.host else None
        repair = fix("create it on the CPU", _without_device(made)) if made is not None else None
        return finding(facts, CODE, NAME, draw.node, message, fix=repair, note=note)
    message = (
        f"{short(call)} is {place(draw.generator.device)}, but {by} draws {place(draw.device)} with it, "
        f"at line {draw.node.lineno}"
    )
    device, doubt, note = generator_device(facts, generator)
    repair = None
    if device:
        change = EditCall(call, set_keywords=(("device", device),), remove_positionals=(0,) if call.args else ())
        repair = fix(f"create the generator with `device={device}`", change, unsafe=doubt)
    return finding(facts, CODE, NAME, call, message, fix=repair, note=note, related=related)


def _without_device(call: ast.Call) -> EditCall:
    return EditCall(call, remove_positionals=(0,)) if call.args else EditCall(call, remove_keywords=("device",))


def _shuffles(facts: FileFacts, call: ast.Call, name: str, cause: DefaultDevice) -> Finding:
    what = "`random_split`" if name.endswith("random_split") else f"the sampler of {short(call.func)}"
    line = getattr(cause.node, "lineno", 0)
    message = (
        f"{what} shuffles with a generator on the CPU, but the default device is an accelerator "
        f"({short(cause.node)} at line {line})"
    )
    note = "pass `generator=torch.Generator(device=…)` on the default device, or give up the global default"
    return finding(facts, CODE, NAME, call, message, note=note, related=((cause.node, "the default is set here"),))


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a random generator is on one device, and the numbers are drawn on another",
    explanation="""
A `torch.Generator` belongs to one device: the CPU, unless it is created with `device=`. A call that draws numbers on
another device refuses it with "Expected a 'cuda' device type for generator but found 'cpu'". `torch.manual_seed`
returns the generator of the CPU, too.

Samplers are different: `DataLoader(generator=…)`, `RandomSampler` and `random_split` shuffle on the CPU, whatever the
model's device is, so a generator on the card is reported there. Without one they are reported only where the default
device was changed to an accelerator (`torch.set_default_device("cuda")`): they then draw on that device, with a
generator that they create on the CPU.
""",
    fix_safety="""
The fix creates the generator on the device on which numbers are drawn; one that only samplers draw with is created on
the CPU. On the CPU nothing changes, the random stream included. It is unsafe when the generator is also used in places that the analysis does not follow, and there is none
when the generator also serves draws on the CPU, is the global one, or is created where nothing names the device.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch


def add_noise(x, seed):
    g = torch.Generator().manual_seed(seed)
    return x + torch.randn(x.shape, generator=g, device=x.device)


def run(device):
    return add_noise(torch.ones(2, 3, device=device), 7)
""",
            after="""
import torch


def add_noise(x, seed):
    g = torch.Generator(device=x.device).manual_seed(seed)
    return x + torch.randn(x.shape, generator=g, device=x.device)


def run(device):
    return add_noise(torch.ones(2, 3, device=device), 7)
""",
        ),
    ),
    silent=(
        """
import torch


def run(device):
    g = torch.Generator().manual_seed(3)
    data = torch.arange(6.0, device=device)
    train, test = torch.utils.data.random_split(range(6), [4, 2], generator=g)  # samplers shuffle on the CPU
    order = torch.randperm(6, generator=g)  # and a CPU index is fine
    return data[order][list(train)]
""",
    ),
    references=(
        "https://pytorch.org/docs/stable/generated/torch.Generator.html",
        "https://github.com/pytorch/pytorch/issues/118084",
    ),
)
