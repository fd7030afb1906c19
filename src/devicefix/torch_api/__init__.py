"""What PyTorch and the libraries around it offer, as data.

Look-ups take canonical or aliased dotted names, cost one dictionary access, and answer ``None`` for what is
unknown. Nothing here imports torch. The tables of PyTorch itself (``_generated.py``) are written by
``scripts/generate_torch_api.py`` from an installed torch, ``supplement.py`` and ``semantics.py``; the others are kept
by hand.

``function(name)``, ``method(name)``: a :class:`Function`
    ``function("torch.Tensor.add")`` is the method with its receiver as the parameter ``self``. Functions of some
    other libraries (``einops.rearrange``, ``torch_scatter.scatter`` …) are known as well.

    - ``parameters`` by position (a method's receiver is none of them), ``keywords`` by keyword only; ``variadic``
      names the parameter that swallows several positional arguments (``torch.zeros(2, 3)``). ``parameter_at(i)``
      answers for a position, ``takes_tensor(parameter)`` whether tensors go there.
    - ``returns``: ``tensor``, ``tensors`` (tuple or list), ``self`` (the receiver, changed), ``packed``
      (PackedSequence), ``number``, ``int``, ``bool``, ``size``, ``str``, ``none``, ``device``, ``dtype``,
      ``ndarray``, ``list``, ``generator``, ``module``, ``argument`` (what it was given), ``unknown``.
    - ``alternatives``: ``(parameter, returns)``, another result when that parameter is given and not False:
      ``x.max(dim)`` gives ``tensors``. A *tensor* in the place of ``dim`` of ``max`` and ``min`` is ``other``, so
      no dim.
    - ``outputs``: names and dtypes of the members when the result is ``tensors`` (``values``, ``indices``), if
      known. The dtype ``host`` marks an integer tensor that is always on the CPU (lengths of
      ``pad_packed_sequence``).
    - ``creates``: without ``device=`` the result is on the default device. Exceptions are marked:
      ``follows_argument`` (stays where a tensor among its arguments is: ``as_tensor``), ``always_cpu`` (ignores the
      default device: ``from_numpy``). ``*_like`` and ``new_*`` create nothing in this sense. ``device``, ``dtype``:
      takes that argument.
    - ``default_dtype`` of a factory: ``float``, ``int``, ``argument`` (follows its arguments); else "".
    - ``random``: draws from the random stream (dropout does so only while training).
    - ``mixing``: ``none``; ``same`` (one device, a 0-dim CPU tensor may join); ``strict`` (one device, no
      exception); ``index`` (indices may be on the CPU when self is not; never the reverse); ``copy`` (across
      devices on purpose). ``tensor_args`` take tensors (``name*`` lists of them; ``self`` is the receiver); those
      also in ``cpu_args`` are exempt. The target of an in-place operation is never exempt as a 0-dim CPU tensor.
      ``__setitem__`` is ``copy`` for slices and numbers; with a tensor as index it follows ``index_put_``.
    - ``dtype_strict``: floating arguments must share one dtype.
    - ``output_dtype``: ``float``, ``int``, ``bool``, ``complex``; ``input`` (that of the first tensor argument);
      ``promote`` (promotion of the tensor arguments); ``sum`` (as ``input``, but bool becomes int); ``unknown``.
      ``div`` with ``rounding_mode`` and ``bincount`` with weights are exceptions.
    - ``output_rank``: ``0``; ``same`` (as the first tensor argument); ``broadcast`` (the largest of the tensor
      arguments); ``some`` (one or more); ``size`` (as many as the size has numbers); ``data`` (the nesting of the
      data); ``reduce:dim`` (0 unless ``dim`` is given, or ``keepdim=True``); ``reduce:reduction`` (0 unless it is
      ``"none"``); ``unknown``.

``attribute(name)``
    What reading an attribute of a tensor gives: ``size``, ``device``, ``dtype``, ``int``, ``bool``, ``str``,
    ``tensor``, ``unknown``; ``None`` for methods and unknown names.

``module_class(name)``: a :class:`ModuleClass`
    ``stateful``: default construction gives parameters or buffers. ``state_arguments`` decide about state: a
    stateless class has state when one of them is given (``weight`` of a loss) or true (``affine`` of InstanceNorm),
    a stateful one has none when one of them is False (``elementwise_affine``). ``weight``: path of a parameter
    usable as device reference, there unless an argument in ``weight_needs`` is False; "" where there is none to
    rely on. ``mixing``, ``dtype_strict``, ``float_input`` speak of the inputs among each other and, for stateful
    ones, with the state. ``output``: ``tensor``, ``tensors``, ``rnn`` (output, state), ``none`` (cannot be called),
    ``unknown``. ``container``: ``sequential``, ``list``, ``dict``, ``parameter_list``, ``parameter_dict`` or "".

``optimizer_class(name)``: an :class:`OptimizerClass`
    ``eager_state``: the constructor makes state tensors where the parameters then are.

``external_class(name)``: an :class:`ExternalClass`
    Classes and constructor functions of PyTorch's other parts and of other libraries; kinds in ``libraries.py``.
    ``X.from_pretrained`` and the like (``CONSTRUCTING_METHODS``) are looked up as ``X``.

``owner(name)``: an :class:`OwnershipRule`
    Who places tensors where ``name`` is the base class, the object, the wrapper or the setting. ``OWNING_KEYWORDS``
    (``device_map=``) and ``OWNING_METHODS`` (``prepare``) hand placement over as well.

``accelerator_call(name)``: an :class:`AcceleratorCall`
    ``torch.cuda.synchronize`` and its like: what they return, whether they fail where there is no card.

``stays_on_cpu(callable, parameter)``, ``host_class(name)``, ``host_callbacks(callable)``
    What is on the CPU by contract; each answers with the reason, or "" / ``()``.

``canonical(name)``
    One name for what is offered under several. All look-ups apply it.

Word lists (``evidence.py``): ``TENSOR_ONLY_ATTRIBUTES``, ``NOT_ONLY_OF_TENSORS``, ``MODULE_ONLY_ATTRIBUTES``,
``MOVE_METHODS``, ``DTYPE_METHODS``, ``MODULE_DTYPE_METHODS``, ``SHAPE_METHODS``, ``DTYPES``,
``LEGACY_CONSTRUCTORS``.

"""

from __future__ import annotations

from devicefix.torch_api.accelerators import AcceleratorCall, accelerator_call
from devicefix.torch_api.evidence import (
    DTYPE_METHODS,
    DTYPES,
    LEGACY_CONSTRUCTORS,
    MODULE_DTYPE_METHODS,
    MODULE_ONLY_ATTRIBUTES,
    MOVE_METHODS,
    NOT_ONLY_OF_TENSORS,
    SHAPE_METHODS,
    TENSOR_ONLY_ATTRIBUTES,
)
from devicefix.torch_api.host_only import brought_along, host_callbacks, host_class, stays_on_cpu
from devicefix.torch_api.libraries import CONSTRUCTING_METHODS, external_class
from devicefix.torch_api.lookup import attribute, function, method, module_class, optimizer_class
from devicefix.torch_api.model import ExternalClass, Function, ModuleClass, OptimizerClass, OwnershipRule
from devicefix.torch_api.names import canonical
from devicefix.torch_api.ownership import OWNING_KEYWORDS, OWNING_METHODS, owner

__all__ = [
    "CONSTRUCTING_METHODS",
    "DTYPES",
    "DTYPE_METHODS",
    "LEGACY_CONSTRUCTORS",
    "MODULE_DTYPE_METHODS",
    "MODULE_ONLY_ATTRIBUTES",
    "MOVE_METHODS",
    "NOT_ONLY_OF_TENSORS",
    "OWNING_KEYWORDS",
    "OWNING_METHODS",
    "SHAPE_METHODS",
    "TENSOR_ONLY_ATTRIBUTES",
    "AcceleratorCall",
    "ExternalClass",
    "Function",
    "ModuleClass",
    "OptimizerClass",
    "OwnershipRule",
    "accelerator_call",
    "attribute",
    "brought_along",
    "canonical",
    "external_class",
    "function",
    "host_callbacks",
    "host_class",
    "method",
    "module_class",
    "optimizer_class",
    "owner",
    "stays_on_cpu",
]
