"""Origins on a real accelerator: the same bookkeeping as in the simulation, without any judging.

CUDA raises its own errors here. This module only remembers, per storage, which line made and which last moved a
tensor, and explains a device error when one comes by.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from devicefix.verify._torch import require_torch

require_torch()

import torch  # noqa: E402
import torch.utils.data  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from devicefix.verify.mismatch import Log, Mismatch, is_device_error  # noqa: E402
from devicefix.verify.origins import attached_to, explain, site_of_error  # noqa: E402
from devicefix.verify.simulator.dispatch import plan_for  # noqa: E402
from devicefix.verify.simulator.patching import Patcher  # noqa: E402
from devicefix.verify.simulator.storages import load_marking_origin, next_batch_marking_origin  # noqa: E402
from devicefix.verify.sites import is_user_file, user_site  # noqa: E402
from devicefix.verify.tags import (  # noqa: E402
    ATTRIBUTE,
    Storage,
    Tag,
    Tensor,
    remember_copy,
    set_if_unset,
    set_tag,
    tag_of,
    tensors_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


class RecordingMode(TorchDispatchMode):
    """Remembers origins and explains errors; changes nothing."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plan = plan_for(func)
        if plan.alias_only and plan.base != "lift_fresh":
            return plan.call(*args, **kwargs) if kwargs else plan.call(*args)
        try:
            out = plan.call(*args, **kwargs) if kwargs else plan.call(*args)
        except (RuntimeError, TypeError, ValueError) as error:
            if is_device_error(error) and attached_to(error) is None:
                everything = [t for value in (*args, *(kwargs or {}).values()) for t in tensors_in(value)]
                self.log.record(explain(error, _that_differ(everything)))
            raise
        if plan.scalar_output:
            return out
        if plan.base == "_to_copy" and isinstance(out, Tensor):
            _remember_move(args[0], out)
        elif plan.factory or plan.base == "lift_fresh":
            if isinstance(out, Tensor):
                set_if_unset(out, Tag(None, user_site()))
        else:
            _pass_on(args, out)
        return out


def _remember_move(source: Any, copy: Any) -> None:
    old = tag_of(source)
    if source.device == copy.device:  # a change of dtype
        if old is not None:
            set_if_unset(copy, old)
        return
    here = user_site()
    old = remember_copy(source, here)
    set_tag(copy, Tag(None, old.made, here, old.how))


def _pass_on(args: Any, out: Any) -> None:
    """Results remember the origin of the first operand that has one and is on their device."""
    source: Tag | None = None
    for value in args:
        for tensor in tensors_in(value):
            tag = tag_of(tensor)
            if tag is not None and (source is None or tensor.dim()):
                source = tag
                if tensor.dim():
                    break
        else:
            continue
        break
    if source is not None:
        for result in tensors_in(out):
            set_if_unset(result, source)


def _that_differ(tensors: list[Any]) -> list[Any]:
    """One tensor for each device, with a dimension where there is one: 0-dim tensors are rarely the mistake."""
    chosen: dict[str, Any] = {}
    for tensor in sorted(tensors, key=lambda t: t.dim() == 0):
        chosen.setdefault(str(tensor.device), tensor)
    return list(chosen.values())


@contextlib.contextmanager
def recorded_origins(log: Log | None = None) -> Iterator[Log]:
    """Within this context tensors remember their origins and device errors carry an explanation."""
    log = log or Log()
    patcher = Patcher()
    patcher.set(Storage, ATTRIBUTE, None)
    patcher.set(torch, "load", load_marking_origin(torch.load, device=None))
    iterator: Any = torch.utils.data.dataloader._BaseDataLoaderIter
    patcher.set(iterator, "__next__", next_batch_marking_origin(iterator.__next__, device=None))
    start = threading.Thread.start

    def start_recorded(self: Any) -> None:
        run = self.run

        def run_recorded() -> None:
            with RecordingMode(log):
                run()

        self.run = run_recorded
        start(self)

    patcher.set(threading.Thread, "start", start_recorded)
    try:
        with RecordingMode(log):
            yield log
    finally:
        patcher.restore()


def explain_uncaught(error: BaseException, log: Log) -> Mismatch | None:
    """Explain a device error that was raised above the dispatcher (an LSTM's check, say), from the frames it came
    through."""
    known = attached_to(error)
    if known is not None or not is_device_error(error):
        return known
    frame = _innermost_user_frame(error.__traceback__)
    mismatch = explain(
        error, _that_differ(_tensors_of_innermost_frames(error.__traceback__)), site_of_error(error), frame
    )
    log.record(mismatch)
    return mismatch


def _innermost_user_frame(traceback: TracebackType | None) -> Any:
    found = None
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            found = traceback.tb_frame
        traceback = traceback.tb_next
    return found


def _tensors_of_innermost_frames(traceback: TracebackType | None) -> list[Any]:
    """The local tensors of the innermost frame that has tensors on two devices."""
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    for frame in reversed(frames):
        values = list(frame.f_locals.values())
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.Module):
            values.extend(owner.parameters(recurse=False))
        tensors = [t for value in values for t in tensors_in(value)]
        if len({str(t.device) for t in tensors}) > 1:
            return tensors
    return []
