"""What operators do to devices, dtypes and ranks, as far as their schemas do not say.

The second half of ``supplement.py``, with the same keys.
"""

from __future__ import annotations

from typing import Final

from devicefix.torch_api.supplement import pairs, words

#: The device rule, where the operator's schema does not give it: see ``Function.mixing``.
MIXING: Final[dict[str, str]] = {
    **pairs("index index_put index_put_ __getitem__", "index"),
    **pairs("__setitem__ copy_ slice_scatter select_scatter as_strided_scatter diagonal_scatter", "copy"),
    # these read a size, a dtype, a number or nothing of their second tensor, or move it themselves
    **pairs("""set_ type_as to view_as expand_as reshape_as resize_as_ resize_as resize_as_sparse_
        is_same_size is_set_to
        result_type record_stream backward broadcast_tensors atleast_1d atleast_2d atleast_3d bernoulli bernoulli_
        fill fill_
        tensor_split narrow narrow_copy slice_inverse map_ map2_ module_load
        dequantize randint_like
        linspace logspace ctc_loss F.ctc_loss torch.autograd.grad torch.autograd.backward torch.autograd.gradcheck
        torch.autograd.gradgradcheck
        torch.nn.utils.clip_grad_norm torch.nn.utils.clip_grad_norm_ torch.nn.utils.clip_grad_value_
        torch.nn.utils.get_total_norm
        torch.nn.utils.clip_grads_with_norm_ torch.nn.utils.vector_to_parameters torch.nn.utils.rnn.pack_padded_sequence
        torch.nn.utils.rnn.unpad_sequence torch.nn.init.normal""", "none"),
    # no kernel of their own, but they end in one that takes no exception, or check by hand
    **pairs("""masked_fill masked_fill_ masked_select masked_scatter masked_scatter_ normal meshgrid embedding
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
        lu_solve matmul dot vdot mv addr addr_ nll_loss orgqr ormqr pad_sequence prelu put put_
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
    **pairs("where allclose ldexp ldexp_ soft_margin_loss F.soft_margin_loss", "same"),
}  # fmt: skip

#: Arguments that are exempt from the device rule: on the CPU by contract, or moved by the operator itself.
CPU_ARGUMENTS: Final[dict[str, str]] = {
    "torch.nn.utils.rnn.pack_padded_sequence": "lengths", "torch.nn.utils.rnn.unpad_sequence": "lengths",
    "ctc_loss": "input_lengths target_lengths targets",
    "torch.nn.functional.ctc_loss": "input_lengths target_lengths targets",
    "torch.utils.data.random_split": "generator", "torch.set_rng_state": "new_state",
    "tensor_split": "tensor_indices_or_sections", "narrow": "start",
    **pairs("masked_fill masked_fill_ index_fill index_fill_ fill fill_", "value"),
    **pairs("index index_put index_put_", "indices"), "__getitem__": "index", "__setitem__": "index value",
}  # fmt: skip

#: Floating arguments must have one dtype.
DTYPE_STRICT: Final = words("""
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
    **pairs("""
        sigmoid softmax log_softmax softmin exp expm1 exp2 log log1p log2 log10 sqrt rsqrt sin cos tan sinh cosh tanh
        asin acos atan asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh atan2 arctan2 erf erfc erfinv
        lgamma
        digamma polygamma mvlgamma i0 sinc logit reciprocal mean nanmean std var std_mean var_mean norm dist cdist pdist
        logsumexp logcumsumexp logaddexp logaddexp2 quantile nanquantile softplus cosine_similarity pairwise_distance
        true_divide
        deg2rad rad2deg divide div ldexp hypot layer_norm batch_norm group_norm instance_norm
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
    **pairs("""
        argmax argmin argsort argwhere nonzero nonzero_static bincount searchsorted bucketize count_nonzero one_hot
        multinomial
        F.one_hot hash_tensor linalg_matrix_rank matrix_rank int long short char byte torch.unravel_index
        torch.get_rng_state
        torch.nn.utils.rnn.invert_permutation int_repr""", "int"),
    **pairs("""
        eq ne gt ge lt le greater greater_equal less less_equal not_equal isnan isinf isfinite isneginf isposinf
        isreal isclose isin
        logical_and logical_or logical_not logical_xor signbit any all bool""", "bool"),
    **pairs("sum nansum prod cumsum cumprod trace square", "sum"),
    **pairs("""
        complex polar view_as_complex stft fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft fft_rfft2
        fft_rfftn fft_ihfft
        fft_ihfft2 fft_ihfftn linalg_eig linalg_eigvals cfloat cdouble chalf""", "complex"),
    **pairs("""
        cat concat concatenate stack hstack vstack dstack column_stack row_stack block_diag multiply subtract outer
        ger kron clip
        where addr pow fmax fmin maximum minimum gcd lcm nextafter
        F.mse_loss F.l1_loss""", "promote"),
    **pairs("lerp index index_fill index_put bernoulli abs absolute real imag", "input"),
    "torch.special.round": "input", "torch.special.softmax": "float",
}  # fmt: skip

#: The dtype of a factory's result when none is asked for.
DEFAULT_DTYPE: Final[dict[str, str]] = {
    **pairs("""torch.zeros torch.ones torch.empty torch.rand torch.randn torch.eye torch.linspace torch.logspace
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
    **pairs("torch.randint torch.randperm torch.tril_indices torch.triu_indices", "int"),
    **pairs("""torch.full torch.tensor torch.as_tensor torch.asarray torch.arange torch.from_numpy
        torch.sparse_coo_tensor
        torch.sparse_csr_tensor torch.sparse_csc_tensor torch.sparse_bsr_tensor torch.sparse_bsc_tensor
        torch.sparse_compressed_tensor torch.nested.nested_tensor torch.vander torch.from_dlpack""", "argument"),
}  # fmt: skip

#: No tensor need come in, and without ``device=`` one on the default device comes out.
CREATES: Final = words("""
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
FOLLOWS_ARGUMENT: Final = words("torch.as_tensor torch.asarray torch.normal torch.nested.nested_tensor")
#: These ignore ``set_default_device`` and make CPU tensors when no device is given.
CPU_ALWAYS: Final = words(
    "torch.from_numpy torch.frombuffer torch.from_file torch.normal torch.range torch.nested.nested_tensor"
)

#: These draw from the random stream, though no schema says so.
RANDOM: Final = words("""
    F.gumbel_softmax F.multi_head_attention_forward F.fractional_max_pool2d F.fractional_max_pool3d pca_lowrank
    svd_lowrank
    torch.nn.init.normal torch.nn.init.normal_ torch.nn.init.uniform torch.nn.init.uniform_ torch.nn.init.kaiming_normal
    torch.nn.init.kaiming_normal_ torch.nn.init.kaiming_uniform torch.nn.init.kaiming_uniform_
    torch.nn.init.xavier_normal
    torch.nn.init.xavier_normal_ torch.nn.init.xavier_uniform torch.nn.init.xavier_uniform_ torch.nn.init.orthogonal
    torch.nn.init.orthogonal_ torch.nn.init.sparse torch.nn.init.sparse_ torch.nn.init.trunc_normal_
""")

#: The result may share storage with the first tensor argument, though no schema says so.
VIEW: Final = words("""
    torch.atleast_1d torch.atleast_2d torch.atleast_3d torch.broadcast_tensors torch.meshgrid torch.split
    torch.from_dlpack Tensor.split __getitem__ unsafe_chunk unsafe_split unsafe_split_with_sizes
""")

#: The rank of the result, see ``Function.output_rank``.
OUTPUT_RANK: Final[dict[str, str]] = {
    **pairs("dot vdot trace dist", "0"),
    **pairs("max min median nanmedian norm logsumexp std var any all mean sum prod argmax argmin count_nonzero amax "
             "amin nansum nanmean "
             "nanquantile quantile linalg_norm linalg_vector_norm", "reduce:dim"),
    **pairs("""
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
    **pairs("masked_fill masked_scatter subtract true_divide divide greater greater_equal less less_equal not_equal "
             "arctan2", "broadcast"),
    **pairs("""
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
    **pairs("""
        torch.zeros torch.ones torch.empty torch.rand torch.randn torch.full torch.randint torch.empty_strided
        torch.empty_permuted
        Tensor.new_zeros Tensor.new_ones Tensor.new_empty Tensor.new_full Tensor.view Tensor.expand torch.broadcast_to
        Tensor.broadcast_to Tensor.repeat""", "size"),
    "torch.reshape": "size", "Tensor.reshape": "size",
    **pairs("torch.tensor torch.as_tensor torch.asarray torch.from_numpy Tensor.new_tensor", "data"),
    "torch.scalar_tensor": "0", "torch.nn.functional.linear": "same",
}  # fmt: skip
