"""What PyTorch does that neither its schemas nor its signatures say.

Read, with ``semantics.py``, by ``scripts/generate_torch_api.py`` only; at run time everything is in ``_generated.py``.
Keys are names of operators: ``matmul`` stands for ``torch.matmul`` and ``Tensor.matmul``, ``linalg_matmul`` for
``torch.linalg.matmul``. A dotted key means that one function and wins over its operator. ``tests/torch_api`` executes
the claims against the installed torch.
"""

from __future__ import annotations

from typing import Final

F: Final = "torch.nn.functional."


def words(text: str) -> frozenset[str]:
    """The names in ``text``; ``F.`` is short for ``torch.nn.functional.``."""
    return frozenset(F + word[2:] if word.startswith("F.") else word for word in text.split())


def pairs(text: str, value: str) -> dict[str, str]:
    """The same value for every name in ``text``."""
    return dict.fromkeys(words(text), value)


#: Not for users: kernels of one backend and the dispatcher's own helpers.
INTERNAL_PREFIXES: Final = ("miopen_", "cudnn_", "mkldnn_", "fbgemm_", "batch_norm_", "quantized_", "fake_quantize_",
"parse_", "import_ir_",
                            "sym_", "autocast_", "has_torch_function", "profiler_", "handle_torch_function",
                            "fused_moving_")  # fmt: skip
INTERNAL: Final = words("boolean_dispatch Optional classproperty get_file_path unify_type_list "
 "thread_safe_generator init_num_threads "
                         "merge_type_from_type_comment prepare_multiprocessing_environment assert_int_or_pair "
                          "resize_as_sparse_")  # fmt: skip

#: Signatures of what is parsed by hand in C++ or hidden by a wrapper: the notation of ``_generated.py`` between its
#: parentheses.
SIGNATURES: Final[dict[str, str]] = {
    "torch.tensor": "data, *, dtype, device, requires_grad, pin_memory",
    "torch.as_tensor": "data, dtype, device",
    "torch.asarray": "obj, *, dtype, device, copy, requires_grad",
    "torch.from_numpy": "ndarray",
    "torch.frombuffer": "buffer, *, dtype, count, offset, requires_grad",
    "torch.from_dlpack": "ext_tensor, *, device, copy",
    "torch.normal": "mean:t, std:t, size, *, generator, out:t, dtype, layout, device, pin_memory, requires_grad",
    "torch.randint": "low, high, size, *, generator, out:t, dtype, layout, device, pin_memory, requires_grad",
    "torch.arange": "start, end, step, *, out:t, dtype, layout, device, pin_memory, requires_grad",
    "torch.range": "start, end, step, *, out:t, dtype, layout, device, pin_memory, requires_grad",
    "torch.linspace": "start, end, steps, *, out:t, dtype, layout, device, pin_memory, requires_grad",
    "torch.logspace": "start, end, steps, base, *, out:t, dtype, layout, device, pin_memory, requires_grad",
    "torch.einsum": "equation, operands:t*",
    "torch.meshgrid": "tensors:t*, *, indexing",
    "torch.broadcast_tensors": "tensors:t*",
    "torch.block_diag": "tensors:t*",
    "torch.cartesian_prod": "tensors:t*",
    "torch.chain_matmul": "matrices:t*, *, out:t",
    "torch.atleast_1d": "tensors:t*",
    "torch.atleast_2d": "tensors:t*",
    "torch.atleast_3d": "tensors:t*",
    "torch.tensordot": "a:t, b:t, dims, out:t",
    "torch.where": "condition:t, input:t, other:t, *, out:t",
    "torch.nonzero": "input:t, *, out:t, as_tuple",
    "torch.manual_seed": "seed",
    "torch.load": "f, map_location, pickle_module, *, weights_only, mmap",
    "torch.save": "obj, f, pickle_module, pickle_protocol",
    "torch.is_tensor": "obj",
    "torch.is_storage": "obj",
    "torch.get_rng_state": "",
    "torch.set_rng_state": "new_state:t",
    "torch.saddmm": "input:t, mat1:t, mat2:t, *, beta, alpha, out:t",
    "torch.spmm": "input:t, mat2:t",
    "torch.dsmm": "input:t, mat2:t",
    "torch.hsmm": "input:t, mat2:t",
    "torch.unravel_index": "indices:t, shape",
    "torch.unique": "input:t, sorted, return_inverse, return_counts, dim",
    "torch.unique_consecutive": "input:t, return_inverse, return_counts, dim",
    "torch.vmap": "func, in_dims, out_dims, randomness",
    "torch.lu": "A:t, pivot, get_infos, out:t",
    "torch.numel": "input:t",
    "torch.get_device": "input:t",
    "torch.broadcast_shapes": "*shapes",
    "torch.nn.functional.logsigmoid": "input:t",
    "Tensor.to": "dtype, non_blocking, copy, *, device, memory_format, other:t",
    "Tensor.type": "dtype, non_blocking",
    **pairs("Tensor.cuda Tensor.xpu Tensor.mtia Tensor.ipu", "device, non_blocking, memory_format"),
    "Tensor.cpu": "memory_format",
    "Tensor.new": "*size, *, device",
    "Tensor.new_tensor": "data, *, dtype, device, requires_grad",
    "Tensor.numpy": "*, force",
    "Tensor.requires_grad_": "requires_grad",
    "Tensor.nonzero": "*, as_tuple",
    "Tensor.size": "dim",
    "Tensor.apply_": "callable",
    "Tensor.map_": "tensor:t, callable",
    "Tensor.map2_": "x:t, y:t, callable",
    "Tensor.__getitem__": "index:t",
    "Tensor.__setitem__": "index:t, value:t",
    "Tensor.backward": "gradient:t, retain_graph, create_graph, inputs:t*",
    "Tensor.unique": "sorted, return_inverse, return_counts, dim",
    "Tensor.unique_consecutive": "return_inverse, return_counts, dim",
    **{f"Tensor.{name}": "memory_format" for name in
       ["bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short"]},
}  # fmt: skip

#: Parameters that swallow several positional arguments.
VARIADIC: Final[dict[str, str]] = {
    **pairs("torch.zeros torch.ones torch.empty torch.rand torch.randn Tensor.repeat Tensor.view Tensor.expand "
             "Tensor.new_zeros "
             "Tensor.new_ones Tensor.new_empty Tensor.resize_", "size"),
    **pairs("Tensor.permute Tensor.flip Tensor.tile", "dims"), "Tensor.reshape": "shape",
    **pairs("torch.meshgrid torch.broadcast_tensors torch.block_diag torch.cartesian_prod torch.atleast_1d "
             "torch.atleast_2d "
             "torch.atleast_3d", "tensors"),
    "torch.chain_matmul": "matrices", "torch.einsum": "operands",
}  # fmt: skip

#: What comes back, where schema and annotation do not say.
RETURNS: Final[dict[str, str]] = {
    **pairs("""max min median nanmedian where nonzero torch.unique torch.unique_consecutive Tensor.unique
        Tensor.unique_consecutive
        torch.get_rng_state Tensor.module_load Tensor.pin_memory Tensor.to_dense Tensor.to_sparse_coo Tensor.resize
        Tensor.resize_as
        Tensor.as_subclass F.softsign F.tanhshrink F.upsample F.upsample_bilinear F.upsample_nearest
        torch.nn.init.constant torch.nn.init.dirac torch.nn.init.kaiming_normal torch.nn.init.kaiming_uniform
        torch.nn.init.orthogonal torch.nn.init.sparse torch.nn.init.xavier_normal torch.nn.init.xavier_uniform
        torch.autograd.Variable torch.nn.utils.parameters_to_vector torch.nn.utils.clip_grad_norm
        torch.nn.utils.clip_grad_norm_ torch.nn.utils.get_total_norm torch.signal.windows.exponential
        torch.nn.utils.rnn.invert_permutation""", "tensor"),
    **pairs("""torch.unravel_index torch.meshgrid torch.broadcast_tensors torch.lu torch.lobpcg torch.pca_lowrank
        torch.svd_lowrank
        F.multi_head_attention_forward Tensor.lu Tensor.tensor_split torch.autograd.grad
        torch.nn.utils.rnn.pad_packed_sequence
        torch.nn.utils.rnn.unpack_sequence torch.nn.utils.rnn.unpad_sequence""", "tensors"),
    **pairs("""torch.is_tensor torch.is_storage torch.is_grad_enabled torch.is_inference_mode_enabled torch.can_cast
        torch.is_autocast_enabled torch.are_deterministic_algorithms_enabled Tensor.is_shared Tensor.is_pinned
        Tensor.is_contiguous Tensor.is_set_to torch.is_anomaly_enabled torch.autograd.gradcheck
        torch.autograd.gradgradcheck
        torch.is_autocast_cpu_enabled torch.is_autocast_cache_enabled""", "bool"),
    **pairs("""torch.seed torch.initial_seed torch.get_num_threads torch.get_num_interop_threads torch.numel
        torch.get_device
        Tensor.element_size Tensor.nelement Tensor.numel Tensor.ndimension Tensor.dim Tensor.data_ptr
        Tensor.const_data_ptr
        Tensor.get_device Tensor.storage_offset""", "int"),
    **pairs("""torch.save torch.set_rng_state torch.set_default_device torch.set_default_dtype
        torch.set_default_tensor_type
        torch.set_num_threads torch.set_num_interop_threads torch.set_printoptions torch.use_deterministic_algorithms
        torch.set_float32_matmul_precision torch.clear_autocast_cache Tensor.backward Tensor.record_stream
        Tensor.retain_grad
        Tensor.__setitem__ torch.set_anomaly_enabled torch.autograd.backward torch.set_flush_denormal
        torch.nn.utils.clip_grad_value_ torch.nn.utils.vector_to_parameters torch.set_autocast_enabled
        torch.set_autocast_gpu_dtype torch.set_autocast_cpu_dtype torch.set_autocast_dtype
        torch.set_autocast_cache_enabled
        torch.set_autocast_cpu_enabled torch.set_warn_always torch.set_deterministic_debug_mode
        torch.nn.utils.clip_grads_with_norm_""", "none"),
    **pairs("""torch.get_default_dtype torch.promote_types torch.result_type torch.get_autocast_dtype
        torch.get_autocast_gpu_dtype
        torch.get_autocast_cpu_dtype""", "dtype"),
    **pairs("torch.typename torch.get_float32_matmul_precision Tensor.type", "str"),
    **pairs("torch.broadcast_shapes Tensor.size Tensor.stride Tensor.dim_order", "size"),
    **pairs("torch.compile torch.nn.utils.spectral_norm torch.nn.utils.weight_norm "
             "torch.nn.utils.remove_spectral_norm "
             "torch.nn.utils.remove_weight_norm torch.nn.utils.convert_conv2d_weight_memory_format "
             "torch.nn.utils.convert_conv3d_weight_memory_format", "argument"),
    **pairs("torch.nn.utils.fuse_conv_bn_eval torch.nn.utils.fuse_linear_bn_eval torch.nn.utils.skip_init", "module"),
    **pairs("torch.nn.utils.rnn.pack_padded_sequence torch.nn.utils.rnn.pack_sequence", "packed"),
    **pairs("Tensor.share_memory_ Tensor.requires_grad_ Tensor.apply_ Tensor.map_ Tensor.map2_", "self"),
    "torch.vmap": "unknown", "torch.manual_seed": "generator", "torch.get_default_device": "device",
    "torch.load": "unknown",
    "Tensor.tolist": "list", "Tensor.numpy": "ndarray", "Tensor.item": "number",
}  # fmt: skip

#: ``parameter=returns``: what comes back when that parameter is given (and true).
ALTERNATIVES: Final[dict[str, str]] = {
    **pairs("max min median nanmedian", "dim=tensors"),
    **pairs("torch.unique torch.unique_consecutive Tensor.unique Tensor.unique_consecutive",
             "return_inverse=tensors return_counts=tensors"),
    "Tensor.size": "dim=int", "Tensor.stride": "dim=int", "Tensor.type": "dtype=tensor", "nonzero": "as_tuple=tensors",
    **pairs("F.max_pool1d F.max_pool2d F.max_pool3d F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d "
             "F.fractional_max_pool2d F.fractional_max_pool3d", "return_indices=tensors"),
    **pairs("torch.nn.utils.rnn.pad_packed_sequence", ""),
}  # fmt: skip

#: Names and dtypes of the members, where the schema does not name them.
OUTPUTS: Final[dict[str, str]] = {
    **pairs("max min median nanmedian", "values:input/indices:int"),
    **pairs("F.max_pool1d F.max_pool2d F.max_pool3d F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d "
             "F.fractional_max_pool2d F.fractional_max_pool3d", "output:input/indices:int"),
    "torch.nn.utils.rnn.pad_packed_sequence": "sequence:input/lengths:host",
}  # fmt: skip

#: What attributes of tensors that are no methods give.
ATTRIBUTES: Final[dict[str, str]] = {
    **pairs("H T mH mT data grad imag real", "tensor"), "device": "device", **pairs("dtype grad_dtype", "dtype"),
             "shape": "size",
    **pairs("ndim itemsize nbytes output_nr", "int"), "name": "str", **pairs("requires_grad retains_grad "
             "volatile", "bool"),
}  # fmt: skip

#: Which parameters take tensors, in Python functions without annotations.
TENSOR_NAMES: Final = words(
    "input other target weight bias tensor tensors mask tensor1 tensor2 input1 input2 x1 x2 anchor positive negative"
)
