"""The records that the tables of :mod:`devicefix.torch_api` are made of. Their fields are explained there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """A function or a method of ``torch.Tensor``: what it takes, what it makes and what it demands of devices."""

    name: str
    returns: str = "unknown"
    parameters: tuple[str, ...] = ()  #: by position; the receiver of a method is not among them
    keywords: tuple[str, ...] = ()  #: by keyword only
    variadic: str = ""  #: the parameter that swallows several positional arguments (``torch.zeros(2, 3)``)
    creates: bool = False
    follows_argument: bool = False  #: a factory that stays where a tensor among its arguments is (``torch.as_tensor``)
    always_cpu: bool = False  #: a factory that ignores the default device (``torch.from_numpy``)
    device: bool = False
    dtype: bool = False
    default_dtype: str = ""
    random: bool = False
    mixing: str = "none"
    in_place: bool = False
    view: bool = False  #: the result shares storage with its first tensor argument
    tensor_args: tuple[str, ...] = ()
    cpu_args: tuple[str, ...] = ()
    dtype_strict: bool = False
    output_dtype: str = "unknown"
    output_rank: str = "unknown"
    outputs: tuple[tuple[str, str], ...] = ()  #: for ``returns="tensors"``: field name and dtype of each, where known
    alternatives: tuple[tuple[str, str], ...] = ()  #: (parameter, other ``returns`` when that parameter is given)

    def parameter_at(self, position: int) -> str:
        """The parameter that takes the positional argument number ``position``; "" when there is none."""
        if position < len(self.parameters) and self.variadic not in self.parameters[:position]:
            return self.parameters[position]
        return self.variadic

    def takes_tensor(self, parameter: str) -> bool:
        """Whether ``parameter`` takes a tensor or a list of tensors."""
        return parameter in self.tensor_args or f"{parameter}*" in self.tensor_args


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """A class of ``torch.nn``: what it holds and what calling an instance does."""

    name: str
    parameters: tuple[str, ...] = ()  #: of the constructor, in order
    stateful: bool = False
    state_arguments: tuple[str, ...] = ()
    device: bool = False
    dtype: bool = False
    weight: str = ""
    weight_needs: tuple[str, ...] = ()  #: constructor arguments without which (``affine=False``) ``weight`` is None
    forward_parameters: tuple[str, ...] = ()
    mixing: str = "none"
    dtype_strict: bool = False
    output: str = "tensor"
    output_dtype: str = "input"
    float_input: bool = False
    container: str = ""
    loss: bool = False

    @property
    def module(self) -> bool:
        """Always true; lets records of several kinds be asked alike."""
        return True


@dataclass(frozen=True, slots=True)
class OptimizerClass:
    """A class of ``torch.optim``."""

    name: str
    parameters: tuple[str, ...] = ()
    eager_state: bool = (
        False  #: the state tensors are made in the constructor, on the parameters' device of that moment
    )
    closure: bool = False  #: ``step`` needs a closure


@dataclass(frozen=True, slots=True)
class ExternalClass:
    """A class or constructor function of another library."""

    name: str
    kind: str  #: see :mod:`devicefix.torch_api.libraries`
    evidence: str = ""
    yields: str = ""  #: of a loader: "batch", or the kind of container that a batch is


@dataclass(frozen=True, slots=True)
class OwnershipRule:
    """Somebody other than the user's own ``.to`` calls decides where tensors live."""

    name: str
    kind: str  #: "class" (a base class), "object", "wrapper", "function", "setting"
    device: str = ""  #: the right device expression in code that is owned; "" where there is none
    moves_batches: bool = False
    moves_modules: bool = False
    places_factories: bool = False  #: factories without ``device=`` do not make CPU tensors
    evidence: str = ""
