"""What PyTorch does that neither its schemas nor its signatures say.

Read by ``scripts/generate_torch_api.py`` only; at run time everything is in ``_generated.py``. Keys are names of
operators
(``matmul`` stands for ``torch.matmul``, ``Tensor.matmul`` and ``linalg_matmul`` for ``torch.linalg.matmul``); a
dotted key means that one
function and wins over the operator's. ``tests/torch_api`` executes the claims against the installed torch.
"""

from __future__ import annotations

from typing import Final

F: Final = "torch.nn.functional."


def _words(text: str) -> frozenset[str]:
    return frozenset(F + word[2:] if word.startswith("F.") else word for word in text.split())


def _pairs(text: str, value: str) -> dict[str, str]:
    return dict.fromkeys(_words(text), value)


#: Not for users: kernels of one backend and the dispatcher's own helpers.
INTERNAL_PREFIXES: Final = ("miopen_", "cudnn_", "mkldnn_", "fbgemm_", "batch_norm_", "quantized_", "fake_quantize_",
"parse_", "import_ir_",
                            "sym_", "autocast_", "has_torch_function", "profiler_", "handle_torch_function",
                            "fused_moving_")  # fmt: skip
INTERNAL: Final = _words("boolean_dispatch Optional classproperty get_file_path unify_type_list "
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
    **_pairs("Tensor.cuda Tensor.xpu Tensor.mtia Tensor.ipu", "device, non_blocking, memory_format"),
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
    **_pairs("torch.zeros torch.ones torch.empty torch.rand torch.randn Tensor.repeat Tensor.view Tensor.expand "
             "Tensor.new_zeros "
             "Tensor.new_ones Tensor.new_empty Tensor.resize_", "size"),
    **_pairs("Tensor.permute Tensor.flip Tensor.tile", "dims"), "Tensor.reshape": "shape",
    **_pairs("torch.meshgrid torch.broadcast_tensors torch.block_diag torch.cartesian_prod torch.atleast_1d "
             "torch.atleast_2d "
             "torch.atleast_3d", "tensors"),
    "torch.chain_matmul": "matrices", "torch.einsum": "operands",
}  # fmt: skip

#: What comes back, where schema and annotation do not say.
RETURNS: Final[dict[str, str]] = {
    **_pairs("""max min median nanmedian where nonzero torch.unique torch.unique_consecutive Tensor.unique
        Tensor.unique_consecutive
        torch.get_rng_state Tensor.module_load Tensor.pin_memory Tensor.to_dense Tensor.to_sparse_coo Tensor.resize
        Tensor.resize_as
        Tensor.as_subclass F.softsign F.tanhshrink F.upsample F.upsample_bilinear F.upsample_nearest
        torch.nn.init.constant torch.nn.init.dirac torch.nn.init.kaiming_normal torch.nn.init.kaiming_uniform
        torch.nn.init.orthogonal torch.nn.init.sparse torch.nn.init.xavier_normal torch.nn.init.xavier_uniform
        torch.autograd.Variable torch.nn.utils.parameters_to_vector torch.nn.utils.clip_grad_norm
        torch.nn.utils.clip_grad_norm_ torch.nn.utils.get_total_norm torch.signal.windows.exponential
        torch.nn.utils.rnn.invert_permutation""", "tensor"),
    **_pairs("""torch.unravel_index torch.meshgrid torch.broadcast_tensors torch.lu torch.lobpcg torch.pca_lowrank
        torch.svd_lowrank
        F.multi_head_attention_forward Tensor.lu Tensor.tensor_split torch.autograd.grad
        torch.nn.utils.rnn.pad_packed_sequence
        torch.nn.utils.rnn.unpack_sequence torch.nn.utils.rnn.unpad_sequence""", "tensors"),
    **_pairs("""torch.is_tensor torch.is_storage torch.is_grad_enabled torch.is_inference_mode_enabled torch.can_cast
        torch.is_autocast_enabled torch.are_deterministic_algorithms_enabled Tensor.is_shared Tensor.is_pinned
        Tensor.is_contiguous Tensor.is_set_to torch.is_anomaly_enabled torch.autograd.gradcheck
        torch.autograd.gradgradcheck
        torch.is_autocast_cpu_enabled torch.is_autocast_cache_enabled""", "bool"),
    **_pairs("""torch.seed torch.initial_seed torch.get_num_threads torch.get_num_interop_threads torch.numel
        torch.get_device
        Tensor.element_size Tensor.nelement Tensor.numel Tensor.ndimension Tensor.dim Tensor.data_ptr
        Tensor.const_data_ptr
        Tensor.get_device Tensor.storage_offset""", "int"),
    **_pairs("""torch.save torch.set_rng_state torch.set_default_device torch.set_default_dtype
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
    **_pairs("""torch.get_default_dtype torch.promote_types torch.result_type torch.get_autocast_dtype
        torch.get_autocast_gpu_dtype
        torch.get_autocast_cpu_dtype""", "dtype"),
    **_pairs("torch.typename torch.get_float32_matmul_precision Tensor.type", "str"),
    **_pairs("torch.broadcast_shapes Tensor.size Tensor.stride Tensor.dim_order", "size"),
    **_pairs("torch.compile torch.nn.utils.spectral_norm torch.nn.utils.weight_norm "
             "torch.nn.utils.remove_spectral_norm "
             "torch.nn.utils.remove_weight_norm torch.nn.utils.convert_conv2d_weight_memory_format "
             "torch.nn.utils.convert_conv3d_weight_memory_format", "argument"),
    **_pairs("torch.nn.utils.fuse_conv_bn_eval torch.nn.utils.fuse_linear_bn_eval torch.nn.utils.skip_init", "module"),
    **_pairs("torch.nn.utils.rnn.pack_padded_sequence torch.nn.utils.rnn.pack_sequence", "packed"),
    **_pairs("Tensor.share_memory_ Tensor.requires_grad_ Tensor.apply_ Tensor.map_ Tensor.map2_", "self"),
    "torch.vmap": "unknown", "torch.manual_seed": "generator", "torch.get_default_device": "device",
    "torch.load": "unknown",
    "Tensor.tolist": "list", "Tensor.numpy": "ndarray", "Tensor.item": "number",
}  # fmt: skip

#: ``parameter=returns``: what comes back when that parameter is given (and true).
ALTERNATIVES: Final[dict[str, str]] = {
    **_pairs("max min median nanmedian", "dim=tensors"),
    **_pairs("torch.unique torch.unique_consecutive Tensor.unique Tensor.unique_consecutive",
             "return_inverse=tensors return_counts=tensors"),
    "Tensor.size": "dim=int", "Tensor.stride": "dim=int", "Tensor.type": "dtype=tensor", "nonzero": "as_tuple=tensors",
    **_pairs("F.max_pool1d F.max_pool2d F.max_pool3d F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d "
             "F.fractional_max_pool2d F.fractional_max_pool3d", "return_indices=tensors"),
    **_pairs("torch.nn.utils.rnn.pad_packed_sequence", ""),
}  # fmt: skip

#: Names and dtypes of the members, where the schema does not name them.
OUTPUTS: Final[dict[str, str]] = {
    **_pairs("max min median nanmedian", "values:input/indices:int"),
    **_pairs("F.max_pool1d F.max_pool2d F.max_pool3d F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d "
             "F.fractional_max_pool2d F.fractional_max_pool3d", "output:input/indices:int"),
    "torch.nn.utils.rnn.pad_packed_sequence": "sequence:input/lengths:host",
}  # fmt: skip

#: The device rule, where the operator's schema does not give it: see ``Function.mixing``.
MIXING: Final[dict[str, str]] = {
    **_pairs("index index_put index_put_ __getitem__", "index"),
    **_pairs("__setitem__ copy_ copy slice_scatter select_scatter as_strided_scatter diagonal_scatter", "copy"),
    # these read a size, a dtype, a number or nothing of their second tensor, or move it themselves
    **_pairs("""set_ set_data type_as to view_as expand_as reshape_as resize_as_ resize_as resize_as_sparse_
        is_same_size is_set_to
        result_type record_stream backward broadcast_tensors atleast_1d atleast_2d atleast_3d bernoulli bernoulli_
        fill fill_ align_tensors
        align_as unflatten_dense_tensors tensor_split narrow narrow_copy slice_inverse map_ map2_ module_load
        dequantize randint_like
        linspace logspace ctc_loss F.ctc_loss torch.autograd.grad torch.autograd.backward torch.autograd.gradcheck
        torch.autograd.gradgradcheck
        torch.nn.utils.clip_grad_norm torch.nn.utils.clip_grad_norm_ torch.nn.utils.clip_grad_value_
        torch.nn.utils.get_total_norm
        torch.nn.utils.clip_grads_with_norm_ torch.nn.utils.vector_to_parameters torch.nn.utils.rnn.pack_padded_sequence
        torch.nn.utils.rnn.unpad_sequence torch.nn.init.normal""", "none"),
    # no kernel of their own, but they end in one that takes no exception, or check by hand
    **_pairs("""masked_fill masked_fill_ masked_select masked_scatter masked_scatter_ normal meshgrid embedding
        embedding_bag
        clamp clamp_ clip clip_ embedding_renorm_ grid_sampler repeat_interleave bincount equal binary_cross_entropy
        sparse_coo_tensor sparse_csr_tensor
        sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor histogramdd batch_norm bilinear
        block_diag
        cartesian_prod cat concat concatenate cdist chain_matmul column_stack conv1d conv2d conv3d conv_tbc
        conv_transpose1d
        conv_transpose2d conv_transpose3d cov dstack einsum gather group_norm gru gru_cell hspmm hstack index_add
        index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select inner
        instance_norm isin
        istft layer_norm linalg_multi_dot linalg_matmul linalg_solve linalg_solve_ex linalg_tensorsolve linear lstm
        lstm_cell
        lu_solve matmul dot vdot mv addr addr_ cross_entropy_loss nll_loss orgqr ormqr pad_sequence prelu put put_
        quantile nanquantile
        rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell row_stack scaled_dot_product_attention scatter scatter_
        scatter_add scatter_add_ scatter_reduce scatter_reduce_ searchsorted bucketize smm sspaddmm stack stft take
        take_along_dim
        tensordot vstack cross cholesky_solve complex polar histogram convolution linalg_lstsq linalg_pinv
        linalg_matrix_rank
        linalg_vecdot sparse_mask lobpcg svd_lowrank lstsq solve
        torch.nn.utils.parameters_to_vector torch.nn.utils.rnn.pad_sequence torch.nn.utils.rnn.pack_sequence
        torch.nn.utils.fuse_conv_bn_weights torch.nn.utils.fuse_linear_bn_weights
        F.cross_entropy F.nll_loss F.embedding F.embedding_bag F.binary_cross_entropy F.batch_norm F.group_norm
        F.layer_norm
        F.instance_norm F.rms_norm F.grid_sample F.multi_margin_loss F.multilabel_margin_loss
        F.multi_head_attention_forward
        F.max_unpool1d F.max_unpool2d F.max_unpool3d F.linear_cross_entropy F.fractional_max_pool2d
        F.fractional_max_pool3d
        F.fractional_max_pool2d_with_indices F.fractional_max_pool3d_with_indices F.grouped_mm F.scaled_grouped_mm
        F.scaled_mm
        torch.spmm torch.dsmm torch.hsmm torch.saddmm""", "strict"),
    # a kernel of its own, but made of pointwise operations
    **_pairs("where allclose ldexp ldexp_ soft_margin_loss F.soft_margin_loss", "same"),
}  # fmt: skip

#: Arguments that are exempt from the device rule: on the CPU by contract, or moved by the operator itself.
CPU_ARGUMENTS: Final[dict[str, str]] = {
    "torch.nn.utils.rnn.pack_padded_sequence": "lengths", "torch.nn.utils.rnn.unpad_sequence": "lengths",
    "ctc_loss": "input_lengths target_lengths targets",
    "torch.nn.functional.ctc_loss": "input_lengths target_lengths targets",
    "torch.utils.data.random_split": "generator", "torch.set_rng_state": "new_state",
    "tensor_split": "tensor_indices_or_sections", "narrow": "start",
    **_pairs("masked_fill masked_fill_ index_fill index_fill_ fill fill_", "value"),
    **_pairs("index index_put index_put_", "indices"), "__getitem__": "index", "__setitem__": "index value",
}  # fmt: skip

#: Floating arguments must have one dtype.
DTYPE_STRICT: Final = _words("""
    addbmm addbmm_ addmm addmm_ addmv addmv_ baddbmm baddbmm_ bilinear bmm chain_matmul conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d dot einsum gru gru_cell index_add index_add_ index_copy
    index_copy_ index_reduce index_reduce_ index_put index_put_ inner lerp lerp_ linear linalg_multi_dot linalg_matmul
    linalg_solve
    linalg_solve_ex linalg_tensorsolve linalg_vecdot linalg_cross linalg_householder_product linalg_ldl_solve
    linalg_lstsq linalg_lu_solve
    linalg_pinv lstm lstm_cell lu_solve matmul mm mv scaled_dot_product_attention scatter scatter_ scatter_add
    scatter_add_ scatter_reduce scatter_reduce_ tensordot vdot rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
    masked_scatter
    masked_scatter_ binary_cross_entropy put put_ prelu complex polar allclose isclose cartesian_prod meshgrid cdist
    cholesky_solve cross heaviside heaviside_ ormqr triangular_solve svd_lowrank pca_lowrank histogramdd grid_sampler
    grid_sampler_2d
    grid_sampler_3d group_norm layer_norm batch_norm instance_norm native_group_norm native_layer_norm
    native_batch_norm embedding_bag
    F.group_norm F.layer_norm F.batch_norm F.instance_norm F.embedding_bag F.multi_margin_loss F.linear_cross_entropy
    F.binary_cross_entropy F.nll_loss F.grid_sample F.multi_head_attention_forward torch.spmm
""")

#: The dtype of the result, see ``Function.output_dtype``. "input" is the default.
OUTPUT_DTYPE: Final[dict[str, str]] = {
    **_pairs("""
        sigmoid softmax log_softmax softmin exp expm1 exp2 log log1p log2 log10 sqrt rsqrt sin cos tan sinh cosh tanh
        asin acos atan asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh atan2 arctan2 erf erfc erfinv
        lgamma
        digamma polygamma mvlgamma i0 sinc logit reciprocal mean nanmean std var std_mean var_mean norm dist cdist pdist
        logsumexp logcumsumexp logaddexp logaddexp2 quantile nanquantile softplus cosine_similarity pairwise_distance
        true_divide
        deg2rad rad2deg divide div ldexp hypot cross_entropy_loss layer_norm batch_norm group_norm instance_norm
        rms_norm
        xlogy histc copysign corrcoef cov gradient float_power trapz trapezoid cumulative_trapezoid angle normal
        igamma igammac
        fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn embedding embedding_bag float double half
        bfloat16 multigammaln
        margin_ranking_loss poisson_nll_loss cosine_embedding_loss triplet_margin_loss hinge_embedding_loss kl_div
        F.softmax F.log_softmax F.softmin F.gumbel_softmax F.cross_entropy F.nll_loss F.binary_cross_entropy
        F.binary_cross_entropy_with_logits F.kl_div F.sigmoid F.tanh F.layer_norm F.batch_norm
        F.group_norm F.instance_norm F.smooth_l1_loss F.huber_loss F.embedding F.embedding_bag F.cosine_similarity
        F.normalize F.grid_sample F.triplet_margin_loss F.cosine_embedding_loss F.ctc_loss F.margin_ranking_loss
        F.local_response_norm F.upsample_bilinear F.softsign F.tanhshrink F.triplet_margin_with_distance_loss
        F.poisson_nll_loss
        F.soft_margin_loss F.multilabel_soft_margin_loss F.gaussian_nll_loss F.logsigmoid F.gelu F.silu F.mish
        F.multi_head_attention_forward F.linear_cross_entropy F.pairwise_distance
        torch.nn.utils.clip_grad_norm_ torch.nn.utils.clip_grad_norm torch.nn.utils.get_total_norm
        """, "float"),
    **_pairs("""
        argmax argmin argsort argwhere nonzero nonzero_static bincount searchsorted bucketize count_nonzero one_hot
        multinomial
        F.one_hot hash_tensor linalg_matrix_rank matrix_rank int long short char byte torch.unravel_index
        torch.get_rng_state
        torch.nn.utils.rnn.invert_permutation int_repr""", "int"),
    **_pairs("""
        eq ne gt ge lt le greater greater_equal less less_equal not_equal isnan isinf isfinite isneginf isposinf
        isreal isclose isin
        logical_and logical_or logical_not logical_xor signbit any all bool""", "bool"),
    **_pairs("sum nansum prod cumsum cumprod trace square", "sum"),
    **_pairs("""
        complex polar view_as_complex stft fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft fft_rfft2
        fft_rfftn fft_ihfft
        fft_ihfft2 fft_ihfftn linalg_eig linalg_eigvals cfloat cdouble chalf""", "complex"),
    **_pairs("""
        cat concat concatenate stack hstack vstack dstack column_stack row_stack block_diag multiply subtract outer
        ger kron clip
        where addr pow fmax fmin maximum minimum gcd lcm nextafter
        F.mse_loss F.l1_loss""", "promote"),
    **_pairs("lerp index index_fill index_put bernoulli abs absolute real imag", "input"),
    "torch.special.round": "input", "torch.special.softmax": "float",
}  # fmt: skip

#: The dtype of a factory's result when none is asked for.
DEFAULT_DTYPE: Final[dict[str, str]] = {
    **_pairs("""torch.zeros torch.ones torch.empty torch.rand torch.randn torch.eye torch.linspace torch.logspace
        torch.range
        torch.hann_window torch.hamming_window torch.blackman_window torch.bartlett_window torch.kaiser_window
        torch.normal
        torch.empty_strided torch.empty_permuted torch.fft.fftfreq torch.fft.rfftfreq torch.scalar_tensor
        torch.frombuffer
        torch.from_file torch.signal.windows.bartlett torch.signal.windows.blackman torch.signal.windows.cosine
        torch.signal.windows.exponential torch.signal.windows.gaussian torch.signal.windows.general_cosine
        torch.signal.windows.general_hamming torch.signal.windows.hamming torch.signal.windows.hann
        torch.signal.windows.kaiser
        torch.signal.windows.nuttall""", "float"),
    **_pairs("torch.randint torch.randperm torch.tril_indices torch.triu_indices", "int"),
    **_pairs("""torch.full torch.tensor torch.as_tensor torch.asarray torch.arange torch.from_numpy
        torch.sparse_coo_tensor
        torch.sparse_csr_tensor torch.sparse_csc_tensor torch.sparse_bsr_tensor torch.sparse_bsc_tensor
        torch.sparse_compressed_tensor torch.nested.nested_tensor torch.vander torch.from_dlpack""", "argument"),
}  # fmt: skip

#: No tensor need come in, and without ``device=`` one on the default device comes out.
CREATES: Final = _words("""
    torch.zeros torch.ones torch.empty torch.rand torch.randn torch.eye torch.linspace torch.logspace torch.hann_window
    torch.hamming_window torch.blackman_window torch.bartlett_window torch.kaiser_window torch.normal
    torch.empty_strided
    torch.empty_permuted torch.fft.fftfreq torch.fft.rfftfreq torch.scalar_tensor torch.randint torch.randperm
    torch.tril_indices torch.triu_indices torch.full torch.tensor torch.as_tensor torch.asarray torch.arange torch.range
    torch.from_numpy torch.frombuffer torch.from_file torch.nested.nested_tensor
    torch.signal.windows.bartlett torch.signal.windows.blackman torch.signal.windows.cosine
    torch.signal.windows.exponential
    torch.signal.windows.gaussian torch.signal.windows.general_cosine torch.signal.windows.general_hamming
    torch.signal.windows.hamming torch.signal.windows.hann torch.signal.windows.kaiser torch.signal.windows.nuttall
""")
#: … but these follow a tensor among their arguments.
FOLLOWS_ARGUMENT: Final = _words("torch.as_tensor torch.asarray torch.normal torch.nested.nested_tensor")
#: These ignore ``set_default_device`` and make CPU tensors when no device is given.
CPU_ALWAYS: Final = _words("torch.from_numpy torch.frombuffer torch.from_file torch.normal torch.range torch.nested.nested_tensor")

#: These draw from the random stream, though no schema says so.
RANDOM: Final = _words("""
    F.gumbel_softmax F.multi_head_attention_forward F.fractional_max_pool2d F.fractional_max_pool3d pca_lowrank
    svd_lowrank
    torch.nn.init.normal torch.nn.init.normal_ torch.nn.init.uniform torch.nn.init.uniform_ torch.nn.init.kaiming_normal
    torch.nn.init.kaiming_normal_ torch.nn.init.kaiming_uniform torch.nn.init.kaiming_uniform_
    torch.nn.init.xavier_normal
    torch.nn.init.xavier_normal_ torch.nn.init.xavier_uniform torch.nn.init.xavier_uniform_ torch.nn.init.orthogonal
    torch.nn.init.orthogonal_ torch.nn.init.sparse torch.nn.init.sparse_ torch.nn.init.trunc_normal_
""")

#: The rank of the result, see ``Function.output_rank``.
OUTPUT_RANK: Final[dict[str, str]] = {
    **_pairs("dot vdot trace dist", "0"),
    **_pairs("max min median nanmedian norm logsumexp std var any all mean sum prod argmax argmin count_nonzero amax "
             "amin nansum nanmean "
             "nanquantile quantile linalg_norm linalg_vector_norm", "reduce:dim"),
    **_pairs("""
        contiguous clone detach to cpu cuda xpu float half double long int bool byte short char bfloat16 cfloat
        cdouble chalf type type_as
        cumsum cumprod softmax log_softmax softmin flip fliplr flipud roll zeros_like ones_like empty_like rand_like
        randn_like
        randint_like full_like dropout alpha_dropout feature_dropout feature_alpha_dropout tril triu sort argsort
        index_fill scatter
        scatter_add scatter_reduce transpose permute swapaxes swapdims moveaxis movedim t adjoint rot90 conj
        conj_physical resolve_conj
        resolve_neg cross diff index_copy index_add index_reduce index_put put renorm logcumsumexp cummax cummin
        bernoulli
        select_scatter slice_scatter diagonal_scatter as_strided_scatter narrow narrow_copy matrix_exp matrix_power
        pinverse
        inverse cholesky cholesky_inverse isclose isreal floor_divide multiply fill pin_memory
        msort cumulative_trapezoid positive requires_grad_ real imag to_dense module_load
        F.softmin F.normalize F.pad F.dropout F.dropout1d F.dropout2d F.dropout3d F.alpha_dropout
        F.feature_alpha_dropout F.interpolate
        F.upsample F.upsample_bilinear F.upsample_nearest F.layer_norm F.batch_norm F.group_norm F.instance_norm
        F.rms_norm
        F.local_response_norm F.glu F.prelu F.logsigmoid F.softsign F.tanhshrink F.gumbel_softmax F.hardswish
        F.grid_sample
        F.adaptive_avg_pool1d F.adaptive_avg_pool2d F.adaptive_avg_pool3d F.avg_pool1d F.avg_pool2d F.avg_pool3d
        F.lp_pool1d
        F.max_pool1d F.max_pool2d F.max_pool3d F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d
        F.lp_pool2d F.lp_pool3d F.max_unpool1d F.max_unpool2d F.max_unpool3d F.pixel_shuffle F.pixel_unshuffle
        F.channel_shuffle
        F.conv1d F.conv2d F.conv3d F.conv_transpose1d F.conv_transpose2d F.conv_transpose3d F.bilinear
        F.scaled_dot_product_attention
        F.softmax F.log_softmax F.sigmoid F.tanh F.relu F.relu6 F.elu F.selu F.celu F.leaky_relu F.rrelu F.silu F.mish
        F.hardsigmoid
        F.hardtanh F.threshold F.gelu
        fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft fft_rfft2 fft_rfftn fft_irfft fft_irfft2
        fft_irfftn fft_hfft
        fft_hfft2 fft_hfftn fft_ihfft fft_ihfft2 fft_ihfftn fft_fftshift fft_ifftshift linalg_cholesky linalg_inv
        linalg_matrix_power
        linalg_matrix_exp torch.autograd.Variable""", "same"),
    **_pairs("masked_fill masked_scatter subtract true_divide divide greater greater_equal less less_equal not_equal "
             "arctan2", "broadcast"),
    **_pairs("""
        unsqueeze flatten ravel atleast_1d atleast_2d atleast_3d cat concat concatenate stack hstack vstack dstack
        column_stack row_stack
        nonzero argwhere masked_select diag diagflat diag_embed tril_indices triu_indices one_hot F.one_hot
        F.embedding embedding
        F.embedding_bag mm bmm mv addmm addmv baddbmm addbmm addr outer ger kron cdist pdist arange range linspace
        logspace eye
        hann_window hamming_window blackman_window bartlett_window kaiser_window randperm bincount histc multinomial
        cartesian_prod
        block_diag fft_fftfreq fft_rfftfreq fold F.fold F.unfold chain_matmul repeat_interleave unflatten frombuffer
        from_file
        torch.nn.utils.rnn.pad_sequence torch.nn.utils.parameters_to_vector torch.get_rng_state view_as_real
        nested_tensor
        unique unique_consecutive""", "some"),
    **_pairs("""
        torch.zeros torch.ones torch.empty torch.rand torch.randn torch.full torch.randint torch.empty_strided
        torch.empty_permuted
        Tensor.new_zeros Tensor.new_ones Tensor.new_empty Tensor.new_full Tensor.view Tensor.expand torch.broadcast_to
        Tensor.broadcast_to Tensor.repeat""", "size"),
    "torch.reshape": "size", "Tensor.reshape": "size",
    **_pairs("torch.tensor torch.as_tensor torch.asarray torch.from_numpy Tensor.new_tensor", "data"),
    "torch.scalar_tensor": "0", "torch.nn.functional.linear": "same",
}  # fmt: skip

#: What attributes of tensors that are no methods give.
ATTRIBUTES: Final[dict[str, str]] = {
    **_pairs("H T mH mT data grad imag real", "tensor"), "device": "device", **_pairs("dtype grad_dtype", "dtype"),
             "shape": "size",
    **_pairs("ndim itemsize nbytes output_nr", "int"), "name": "str", **_pairs("requires_grad retains_grad "
             "volatile", "bool"),
}  # fmt: skip

#: Which parameters take tensors, in Python functions without annotations.
TENSOR_NAMES: Final = _words(
    "input other target weight bias tensor tensors mask tensor1 tensor2 input1 input2 x1 x2 anchor positive negative"
)
