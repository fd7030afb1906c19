"""Every aten operation of the program passes here, forward and backward: devices are judged and results are tagged.

The speed of this file is the overhead of the simulator. Tags are therefore read with inlined attribute access,
devices are compared by identity (`tags.canonical`), and an operator's properties are worked out once, in its
`rules.Plan`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from devicefix.verify.simulator.checks import judge
from devicefix.verify.simulator.failing import fail
from devicefix.verify.simulator.rules import Plan
from devicefix.verify.simulator.state import is_simulated, normalise, required
from devicefix.verify.sites import user_site
from devicefix.verify.tags import CPU, STRIDED, Tag, Tensor, set_if_unset, set_tag, tag_of, tensors_in

_plans: dict[int, Plan] = {}
_CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def plan_for(func: Any) -> Plan:
    """The plan of an operator, made at its first call."""
    plan = _plans.get(id(func))
    if plan is None:
        plan = _plans[id(func)] = Plan(func)
    return plan


class SimulatorMode(TorchDispatchMode):
    """Judges and tags; see the module's description."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True wraps each operation in a dynamo call (torch 2.6+)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plan = _plans.get(id(func))
        if plan is None:
            plan = plan_for(func)
        if plan.alias_only and args:  # the storage carries the tag along
            out = plan.call(*args, **kwargs) if kwargs else plan.call(*args)
            if args[0].layout is not STRIDED:
                _tag_views_without_storage(out, args[0])
            return out

        if plan.composite:
            with self:
                out = func.decompose(*args, **(kwargs or {}))
            if out is not NotImplemented:
                return out

        # -- where are the operands?
        tensors = []
        for index in plan.tensors:
            if index < len(args):
                value = args[index]
                if isinstance(value, Tensor):  # also None, and a number where the program wrote x + 1
                    tensors.append(value)
        for index in plan.lists:
            if index < len(args) and args[index] is not None:
                tensors.extend([item for item in args[index] if isinstance(item, Tensor)])
        if kwargs:
            for name in plan.kw_tensors:
                tensors.extend(tensors_in(kwargs.get(name)))
        found: Tag | None = None  # that of the first operand on a card
        differ = host = undecided = False
        host_tag: Tag | None = None
        for tensor in tensors:
            try:
                tag = tensor.untyped_storage()._devicefix_tag
            except (NotImplementedError, RuntimeError):
                tag = tag_of(tensor)
            if tag is None:
                host = True
            elif tag.device is None:
                undecided = True
            elif tag.device is CPU:
                host = True
                host_tag = host_tag or tag
            elif found is None:
                found = tag
            elif tag.device is not found.device:
                differ = True

        if plan.custom:
            return _run_custom(plan, func, args, kwargs or {}, found)
        if found is None:
            if not plan.factory:
                if plan.generator:
                    _check_generator(args, kwargs, "cpu")
                out = plan.call(*args, **kwargs) if kwargs else plan.call(*args)
                if undecided:
                    _settle_undecided(out, tensors, host)
                elif host_tag is not None and not plan.scalar_output:
                    _pass_on_origin(out, host_tag)
                return out
        elif differ or host:
            judge(plan, args, kwargs or {})
        if plan.factory:
            return _run_factory(plan, args, kwargs or {}, tensors, found, host, undecided)
        if plan.generator and found is not None:
            _check_generator(args, kwargs, found.device.type if found.device is not None else "cpu")
        out = plan.call(*args, **kwargs) if kwargs else plan.call(*args)
        assert found is not None
        if undecided:
            _settle(tensors, found)
        if plan.scalar_output:
            return out
        if host or not isinstance(out, Tensor):
            _tag_results(plan, out, args, tensors, found, host)
            return out
        try:  # the usual case, inlined: one fresh result
            storage = out.untyped_storage()
        except (NotImplementedError, RuntimeError):
            set_if_unset(out, found)
            return out
        if storage._devicefix_tag is None:
            storage._devicefix_tag = found
        return out


def _tag_views_without_storage(out: Any, source: Any) -> None:
    tag = tag_of(source)
    if tag is not None:
        for view in tensors_in(out):
            set_if_unset(view, tag)


def _tag_results(plan: Plan, out: Any, args: Any, tensors: list[Any], found: Tag, host: bool) -> None:
    """Results take the device of the operand on the card - unless they are a CPU operand's memory seen again."""
    kept = _untagged_storages(tensors) if host else ()
    if isinstance(out, Tensor):
        _tag_result(out, found, kept)
    elif isinstance(out, (list, tuple)):
        each = [tag_of(t) for t in tensors_in(args[0])] if plan.kind == "foreach" else []
        for index, item in enumerate(out):
            if not isinstance(item, Tensor):
                continue
            if plan.base == "_pack_padded_sequence" and index == 1:
                continue  # the batch sizes of a packed sequence stay on the CPU
            own = each[index] if len(each) == len(out) else None
            if each and len(each) == len(out) and own is None:
                continue  # this one was computed from a CPU tensor
            _tag_result(item, own or found, kept)


def _tag_result(result: Any, tag: Tag, kept: Any) -> None:
    try:
        storage = result.untyped_storage()
    except (NotImplementedError, RuntimeError):
        set_if_unset(result, tag)
        return
    if storage._devicefix_tag is None and storage._cdata not in kept:
        storage._devicefix_tag = tag


def _untagged_storages(tensors: list[Any]) -> set[int]:
    return {
        t.untyped_storage()._cdata for t in tensors if t.layout is STRIDED and _has_storage(t) and tag_of(t) is None
    }


def _has_storage(tensor: Any) -> bool:
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False
    return True


def _settle(tensors: list[Any], tag: Tag) -> None:
    """Undecided tensors take the device of the first tensor they meet."""
    for tensor in tensors:
        own = tag_of(tensor)
        if own is not None and own.device is None:
            set_tag(tensor, Tag(tag.device, own.made))


def _settle_undecided(out: Any, tensors: list[Any], host: bool) -> None:
    """No operand is on a card: with a real CPU tensor the undecided ones are on the CPU, else the result is undecided
    too."""
    definite = any(tag is None or tag.device is CPU for t in tensors if t.dim() for tag in [tag_of(t)])
    if definite:
        _settle(tensors, Tag(CPU))
    elif not host:
        undecided = next(tag for t in tensors if (tag := tag_of(t)) is not None)
        for result in tensors_in(out):
            set_if_unset(result, undecided)


def _pass_on_origin(out: Any, tag: Tag) -> None:
    """CPU results remember the origin of what they were computed from."""
    if isinstance(out, Tensor):
        try:
            storage = out.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return
        if storage._devicefix_tag is None:
            storage._devicefix_tag = tag
    else:
        for result in tensors_in(out):
            set_if_unset(result, tag)


def _run_factory(
    plan: Plan, args: Any, kwargs: dict[str, Any], tensors: list[Any], found: Tag | None, host: bool, undecided: bool
) -> Any:
    """An operator with a ``device`` argument: run it on the CPU and tag the result with the device that was asked for.

    Python's bindings always pass ``pin_memory`` to a factory, C++ code does not. That tells a user who wrote no
    device (and means the CPU) from ``at::zeros(..., options)`` inside one of torch's own composites, which means
    "where my input is".
    """
    wanted = kwargs.get("device")
    if wanted is not None and wanted.type == "meta":
        return plan.call(*args, **kwargs)
    from_python = "pin_memory" in kwargs
    kwargs = dict(kwargs)
    pinned = bool(kwargs.pop("pin_memory", False))
    device = found.device if found is not None else CPU
    if is_simulated(wanted):
        device, kwargs["device"] = normalise(wanted), CPU
    elif from_python and wanted is not None:
        device = CPU
    elif not tensors and not from_python:
        device = None
    if plan.generator and device is not None:
        _check_generator(args, kwargs, device.type)
    out = plan.call(*args, **kwargs)
    if not isinstance(out, Tensor):
        return out
    if undecided and found is None and device is CPU and wanted is None:
        _settle_undecided(out, tensors, host)  # zeros_like of an undecided tensor is undecided
        return out
    tag = tag_of(tensors[0]) if plan.base == "_to_copy" and tensors else None
    if tag is None or tag.device is not device:  # a change of dtype keeps the origin
        tag = Tag(device, user_site())
    if pinned:
        out.untyped_storage()._devicefix_pinned = True
    if not any(_shares_memory(out, tensor) for tensor in tensors):
        set_tag(out, tag)
    return out


def _shares_memory(one: Any, other: Any) -> bool:
    try:
        return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return one is other


def _check_generator(args: Any, kwargs: dict[str, Any] | None, wanted: str) -> None:
    simulation = required()
    for value in (*args, *(kwargs or {}).values()):
        if isinstance(value, torch._C.Generator):
            device = simulation.kind if value._cdata in simulation.generators else "cpu"
            if device != wanted:
                fail(RuntimeError(f"Expected a '{wanted}' device type for generator but found '{device}'"), value)


def _run_custom(plan: Plan, func: Any, args: Any, kwargs: dict[str, Any], found: Tag | None) -> Any:
    """An operator registered by the user with torch.library: its Python body is run under the mode, too."""
    with SimulatorMode():
        out = func.redispatch(_CPU_KEYS, *args, **kwargs)
    for result in tensors_in(out):
        tag = tag_of(result)
        if tag is not None and tag.device is None:
            set_tag(result, Tag(found.device if found is not None else CPU, tag.made))
    return out
