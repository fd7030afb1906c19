"""Random numbers: which generator draws on which device.

A generator belongs to one device, and a call that draws numbers on another refuses it. The samplers of
``torch.utils.data`` draw on the default device with a generator on the CPU; they fail once the default is a card.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devicefix import torch_api
from devicefix.analysis.devices import CPU, CUDA
from devicefix.analysis.facts import DefaultDevice, Draw
from devicefix.analysis.values import NONE, Kind, Origin, Value

if TYPE_CHECKING:
    from devicefix.analysis.devices import Device
    from devicefix.analysis.frames import Arguments, Frame
    from devicefix.analysis.interpreter import Interpreter
    from devicefix.analysis.values import Scope

#: who draws a permutation on the default device when it is used, and the argument that asks for it
SHUFFLERS = {
    "torch.utils.data.DataLoader": "shuffle",
    "torch.utils.data.RandomSampler": "",
    "torch.utils.data.random_split": "",
}

#: where samplers take their generator, if not by name
GENERATOR_POSITIONS = {"random_split": 2, "RandomSampler": 3, "WeightedRandomSampler": 3, "SubsetRandomSampler": 1}


def record_draw(
    it: Interpreter, frame: Frame, node: ast.Call, name: str, device: Device | None, args: Arguments
) -> None:
    """Note that a call of torch draws on ``device`` with the generator among its arguments."""
    generator = args.keywords.get("generator")
    if generator is not None and generator.kind is Kind.GENERATOR:
        it.records.draws.append(Draw(node, generator, device, frame.scope(), name))


def record_shuffle(it: Interpreter, frame: Frame, node: ast.Call, name: str, args: Arguments) -> None:
    """Note samplers: with a generator they use it on the CPU; without one they shuffle on the default device."""
    if not torch_api.stays_on_cpu(name, "generator"):
        return
    generator = args.get(GENERATOR_POSITIONS.get(name.rpartition(".")[2], -1), "generator")
    elsewhere = it.default_devices or it.records.default_device_changed  # then they draw on that device
    if generator is not None and generator.kind is Kind.GENERATOR and not elsewhere:
        it.records.draws.append(Draw(node, generator, CPU, frame.scope(), name, host=True))
    if name not in SHUFFLERS or args.keyword_splat or args.splat:
        return
    wanted = SHUFFLERS[name]
    if wanted:
        asked = args.get(2, wanted)
        if asked is None or asked.data is not True:
            return
        if any(k in args.keywords and args.keywords[k].kind is not Kind.NONE for k in ("sampler", "batch_sampler")):
            return
    on_host = (
        generator is None or generator.kind is Kind.NONE or (generator.device is not None and generator.device.host)
    )
    changed = default_device(it, frame)
    if on_host and changed is not None:
        it.records.shuffles.append((node, name, changed, frame.scope()))


def set_default_device(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``torch.set_default_device(d)``, ``torch.set_default_tensor_type(t)``."""
    from devicefix.analysis.device_arguments import as_device

    it.records.default_device_changed = True
    given = args.get(0)
    device = as_device(given)
    if given is not None and device is None and given.kind is Kind.EXTERNAL:
        device = CUDA if str(given.data).startswith("torch.cuda.") else None
    elif given is not None and isinstance(given.data, str) and given.data.startswith("torch.cuda."):
        device = CUDA
    it.default_device = DefaultDevice(node, device, frame.scope()) if device is not None and not device.host else None
    return NONE


def default_device(it: Interpreter, frame: Frame) -> DefaultDevice | None:
    """The accelerator that was made the default for what runs in this frame, if one was.

    A default set inside a function holds for what that function's caller reaches, not for functions run by themselves.
    """
    changed = it.default_device
    if changed is None:
        return None
    setter = _outermost(changed.scope)
    return changed if setter is None or setter is _outermost(frame.scope()) else None


def _outermost(scope: Scope) -> object:
    while scope.caller is not None:
        scope = scope.caller
    return scope.function


def generator(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``torch.Generator(…)``: on the CPU unless told otherwise, whatever the default device is."""
    from devicefix.analysis.device_arguments import as_device

    given = args.get(0, "device")
    device = as_device(given) if given is not None else CPU
    origins: tuple[Origin, ...] = ()
    if device is not None and device.host:
        origins = (Origin("generator", node, frame.scope(), detail="given" if given is not None else ""),)
    return Value(Kind.GENERATOR, device=device, origins=origins, ident=("new", node))


def global_generator(it: Interpreter, frame: Frame, node: ast.Call, args: Arguments) -> Value:
    """``torch.manual_seed(n)`` seeds every device and returns the generator of the CPU."""
    del it, args
    origins = (Origin("generator", node, frame.scope(), detail="global"),)
    return Value(Kind.GENERATOR, device=CPU, origins=origins, ident="global generator")
