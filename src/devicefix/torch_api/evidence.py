"""What a name used as an attribute tells about the value, and what the methods that convert tensors do."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Methods that move a value; on a tensor they return the moved copy, on a module they move in place and return it.
MOVE_METHODS: Final = _words("to cuda cpu xpu ipu hpu npu mtia mlu musa")

#: Conversion methods of tensors (and of modules, for the floating ones) with the dtype class of the result.
DTYPE_METHODS: Final[dict[str, str]] = {
    "half": "float", "float": "float", "double": "float", "bfloat16": "float",
    "cfloat": "complex", "cdouble": "complex", "chalf": "complex",
    "int": "int", "long": "int", "short": "int", "char": "int", "byte": "int", "bool": "bool",
}  # fmt: skip

#: The ones among them that ``nn.Module`` has as well.
MODULE_DTYPE_METHODS: Final = _words("half float double bfloat16")

#: dtype objects with their class; also the names after ``torch.`` of dtype aliases.
DTYPES: Final[dict[str, str]] = {
    **dict.fromkeys(_words("float16 half bfloat16 float32 float float64 double float8_e4m3fn float8_e5m2"), "float"),
    **dict.fromkeys(_words("uint8 int8 int16 short int32 int int64 long uint16 uint32 uint64"), "int"),
    "bool": "bool",
    **dict.fromkeys(_words("complex32 chalf complex64 cfloat complex128 cdouble"), "complex"),
}

#: Methods that change the shape only: device, dtype and values stay, the result is a view or a copy.
SHAPE_METHODS: Final = _words("""
    view reshape flatten unflatten squeeze unsqueeze transpose permute expand expand_as repeat tile t swapaxes swapdims
    movedim moveaxis contiguous clone detach view_as reshape_as narrow select unfold flip roll rot90 fliplr flipud
    diagonal chunk split unbind tensor_split broadcast_to ravel repeat_interleave
""")

#: Legacy constructors: a CPU tensor of that dtype, from sizes or from data. ``torch.Tensor`` follows the default dtype.
LEGACY_CONSTRUCTORS: Final[dict[str, str]] = {
    "torch.Tensor": "",
    "torch.FloatTensor": "float32", "torch.DoubleTensor": "float64", "torch.HalfTensor": "float16",
    "torch.BFloat16Tensor": "bfloat16", "torch.LongTensor": "int64", "torch.IntTensor": "int32",
    "torch.ShortTensor": "int16",
    "torch.CharTensor": "int8", "torch.ByteTensor": "uint8", "torch.BoolTensor": "bool",
    "torch.cuda.FloatTensor": "float32", "torch.cuda.DoubleTensor": "float64", "torch.cuda.HalfTensor": "float16",
    "torch.cuda.BFloat16Tensor": "bfloat16", "torch.cuda.LongTensor": "int64", "torch.cuda.IntTensor": "int32",
    "torch.cuda.ShortTensor": "int16", "torch.cuda.CharTensor": "int8", "torch.cuda.ByteTensor": "uint8",
    "torch.cuda.BoolTensor": "bool", "torch.cuda.Tensor": "",
}  # fmt: skip

#: Attributes that tensors have and that arrays, modules, data frames, strings, containers and distributions have not,
#: and that
#: hardly anybody gives to a class of his own: their use shows that a value is a tensor. Left out on purpose: names of
#: functions in
#: array namespaces (``isnan``, ``matmul``), usual names of submodules (``softmax``, ``norm``, ``unfold``) and of
#: operations in
#: other libraries (``gather``, ``backward``, ``sub``).
TENSOR_ONLY_ATTRIBUTES: Final = _words("""
    unsqueeze unsqueeze_ squeeze_ permute contiguous is_contiguous masked_fill masked_fill_ masked_select
    masked_scatter masked_scatter_
    expand_as view_as reshape_as type_as detach_ grad_fn is_leaf retain_grad is_cuda ndimension
    nelement
    new_zeros new_ones new_full new_empty new_tensor index_select index_add index_add_ index_copy index_copy_
    index_fill index_fill_
    index_put index_put_ scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ bmm baddbmm baddbmm_ addbmm
    addbmm_ addmm
    addmm_ addmv addmv_ addcmul addcmul_ addcdiv addcdiv_ lerp lerp_ logsumexp kthvalue clamp clamp_ clamp_min
    clamp_min_
    clamp_max clamp_max_ clip_ add_ sub_ mul_ div_ pow_ sqrt_ rsqrt_ exp_ log_ neg_ abs_ floor_ ceil_ round_ zero_
    normal_ uniform_ random_
    bernoulli_ exponential_ geometric_ log_normal_ sigmoid_ tanh_ relu_ cumsum_ cumprod_ bitwise_and_ bitwise_or_
    logical_and_ logical_or_
    logical_not_ eq_ fill_diagonal_ t_ transpose_ swapaxes_ swapdims movedim unbind narrow tensor_split
    repeat_interleave resize_as_
    logdet slogdet matrix_exp cummax cummin to_dense is_coalesced take_along_dim resolve_conj
""")

#: Methods of tensors that dicts, lists, strings, numbers, modules or distributions have as well. A call of any other method
#: of tensors shows that a value is one where it is likely to be one anyway (what ``forward`` is given).
NOT_ONLY_OF_TENSORS: Final = _words("""
    absolute add backward bfloat16 byte char cpu cuda detach double expand float half index int ipu is_pinned is_shared long mean mode mtia
    musa mlu hpu npu numpy pin_memory requires_grad_ share_memory_ short sort split to type values xpu apply_ map_
    register_hook subtract sum max min item tolist size dim numel is_complex is_signed is_floating_point
""")

#: Attributes that modules have and that tensors and the usual containers have not.
MODULE_ONLY_ATTRIBUTES: Final = _words("""
    parameters named_parameters buffers named_buffers children named_children modules named_modules
    train eval
    register_buffer register_parameter register_module add_module register_forward_hook register_forward_pre_hook
    register_full_backward_hook register_backward_hook get_submodule set_submodule get_parameter get_buffer extra_repr
    gradient_checkpointing_enable
""")
