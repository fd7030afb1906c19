"""DVF501: a batch from a loader, or the output of a tokenizer, meets a module on a device without having been moved."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devicefix.analysis.batch_moves import repair
from devicefix.analysis.batches import Batch, Part, parts, position, structure, unmoved
from devicefix.analysis.encodings import repair_encoding
from devicefix.analysis.loaders import NAMED
from devicefix.analysis.records import field_names
from devicefix.findings import Finding
from devicefix.rules.base import Example, Rule
from devicefix.rules.findings_for import finding, fix
from devicefix.rules.wording import other_side, short, where

if TYPE_CHECKING:
    from devicefix.analysis.batch_moves import Repair
    from devicefix.analysis.facts import FileFacts

CODE, NAME = "DVF501", "batch-not-moved"


def check(facts: FileFacts) -> Iterator[Finding]:
    """Findings of this rule in one file."""
    for batch in unmoved(facts, "batch"):
        if _only_named(batch) and () in batch.paths:
            continue  # what such a loader yields as a whole may be text
        yield _finding(facts, batch, _loader_message(facts, batch), repair(facts, batch))
    for batch in unmoved(facts, "encoding"):
        yield _finding(facts, batch, _encoding_message(batch), repair_encoding(facts, batch))


def _finding(facts: FileFacts, batch: Batch, message: str, way: Repair) -> Finding:
    node = batch.place.target if isinstance(batch.place, (ast.For, ast.AsyncFor, ast.comprehension)) else batch.place
    doubt = "that the loader yields tensors on the CPU follows only from its name" if _only_named(batch) else ""
    repaired = fix(way.title, *way.changes, unsafe=doubt) if way.changes else None
    return finding(
        facts,
        CODE,
        NAME,
        node,
        message,
        fix=repaired,
        note=way.note,
        related=((batch.mixes[0].node, "they meet here"),),
    )


def _only_named(batch: Batch) -> bool:
    return any(origin.detail == NAMED for origin in batch.origins)


def _loader_message(facts: FileFacts, batch: Batch) -> str:
    names = list(dict.fromkeys(name for part in parts(facts, batch) or () for name in _names(facts, batch, part)))
    who = (
        " and ".join([", ".join(f"`{n}`" for n in names[:-1]), f"`{names[-1]}`"])
        if len(names) > 1
        else f"`{names[0]}`"
        if names
        else "a batch"
    )
    verb, meets = ("come", "meet") if len(names) > 1 else ("comes", "meets")
    mix = batch.mixes[0]
    line = position(batch.place)[0]
    return f"{who} {verb} from the loader at line {line} on the CPU, but {meets} {other_side(mix)}, {where(mix)}"


def _names(facts: FileFacts, batch: Batch, part: Part) -> list[str]:
    """``x``, or ``batch["x"]`` or ``batch.x`` where a key says which part of it is meant."""
    keys = [rest[0] for rest in part.rests if len(rest) == 1]
    fields = field_names(structure(facts, batch.place, part.prefix)) if keys else ()
    names = [fields[k] if isinstance(k, int) and k < len(fields) else getattr(k, "name", "") for k in keys]
    if len(keys) < len(part.rests):
        return [part.name]
    if all(names):
        return [f"{part.name}.{name}" for name in names]
    if all(isinstance(key, (str, int)) for key in keys):
        return [f"{part.name}[{json.dumps(key)}]" for key in keys]
    return [part.name]


def _encoding_message(batch: Batch) -> str:
    mix = batch.mixes[0]
    return f"the output of {short(batch.place)} is on the CPU, but meets {other_side(mix)}, {where(mix)}"


RULE = Rule(
    code=CODE,
    name=NAME,
    summary="a batch goes into a module on a device, but nobody moved it there",
    explanation="""
A `DataLoader` yields its batches on the CPU, whatever the device of the model, and a tokenizer with
`return_tensors="pt"` builds its tensors there. They have to be moved before they meet the parameters of a module or
its output. Training loops usually do that; the evaluation loop, the quick look at `next(iter(loader))` or the script
around `generate()` is where it is forgotten.

Only the parts of a batch that meet something on another device are reported, and moved: lengths for
`pack_padded_sequence`, names of files and what is compared on the CPU stay where they are. `DataParallel` scatters
its inputs itself; Lightning, Accelerate and the Trainer of transformers move batches; wrappers that yield moved
batches and modules that move their own inputs are followed.
""",
    fix_safety="""
The fix adds the moves at the head of the loop, written as the file writes its other moves, or behind the tokenizer's
call. It changes nothing on the CPU, where `.to` returns its argument, and is safe. The device is a device variable
that is in scope there, else that of the module. What an unknown loss compares with the model's output is moved along.
Fields of an object or a named tuple and entries of a dict in a dict are moved where they are used, and so is what the
loop's own names do not stand for.

It is unsafe where only the name of a parameter (`train_loader`) says that it is a loader; an annotation is believed.
There is no fix where what the names cannot tell apart meets the device in several functions, where a container also holds tensors that
the CPU needs, where an object has a `to` of its own or goes elsewhere as a whole, or where no expression for the device
is at hand.
""",
    check=check,
    examples=(
        Example(
            before="""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model, loader, device):
    losses = []
    for features, target in loader:
        losses.append(nn.functional.mse_loss(model(features), target))
    return torch.stack(losses).mean()


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 1).to(device)
    data = TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    return evaluate(model, DataLoader(data, batch_size=4), device)
""",
            after="""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model, loader, device):
    losses = []
    for features, target in loader:
        features, target = features.to(device), target.to(device)
        losses.append(nn.functional.mse_loss(model(features), target))
    return torch.stack(losses).mean()


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 1).to(device)
    data = TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    return evaluate(model, DataLoader(data, batch_size=4), device)
""",
        ),
    ),
    silent=(
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def run(device):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(device)
    errors = []
    for features, target in DataLoader(TensorDataset(torch.randn(4, 3), torch.randn(4, 2)), batch_size=2):
        output = model(features.to(device)).cpu()
        errors.append((output - target).abs().mean())  # compared on the CPU on purpose
    return torch.stack(errors).detach()
""",
    ),
    references=("https://pytorch.org/tutorials/beginner/basics/quickstart_tutorial.html",),
)
