"""Device checks and tags of the backward pass that the dispatcher alone would miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from devicefix.verify.simulator.failing import fail
from devicefix.verify.simulator.moves import gradient_of, set_gradient_of
from devicefix.verify.tags import RAW, Tensor, device_of, is_undecided, set_tag, tag_of, tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from devicefix.verify.simulator.state import Simulation

_DEVICES = "_devicefix_input_devices"


def _invalid_gradient(function: str, index: int, expected: Any, got: Any) -> RuntimeError:
    return RuntimeError(
        f"Function {function} returned an invalid gradient at index {index} - expected device {expected} but got {got}"
    )


def _make_grads(original: Callable[..., Any]) -> Callable[..., Any]:
    """``y.backward(g)``: g must be where y is."""

    def make_grads(outputs: Any, gradients: Any, *args: Any, **kwargs: Any) -> Any:
        for output, gradient in zip(outputs, gradients, strict=False):
            if isinstance(output, Tensor) and isinstance(gradient, Tensor) and device_of(output) != device_of(gradient):
                name = output.grad_fn.name() if output.grad_fn else "AccumulateGrad"
                fail(_invalid_gradient(name, 0, device_of(output), device_of(gradient)), output, gradient)
        return original(outputs, gradients, *args, **kwargs)

    return make_grads


def _grad(original: Callable[..., Any]) -> Callable[..., Any]:
    """``torch.autograd.grad``: an undecided gradient is where its input is."""

    def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        results = original(outputs, inputs, *args, **kwargs)
        for gradient, tensor in zip(results, [inputs] if isinstance(inputs, Tensor) else inputs, strict=False):
            if isinstance(gradient, Tensor) and isinstance(tensor, Tensor) and is_undecided(gradient):
                set_tag(gradient, tag_of(tensor))
        return results

    return grad


def _function_apply(original: Any) -> Any:
    """``Function.apply``: remember the inputs' devices, for the check of the gradients that `_function_backward`
    makes."""

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        out = original.__get__(None, cls)(*args, **kwargs)  # a Python classmethod, since torch 2.14 a C one
        node = next((t.grad_fn for t in tensors_in(out) if t.grad_fn is not None), None)
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            setattr(node, _DEVICES, [device_of(arg) if isinstance(arg, Tensor) else None for arg in args])
        return out

    return classmethod(apply)


def _function_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, *args: Any) -> Any:
        results = original(self, *args)
        each = results if isinstance(results, tuple) else (results,)
        for index, (gradient, device) in enumerate(zip(each, getattr(self, _DEVICES, ()), strict=False)):
            if (
                isinstance(gradient, Tensor)
                and device is not None
                and gradient.dim()
                and not is_undecided(gradient)
                and device_of(gradient) != device
            ):
                fail(_invalid_gradient(type(self).__name__, index, device, device_of(gradient)), gradient)
        return results

    return apply


def install(simulation: Simulation) -> None:
    """Replace them for one simulation."""
    patch = simulation.patcher.set
    patch(Tensor, "grad", property(gradient_of, set_gradient_of, lambda self: RAW["grad"].__delete__(self)))
    patch(torch.autograd.Function, "apply", _function_apply(torch.autograd.Function.__dict__["apply"]))
    backward: Any = torch.autograd.function.BackwardCFunction
    patch(backward, "apply", _function_backward(backward.apply))
    patch(torch.autograd, "grad", _grad(torch.autograd.grad))
    patch(torch.autograd, "_make_grads", _make_grads(torch.autograd._make_grads))
